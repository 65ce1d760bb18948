//! Decrypts a header with credentials: tries every derivation and cipher that the volume can use.

use cryptbench_blockdev::{BlockDevice, LockedBytes, read_bytes};
use cryptbench_cipher::Tier;
use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_kdf::{Derivation, Effort, Function, KdfError, first_fit};

use super::header::{HEADER_BYTES, Header, Plain, Product, SALT_BYTES, secret};
use super::layout::Slot;
use super::password::{self, password};
use super::scheme::Scheme;
use crate::{Credentials, VolumeError};

/// The longest key of any cipher: a cascade of three in XTS.
pub(super) const KEY_BYTES: usize = 192;

/// A header that opened.
pub(super) struct Unlocked {
    pub(super) header: Header,
    /// The header before parsing. Re-encryption uses it, so fields that this crate does not know
    /// are preserved.
    pub(super) plain: Plain,
    pub(super) scheme: Scheme,
    pub(super) derivation: Derivation,
    pub(super) slot: Slot,
}

/// Facts about a header that are known before it is opened.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The products to which the volume may belong.
    pub(super) products: &'a [Product],
    /// The slots that may hold the header.
    pub(super) slots: &'a [Slot],
    /// The PRF; `None` tries all.
    pub(super) prf: Option<&'a str>,
    pub(super) tier: Tier,
    pub(super) effort: Effort<'a>,
}

/// The volume kind for this product and layout in the key derivation crate.
pub(super) fn kind(product: Product, system: bool) -> VolumeKind {
    match product {
        Product::TrueCrypt => VolumeKind::TrueCrypt { system },
        Product::VeraCrypt => VolumeKind::VeraCrypt { system },
    }
}

/// The derivation function called `name`.
pub(super) fn function(name: &str) -> Result<Function, KdfError> {
    if name == Function::Argon2id.name() {
        return Ok(Function::Argon2id);
    }
    cryptbench_kdf::find(name).map(Function::Pbkdf2)
}

/// Finds a header of `device` that the credentials open.
///
/// TrueCrypt's derivations come first, because all of them together cost less than one of
/// VeraCrypt's.
///
/// # Errors
/// [`VolumeError::NoKeyFits`]; [`VolumeError::Damaged`] if a key decrypts a header whose checksums
/// are wrong.
pub(super) fn unlock(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    request: &Request<'_>,
) -> Result<Unlocked, VolumeError> {
    let mut sectors = Vec::new();
    for &slot in request.slots {
        if let Some(offset) = slot.offset(device.size()) {
            let sector = read_bytes(device, offset..offset + HEADER_BYTES as u64)
                .map_err(VolumeError::io("reading a header"))?;
            sectors.push((slot, sector));
        }
    }
    unlock_sectors(&sectors, credentials, request)
}

/// Like [`unlock`], for headers that were already read.
pub(super) fn unlock_sectors(
    sectors: &[(Slot, Vec<u8>)],
    credentials: &Credentials,
    request: &Request<'_>,
) -> Result<Unlocked, VolumeError> {
    let password = password(credentials)?;
    let mut tried = false;
    for product in [Product::TrueCrypt, Product::VeraCrypt] {
        if !request.products.contains(&product) {
            continue;
        }
        for (slot, sector) in sectors {
            // VeraCrypt never used the old layout.
            if product == Product::VeraCrypt && *slot == Slot::HiddenLegacy {
                continue;
            }
            let derivations = derivations(product, *slot, credentials, &password, request)?;
            tried |= !derivations.is_empty();
            let fit = fit(product, *slot, sector, &password, &derivations, request)?;
            if let Some(fit) = fit {
                return Ok(fit);
            }
        }
    }
    Err(no_key_fits(tried, sectors, request))
}

/// The derivations to try; empty if the product cannot have used these credentials.
fn derivations(
    product: Product,
    slot: Slot,
    credentials: &Credentials,
    password: &[u8],
    request: &Request<'_>,
) -> Result<Vec<Derivation>, VolumeError> {
    let pim = credentials.pim.filter(|&pim| pim != 0);
    let old = product == Product::TrueCrypt;
    if old && request.products.len() > 1 && (pim.is_some() || password.len() > password::SHORT) {
        return Ok(Vec::new());
    }
    let kind = kind(product, matches!(slot, Slot::System | Slot::Elsewhere));
    match request.prf {
        None => Ok(pim::derivations(kind, pim)?),
        Some(name) => match pim::derivation(kind, function(name)?, pim) {
            Ok(derivation) => Ok(vec![derivation]),
            Err(KdfError::NotThere { .. }) if request.products.len() > 1 => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        },
    }
}

fn fit(
    product: Product,
    slot: Slot,
    sector: &[u8],
    password: &[u8],
    derivations: &[Derivation],
    request: &Request<'_>,
) -> Result<Option<Unlocked>, VolumeError> {
    let (salt, encrypted) = sector.split_at(SALT_BYTES);
    let check = |index: usize, key: &[u8]| {
        decrypt(product, slot, key, encrypted, request.tier)
            .map(|fit| fit.map(|fit| (derivations[index], fit)))
            .transpose()
    };
    let new_key = || LockedBytes::zeroed(KEY_BYTES);
    let found = first_fit(password, salt, new_key, derivations, request.effort, check)?;
    let Some((derivation, (header, plain, scheme))) = found.transpose()? else {
        return Ok(None);
    };
    Ok(Some(Unlocked { header, plain, scheme, derivation, slot }))
}

/// Tries every cipher with a header key. A cipher whose header passes all checks takes precedence over one with
/// which only the magic is right, which happens by chance for one key in 2^28.
fn decrypt(
    product: Product,
    slot: Slot,
    key: &[u8],
    encrypted: &[u8],
    tier: Tier,
) -> Result<Option<(Header, Plain, Scheme)>, VolumeError> {
    let mut damaged = None;
    for scheme in Scheme::candidates(product, slot) {
        let mut plain: Plain = secret();
        plain.copy_from_slice(encrypted);
        scheme.decrypt_header(key, &mut plain, tier)?;
        match Header::parse(&plain) {
            Ok(Some(header)) if header.product == product => {
                return Ok(Some((header, plain, scheme)));
            }
            Ok(_) => {}
            Err(error) => damaged = damaged.or(Some(error)),
        }
    }
    damaged.map_or(Ok(None), Err)
}

fn no_key_fits(tried: bool, sectors: &[(Slot, Vec<u8>)], request: &Request<'_>) -> VolumeError {
    let names: Vec<_> = request.products.iter().map(|product| product.name()).collect();
    let names = names.join(" or ");
    if sectors.is_empty() {
        return VolumeError::NotThisFormat {
            format: request.products.last().unwrap_or(&Product::VeraCrypt).format(),
            reason: "it is too small to hold this header".to_owned(),
        };
    }
    if !tried {
        return VolumeError::Invalid(format!(
            "no {names} volume can have this PRF with this passphrase and PIM"
        ));
    }
    let mut message = String::from("wrong passphrase, key files or PIM (--pim)");
    if let Some(prf) = request.prf {
        message.push_str(&format!(", not {prf}"));
    }
    match request.slots {
        [Slot::Primary] => message.push_str(&format!(
            ", or not a {names} volume; for a hidden volume add --hidden, for a damaged header --backup-header"
        )),
        [Slot::System] => message.push_str(&format!(
            ", or not a disk with {names} system encryption; a single partition needs --header with its disk, or \
             with a copy of the disk's sector 62"
        )),
        [Slot::Backup] => message.push_str(&format!(
            ", or not a {names} volume, or its end, which contains the backup header, is missing"
        )),
        [Slot::Elsewhere] => message.push_str(&format!(", or not a header of {names} system encryption")),
        _ if request.slots[0].is_hidden() => {
            message.push_str(&format!(", or there is no {names} hidden volume"));
        }
        _ => message.push_str(&format!(", or not a {names} volume")),
    }
    VolumeError::NoKeyFits(message)
}
