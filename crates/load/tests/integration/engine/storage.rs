//! Scratch I/O targets and test transforms for the engine tests.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, IoTarget, SectorTransform};
use cryptbench_load::{
    Amount, Engine, EngineChoice, Job, Operation, Pattern, SECTOR, SectorState, verify_sector,
};
use cryptbench_os::files::Opening;

/// First byte of the extent in the scratch file; the bytes before it must stay untouched.
pub const BASE: u64 = 64 << 10;

/// Both engines, or as many as this machine supports.
pub fn engines() -> Vec<Engine> {
    let mut engines = vec![Engine::open(EngineChoice::Threads).unwrap().0];
    match Engine::open(EngineChoice::Uring) {
        Ok((engine, _)) => engines.push(engine),
        Err(e) => eprintln!("SKIPPED: io_uring half of this test: {e}"),
    }
    engines
}

/// An I/O target of `len` bytes after [`BASE`] in an anonymous file, with direct I/O if the file
/// system supports it.
pub fn scratch(len: u64, transform: Option<Arc<dyn SectorTransform>>) -> IoTarget {
    scratch_in(&std::env::temp_dir(), len, transform)
}

/// Like [`scratch`], in a directory.
pub fn scratch_in(
    directory: &std::path::Path,
    len: u64,
    transform: Option<Arc<dyn SectorTransform>>,
) -> IoTarget {
    let named = tempfile::NamedTempFile::new_in(directory).unwrap();
    named.as_file().set_len(BASE + len + BASE).unwrap();
    let open = |direct| Opening::to_write().direct(direct).open(named.path());
    let (file, mode) = match open(true) {
        Ok(file) => (file, IoMode::Direct),
        Err(_) => (open(false).unwrap(), IoMode::Buffered),
    };
    let extent = Extent { offset: BASE, len };
    IoTarget { file: Arc::new(file), extent, mode, transform }
}

/// All bytes of the file, including those around the extent.
pub fn stored(io_target: &IoTarget) -> Vec<u8> {
    let mut bytes = Vec::new();
    buffered(&io_target.file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The file, opened once more for reading; it has no name any more.
#[cfg(target_os = "linux")]
fn buffered(file: &std::fs::File) -> std::fs::File {
    let number = std::os::fd::AsRawFd::as_raw_fd(file);
    std::fs::File::open(format!("/proc/self/fd/{number}")).unwrap()
}

/// A second handle on the file, whose position is at the beginning.
#[cfg(windows)]
fn buffered(file: &Arc<std::fs::File>) -> impl Read {
    Arc::into_inner(cryptbench_os::files::with_direct(file, false).unwrap()).unwrap()
}

/// The bytes of the extent among those of the file.
pub fn extent_of<'a>(bytes: &'a [u8], io_target: &IoTarget) -> &'a [u8] {
    &bytes[io_target.extent.offset as usize..][..io_target.extent.len as usize]
}

/// The states of the sectors of an extent.
pub fn states(bytes: &[u8]) -> Vec<SectorState> {
    let sectors = bytes.chunks(SECTOR).enumerate();
    sectors.map(|(i, s)| verify_sector(s, (i * SECTOR) as u64)).collect()
}

pub fn job(operation: Operation, pattern: Pattern, block_size: u64, queue_depth: u32) -> Job {
    Job {
        amount: Amount::Time {
            ramp: Duration::from_millis(5),
            duration: Duration::from_millis(40),
        },
        seed: 0x1234_5678_9abc_def0,
        generation: 5,
        ..Job::new(operation, pattern, block_size, queue_depth)
    }
}

/// XORs every byte with a pad that depends on its offset, and records the verify headers that it
/// opens.
#[derive(Default)]
pub struct Xor {
    pub opened: Mutex<Vec<(u64, SectorState)>>,
}

fn pad(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1
}

impl SectorTransform for Xor {
    fn unit(&self) -> usize {
        SECTOR
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        assert_eq!(plain.len(), stored.len());
        for (i, (s, p)) in stored.iter_mut().zip(plain).enumerate() {
            *s = p ^ pad(offset + i as u64);
        }
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        data.iter_mut().enumerate().for_each(|(i, b)| *b ^= pad(offset + i as u64));
        let mut opened = self.opened.lock().unwrap();
        for (i, sector) in data.chunks(SECTOR).enumerate() {
            let offset = offset + (i * SECTOR) as u64;
            opened.push((offset, verify_sector(sector, offset)));
        }
    }
}
