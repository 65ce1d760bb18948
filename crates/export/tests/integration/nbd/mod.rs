//! The NBD export, against a client of this file's own and against other programs.

pub mod client;
mod damaged;
mod hostile;
mod programs;

use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::{Client, FUA, connect};
use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_export::nbd::{NbdOptions, NbdServer, serve};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

fn start(directory: &Path, size: usize, options: &NbdOptions) -> (NbdServer, Arc<MemoryDevice>) {
    let device = Arc::new(MemoryDevice::new(vec![3; size]));
    let served = Arc::clone(&device) as Arc<dyn BlockDevice>;
    (serve(served, &directory.join("socket"), options).unwrap(), device)
}

#[test]
fn a_device_behaves_as_a_vector_of_bytes() {
    const SIZE: usize = 3 << 20;
    let directory = tempfile::tempdir().unwrap();
    let options = NbdOptions { discard: true, ..NbdOptions::default() };
    let (server, device) = start(directory.path(), SIZE, &options);
    let mut client = Client::go(server.socket(), "").unwrap();
    assert_eq!(client.size, SIZE as u64);
    // HAS_FLAGS, FLUSH, FUA, TRIM, WRITE_ZEROES, MULTI_CONN
    assert_eq!(client.flags, 0b1_0110_1101);
    let mut model = vec![3; SIZE];
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for round in 0..600 {
        let longest = [100, 5000, 2 << 20][rng.random_range(0..3)];
        let offset = rng.random_range(0..SIZE);
        let len = rng.random_range(1..=longest).min(SIZE - offset);
        let range = offset..offset + len;
        match rng.random_range(0..8) {
            0 => client.flush().unwrap(),
            1 => {
                client.write_zeroes(offset as u64, len as u32).unwrap();
                model[range].fill(0);
            }
            2..=4 => {
                let mut data = vec![0; len];
                rng.fill(&mut data[..]);
                client.write(offset as u64, &data, if round % 5 == 0 { FUA } else { 0 }).unwrap();
                model[range].copy_from_slice(&data);
            }
            _ => {
                let data = client.read(offset as u64, len as u32).unwrap();
                assert!(data == model[range], "round {round}: {len} bytes at {offset}");
            }
        }
    }
    assert!(device.contents() == model);
    client.trim(512, 1024).unwrap();
    model[512..1536].fill(0);
    assert!(device.contents() == model, "trimmed sectors of memory read as zeros");
    let stats = server.stats();
    assert!(stats.reads > 0 && stats.writes > 0 && stats.flushes > 0 && stats.errors == 0);
}

#[test]
fn requests_in_flight_are_answered_by_their_cookies() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = start(directory.path(), 1 << 20, &NbdOptions::default());
    let mut client = Client::go(server.socket(), "").unwrap();
    for i in 0..200u64 {
        client.send(1, 0, 1000 + i, i * 100, 100, &[i as u8; 100]);
    }
    let mut seen: Vec<_> = (0..200).map(|_| client.answer(0).unwrap().0).collect();
    seen.sort_unstable();
    assert!(seen.iter().copied().eq(1000..1200));
    for i in 0..200u64 {
        assert_eq!(client.read(i * 100, 100).unwrap(), [i as u8; 100]);
    }
}

#[test]
fn connections_share_the_device_and_parts_of_sectors_last() {
    let directory = tempfile::tempdir().unwrap();
    let (server, device) = start(directory.path(), 64 << 10, &NbdOptions::default());
    std::thread::scope(|scope| {
        for t in 0..6u64 {
            let mut client = Client::go(server.socket(), "").unwrap();
            scope.spawn(move || {
                for turn in 1..=30u8 {
                    for i in 0..20 {
                        client.write((i * 6 + t) * 70, &[t as u8 * 40 + turn; 70], 0).unwrap();
                    }
                }
            });
        }
    });
    for (i, run) in device.contents()[..120 * 70].chunks(70).enumerate() {
        assert!(run.iter().all(|&b| b == (i % 6) as u8 * 40 + 30), "run {i}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_its_error() {
    let directory = tempfile::tempdir().unwrap();
    let options = NbdOptions { name: "disk".to_owned(), ..NbdOptions::default() };
    let (server, _) = start(directory.path(), 8192, &options);
    assert!(Client::go(server.socket(), "another").is_err());
    let mut client = Client::go(server.socket(), "disk").unwrap();
    assert_eq!(client.write(8000, &[0; 200], 0), Err(28));
    assert_eq!(client.read(8000, 200), Err(22));
    assert_eq!(client.read(u64::MAX, 1), Err(22));
    assert_eq!(client.trim(0, 512), Err(22), "not offered");
    assert_eq!(client.command(77, 0, 0, 0), Err(22));
    assert_eq!(client.read(0, 8192).unwrap(), [3; 8192], "and the connection is as good as before");
    drop((client, server));
    let options = NbdOptions { read_only: true, ..options };
    let (server, device) = start(directory.path(), 8192, &options);
    let mut client = Client::go(server.socket(), "disk").unwrap();
    assert_eq!(client.flags & 2, 2);
    assert_eq!(client.write(0, &[9; 512], 0), Err(1));
    assert_eq!(client.write_zeroes(0, 512), Err(1));
    assert_eq!(device.contents(), [3; 8192]);
}

#[test]
fn the_socket_is_the_owners_and_goes_with_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = start(directory.path(), 8192, &NbdOptions::default());
    let path = server.socket().to_owned();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let device = Arc::new(MemoryDevice::new(vec![0; 512]));
    assert!(serve(device.clone(), &path, &NbdOptions::default()).is_err(), "a live server stays");
    let mut client = Client::go(&path, "").unwrap();
    server.stop();
    assert!(!path.exists());
    assert!(client.read(0, 512).is_err());
    // What a killed server leaves is replaced, what is no socket is not.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let second = serve(device.clone(), &path, &NbdOptions::default()).unwrap();
    assert!(Client::go(&path, "").is_ok());
    drop(second);
    std::fs::write(&path, b"a file").unwrap();
    assert!(serve(device, &path, &NbdOptions::default()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"a file");
}

/// Memory whose flushes fail, but for the first `good`.
struct Forgetful {
    memory: MemoryDevice,
    good: AtomicU64,
}

impl BlockDevice for Forgetful {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        self.memory.sector()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.memory.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        // As the kernel does: an error is told once, and the next fsync succeeds.
        match self.good.fetch_sub(1, Ordering::SeqCst) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_failed_flush_is_told_to_every_client_that_flushes_later() {
    let directory = tempfile::tempdir().unwrap();
    let memory = MemoryDevice::new(vec![0; 8192]);
    let device = Arc::new(Forgetful { memory, good: AtomicU64::new(1) });
    let server = serve(device, &directory.path().join("socket"), &NbdOptions::default()).unwrap();
    let mut first = Client::go(server.socket(), "").unwrap();
    let mut second = Client::go(server.socket(), "").unwrap();
    first.flush().unwrap();
    // 28 is ENOSPC, 5 is EIO.
    assert_eq!(first.flush(), Err(28));
    assert_eq!(second.flush(), Err(5));
    assert_eq!(first.write(0, &[1; 512], FUA), Err(5));
    first.write(0, &[1; 512], 0).unwrap();
    assert_eq!(server.stats().errors, 3);
}

#[test]
fn a_client_may_pause_but_does_not_keep_the_server_from_ending() {
    let directory = tempfile::tempdir().unwrap();
    let options =
        NbdOptions { patience: Duration::from_millis(100), threads: 3, ..NbdOptions::default() };
    let (server, _) = start(directory.path(), 4 << 20, &options);
    let ask = |client: &mut Client| {
        // More than a socket holds: the server has to wait for whoever reads it.
        for cookie in 0..4 {
            client.send(0, 0, cookie, 0, 4 << 20, &[]);
        }
    };
    let mut paused = Client::go(server.socket(), "").unwrap();
    ask(&mut paused);
    std::thread::sleep(Duration::from_millis(500));
    for _ in 0..4 {
        assert_eq!(paused.answer(4 << 20).unwrap().1, vec![3; 4 << 20]);
    }
    // And neither does one that never reads.
    ask(&mut paused);
    let mut thinking = connect(server.socket()).unwrap();
    server.stop();
    assert!(paused.flush().is_err());
    assert_eq!(thinking.read(&mut [0]).unwrap_or(0), 0);
}
