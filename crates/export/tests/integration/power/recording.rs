//! A device that records its writes and flushes, and what a power cut leaves of them.

use std::io;
use std::sync::Mutex;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_prove::Random;

/// What came to the device, in order.
pub enum Entry {
    Write { offset: u64, data: Vec<u8> },
    Flush,
}

/// Memory that records. With `flush` broken, no flush arrives.
pub struct Recording {
    memory: MemoryDevice,
    /// What it held at first.
    first: Vec<u8>,
    log: Mutex<Vec<Entry>>,
    forgets_flushes: bool,
}

impl Recording {
    pub fn new(memory: MemoryDevice) -> Self {
        let first = memory.contents();
        let forgets_flushes = cryptbench_prove::is_broken("flush");
        Self { memory, first, log: Mutex::default(), forgets_flushes }
    }

    /// How much has come so far: what was acknowledged by now must be there after any cut from here on.
    pub fn position(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    /// All flushes' positions, those right after them.
    pub fn flushes(&self) -> Vec<usize> {
        let log = self.log.lock().unwrap();
        let flushes = log.iter().enumerate().filter(|(_, entry)| matches!(entry, Entry::Flush));
        flushes.map(|(i, _)| i + 1).collect()
    }

    /// What is on the device if the power goes after `cut` entries: everything before the last flush, and of what came
    /// later all, a part in any order, or a part whose last write is torn at a sector.
    pub fn after_a_cut(&self, cut: usize, random: &mut Random) -> MemoryDevice {
        let log = self.log.lock().unwrap();
        let flushed = log[..cut].iter().rposition(|entry| matches!(entry, Entry::Flush));
        let flushed = flushed.map_or(0, |i| i + 1);
        let mut image = self.first.clone();
        let mut put = |entry: &Entry, len: usize| {
            if let Entry::Write { offset, data } = entry {
                image[*offset as usize..][..len.min(data.len())]
                    .copy_from_slice(&data[..len.min(data.len())]);
            }
        };
        for entry in &log[..flushed] {
            put(entry, usize::MAX);
        }
        let later = &log[flushed..cut];
        match random.below(3) {
            0 => later.iter().for_each(|entry| put(entry, usize::MAX)),
            1 => {
                for entry in later {
                    if random.once_in(2) {
                        put(entry, usize::MAX);
                    }
                }
            }
            _ => {
                let (last, before) = match later.split_last() {
                    Some((last, before)) => (Some(last), before),
                    None => (None, later),
                };
                before.iter().for_each(|entry| put(entry, usize::MAX));
                if let Some(last) = last {
                    put(last, 512 * random.below(16));
                }
            }
        }
        MemoryDevice::new(image)
    }
}

impl BlockDevice for Recording {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut log = self.log.lock().unwrap();
        self.memory.write_at(offset, data)?;
        log.push(Entry::Write { offset, data: data.to_vec() });
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        if !self.forgets_flushes {
            self.log.lock().unwrap().push(Entry::Flush);
        }
        Ok(())
    }
}

/// Where to cut: at each flush, or at some of them if there are more than `most`, and at as many random places between.
pub fn cuts(recording: &Recording, most: usize, random: &mut Random) -> Vec<usize> {
    let mut flushes = recording.flushes();
    while flushes.len() > most {
        flushes.swap_remove(random.below(flushes.len()));
    }
    let end = recording.position();
    let between = (0..most).map(|_| random.below(end + 1));
    let mut cuts: Vec<_> = flushes.into_iter().chain(between.collect::<Vec<_>>()).collect();
    cuts.sort_unstable();
    cuts
}
