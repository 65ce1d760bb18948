//! The binary part of a LUKS2 header and its checksum (LUKS2 specification, section 2.1).

use cryptbench_blockdev::{BlockDevice, read_bytes};
use cryptbench_text::chain;

use crate::VolumeError;
use crate::format::luks::hash::{Hash, MOST_DIGEST};
use crate::format::luks::store::random;
use crate::format::luks::{MAGIC, SECONDARY_MAGIC, UUID, set_text, shown_text, text};

/// Bytes of the binary part.
pub(super) const BINARY: usize = 4096;

/// Valid sizes of a header, binary part and JSON area together. The secondary header follows the
/// primary one, so these are also its possible offsets (LUKS2 specification, table 1).
pub(in crate::format::luks) const HDR_SIZES: [u64; 9] =
    [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];

const LABEL: std::ops::Range<usize> = 24..72;
const CHECKSUM_NAME: std::ops::Range<usize> = 72..104;
const SALT: std::ops::Range<usize> = 104..168;
const SUBSYSTEM: std::ops::Range<usize> = 208..256;
const CHECKSUM: std::ops::Range<usize> = 448..512;

/// The position of a header: primary or secondary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::format::luks) enum Role {
    Primary,
    Secondary,
}

impl Role {
    pub(in crate::format::luks) fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Secondary => "secondary",
        }
    }

    fn magic(self) -> [u8; 6] {
        match self {
            Self::Primary => MAGIC,
            Self::Secondary => SECONDARY_MAGIC,
        }
    }
}

/// The fields of the binary part that both copies share: all except role and checksum.
#[derive(Clone)]
pub(super) struct Binary {
    /// Size in bytes of one copy, including the JSON area.
    pub hdr_size: u64,
    /// Number of writes so far: the copy with the higher number is newer.
    pub seqid: u64,
    /// The raw bytes, because other programs may have written the text in another encoding.
    pub label: [u8; 48],
    pub checksum: &'static Hash,
    pub uuid: String,
    /// Like the label.
    pub subsystem: [u8; 48],
}

/// Why a copy is not valid.
pub(super) enum Flaw {
    /// Nothing that resembles a header exists.
    Absent(String),
    /// A header exists but must not be used.
    Bad(String),
}

impl Flaw {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Absent(reason) | Self::Bad(reason) => reason,
        }
    }
}

impl From<String> for Flaw {
    fn from(reason: String) -> Self {
        Self::Bad(reason)
    }
}

/// Reads the copy at `offset`, binary part and JSON area, and verifies its checksum.
pub(super) fn read(
    device: &dyn BlockDevice,
    role: Role,
    offset: u64,
) -> Result<(Binary, Vec<u8>), Flaw> {
    let end = offset + BINARY as u64;
    if end > device.size() {
        return Err(Flaw::Absent("beyond the end of the device".to_owned()));
    }
    let start = read_bytes(device, offset..end).map_err(|error| chain(&error))?;
    if start[..6] != role.magic() {
        return Err(Flaw::Absent("no LUKS2 magic".to_owned()));
    }
    let binary = parse(&start, role, offset)?;
    if offset + binary.hdr_size > device.size() {
        return Err(Flaw::Bad("truncated by the end of the device".to_owned()));
    }
    // Limited to 4 MiB, the largest size in the table.
    let mut copy = read_bytes(device, offset..offset + binary.hdr_size).map_err(|e| chain(&e))?;
    let stored = copy[CHECKSUM].to_vec();
    copy[CHECKSUM].fill(0);
    let mut computed = vec![0; binary.checksum.bytes];
    binary.checksum.digest(&[&copy], &mut computed);
    if stored[..computed.len()] != computed {
        return Err(Flaw::Bad("its checksum is wrong".to_owned()));
    }
    Ok((binary, copy.split_off(BINARY)))
}

fn parse(raw: &[u8], role: Role, offset: u64) -> Result<Binary, String> {
    match u16::from_be_bytes([raw[6], raw[7]]) {
        2 => {}
        version => return Err(format!("version {version}")),
    }
    let number =
        |at: usize| raw[at..at + 8].iter().fold(0u64, |sum, &byte| (sum << 8) | u64::from(byte));
    let (hdr_size, seqid, hdr_offset) = (number(8), number(16), number(256));
    if !HDR_SIZES.contains(&hdr_size) {
        return Err(format!(
            "it states a header size of {hdr_size} bytes, which LUKS2 does not support"
        ));
    }
    if hdr_offset != offset {
        return Err(format!("it is at offset {offset}, but states {hdr_offset} as its offset"));
    }
    if role == Role::Secondary && hdr_size != offset {
        return Err(format!(
            "it states a header size of {hdr_size} bytes, but the secondary header is at offset {offset}"
        ));
    }
    Ok(Binary {
        hdr_size,
        seqid,
        label: field(&raw[LABEL]),
        checksum: Hash::find(&text(&raw[CHECKSUM_NAME], "the checksum's name")?)?,
        uuid: text(&raw[UUID], "the UUID")?,
        subsystem: field(&raw[SUBSYSTEM]),
    })
}

fn field(raw: &[u8]) -> [u8; 48] {
    std::array::from_fn(|i| raw[i])
}

/// The field with this text.
pub(super) fn text_field(name: &str, text: &str) -> Result<[u8; 48], VolumeError> {
    let mut field = [0; 48];
    set_text(&mut field, name, text)?;
    Ok(field)
}

impl Binary {
    /// The label; bytes that are not text are escaped.
    pub(super) fn label(&self) -> String {
        shown_text(&self.label)
    }

    /// The subsystem, escaped like the label.
    pub(super) fn subsystem(&self) -> String {
        shown_text(&self.subsystem)
    }

    /// Bytes of the JSON area.
    pub(super) fn json_size(&self) -> u64 {
        self.hdr_size - BINARY as u64
    }

    /// Offset of a copy on the device.
    pub(super) fn offset(&self, role: Role) -> u64 {
        match role {
            Role::Primary => 0,
            Role::Secondary => self.hdr_size,
        }
    }

    /// Builds the whole copy for `role` from `json`, with a new salt and the checksum.
    ///
    /// # Errors
    /// [`VolumeError::Invalid`] if the JSON or a text field does not fit.
    pub(super) fn seal(&self, role: Role, json: &[u8]) -> Result<Vec<u8>, VolumeError> {
        // At least one NUL must follow the JSON.
        if json.len() as u64 >= self.json_size() {
            let most = self.json_size();
            let reason =
                format!("the metadata, {} bytes, does not fit into {most} bytes", json.len());
            return Err(VolumeError::Invalid(reason));
        }
        let mut copy = vec![0; self.hdr_size as usize];
        copy[..6].copy_from_slice(&role.magic());
        copy[6..8].copy_from_slice(&2u16.to_be_bytes());
        copy[8..16].copy_from_slice(&self.hdr_size.to_be_bytes());
        copy[16..24].copy_from_slice(&self.seqid.to_be_bytes());
        copy[LABEL].copy_from_slice(&self.label);
        set_text(&mut copy[CHECKSUM_NAME], "checksum's name", self.checksum.name)?;
        random(&mut copy[SALT])?;
        set_text(&mut copy[UUID], "UUID", &self.uuid)?;
        copy[SUBSYSTEM].copy_from_slice(&self.subsystem);
        copy[256..264].copy_from_slice(&self.offset(role).to_be_bytes());
        copy[BINARY..BINARY + json.len()].copy_from_slice(json);
        let mut digest = [0; MOST_DIGEST];
        self.checksum.digest(&[&copy], &mut digest[..self.checksum.bytes]);
        copy[CHECKSUM].copy_from_slice(&digest);
        Ok(copy)
    }
}
