//! Power cuts below volumes that are served: a device records all writes and flushes, and is put back to what it may hold
//! after each flush and at random moments between, as dm-log-writes does for a kernel.

mod recording;

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_export::nbd::{NbdOptions, serve};
use cryptbench_prove::Random;

use self::recording::{Recording, cuts};
use crate::nbd::client::{Client, FUA};
use crate::volumes::{FORMATS, Mounted, WHOLE, create, is_sound, opened};

const SIZE: usize = 24 << 20;
const RECORD: usize = 4096;

/// A volume on a recording device.
fn recorded(format: &str, size: usize) -> Arc<Recording> {
    let memory = MemoryDevice::new(vec![0; size]);
    create(format, &memory);
    Arc::new(Recording::new(memory))
}

fn record(number: u64) -> Vec<u8> {
    let mut record = vec![0; RECORD];
    Random::new(number).fill(&mut record);
    record[..8].copy_from_slice(&number.to_le_bytes());
    record
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Records appended to a file, each followed by fsync, and where the device was when fsync had returned. Meanwhile other
/// files are written, renamed and removed without.
fn load(mounted: &Mounted, device: &Recording, time: Duration, seed: u64) -> Vec<usize> {
    let files = mounted.files();
    let done = AtomicBool::new(false);
    let mut acknowledged = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(seed ^ 0xaaaa);
            let mut bytes = vec![0; 60_000];
            while !done.load(Ordering::SeqCst) {
                let name = files.join(format!("other-{}", random.below(20)));
                match random.below(6) {
                    0 => drop(std::fs::remove_file(&name)),
                    1 => drop(std::fs::rename(&name, files.join("renamed"))),
                    2 => drop(std::fs::create_dir(files.join(format!("d{}", random.below(50))))),
                    _ => {
                        random.fill(&mut bytes[..2000]);
                        let len = random.below(bytes.len());
                        let _ = std::fs::write(&name, &bytes[..len]);
                    }
                }
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        // Also after a panic: the scope waits for the other thread.
        let _end = SetWhenDropped(&done);
        let until = Instant::now() + time;
        let mut file =
            File::options().append(true).create(true).open(files.join("records")).unwrap();
        while Instant::now() < until {
            match file.write_all(&record(acknowledged.len() as u64)) {
                // The other files have filled the file system.
                Err(e) if e.kind() == ErrorKind::StorageFull => break,
                written => written.unwrap(),
            }
            file.sync_all().unwrap();
            acknowledged.push(device.position());
        }
    });
    acknowledged
}

/// After each cut the volume opens, the file system in it is sound, and holds the records that were acknowledged.
fn holds(format: &str, device: &Recording, acknowledged: &[usize], seed: u64, most: usize) {
    let mut random = Random::new(seed);
    let place = tempfile::tempdir().unwrap();
    let (image, out) = (place.path().join("image"), place.path().join("records"));
    for cut in cuts(device, most, &mut random) {
        // Before the file system was made, there is none.
        let expected = acknowledged.iter().filter(|position| **position <= cut).count();
        if expected == 0 {
            continue;
        }
        let when = format!("{format}, seed {seed}, cut after {cut} of {}", device.position());
        let left = Arc::new(device.after_a_cut(cut, &mut random));
        let volume = opened(format, left).unwrap_or_else(|e| panic!("{when}: {e}"));
        let mut plain = vec![0; volume.size() as usize];
        volume.read_at(0, &mut plain).unwrap();
        std::fs::write(&image, &plain).unwrap();
        is_sound(&image).unwrap_or_else(|e| panic!("{when}: {e}"));
        let dump = format!("dump /records {}", out.display());
        let _ = std::fs::remove_file(&out);
        let _ = Command::new("/sbin/debugfs").args(["-R", &dump]).arg(&image).output().unwrap();
        let there = std::fs::read(&out).unwrap_or_default();
        for number in 0..expected {
            let is = there.get(number * RECORD..(number + 1) * RECORD);
            assert!(
                is == Some(&record(number as u64)[..]),
                "{when}: record {number} of {expected} that were acknowledged is lost"
            );
        }
        cryptbench_prove::count(1, &format!("cuts below ext4 in {format} through FUSE"));
    }
}

/// All formats take their turns.
#[test]
fn mounted_volumes_keep_what_fsync_acknowledged() {
    if !std::path::Path::new("/sbin/debugfs").exists() {
        eprintln!("SKIPPED: no e2fsprogs");
        return;
    }
    for seed in cryptbench_prove::seeds(1) {
        let mut random = Random::new(seed);
        let format = WHOLE[seed as usize % WHOLE.len()];
        let device = recorded(format, SIZE);
        let volume = opened(format, device.clone()).unwrap();
        let Some(mounted) = Mounted::new(Arc::new(volume), true) else { return };
        let time = Duration::from_millis(200 + random.below(500) as u64);
        let acknowledged = load(&mounted, &device, time, seed);
        mounted.end();
        assert!(!acknowledged.is_empty());
        let most = if cryptbench_prove::is_asked() { 20 } else { 3 };
        holds(format, &device, &acknowledged, seed, most);
    }
}

/// Blocks of a device that NBD serves.
const BLOCKS: u64 = 64;

/// A write of a block: its version, and where the device was before it was sent and when a flush behind it had returned.
struct Written {
    block: u64,
    version: u64,
    sent: usize,
    durable: Option<usize>,
}

fn block(block: u64, version: u64) -> Vec<u8> {
    record(block << 32 | version)
}

#[test]
fn served_volumes_keep_what_a_flush_acknowledged() {
    for seed in cryptbench_prove::seeds(2) {
        let mut random = Random::new(seed);
        let format = FORMATS[seed as usize % FORMATS.len()];
        let device = recorded(format, 8 << 20);
        let volume = Arc::new(opened(format, device.clone()).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let server = serve(volume, &socket, &NbdOptions::default()).unwrap();
        let mut client = Client::go(server.socket(), "").unwrap();
        let mut written: Vec<Written> = Vec::new();
        for version in 1..=300 {
            if random.once_in(8) {
                client.flush().unwrap();
                let position = device.position();
                for w in &mut written {
                    w.durable.get_or_insert(position);
                }
            } else {
                let at = random.below(BLOCKS as usize) as u64;
                let sent = device.position();
                let alone = random.once_in(6);
                let flags = if alone { FUA } else { 0 };
                client.write(at * RECORD as u64, &block(at, version), flags).unwrap();
                let durable = alone.then(|| device.position());
                written.push(Written { block: at, version, sent, durable });
            }
        }
        drop(client);
        server.stop();
        let mut made = 0;
        for cut in cuts(&device, 40, &mut random) {
            let left = Arc::new(device.after_a_cut(cut, &mut random));
            let when = format!("{format}, seed {seed}, cut after {cut} of {}", device.position());
            let volume = opened(format, left).unwrap_or_else(|e| panic!("{when}: {e}"));
            for at in 0..BLOCKS {
                let mut writes = written.iter().filter(|w| w.block == at && w.sent <= cut);
                let durable = |w: &&Written| w.durable.is_some_and(|position| position <= cut);
                let Some(last) = writes.clone().rfind(durable) else { continue };
                // What was being written over it may be there, or half there.
                if writes.any(|w| w.version > last.version) {
                    continue;
                }
                let mut is = vec![0; RECORD];
                volume.read_at(at * RECORD as u64, &mut is).unwrap();
                assert!(
                    is == block(at, last.version),
                    "{when}: version {} of block {at}, which was acknowledged, is lost",
                    last.version
                );
            }
            made += 1;
        }
        cryptbench_prove::count(made, &format!("cuts below {format} through NBD"));
    }
}

/// The recording itself: what no flush followed can be lost, and what one followed cannot.
#[test]
fn a_cut_loses_only_what_no_flush_followed() {
    let device = Recording::new(MemoryDevice::new(vec![0; 4096]));
    device.write_at(0, &[1; 512]).unwrap();
    device.flush().unwrap();
    device.write_at(512, &[2; 512]).unwrap();
    let mut lost = 0;
    for seed in 0..50 {
        let left = device.after_a_cut(3, &mut Random::new(seed)).contents();
        assert_eq!(left[..512], [1; 512]);
        lost += usize::from(left[512..1024] == [0; 512]);
    }
    assert!((5..45).contains(&lost), "{lost}");
}
