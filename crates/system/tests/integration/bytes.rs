//! Data written through each system, which is then closed and reopened, is read back byte by byte: gigabytes
//! with `cargo xtask prove`.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::{AlignedBuf, IoTarget};
use cryptbench_prove::Random;
use cryptbench_system::resource::{Journal, Reserve, Scratch, WorkDirectory};
use cryptbench_system::{
    ArmContext, Availability, Content, PreparedArm, Selection, SystemError, find,
};

use crate::place::Place;

/// Size of the data of each arm in bytes: containers use twice as much of the 600 MiB of their file system.
const SIZE: u64 = 96 << 20;

const PIECE: usize = 1 << 20;

/// Random data that identifies its location, derived from the seed and the offset.
fn stamped(seed: u64, offset: u64, piece: &mut [u8]) {
    Random::new(seed.wrapping_mul(0x1000_0001) ^ offset).fill(piece);
    for (i, sector) in piece.chunks_mut(512).enumerate() {
        sector[..8].copy_from_slice(&seed.to_le_bytes());
        sector[8..16].copy_from_slice(&(offset + i as u64 * 512).to_le_bytes());
    }
}

fn write(IoTarget { file, extent, transform, .. }: &IoTarget, seed: u64) {
    let mut piece = AlignedBuf::zeroed(PIECE);
    for at in (0..extent.len).step_by(PIECE) {
        stamped(seed, at, &mut piece);
        if let Some(transform) = transform {
            transform.seal_in_place(at, &mut piece);
        }
        file.write_all_at(&piece, extent.offset + at).unwrap();
    }
    file.sync_data().unwrap();
}

/// The offset of the first byte that differs.
fn mismatch(io_target: &IoTarget, seed: u64) -> Option<u64> {
    let IoTarget { file, extent, transform, .. } = io_target;
    let (mut piece, mut expected) = (AlignedBuf::zeroed(PIECE), vec![0; PIECE]);
    for at in (0..extent.len).step_by(PIECE) {
        file.read_exact_at(&mut piece, extent.offset + at).unwrap();
        if let Some(transform) = transform {
            transform.open(at, &mut piece);
        }
        stamped(seed, at, &mut expected);
        if piece[..] == expected[..] {
            continue;
        }
        if let Some(i) = piece.iter().zip(&expected).position(|(a, b)| a != b) {
            return Some(at + i as u64);
        }
    }
    None
}

/// Sets a sector in the middle of the stored data back to zeros: what was written there is lost.
fn put_back(prepared: &PreparedArm) {
    for content in &prepared.backing().unwrap().content {
        let Content::Path(path) = content else { continue };
        let Ok(file) = fs::File::options().write(true).open(path) else { continue };
        let middle = file.metadata().unwrap().len() / 2 / 4096 * 4096;
        file.write_all_at(&[0; 4096], middle).unwrap();
        file.sync_data().unwrap();
    }
}

fn reads_back(system: &str) {
    let system = find(system).unwrap();
    let name = system.name();
    if let Availability::Unavailable { reason, .. } = system.availability() {
        eprintln!("SKIPPED: {name}: {reason}");
        return;
    }
    let place = Place::with_little_room();
    let run_id = format!("bytes-{name}-{}", std::process::id());
    let journal = Journal::create(&run_id).unwrap();
    let scratch = Scratch::create(&place.path().join("plain"), SIZE, &journal).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), &journal).unwrap();
    let mut fill = |io_target: &IoTarget| {
        let file = &io_target.file;
        let zeros = AlignedBuf::zeroed(PIECE);
        for at in (0..io_target.extent.len).step_by(PIECE) {
            file.write_all_at(&zeros, io_target.extent.offset + at)
                .map_err(|e| SystemError::Fill(Box::new(e)))?;
        }
        Ok(())
    };
    let arms = system.arms(&Selection::default()).unwrap();
    // The last one encrypts, if there is one that does.
    let arm = arms.last().unwrap();
    let mut context = ArmContext {
        journal: &journal,
        scratch: &scratch.io_target(),
        directory: place.path(),
        work: work.path(),
        reserve: &Reserve::default(),
        room: 0,
        run_id: &run_id,
        tier: cryptbench_cipher::tier().unwrap(),
        fill: &mut fill,
        stop: &AtomicBool::new(false),
    };
    let mut prepared = match system.prepare(arm, &mut context) {
        Ok(prepared) => prepared,
        Err(e @ (SystemError::Unavailable { .. } | SystemError::Target { .. })) => {
            eprintln!("SKIPPED: {}: {e}", arm.id);
            return;
        }
        Err(e) => panic!("{}: {e}", arm.id),
    };
    for seed in cryptbench_prove::seeds(1) {
        let len = prepared.io_target.extent.len;
        write(&prepared.io_target, seed);
        prepared.close().unwrap_or_else(|e| panic!("{}, seed {seed}: {e}", arm.id));
        if cryptbench_prove::is_broken("stale") {
            put_back(&prepared);
        }
        prepared.reopen().unwrap_or_else(|e| panic!("{}, seed {seed}: {e}", arm.id));
        let differs = mismatch(&prepared.io_target, seed);
        assert_eq!(
            differs, None,
            "{}, seed {seed}: the first byte that is not what was written",
            arm.id
        );
        cryptbench_prove::count(len, &format!("bytes through {}", arm.id));
    }
    prepared.destroy().unwrap();
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn builtin() {
    reads_back("builtin");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn builtin_mounted() {
    reads_back("builtin-mounted");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn bindfs() {
    reads_back("bindfs");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn gocryptfs() {
    reads_back("gocryptfs");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn encfs() {
    reads_back("encfs");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn cryfs() {
    reads_back("cryfs");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn securefs() {
    reads_back("securefs");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn fscrypt() {
    reads_back("fscrypt");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn veracrypt() {
    reads_back("veracrypt");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn qemu_luks() {
    reads_back("qemu-luks");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn nbdkit_luks() {
    reads_back("nbdkit-luks");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn dm_crypt() {
    reads_back("dm-crypt");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn truecrypt() {
    reads_back("truecrypt");
}

#[test]
#[ignore = "gigabytes: cargo xtask prove runs it, and at_rest has the same in small"]
fn ecryptfs() {
    reads_back("ecryptfs");
}
