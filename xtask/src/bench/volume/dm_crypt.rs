//! Compares the kernel's dm-crypt with our encryption over ublk, on one disk: the same work with the same
//! cipher, or without a cipher.

use std::path::PathBuf;
use std::process::Command;

use super::Job;
use super::row::{Build, Part, Place, Row, said, start_ours_on};

pub const JOBS: &[Job] = &[
    ("rand read 4k QD1", "randread", 4096, 1),
    ("rand read 4k QD8", "randread", 4096, 8),
    ("rand read 4k QD32", "randread", 4096, 32),
    ("rand write 4k QD1", "randwrite", 4096, 1),
    ("rand write 4k QD8", "randwrite", 4096, 8),
    ("rand write 4k QD32", "randwrite", 4096, 32),
    ("seq read 1M QD1", "read", 1 << 20, 1),
    ("seq read 1M QD8", "read", 1 << 20, 8),
    ("seq read 1M QD32", "read", 1 << 20, 32),
    ("seq write 1M QD1", "write", 1 << 20, 1),
    ("seq write 1M QD8", "write", 1 << 20, 8),
    ("seq write 1M QD32", "write", 1 << 20, 32),
];

const AES: &str = "aes-xts-plain64";
const NULL: &str = "cipher_null-ecb";
/// Requests are encrypted in the thread that issues them, and decrypted where they complete.
const DIRECT: &str = "no_read_workqueue no_write_workqueue";

const KERNEL_NULL_512: &str = "dm-crypt, null cipher 512 B";
const KERNEL_NULL_512_DIRECT: &str = "dm-crypt, null cipher 512 B, no workqueues";
const KERNEL_NULL_4096: &str = "dm-crypt, null cipher 4096 B";
const KERNEL_NULL_4096_DIRECT: &str = "dm-crypt, null cipher 4096 B, no workqueues";
const KERNEL_512: &str = "dm-crypt, AES-256-XTS 512 B";
const KERNEL_512_DIRECT: &str = "dm-crypt, AES-256-XTS 512 B, no workqueues";
const KERNEL_4096: &str = "dm-crypt, AES-256-XTS 4096 B";
const KERNEL_4096_DIRECT: &str = "dm-crypt, AES-256-XTS 4096 B, no workqueues";
const OURS_NULL: &str = "ours, null layer, ublk";
const OURS_512: &str = "ours, AES-256-XTS 512 B, ublk";
const OURS_4096: &str = "ours, AES-256-XTS 4096 B, ublk";

pub const ROWS: &[(&str, Build)] = &[
    ("the disk", disk),
    (KERNEL_NULL_512, |place| kernel(place, "null-512", NULL, 512, "")),
    (KERNEL_NULL_512_DIRECT, |place| kernel(place, "null-512-direct", NULL, 512, DIRECT)),
    (KERNEL_NULL_4096, |place| kernel(place, "null-4096", NULL, 4096, "")),
    (KERNEL_NULL_4096_DIRECT, |place| kernel(place, "null-4096-direct", NULL, 4096, DIRECT)),
    (OURS_NULL, |place| ours(place, "none", 512)),
    (KERNEL_512, |place| kernel(place, "512", AES, 512, "")),
    (KERNEL_512_DIRECT, |place| kernel(place, "512-direct", AES, 512, DIRECT)),
    (OURS_512, |place| ours(place, "aes-256-xts", 512)),
    (KERNEL_4096, |place| kernel(place, "4096", AES, 4096, "")),
    (KERNEL_4096_DIRECT, |place| kernel(place, "4096-direct", AES, 4096, DIRECT)),
    (OURS_4096, |place| ours(place, "aes-256-xts", 4096)),
];

/// The comparison of our server with the kernel's driver. Our null layer does not divide requests into sectors.
pub const PAIRS: &[(&str, &str)] = &[
    (OURS_NULL, KERNEL_NULL_512),
    (OURS_NULL, KERNEL_NULL_512_DIRECT),
    (OURS_NULL, KERNEL_NULL_4096),
    (OURS_NULL, KERNEL_NULL_4096_DIRECT),
    (OURS_512, KERNEL_512),
    (OURS_512, KERNEL_512_DIRECT),
    (OURS_4096, KERNEL_4096),
    (OURS_4096, KERNEL_4096_DIRECT),
];

/// The specified disk or, without one, a separate loop device for each row, all over the same file.
fn disk(place: &Place) -> anyhow::Result<Row> {
    match &place.disk {
        Some(disk) => Ok(Row::file(disk.clone())),
        None => Row::file(place.file("plain")?).on_loop(512),
    }
}

fn ours(place: &Place, cipher: &str, unit: u32) -> anyhow::Result<Row> {
    let below = disk(place)?;
    let served = start_ours_on(place, "ublk", below.path(), &place.directory, cipher, unit)?;
    Ok(served.above(below))
}

/// dm-crypt on the disk, with the same key as our server.
fn kernel(
    place: &Place,
    name: &str,
    cipher: &str,
    unit: u32,
    options: &str,
) -> anyhow::Result<Row> {
    let below = disk(place)?;
    let sectors = said(Command::new("blockdev").arg("--getsz").arg(below.path()))?;
    let key: String = match cipher {
        NULL => "-".to_owned(),
        _ => (0..64).map(|byte| format!("{byte:02x}")).collect(),
    };
    let mut all: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    if unit != 512 {
        all.extend([format!("sector_size:{unit}"), "iv_large_sectors".to_owned()]);
    }
    let sectors: u64 = sectors.parse()?;
    let sectors = sectors - sectors % (u64::from(unit) / 512);
    let table = format!(
        "0 {sectors} crypt {cipher} {key} 0 {} 0 {} {}",
        below.path().display(),
        all.len(),
        all.join(" ")
    );
    let name = format!("bench-{}-{name}", std::process::id());
    let mut dmsetup = Command::new("dmsetup");
    // When dmsetup exits, the node exists, whether udev is running or not.
    dmsetup.args(["create", "--verifyudev", &name, "--table", table.trim_end()]);
    said(&mut dmsetup)?;
    let path = PathBuf::from("/dev/mapper").join(&name);
    Ok(below.with(Part::Mapped(name), path))
}
