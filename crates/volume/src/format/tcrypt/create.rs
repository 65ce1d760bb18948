//! Creates volumes in the formats of VeraCrypt and TrueCrypt 7.

use cryptbench_blockdev::{BlockDevice, Extent, write_bytes};
use cryptbench_cipher::Tier;
use cryptbench_kdf::{Derivation, Effort, pim};

use super::change::refuse_other_contents;
use super::header::{Header, Plain, Product, secret};
use super::layout::{self, GROUP, Slot};
use super::password::{self, password};
use super::scheme::Scheme;
use super::seal::{Filler, Progress, Seal};
use super::unlock::{self, Request, unlock};
use crate::{Credentials, VolumeError};

/// Bytes left free after a hidden volume, because file systems write to their last sectors. Volumes of
/// [`LARGE`] bytes or more leave [`RESERVED_LARGE`] bytes free (VeraCrypt's `VolumeLayoutV2Hidden`).
const RESERVED: u64 = 4096;
const RESERVED_LARGE: u64 = GROUP;
/// Hidden volumes of this size or more leave [`RESERVED_LARGE`] bytes free.
const LARGE: u64 = 2 << 20;

/// How to initialise the data area of a new volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Fills it with random bytes, which hides how much of it is used. A hidden volume requires
    /// this.
    Random,
    /// Leaves it unchanged: VeraCrypt's quick format.
    Quick,
}

/// How to create a volume. [`CreateOptions::new`] returns VeraCrypt's defaults.
#[derive(Clone, Copy)]
pub struct CreateOptions<'a> {
    /// The program whose format to write.
    pub product: Product,
    /// The cipher, by its name in the cipher crate's registry or in VeraCrypt.
    pub cipher: &'a str,
    /// The PRF by name, or `argon2id`.
    pub prf: &'a str,
    /// How to initialise the data area.
    pub fill: Fill,
    /// Sector size of the file system inside, in bytes. VeraCrypt requires the disk's own sector
    /// size on a whole disk or partition, and 512 in a file.
    pub sector_size: u32,
    /// Instruction sets of the ciphers.
    pub tier: Tier,
    /// Instruction sets, threads and stop flag of the key derivation.
    pub effort: Effort<'a>,
    /// Receives the progress of the filling.
    pub progress: Option<Progress<'a>>,
}

impl<'a> CreateOptions<'a> {
    /// VeraCrypt with AES and SHA-512, filled with random data, with 512-byte sectors.
    pub fn new(tier: Tier, effort: Effort<'a>) -> Self {
        Self {
            product: Product::VeraCrypt,
            cipher: "aes-256-xts",
            prf: "sha-512",
            fill: Fill::Random,
            sector_size: 512,
            tier,
            effort,
            progress: None,
        }
    }
}

/// The location of a hidden volume, and the credentials of the outer one.
#[derive(Clone, Copy)]
pub struct HiddenPlace<'a> {
    /// Size in bytes of the hidden volume, which is at the end of the outer volume's data area. Its plaintext
    /// is 4 KiB smaller, or 128 KiB smaller if the hidden volume has at least 2 MiB.
    pub size: u64,
    /// The credentials of the outer volume.
    pub outer: &'a Credentials,
    /// The outer volume's PRF; `None` tries all PRFs.
    pub outer_prf: Option<&'a str>,
}

/// Creates a volume over the whole of `device` and destroys its contents.
///
/// The function first fills everything but the headers with random bytes (in a quick format only the two header
/// groups). Then it writes and flushes the backup header, and finally the primary one. An interrupted creation
/// therefore leaves no primary header, neither a new nor an old one.
///
/// # Errors
/// [`VolumeError::Invalid`] before anything is written, if the options contradict each other or the device;
/// [`VolumeError::Io`] and [`VolumeError::Stopped`], after which the device does not contain a volume.
pub fn create(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    options: &CreateOptions<'_>,
) -> Result<(), VolumeError> {
    let password = password(credentials)?;
    let (scheme, derivation) = choice(credentials, &password, options)?;
    let sector = u64::from(checked_sector(options.sector_size)?);
    let size = device.size();
    let len = size.saturating_sub(2 * GROUP);
    let len = len - len % sector;
    if len == 0 {
        return Err(VolumeError::Invalid(format!(
            "{size} bytes is too little for a volume: its headers need {}",
            2 * GROUP
        )));
    }
    let data = Extent { offset: GROUP, len };
    let header = header(options, scheme, data, 0, options.sector_size)?;
    let seal = Seal {
        scheme,
        derivation,
        password: &password,
        tier: options.tier,
        effort: options.effort,
    };
    let [primary, backup] = seal.copies(&header)?;
    let filler = Filler::new(scheme, options.tier)?;
    let extents = match options.fill {
        Fill::Random => vec![Extent { offset: 0, len: size }],
        Fill::Quick => {
            let first = Extent { offset: 0, len: GROUP };
            vec![first, Extent { offset: size - GROUP, len: GROUP }]
        }
    };
    filler.fill(device, &extents, options.progress)?;
    device.flush().map_err(VolumeError::io("flushing random data"))?;
    write_header(device, Slot::Backup, &backup)?;
    write_header(device, Slot::Primary, &primary)
}

/// Creates a hidden volume at the end of the outer volume on `device` and destroys the data there. The rest of
/// the outer volume stays unchanged, and nothing in it reveals the hidden one.
///
/// The sector size is that of the outer volume, and the product must be the same. The backup header is written
/// and flushed before the primary one.
///
/// # Errors
/// As for [`create`]; [`VolumeError::NoKeyFits`] for the outer volume; [`VolumeError::Occupied`] if other
/// contents are at its header's location; [`VolumeError::Invalid`] if the credentials equal those of the outer
/// volume, which VeraCrypt would then always open.
pub fn create_hidden(
    device: &dyn BlockDevice,
    credentials: &Credentials,
    place: &HiddenPlace<'_>,
    options: &CreateOptions<'_>,
) -> Result<(), VolumeError> {
    let password = password(credentials)?;
    let (scheme, derivation) = choice(credentials, &password, options)?;
    let pim = |credentials: &Credentials| credentials.pim.unwrap_or(0);
    if *password == *self::password(place.outer)? && pim(credentials) == pim(place.outer) {
        let reason = "the hidden volume needs credentials that differ from the outer volume's";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    let request = Request {
        products: &[options.product],
        slots: &[Slot::Primary],
        prf: place.outer_prf,
        tier: options.tier,
        effort: options.effort,
    };
    refuse_other_contents(device, Slot::Primary, 0)?;
    let outer = unlock(device, place.outer, &request)?;
    refuse_other_contents(device, Slot::Primary, outer.header.version)?;
    let around = layout::writable(&outer.header, outer.slot, device.size())?;
    let sector = outer.header.sector() as u64;
    let unit = sector.max(device.sector() as u64);
    let data = hidden_data(place.size, device.size(), around, unit)?;
    let header = header(options, scheme, data, data.len, sector as u32)?;
    let seal = Seal {
        scheme,
        derivation,
        password: &password,
        tier: options.tier,
        effort: options.effort,
    };
    let [primary, backup] = seal.copies(&header)?;
    if options.fill == Fill::Random {
        let filler = Filler::new(scheme, options.tier)?;
        filler.fill(device, &[data], options.progress)?;
        device.flush().map_err(VolumeError::io("flushing random data"))?;
    }
    write_header(device, Slot::HiddenBackup, &backup)?;
    write_header(device, Slot::Hidden, &primary)
}

/// The hidden volume's data area: the `size` bytes before the backup headers, without the bytes
/// left free.
fn hidden_data(size: u64, host: u64, outer: Extent, sector: u64) -> Result<Extent, VolumeError> {
    let reserved = if size < LARGE { RESERVED } else { RESERVED_LARGE };
    let offset = host.checked_sub(GROUP).and_then(|end| end.checked_sub(size));
    // The outer volume must keep at least one sector.
    let offset = offset.filter(|&offset| offset >= outer.offset + sector);
    let (Some(offset), true) = (offset, outer.offset >= GROUP) else {
        return Err(VolumeError::Invalid(format!(
            "a hidden volume of {size} bytes does not fit into an outer volume of {} bytes",
            outer.len
        )));
    };
    if !size.is_multiple_of(sector) || !offset.is_multiple_of(sector) || size <= reserved {
        return Err(VolumeError::Invalid(format!(
            "a hidden volume must be larger than {reserved} bytes and a multiple of the sector size, {sector} bytes"
        )));
    }
    Ok(Extent { offset, len: size - reserved })
}

/// The cipher and the derivation that `options` specifies.
fn choice(
    credentials: &Credentials,
    password: &[u8],
    options: &CreateOptions<'_>,
) -> Result<(Scheme, Derivation), VolumeError> {
    let product = options.product;
    let scheme = Scheme::find(product, options.cipher)?;
    let gone = match product {
        Product::TrueCrypt => options.prf == "sha-1",
        Product::VeraCrypt => options.prf == "ripemd-160",
    };
    if gone {
        return Err(VolumeError::Unsupported {
            what: format!("a new {} volume with {}", product.name(), options.prf),
            hint: Some(
                "current versions can only open existing volumes of this kind; choose sha-512"
                    .to_owned(),
            ),
        });
    }
    if product == Product::TrueCrypt && password.len() > password::SHORT {
        let reason = "TrueCrypt accepts passphrases of at most 64 bytes";
        return Err(VolumeError::Invalid(reason.to_owned()));
    }
    let function = unlock::function(options.prf)?;
    let derivation = pim::derivation(unlock::kind(product, false), function, credentials.pim)?;
    Ok((scheme, derivation))
}

fn checked_sector(bytes: u32) -> Result<u32, VolumeError> {
    if (512..=4096).contains(&bytes) && bytes.is_power_of_two() {
        return Ok(bytes);
    }
    Err(VolumeError::Invalid(format!("sectors have 512, 1024, 2048 or 4096 bytes, not {bytes}")))
}

/// A header with fresh master keys.
fn header(
    options: &CreateOptions<'_>,
    scheme: Scheme,
    data: Extent,
    hidden_size: u64,
    sector_size: u32,
) -> Result<Plain, VolumeError> {
    let mut keys = secret();
    getrandom::fill(&mut keys[..scheme.key_bytes()?])?;
    let header = Header {
        product: options.product,
        version: 5,
        // The values that VeraCrypt 1.0b and later and TrueCrypt 7.1a write.
        required_version: match options.product {
            Product::VeraCrypt => 0x010b,
            Product::TrueCrypt => 0x0700,
        },
        times: [0; 2],
        hidden_size,
        volume_size: data.len,
        data_offset: data.offset,
        data_size: data.len,
        flags: 0,
        sector_size,
        keys,
    };
    Ok(header.serialise())
}

/// Writes a header and flushes it to stable storage.
pub(super) fn write_header(
    device: &dyn BlockDevice,
    slot: Slot,
    header: &[u8],
) -> Result<(), VolumeError> {
    let offset = slot.offset(device.size()).ok_or_else(|| VolumeError::NotThisFormat {
        format: Product::VeraCrypt.format(),
        reason: format!("it is too small for the header ({})", slot.name()),
    })?;
    write_bytes(device, offset, header).map_err(VolumeError::io("writing a header"))?;
    device.flush().map_err(VolumeError::io("flushing a header"))
}
