//! Random requests through the mount against a plain vector of bytes.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::Arc;

use cryptbench_blockdev::{AlignedBuf, BlockDevice, MemoryDevice, SectorTransform as _};
use cryptbench_export::fuse::{FuseOptions, Transport};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::fuse::devices::{Shift, Shifted, file_device};
use crate::fuse::{is_mounted, try_mount, unmount};

const SIZE: u64 = 5 << 20;

/// Reads, writes and syncs at random through `device`'s mount; `false` if it could not be mounted.
fn drive(device: Arc<dyn BlockDevice>, transport: Transport, seed: u64) -> Option<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let options = FuseOptions { transport, threads: 3, ..FuseOptions::default() };
    let server = try_mount(device, directory.path(), &options)?;
    let expected_way = if transport == Transport::Uring { "io_uring" } else { "device" };
    assert_eq!(server.transport(), expected_way);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let path = server.file();
    let buffered = File::options().read(true).write(true).open(&path).unwrap();
    let direct = File::options()
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::DIRECT.bits() as i32)
        .open(&path)
        .unwrap();
    assert_eq!(direct.metadata().unwrap().len(), SIZE);
    let mut model = vec![0; SIZE as usize];
    buffered.read_exact_at(&mut model, 0).unwrap();
    let mut memory = AlignedBuf::zeroed(SIZE as usize);
    for round in 0..400 {
        let aligned = rng.random_bool(0.5);
        let unit = if aligned { 4096 } else { 1 };
        let longest = [600, 9000, 300_000, 3 << 20][rng.random_range(0..4)];
        let len = (rng.random_range(1..=longest) as usize).next_multiple_of(unit);
        let offset = rng.random_range(0..SIZE) / unit as u64 * unit as u64;
        let len = len.min((SIZE - offset) as usize);
        let range = offset as usize..offset as usize + len;
        let file = if aligned { &direct } else { &buffered };
        match rng.random_range(0..10) {
            0 => file.sync_data().unwrap(),
            1..=4 => {
                rng.fill(&mut memory[..len]);
                file.write_all_at(&memory[..len], offset).unwrap();
                model[range].copy_from_slice(&memory[..len]);
            }
            _ => {
                file.read_exact_at(&mut memory[..len], offset).unwrap();
                assert!(memory[..len] == model[range], "round {round}: {len} bytes at {offset}");
            }
        }
    }
    let stats = server.stats();
    assert!(stats.reads > 0 && stats.writes > 0 && stats.flushes > 0 && stats.errors == 0);
    drop((buffered, direct));
    assert_eq!(std::fs::read(&path).unwrap(), model, "a program without direct I/O");
    unmount(&server);
    assert!(!is_mounted(directory.path()));
    Some(model)
}

#[test]
fn memory_behaves_as_a_vector_of_bytes() {
    let device = Arc::new(MemoryDevice::new(vec![3; SIZE as usize]));
    if let Some(model) = drive(Arc::clone(&device) as Arc<dyn BlockDevice>, Transport::Device, 1) {
        assert!(device.contents() == model);
    }
}

#[test]
fn a_file_behaves_as_a_vector_of_bytes_by_both_ways() {
    for (transport, seed) in [(Transport::Device, 2), (Transport::Uring, 3)] {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let device = file_device(directory.path(), SIZE);
        if let Some(model) = drive(device, transport, seed) {
            assert!(std::fs::read(directory.path().join("backing")).unwrap() == model);
        }
    }
}

#[test]
fn what_lies_below_is_transformed_at_its_place() {
    for (transport, unit) in
        [(Transport::Device, 512), (Transport::Uring, 512), (Transport::Uring, 4096)]
    {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let start = 3 * 4096;
        let below = file_device(directory.path(), start + SIZE + 8192);
        let shift = Arc::new(Shift { unit });
        let device = Arc::new(Shifted { below, shift: Arc::clone(&shift), start, len: SIZE });
        let Some(mut model) = drive(device, transport, 4 + unit as u64) else { continue };
        shift.seal_in_place(0, &mut model);
        let stored = std::fs::read(directory.path().join("backing")).unwrap();
        assert!(stored[start as usize..][..SIZE as usize] == model);
        let around = stored[..start as usize].iter().chain(&stored[(start + SIZE) as usize..]);
        assert!(around.copied().all(|byte| byte == 0), "nothing beside the volume was touched");
    }
}
