//! Rings under many requests at once, above a disk that fails, and when they are told to stop; where
//! threads have to do the same, these, too.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode, MemoryDevice, SectorTransform as _};
use cryptbench_export::fuse::{FuseOptions, Server, Transport, mount};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use crate::fuse::devices::{Failing, Shift, Shifted, Slow, file_device};
use crate::fuse::{is_mounted, try_mount, unmount};

const BOTH: [Transport; 2] = [Transport::Uring, Transport::Device];

fn open(server: &Server) -> File {
    File::options().read(true).write(true).open(server.file()).unwrap()
}

fn options(transport: Transport) -> FuseOptions {
    FuseOptions { transport, ..FuseOptions::default() }
}

/// A device served by threads, and a mount by io_uring whose disk is the file of the first one.
struct Nested {
    upper: Server,
    lower: Server,
    points: [TempDir; 2],
}

impl Nested {
    fn new(below: Arc<dyn BlockDevice>) -> Option<Self> {
        let points = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let lower = try_mount(below, points[0].path(), &options(Transport::Device))?;
        let disk = FileDevice::open(&lower.file(), IoMode::Direct, false).unwrap();
        let upper = try_mount(Arc::new(disk), points[1].path(), &options(Transport::Uring))?;
        assert_eq!(upper.transport(), "io_uring");
        Some(Self { upper, lower, points })
    }

    fn end(self) {
        self.upper.stop();
        assert!(!is_mounted(self.points[1].path()));
        drop(self.upper);
        unmount(&self.lower);
    }
}

#[test]
fn io_uring_is_chosen_where_kernel_and_device_allow_it() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let point = tempfile::tempdir().unwrap();
    let chosen = |device: Arc<dyn BlockDevice>, transport| {
        let server = try_mount(device, point.path(), &options(transport))?;
        let way = server.transport();
        unmount(&server);
        Some(way)
    };
    let memory = || Arc::new(MemoryDevice::new(vec![0; 1 << 20]));
    let Some(way) = chosen(memory(), Transport::Auto) else { return };
    assert_eq!(way, "device", "requests to this one are calls");
    // What is refused on purpose is no reason to skip anything.
    assert!(mount(memory(), point.path(), &options(Transport::Uring)).is_err());
    let file = || file_device(directory.path(), 1 << 20);
    let can = chosen(file(), Transport::Uring).unwrap_or("device");
    assert_eq!(chosen(file(), Transport::Auto), Some(can));
    assert_eq!(chosen(file(), Transport::Device), Some("device"));
}

#[test]
fn overlapping_writes_leave_what_one_of_them_wrote() {
    for transport in BOTH {
        overlapping_writes(transport);
    }
}

fn overlapping_writes(transport: Transport) {
    const SIZE: usize = 2 << 20;
    const WRITERS: u64 = 12;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let point = tempfile::tempdir().unwrap();
    let below = file_device(directory.path(), SIZE as u64);
    let shift = Arc::new(Shift { unit: 4096 });
    let device = Shifted { below, shift: Arc::clone(&shift), start: 0, len: SIZE as u64 };
    let Some(server) = try_mount(Arc::new(device), point.path(), &options(transport)) else {
        return;
    };
    // What a new disk holds is not zeros once it is deciphered.
    let mut model = vec![0; SIZE];
    open(&server).read_exact_at(&mut model, 0).unwrap();
    for round in 0..12u64 {
        // Each writer writes its own value to ranges that it draws near a border of the locks.
        let ranges = |writer: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(round * 100 + writer);
            let whole = rng.random_bool(0.3);
            let range = move |_| {
                let at = (1 << 20) - 40_000 + rng.random_range(0..60_000usize);
                let len = rng.random_range(1..9000usize);
                if whole { (at / 4096 * 4096, 8192) } else { (at, len) }
            };
            (0..8).map(range).collect::<Vec<_>>()
        };
        let value = |writer: u64| (round * WRITERS + writer + 1) as u8;
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let file = open(&server);
                scope.spawn(move || {
                    for (at, len) in ranges(writer) {
                        file.write_all_at(&vec![value(writer); len], at as u64).unwrap();
                    }
                });
            }
        });
        // For each byte, those who wrote it in this round.
        let mut wrote = vec![0u16; SIZE];
        for writer in 0..WRITERS {
            for (at, len) in ranges(writer) {
                wrote[at..at + len].iter_mut().for_each(|writers| *writers |= 1 << writer);
            }
        }
        let mut seen = vec![0; SIZE];
        open(&server).read_exact_at(&mut seen, 0).unwrap();
        for (i, &byte) in seen.iter().enumerate() {
            let mut wrote_it = (0..WRITERS).filter(|writer| wrote[i] >> writer & 1 == 1);
            let right =
                wrote_it.any(|writer| value(writer) == byte) || wrote[i] == 0 && byte == model[i];
            assert!(right, "round {round}: byte {i} is {byte}, was {}", model[i]);
        }
        model = seen;
    }
    unmount(&server);
    shift.seal_in_place(0, &mut model);
    assert!(std::fs::read(directory.path().join("backing")).unwrap() == model, "on the disk");
}

#[test]
fn no_request_is_lost_when_more_come_than_a_ring_has_room_for() {
    for transport in BOTH {
        many_requests(transport);
    }
}

/// Long requests, which are encrypted by several threads, with small ones in between.
fn many_requests(transport: Transport) {
    const EACH: usize = 8 << 20;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let point = tempfile::tempdir().unwrap();
    let len = 8 * EACH as u64;
    let shift = Arc::new(Shift { unit: 4096 });
    let below = file_device(directory.path(), len);
    let device = Arc::new(Shifted { below, shift, start: 0, len });
    let Some(server) = try_mount(device, point.path(), &options(transport)) else { return };
    // The kernel splits each of these into 32 requests, which it sends at once.
    std::thread::scope(|scope| {
        for t in 0..8u64 {
            let server = &server;
            scope.spawn(move || {
                let (file, start) = (open(server), t * EACH as u64);
                let data: Vec<u8> = (0..EACH).map(|i| (i / 512) as u8 ^ t as u8).collect();
                file.write_all_at(&data, start).unwrap();
                let mut seen = vec![0; EACH];
                file.read_exact_at(&mut seen, start).unwrap();
                assert!(seen == data, "writer {t}");
            });
            scope.spawn(move || {
                let file = open(server);
                for i in 0..200 {
                    file.read_exact_at(&mut [0; 4096], (t * 200 + i) * 4096).unwrap();
                }
            });
        }
    });
    let stats = server.stats();
    assert!(stats.errors == 0 && stats.written_bytes == 8 * EACH as u64, "{stats:?}");
    unmount(&server);
}

#[test]
fn errors_of_the_disk_reach_the_program() {
    let below = Arc::new(Failing { bad_flush: 1, ..Failing::new(1 << 20, 512 << 10, 61) });
    let flushes = Arc::clone(&below);
    let Some(nested) = Nested::new(below) else { return };
    let file = open(&nested.upper);
    let mut buf = [0; 4096];
    file.write_all_at(&[7; 4096], 0).unwrap();
    // 61 is ENODATA, what a disk says of a sector that it cannot read.
    let raw = |result: std::io::Result<()>| result.unwrap_err().raw_os_error();
    assert_eq!(raw(file.read_exact_at(&mut buf, 512 << 10)), Some(61));
    assert_eq!(raw(file.write_all_at(&buf, 600 << 10)), Some(61));
    assert_eq!(raw(file.write_all_at(&buf[..1], (512 << 10) + 7)), Some(61), "by the slow lane");
    let mut long = vec![0; 256 << 10];
    assert_eq!(raw(file.read_exact_at(&mut long, 512 << 10)), Some(61), "by the worker pool");
    assert_eq!(raw(file.write_all_at(&long, 512 << 10)), Some(61), "by the worker pool");
    file.sync_all().unwrap();
    assert_eq!(flushes.flushes.load(Ordering::SeqCst), 1, "fsync reached the disk");
    assert_eq!(raw(file.sync_data()), Some(61));
    assert_eq!(raw(file.sync_data()), Some(5), "what was lost is told to everybody from then on");
    assert_eq!(raw(file.write_all_at(&buf, 1 << 20)), Some(28), "ENOSPC at the end");
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!((buf, nested.upper.stats().errors), ([7; 4096], 7));
    drop(file);
    nested.end();
}

#[test]
fn a_disk_that_ends_early_is_an_error_and_not_zeros() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let point = tempfile::tempdir().unwrap();
    let device = file_device(directory.path(), 1 << 20);
    let Some(server) = try_mount(device, point.path(), &options(Transport::Uring)) else { return };
    let backing = File::options().write(true).open(directory.path().join("backing")).unwrap();
    backing.set_len(64 << 10).unwrap();
    let file = open(&server);
    // Half of it is there: the rest of the transfer, which the loop asks for, is not.
    for offset in [60 << 10, 512 << 10] {
        let read = file.read_exact_at(&mut [0; 8192], offset);
        assert_eq!(read.unwrap_err().raw_os_error(), Some(5));
    }
    file.read_exact_at(&mut [0; 8192], 0).unwrap();
    drop(file);
    unmount(&server);
}

#[test]
fn stopping_with_requests_in_flight_ends_each_of_them() {
    let time = Duration::from_millis(30);
    let memory = MemoryDevice::new(vec![9; 4 << 20]);
    let below = Arc::new(Slow { memory, time, under_way: AtomicU64::new(0) });
    for round in 0..3 {
        let Some(nested) = Nested::new(Arc::clone(&below) as Arc<dyn BlockDevice>) else { return };
        std::thread::scope(|scope| {
            for t in 0..12u64 {
                let file = open(&nested.upper);
                scope.spawn(move || {
                    // Whole sectors, parts of them, long requests and syncs, until the mount is gone.
                    let (mut buf, mut long) = ([0; 4096], vec![9; 256 << 10]);
                    for turn in 0.. {
                        let at = (t * 16 + turn % 16) * 16384;
                        let done = match t % 6 {
                            0 => file.write_all_at(&[9; 100], at + 5),
                            1 => file.sync_data(),
                            2 => file.write_all_at(&[9; 4096], at),
                            3 => file.write_all_at(&long, at),
                            4 => file.read_exact_at(&mut long, at),
                            _ => file.read_exact_at(&mut buf, at),
                        };
                        let read = t % 6 == 5 && done.is_ok();
                        assert!(!read || buf == [9; 4096], "read {buf:?}");
                        if done.is_err() {
                            break;
                        }
                    }
                });
            }
            while below.under_way.load(Ordering::SeqCst) < 4 {
                std::thread::yield_now();
            }
            std::thread::sleep(time * round);
            nested.upper.stop();
        });
        nested.end();
    }
}

#[test]
fn a_file_in_ram_is_served_by_rings() {
    let Ok(place) = tempfile::tempdir_in("/dev/shm") else {
        return eprintln!("SKIPPED: no /dev/shm");
    };
    let path = place.path().join("disk");
    std::fs::write(&path, vec![3; 1 << 20]).unwrap();
    let device = match FileDevice::open(&path, IoMode::Direct, false) {
        Ok(device) => device,
        Err(e) => return eprintln!("SKIPPED: no direct I/O in /dev/shm: {e}"),
    };
    let point = tempfile::tempdir().unwrap();
    let uring = options(Transport::Uring);
    let Some(server) = try_mount(Arc::new(device), point.path(), &uring) else { return };
    let file = open(&server);
    let mut data = [0; 4096];
    file.read_exact_at(&mut data, 8192).unwrap();
    assert_eq!(data, [3; 4096]);
    file.write_all_at(&[4; 4096], 8192).unwrap();
    file.sync_all().unwrap();
    drop(file);
    unmount(&server);
    assert_eq!(std::fs::read(&path).unwrap()[8192..12288], [4; 4096]);
}
