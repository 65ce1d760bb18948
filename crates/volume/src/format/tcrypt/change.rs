//! Changes a volume's credentials: encrypts its header under another key and leaves the data
//! unchanged.

use cryptbench_blockdev::BlockDevice;
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort, Function, pim};

use super::backup::opens_here;
use super::create::write_header;
use super::header::Product;
use super::layout::{self, Slot};
use super::password::{self, password};
use super::seal::Seal;
use super::unlock::{self, Request, Unlocked, unlock};
use super::whole;
use crate::overwrite::{self, MEND};
use crate::{Credentials, VolumeError};

/// The header to use, and its credentials.
#[derive(Clone, Copy)]
pub struct HeaderOptions<'a> {
    /// Uses the hidden volume's header.
    pub hidden: bool,
    /// Uses the system-encryption header of this disk.
    pub system: bool,
    /// Its PRF, or `argon2id`; `None` tries all.
    pub prf: Option<&'a str>,
    /// Restores a header over any contents, even without evidence that it belongs to that volume.
    pub force: bool,
    /// Instruction sets of the ciphers.
    pub tier: Tier,
    /// Instruction sets, threads and stop flag of the key derivation.
    pub effort: Effort<'a>,
}

impl<'a> HeaderOptions<'a> {
    /// The normal header, with an unknown PRF.
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self { hidden: false, system: false, prf: None, force: false, tier, effort }
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

/// Changes a volume's credentials: passphrase, key files, PIM, and the PRF if `prf` specifies another.
///
/// The backup header is written and flushed before the primary one, so at least one of them is valid at any
/// time: the old credentials open the volume until the primary header is written, and the new ones do
/// afterwards. The master keys stay the same. Anyone who knows the old credentials and has an old header can
/// therefore still open the volume, as in VeraCrypt.
///
/// # Errors
/// [`VolumeError::Occupied`] if other contents are at the header's location; [`VolumeError::CannotOpen`] if the
/// end of the container, the location of its backup header, is missing; any other [`VolumeError`]. The volume
/// then opens with the old credentials, but after an I/O error its backup header may already require the new
/// ones.
pub fn change_credentials(
    device: &dyn BlockDevice,
    old: &Credentials,
    new: &Credentials,
    prf: Option<&str>,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    let slots = Slot::for_request(options.hidden, false, options.system)?;
    refuse_other_contents(device, slots[0], 0)?;
    let unlocked = unlock(device, old, &options.request(slots))?;
    refuse_other_contents(device, unlocked.slot, unlocked.header.version)?;
    layout::writable(&unlocked.header, unlocked.slot, device.size())?;
    let password = password(new)?;
    let product = unlocked.header.product;
    if product == Product::TrueCrypt && password.len() > password::SHORT {
        let reason = "TrueCrypt accepts passphrases of at most 64 bytes";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    let function = match prf {
        Some(name) => unlock::function(name)?,
        None => function_of(&unlocked.derivation),
    };
    let kind = unlock::kind(product, unlocked.slot == Slot::System);
    let derivation = pim::derivation(kind, function, new.pim)?;
    let known = [(old, function_of(&unlocked.derivation)), (new, function)];
    check_hidden_backup(device, &unlocked, known, options)?;
    reseal(device, &unlocked, &password, derivation, options)
}

/// Fails if a hidden volume's backup header is not at the end of the host: without the end of the container, the backup
/// header would be written into the outer volume. The backup header is recognised because the old credentials or, after
/// an interrupted change, the new ones open it.
fn check_hidden_backup(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    known: [(&Credentials, Function); 2],
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    if unlocked.slot != Slot::Hidden || unlocked.header.version < 4 {
        return Ok(());
    }
    for (credentials, function) in known {
        if opens_here(device, unlocked, &[Slot::HiddenBackup], credentials, function, options)? {
            return Ok(());
        }
    }
    let why = "the end of the container is missing, or the header is damaged".to_owned();
    let with = "if the container is complete, repair the header with `volume header-backup --with-hidden` and then \
                `volume header-restore`";
    Err(whole::no_backup(unlocked.slot, why, with))
}

/// Fails if the header area has other contents: a header that still opens is then a remnant. `version` is 0
/// while it is unknown, before the header is opened.
pub(super) fn refuse_other_contents(
    device: &dyn BlockDevice,
    slot: Slot,
    version: u16,
) -> Result<(), VolumeError> {
    overwrite::check_opened(device, &slot.parts(device.size(), version), MEND)
}

/// Rewrites a header under new salts: first its backup, if the layout has one, then the header itself.
/// [`layout::writable`] has accepted the device.
pub(super) fn reseal(
    device: &dyn BlockDevice,
    unlocked: &Unlocked,
    password: &[u8],
    derivation: Derivation,
    options: &HeaderOptions<'_>,
) -> Result<(), VolumeError> {
    let Unlocked { scheme, slot, .. } = *unlocked;
    let seal = Seal { scheme, derivation, password, tier: options.tier, effort: options.effort };
    let [header, backup] = seal.copies(&unlocked.plain)?;
    if let Some(other) = slot.other_copy().filter(|_| unlocked.header.version >= 4) {
        write_header(device, other, &backup)?;
    }
    write_header(device, slot, &header)
}

/// The function of a derivation, without its cost.
pub(super) fn function_of(derivation: &Derivation) -> Function {
    match derivation {
        Derivation::Pbkdf2 { prf, .. } => Function::Pbkdf2(prf),
        Derivation::Argon2 { .. } => Function::Argon2id,
    }
}
