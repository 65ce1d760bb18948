//! How much longer storage takes for a request that comes after a pause: a host that finds nothing to do goes to sleep,
//! and so a layer that waits costs more than it waits.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cryptbench_blockdev::AlignedBuf;
use cryptbench_stats::{PairedEstimate, estimate};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rustix::fs::OFlags;

/// Bytes of the file that is read and written.
const EXTENT: u64 = 1 << 30;

/// Turns with and without the pause.
const TURNS: usize = 16;

/// Time of one turn.
const TURN: Duration = Duration::from_millis(100);

/// A file on the storage under test, removed when dropped.
pub struct Probe {
    file: File,
    random: ChaCha8Rng,
    _keeps: tempfile::TempPath,
}

impl Probe {
    /// Makes and fills the file in `directory`.
    pub fn new(directory: &str) -> anyhow::Result<Self> {
        let keeps = tempfile::Builder::new()
            .prefix("cryptbench-delay-")
            .tempfile_in(directory)
            .with_context(|| format!("cannot write in {directory}"))?
            .into_temp_path();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut block = vec![0; 1 << 20];
        random.fill_bytes(&mut block);
        let plain = OpenOptions::new().write(true).open(&keeps)?;
        for offset in (0..EXTENT).step_by(block.len()) {
            plain.write_all_at(&block, offset)?;
        }
        plain.sync_all()?;
        Ok(Self { file: direct(&keeps)?, random, _keeps: keeps })
    }

    /// Extra seconds of a request of `bytes` at a random place that comes `pause` after the one before.
    pub fn reaction(
        &mut self,
        bytes: usize,
        write: bool,
        pause: Duration,
    ) -> anyhow::Result<Option<PairedEstimate>> {
        let mut buffer = AlignedBuf::zeroed(bytes);
        self.random.fill_bytes(&mut buffer[..]);
        let mut differences = Vec::new();
        for turn in 0..=TURNS {
            let at_once = self.turn(&mut buffer, write, Duration::ZERO)?;
            let after = self.turn(&mut buffer, write, pause)?;
            // The first turn warms up.
            if turn > 0 {
                differences.push(after - at_once);
            }
        }
        Ok(estimate(&differences, 0.95))
    }

    /// Mean seconds of a request, without the pauses.
    fn turn(&mut self, buffer: &mut [u8], write: bool, pause: Duration) -> anyhow::Result<f64> {
        let blocks = EXTENT / buffer.len() as u64;
        let (began, mut within, mut requests) = (Instant::now(), Duration::ZERO, 0);
        while began.elapsed() < TURN {
            let offset = self.random.random_range(0..blocks) * buffer.len() as u64;
            let start = Instant::now();
            match write {
                true => self.file.write_all_at(buffer, offset)?,
                false => self.file.read_exact_at(buffer, offset)?,
            }
            within += start.elapsed();
            requests += 1;
            let end = Instant::now();
            while end.elapsed() < pause {
                std::hint::spin_loop();
            }
        }
        Ok(within.as_secs_f64() / f64::from(requests))
    }
}

/// Around the page cache where the file system lets us, as the program measures.
fn direct(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let around = options.clone().custom_flags(OFlags::DIRECT.bits().cast_signed()).open(path);
    Ok(around.or_else(|_| options.open(path))?)
}
