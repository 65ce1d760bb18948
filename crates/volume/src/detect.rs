//! What a file or device is, and what is not readable in it.

mod magic;
mod randomness;

use std::fmt;
use std::ops::Range;

use cryptbench_blockdev::{BlockDevice, read_bytes};
use cryptbench_text::chain;
use serde::Serialize;

use crate::VolumeError;
use crate::format::luks;
pub use randomness::Randomness;

/// What was found, and what could not be read.
#[derive(Clone, Debug, Serialize)]
pub struct Detection {
    /// What it is.
    pub kind: Kind,
    /// Bytes that the device refused to give, of those that were looked at, with what the system said.
    pub unreadable: Vec<(Range<u64>, String)>,
    /// What else is worth telling, such as an old header that something else has replaced.
    pub notes: Vec<String>,
}

/// What a file or device is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// LUKS.
    Luks {
        /// 1 or 2, or what else the header says.
        version: u16,
        /// UUID, if the header is valid.
        uuid: String,
        /// Label; empty in LUKS1.
        label: String,
        /// Only the secondary header is valid.
        secondary_only: bool,
        /// What is wrong with the header; `None` if it is valid.
        problem: Option<String>,
    },
    /// BitLocker.
    BitLocker {
        /// To Go, for removable media: looks like FAT to systems without BitLocker.
        to_go: bool,
    },
    /// FileVault 2: an encrypted CoreStorage volume.
    FileVault,
    /// A file system or other contents that are not encrypted, by magic.
    FileSystem {
        /// Name, such as `ext`.
        name: &'static str,
    },
    /// A partition table: the partitions are to be looked at.
    PartitionTable {
        /// `GPT` or `MBR`.
        name: &'static str,
    },
    /// Nothing but zeros in all samples.
    Zeros,
    /// Bytes without any structure: VeraCrypt, TrueCrypt and plain dm-crypt look like this by design,
    /// and so does a disk that was overwritten with random data. Only a key tells.
    Random {
        /// What the samples showed.
        randomness: Randomness,
    },
    /// Structure that no known magic explains.
    Unknown {
        /// What the samples showed.
        randomness: Randomness,
    },
    /// Nothing could be read, or there is nothing.
    Unreadable,
}

impl Kind {
    /// Whether it is known not to be encrypted as a whole.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::FileSystem { .. } | Self::PartitionTable { .. } | Self::Zeros)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Luks { version, secondary_only, problem, .. } => {
                write!(f, "LUKS{version}")?;
                if *secondary_only {
                    write!(f, ", only its secondary header is valid")?;
                }
                problem.iter().try_for_each(|problem| write!(f, ", damaged: {problem}"))
            }
            Self::BitLocker { to_go: false } => write!(f, "BitLocker"),
            Self::BitLocker { to_go: true } => write!(f, "BitLocker To Go"),
            Self::FileVault => write!(f, "FileVault 2 (CoreStorage)"),
            Self::FileSystem { name } => write!(f, "not encrypted: {name}"),
            Self::PartitionTable { name } => {
                write!(f, "not encrypted as a whole: {name} partition table")
            }
            Self::Zeros => write!(f, "not encrypted: zeros"),
            Self::Random { randomness } => write!(
                f,
                "could be VeraCrypt, TrueCrypt, plain dm-crypt or random data, which cannot be told \
                 without the key ({randomness})"
            ),
            Self::Unknown { randomness } => write!(f, "unknown ({randomness})"),
            Self::Unreadable => write!(f, "unreadable"),
        }
    }
}

/// Bytes from the start in which all magics lie: btrfs has the farthest.
const START: u64 = 68 << 10;
/// Bytes that are read at once, so that one bad sector hides no more.
const PIECE: u64 = 4096;
/// Samples spread over the device, of [`PIECE`] bytes each.
const SAMPLES: u64 = 64;

/// Tells what `device` is, from its first 68 KiB, the places of LUKS2's secondary header, and 64 samples
/// of 4 KiB. Reads only; an unreadable part is named, and the rest judged.
///
/// # Errors
/// None at present: what cannot be read is told in the result.
pub fn detect(device: &dyn BlockDevice) -> Result<Detection, VolumeError> {
    let mut reader = Reader { device, unreadable: Vec::new() };
    let mut start = Vec::new();
    for offset in (0..START.min(device.size())).step_by(PIECE as usize) {
        // What cannot be read counts as zeros, which no magic is.
        let len = PIECE.min(device.size() - offset) as usize;
        start.extend(reader.read(offset).unwrap_or_else(|| vec![0; len]));
    }
    let mut notes = Vec::new();
    let known = magic::find(&start);
    let kind = match luks(device, &start) {
        Some(Kind::Luks { secondary_only: true, .. }) if known.is_some() => {
            notes.push("the secondary header of an old LUKS2 volume is still there".to_owned());
            known
        }
        Some(kind) => Some(kind),
        None => known,
    };
    let kind = match kind {
        Some(kind) => kind,
        None => statistics(&mut reader, &start),
    };
    Ok(Detection { kind, unreadable: reader.unreadable, notes })
}

struct Reader<'a> {
    device: &'a dyn BlockDevice,
    unreadable: Vec<(Range<u64>, String)>,
}

impl Reader<'_> {
    fn read(&mut self, offset: u64) -> Option<Vec<u8>> {
        let range = offset..(offset + PIECE).min(self.device.size());
        match read_bytes(self.device, range.clone()) {
            Ok(data) => Some(data),
            Err(error) => {
                let error = chain(&error);
                match self.unreadable.last_mut() {
                    Some((last, same)) if last.end == range.start && *same == error => {
                        last.end = range.end;
                    }
                    _ => self.unreadable.push((range, error)),
                }
                None
            }
        }
    }
}

fn luks(device: &dyn BlockDevice, start: &[u8]) -> Option<Kind> {
    let magic = start.get(..8).filter(|start| start.starts_with(&luks::MAGIC));
    let says = magic.map(|start| u16::from_be_bytes([start[6], start[7]]));
    match luks::info(device) {
        Ok(info) => Some(Kind::Luks {
            version: match info.version {
                luks::Version::Luks1 => 1,
                luks::Version::Luks2 => 2,
            },
            uuid: info.uuid,
            label: info.label,
            secondary_only: info.copies.first().is_some_and(|copy| copy.seqid.is_none()),
            problem: None,
        }),
        // With neither magic nor a secondary header there is nothing to be damaged.
        Err(VolumeError::NotThisFormat { .. }) => None,
        Err(error) => says.map(|version| Kind::Luks {
            version,
            uuid: String::new(),
            label: String::new(),
            secondary_only: false,
            problem: Some(chain(&error)),
        }),
    }
}

fn statistics(reader: &mut Reader<'_>, start: &[u8]) -> Kind {
    let sectors = reader.device.size() / PIECE;
    let mut counts = randomness::Counts::default();
    for sample in 0..SAMPLES.min(sectors) {
        // Evenly spread, the first and the last included.
        let at = sample * (sectors - 1) / (SAMPLES.min(sectors) - 1).max(1);
        if let Some(data) = reader.read(at * PIECE) {
            counts.add(&data);
        }
    }
    if sectors == 0 && reader.unreadable.is_empty() {
        counts.add(start);
    }
    let Some(all) = counts.randomness() else { return Kind::Unreadable };
    if all.zeros == all.bytes {
        return Kind::Zeros;
    }
    // A volume that was created sparse, or wiped, begins with an encrypted header all the same.
    let mut head = randomness::Counts::default();
    head.add(&start[..start.len().min(512)]);
    let random_head = head.randomness().is_some_and(|head| head.looks_random());
    if all.looks_random() || random_head {
        return Kind::Random { randomness: all };
    }
    Kind::Unknown { randomness: all }
}
