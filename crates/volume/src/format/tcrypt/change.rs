//! Changing what opens a volume: its header under another key. The data stays as it is.

use cryptbench_blockdev::{BlockDevice, Extent};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort, Function, pim};

use super::create::write_header;
use super::header::Product;
use super::layout::{self, Slot};
use super::password::{self, password};
use super::seal::Seal;
use super::unlock::{self, Request, Unlocked, unlock};
use crate::{Credentials, VolumeError};

/// Which header is meant, and how it opens.
#[derive(Clone, Copy)]
pub struct HeaderOptions<'a> {
    /// The hidden volume's.
    pub hidden: bool,
    /// The encrypted system's on this disk.
    pub system: bool,
    /// Its PRF, or `argon2id`; `None` tries all.
    pub prf: Option<&'a str>,
    /// Instruction sets of the ciphers.
    pub tier: Tier,
    /// Instruction sets, threads and stop flag of the key derivation.
    pub effort: Effort<'a>,
}

impl<'a> HeaderOptions<'a> {
    /// The normal header, of an unknown PRF.
    #[must_use]
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self { hidden: false, system: false, prf: None, tier, effort }
    }

    pub(super) fn request(&self, slots: &'static [Slot]) -> Request<'a> {
        Request {
            products: &[Product::TrueCrypt, Product::VeraCrypt],
            slots,
            prf: self.prf,
            tier: self.tier,
            effort: self.effort,
        }
    }
}

/// Gives a volume new credentials: passphrase, key files, PIM, and another PRF if `prf` names one.
///
/// The backup header is written and flushed before the primary one, so that at every moment one of them
/// opens: with the old credentials until the primary one is written, with the new ones from then on. The
/// master keys stay the same: whoever knew the old credentials and has an old header still gets in, here
/// as in VeraCrypt.
///
/// # Errors
/// Any [`VolumeError`]; the volume then opens with the old credentials, but after an I/O error its backup
/// header may already want the new ones.
pub fn change_credentials(
    device: &dyn BlockDevice,
    old: &Credentials,
    new: &Credentials,
    prf: Option<&str>,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    let slots = Slot::for_request(options.hidden, false, options.system)?;
    let unlocked = unlock(device, old, &options.request(slots))?;
    let data = layout::data(&unlocked.header, unlocked.slot, device.size())?;
    let password = password(new)?;
    let product = unlocked.header.product;
    if product == Product::TrueCrypt && password.len() > password::SHORT {
        let reason = "TrueCrypt takes passphrases of at most 64 bytes";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    let function = match prf {
        Some(name) => unlock::function(name)?,
        None => function_of(&unlocked.derivation),
    };
    let kind = unlock::kind(product, unlocked.slot == Slot::System);
    let derivation = pim::derivation(kind, function, new.pim)?;
    reseal(device, &unlocked, data, &password, derivation, options)
}

/// Writes a header anew under fresh salts: its backup, where the layout has one, then itself.
pub(super) fn reseal(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    data: Extent,
    password: &[u8],
    derivation: Derivation,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    let Unlocked { scheme, slot, .. } = *unlocked;
    let seal = Seal { scheme, derivation, password, tier: options.tier, effort: options.effort };
    let [header, backup] = seal.copies(&unlocked.plain)?;
    if let Some(other) = backup_slot(device, unlocked, data)? {
        write_header(device, other, &backup)?;
    }
    write_header(device, slot, &header)
}

/// Where the backup of this primary header lies; `None` if the layout has none.
///
/// # Errors
/// [`VolumeError::Damaged`] if data lies there: the device has another size than when the volume was made.
fn backup_slot(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    data: Extent,
) -> Result<Option<Slot>, VolumeError> {
    let other = unlocked.slot.other_copy().filter(|_| unlocked.header.version >= 4);
    let Some(offset) = other.and_then(|other| other.offset(device.size())) else {
        return Ok(None);
    };
    if offset < data.offset + data.len {
        return Err(VolumeError::Damaged {
            format: unlocked.header.product.format(),
            reason: format!(
                "data up to {} overlaps the backup header at {offset}",
                data.offset + data.len
            ),
        });
    }
    Ok(other)
}

/// The function of a derivation.
pub(super) fn function_of(derivation: &Derivation) -> Function {
    match derivation {
        Derivation::Pbkdf2 { prf, .. } => Function::Pbkdf2(prf),
        Derivation::Argon2 { .. } => Function::Argon2id,
    }
}
