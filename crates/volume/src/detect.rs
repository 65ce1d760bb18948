//! Identifies the content of a file or device, and reports which parts could not be read.

mod magic;
mod randomness;
mod reader;

use std::fmt;
use std::ops::Range;

use cryptbench_blockdev::BlockDevice;
use cryptbench_text::chain;
use serde::Serialize;

use self::reader::{PIECE, Reader};
use crate::VolumeError;
use crate::format::{ecryptfs, luks};
pub use magic::Signature;
pub use randomness::Randomness;

/// The result of [`detect`].
#[derive(Clone, Debug, Serialize)]
pub struct Detection {
    /// The content of the device.
    pub kind: Kind,
    /// Sampled byte ranges that the device failed to read, each with the system's error message.
    pub unreadable: Vec<(Range<u64>, String)>,
    /// Anything else worth reporting, such as an old header that other contents have since
    /// replaced.
    pub notes: Vec<String>,
}

/// The contents of a file or device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// LUKS.
    Luks {
        /// Version according to the header: 1, 2 or an unknown number.
        version: u16,
        /// UUID, if the header is valid.
        uuid: String,
        /// Label; empty in LUKS1.
        label: String,
        /// Only the secondary header is valid.
        secondary_only: bool,
        /// The defect of the header; `None` if it is valid.
        problem: Option<String>,
    },
    /// BitLocker.
    BitLocker {
        /// BitLocker To Go, for removable media: systems without BitLocker see a FAT volume.
        to_go: bool,
    },
    /// FileVault 2: an encrypted CoreStorage volume.
    FileVault,
    /// A file in an eCryptfs lower directory.
    EcryptfsFile,
    /// An encrypted disk image from macOS.
    AppleEncrypted {
        /// Version 1 (until Mac OS X 10.4) has its header at the end, version 2 at the start.
        version: u8,
    },
    /// A file system or other unencrypted contents with a known magic.
    FileSystem {
        /// Name, such as `ext`.
        name: &'static str,
    },
    /// A partition table. Run detection on its partitions.
    PartitionTable {
        /// `GPT` or `MBR`.
        name: &'static str,
    },
    /// All samples contain only zeros.
    Zeros,
    /// Bytes without any structure. VeraCrypt, TrueCrypt and plain dm-crypt volumes look like this by design, and so
    /// does a disk overwritten with random data. Only the right key can distinguish them.
    Random {
        /// Statistics of the samples.
        randomness: Randomness,
    },
    /// Structured bytes without a known magic.
    Unknown {
        /// Statistics of the samples.
        randomness: Randomness,
    },
    /// The device is empty, or no part of it could be read.
    Unreadable,
}

impl Kind {
    /// Whether the contents are known not to be encrypted as a whole.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::FileSystem { .. } | Self::PartitionTable { .. } | Self::Zeros)
    }
}

/// The command that unpacks files of this kind.
pub(crate) fn unpacked_by(name: &str) -> Option<String> {
    let packed = [
        ("gzip file", "gzip -d FILE"),
        ("xz file", "xz -d FILE"),
        ("zstd file", "zstd -d FILE"),
        ("lz4 file", "lz4 -d FILE DISK"),
        ("bzip2 file", "bzip2 -d FILE"),
        ("ZIP file", "unzip FILE"),
        ("7-Zip file", "7z x FILE"),
        ("RAR file", "unrar x FILE"),
        ("EWF image", "ewfexport -f raw IMAGE"),
        (
            "VMDK SESparse disk image",
            "qemu-img convert -f vmdk -O raw DISK.vmdk DISK, where DISK.vmdk is the small descriptor file",
        ),
        ("Apple sparse disk image", "on a Mac, hdiutil convert IMAGE -format UDTO -o DISK"),
        ("partclone image", "partclone.restore -C -s IMAGE -O DISK"),
    ];
    let command = packed.iter().find(|(known, _)| *known == name).map(|(_, command)| *command);
    let converted = || {
        image_format(name).map(|format| format!("qemu-img convert -f {format} -O raw IMAGE DISK"))
    };
    command.map(str::to_owned).or_else(converted)
}

/// The name of this disk image format for `qemu-img convert`.
fn image_format(name: &str) -> Option<&'static str> {
    [
        ("QCOW1 disk image", "qcow"),
        ("QCOW disk image", "qcow2"),
        ("QED disk image", "qed"),
        ("VHDX disk image", "vhdx"),
        ("VHD disk image", "vpc"),
        ("VMDK disk image", "vmdk"),
        (magic::UDIF, "dmg"),
        ("VDI disk image", "vdi"),
        ("Parallels disk image", "parallels"),
    ]
    .into_iter()
    .find(|(known, _)| *known == name)
    .map(|(_, qemu)| qemu)
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
            Self::EcryptfsFile => write!(f, "a file from an eCryptfs directory"),
            Self::AppleEncrypted { version } => {
                write!(f, "an encrypted Apple disk image (encrcdsa, version {version})")
            }
            Self::FileSystem { name } if unpacked_by(name).is_some() => {
                write!(f, "{name}, which contains the disk")
            }
            Self::FileSystem { name } => write!(f, "not encrypted: {name}"),
            Self::PartitionTable { name } => {
                write!(f, "not encrypted as a whole: {name} partition table")
            }
            Self::Zeros => write!(f, "not encrypted: zeros"),
            Self::Random { randomness } => write!(
                f,
                "could be VeraCrypt, TrueCrypt, plain dm-crypt or random data, which cannot be \
                 distinguished without the key ({randomness})"
            ),
            Self::Unknown { randomness } => write!(f, "unknown ({randomness})"),
            Self::Unreadable => write!(f, "unreadable"),
        }
    }
}

/// Size in bytes of the region at the start of the device that contains most magics.
const START: u64 = 68 << 10;
/// Number of samples of [`PIECE`] bytes, spread evenly over the device.
const SAMPLES: u64 = 64;

/// Identifies the contents of `device` from the offsets of all known magics, the possible offsets of LUKS2's
/// secondary header, and 64 samples of 4 KiB.
///
/// A magic at the end of the device, such as that of a backup partition table, determines the result only if
/// the start of the device contains nothing known and the device does not look random, because the magic may
/// remain from an earlier use. Otherwise it becomes a note. The trailers of Apple's disk images determine the
/// result even though the images look random.
///
/// Detection never writes. It lists unreadable parts in the result and examines the rest.
///
/// # Errors
/// None at present, because the result reports read errors.
pub fn detect(device: &dyn BlockDevice) -> Result<Detection, VolumeError> {
    let mut reader = Reader::new(device);
    // Read completely, so that an unreadable sector among the magics is reported.
    for offset in (0..START.min(device.size())).step_by(PIECE as usize) {
        let _ = reader.piece(offset);
    }
    let mut notes = Vec::new();
    let found = magic::find(&mut reader);
    let (ends, starts): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.at_end);
    let known = starts.into_iter().next().map(|found| found.kind);
    let kind = match luks(device, &mut reader) {
        Some(Kind::Luks { secondary_only: true, .. }) if known.is_some() => {
            notes.push("the secondary header of an old LUKS2 volume is still present".to_owned());
            known
        }
        Some(kind) => Some(kind),
        None => known,
    };
    let kind = kind.or_else(|| is_ecryptfs(&mut reader).then_some(Kind::EcryptfsFile));
    let kind = match kind {
        Some(kind) => kind,
        None => {
            let looks = statistics(&mut reader);
            let end = ends.into_iter().next().map(|found| found.kind);
            match (looks, end) {
                // These trailers are long, and the data before them is compressed or encrypted.
                (_, Some(end @ Kind::AppleEncrypted { .. })) => end,
                (_, Some(end @ Kind::FileSystem { name: magic::UDIF })) => end,
                (looks @ Kind::Random { .. }, Some(end)) => {
                    notes.push(format!("at the end of the device: {end}"));
                    looks
                }
                (looks, end) => end.unwrap_or(looks),
            }
        }
    };
    Ok(Detection { kind, unreadable: reader.unreadable(), notes })
}

/// All known magics on `device`: at its start, at its end and in between. LUKS headers are included whether
/// they are valid or not.
///
/// Unreadable parts count as empty.
pub fn signatures(device: &dyn BlockDevice) -> Vec<Signature> {
    let mut reader = Reader::new(device);
    let headers = luks::sightings(device);
    let mut found: Vec<_> = headers
        .into_iter()
        .map(|header| Signature {
            offset: header.offset,
            name: "crypto_LUKS",
            at_end: false,
            kind: Kind::Luks {
                version: header.version,
                uuid: header.uuid.unwrap_or_default(),
                label: String::new(),
                secondary_only: header.offset != 0,
                problem: None,
            },
        })
        .collect();
    found.extend(magic::find(&mut reader));
    found
}

fn luks(device: &dyn BlockDevice, reader: &mut Reader<'_>) -> Option<Kind> {
    let start = reader.bytes::<8>(0).filter(|start| start.starts_with(&luks::MAGIC));
    let says = start.map(|start| u16::from_be_bytes([start[6], start[7]]));
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
        // Without a magic or a secondary header, there is no header that could be damaged.
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

/// Requires a whole valid header, because 1 of 2^32 random blocks contains the marker.
fn is_ecryptfs(reader: &mut Reader<'_>) -> bool {
    reader
        .bytes::<{ ecryptfs::START }>(0)
        .is_some_and(|start| ecryptfs::Header::parse(&start).is_ok())
}

fn statistics(reader: &mut Reader<'_>) -> Kind {
    let size = reader.size();
    let sectors = size / PIECE;
    let mut counts = randomness::Counts::default();
    for sample in 0..SAMPLES.min(sectors) {
        // Evenly spread, including the first and the last sector.
        let at = sample * (sectors - 1) / (SAMPLES.min(sectors) - 1).max(1);
        if let Some(data) = reader.piece(at * PIECE) {
            counts.add(data);
        }
    }
    if sectors == 0
        && let Some(all) = reader.piece(0)
    {
        counts.add(all);
    }
    let Some(all) = counts.randomness() else { return Kind::Unreadable };
    if all.zeros == all.bytes {
        return Kind::Zeros;
    }
    // A volume whose data area is sparse or was wiped still has an encrypted header at its start.
    let mut head = randomness::Counts::default();
    if let Some(start) = reader.piece(0) {
        head.add(&start[..start.len().min(512)]);
    }
    let random_head = head.randomness().is_some_and(|head| head.looks_random());
    if all.looks_random() || random_head {
        return Kind::Random { randomness: all };
    }
    Kind::Unknown { randomness: all }
}
