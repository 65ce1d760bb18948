//! Devices for load tests, served through FUSE: one records, others fail. SKIPPED without FUSE.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cryptbench_blockdev::{BlockDevice, Extent, IoMode, IoTarget, MemoryDevice};
use cryptbench_export::fuse::{FuseOptions, Server, mount};
use cryptbench_os::files::Opening;

/// A device that is mounted for one test.
pub struct Served {
    pub server: Server,
    len: u64,
    _directory: tempfile::TempDir,
}

impl Served {
    /// `None`, with a message SKIPPED, if FUSE cannot be mounted.
    pub fn new(device: Arc<dyn BlockDevice>) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let len = device.size();
        match mount(device, directory.path(), &FuseOptions::default()) {
            Ok(server) => Some(Self { server, len, _directory: directory }),
            Err(e) => {
                eprintln!("SKIPPED: {e}");
                None
            }
        }
    }

    /// The whole device, with direct I/O.
    pub fn io_target(&self) -> IoTarget {
        let file = Opening::to_write().direct(true).open(&self.server.file());
        IoTarget {
            file: Arc::new(file.unwrap()),
            extent: Extent { offset: 0, len: self.len },
            mode: IoMode::Direct,
            transform: None,
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.stop();
    }
}

/// The events that reach a [`Recorder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    WriteBegins(u64, usize),
    WriteEnds,
    Flush,
}

/// Memory that records writes and flushes.
pub struct Recorder {
    memory: MemoryDevice,
    events: Mutex<Vec<Event>>,
}

impl Recorder {
    pub fn new(len: usize) -> Self {
        Self { memory: MemoryDevice::new(vec![0; len]), events: Mutex::default() }
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Offset and length of each write.
    pub fn writes(&self) -> Vec<(u64, usize)> {
        let of = |e: &Event| match *e {
            Event::WriteBegins(offset, len) => Some((offset, len)),
            _ => None,
        };
        self.events.lock().unwrap().iter().filter_map(of).collect()
    }

    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl BlockDevice for Recorder {
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
        self.note(Event::WriteBegins(offset, data.len()));
        let result = self.memory.write_at(offset, data);
        self.note(Event::WriteEnds);
        result
    }

    fn flush(&self) -> io::Result<()> {
        self.note(Event::Flush);
        Ok(())
    }
}

/// What a [`Faulty`] device does to writes at one place.
#[derive(Clone, Debug)]
pub enum Misdeed {
    /// Acknowledges and forgets them.
    Lose,
    /// Stores only this number of bytes at the start of each.
    Tear(usize),
    /// Flips this bit of their data.
    Flip(usize),
    /// Stores them here instead.
    Misdirect(u64),
    /// Stores these bytes instead, repeated.
    Overwrite(u8),
    /// Stores them, but answers the given number of following reads with the old data.
    AnswerOld(u64),
    /// Fails them with this error.
    Fail(i32),
}

/// Memory that is faulty at one place.
pub struct Faulty {
    memory: MemoryDevice,
    misdeed: Mutex<Option<(Range<u64>, Misdeed)>>,
    old: Mutex<Vec<u8>>,
    old_reads: AtomicU64,
}

impl Faulty {
    pub fn new(len: usize) -> Self {
        Self {
            memory: MemoryDevice::new(vec![0; len]),
            misdeed: Mutex::default(),
            old: Mutex::default(),
            old_reads: AtomicU64::new(0),
        }
    }

    /// Makes the device faulty from now on.
    pub fn misbehave(&self, place: Range<u64>, misdeed: Misdeed) {
        *self.misdeed.lock().unwrap() = Some((place, misdeed));
    }
}

impl BlockDevice for Faulty {
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
        self.memory.read_at(offset, buf)?;
        let misdeed = self.misdeed.lock().unwrap().clone();
        let Some((place, misdeed)) = misdeed else { return Ok(()) };
        let inside = offset <= place.start && place.end <= offset + buf.len() as u64;
        match misdeed {
            Misdeed::Fail(error) if inside => Err(io::Error::from_raw_os_error(error)),
            Misdeed::AnswerOld(_) if inside => {
                let left = |n: u64| n.checked_sub(1);
                if self.old_reads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok() {
                    let old = self.old.lock().unwrap();
                    buf[(place.start - offset) as usize..][..old.len()].copy_from_slice(&old);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let misdeed = self.misdeed.lock().unwrap().clone();
        let Some((_, misdeed)) = misdeed.filter(|(place, _)| place.start == offset) else {
            return self.memory.write_at(offset, data);
        };
        match misdeed {
            Misdeed::Lose => Ok(()),
            Misdeed::Tear(len) => self.memory.write_at(offset, &data[..len]),
            Misdeed::Flip(bit) => {
                let mut data = data.to_vec();
                data[bit / 8] ^= 1 << (bit % 8);
                self.memory.write_at(offset, &data)
            }
            Misdeed::Misdirect(there) => self.memory.write_at(there, data),
            Misdeed::Overwrite(byte) => self.memory.write_at(offset, &vec![byte; data.len()]),
            Misdeed::AnswerOld(times) => {
                let mut old = vec![0; data.len()];
                self.memory.read_at(offset, &mut old)?;
                *self.old.lock().unwrap() = old;
                self.old_reads.store(times, Ordering::SeqCst);
                self.memory.write_at(offset, data)
            }
            Misdeed::Fail(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Memory that calls hooks before it reads a place and before it flushes.
pub struct Hooked<R, F> {
    pub memory: MemoryDevice,
    pub before_read: R,
    pub before_flush: F,
}

impl<R, F> BlockDevice for Hooked<R, F>
where
    R: Fn(u64) -> io::Result<()> + Send + Sync,
    F: Fn() + Send + Sync,
{
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
        (self.before_read)(offset)?;
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.memory.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        (self.before_flush)();
        Ok(())
    }
}
