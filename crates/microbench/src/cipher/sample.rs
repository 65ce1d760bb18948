//! One sample: threads that start together; each thread encrypts with its cipher for a time slice and then decrypts.

use std::time::{Duration, Instant};

use cryptbench_cipher::SectorCipher;

use crate::MicrobenchError;
use crate::together::together;

/// Number of bytes that each thread processes before the clock starts, to load code, tables and round keys into
/// caches.
const WARM_UP: usize = 64 << 10;

/// Rates of one sample, for all threads together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) encrypt_mb_s: f64,
    pub(super) decrypt_mb_s: f64,
}

/// Number of bytes between two clock readings: a reading takes about as long as processing one sector.
const UNCLOCKED: usize = 256 << 10;

#[derive(Clone, Copy)]
enum Direction {
    Encrypt,
    Decrypt,
}

/// One thread's cipher and buffer.
pub(super) struct Worker<'a> {
    cipher: Box<dyn SectorCipher>,
    buffer: &'a mut [u8],
    tweak_step: u64,
    next_tweak: u64,
}

/// One thread's work between two clock readings.
struct Span {
    start: Instant,
    end: Instant,
    bytes: u64,
}

/// Lets the workers encrypt for `slice` and then decrypt for `slice`, in each case at least one buffer or 256 KiB.
///
/// # Errors
/// [`MicrobenchError::Usage`] if the system cannot start this many threads.
pub(super) fn sample(
    workers: &mut [Worker<'_>],
    slice: Duration,
) -> Result<Sample, MicrobenchError> {
    Ok(Sample {
        encrypt_mb_s: mb_s(&spans(workers, Direction::Encrypt, slice)?),
        decrypt_mb_s: mb_s(&spans(workers, Direction::Decrypt, slice)?),
    })
}

/// Total bytes divided by the time from the first start to the last end, in MB/s.
fn mb_s(spans: &[Span]) -> f64 {
    let (Some(start), Some(end)) =
        (spans.iter().map(|s| s.start).min(), spans.iter().map(|s| s.end).max())
    else {
        return 0.0;
    };
    let bytes: u64 = spans.iter().map(|s| s.bytes).sum();
    // Avoids division by zero if the clock is too coarse.
    bytes as f64 / (end - start).as_secs_f64().max(1e-9) / 1e6
}

/// One span per worker.
fn spans(
    workers: &mut [Worker<'_>],
    direction: Direction,
    slice: Duration,
) -> Result<Vec<Span>, MicrobenchError> {
    together(
        workers.iter_mut(),
        |worker| worker.warm_up(direction),
        |worker| worker.work(direction, slice),
    )
}

impl<'a> Worker<'a> {
    /// `first_tweak` separates the tweaks of threads and rounds.
    pub(super) fn new(
        cipher: Box<dyn SectorCipher>,
        buffer: &'a mut [u8],
        tweak_step: u64,
        first_tweak: u64,
    ) -> Self {
        Self { cipher, buffer, tweak_step, next_tweak: first_tweak }
    }

    fn warm_up(&mut self, direction: Direction) {
        let unit = self.cipher.data_unit();
        let length = WARM_UP.max(unit).min(self.buffer.len()) / unit * unit;
        self.transform(direction, length);
    }

    fn work(&mut self, direction: Direction, slice: Duration) -> Span {
        let length = self.buffer.len();
        let passes = (UNCLOCKED / length.max(1)).max(1);
        let start = Instant::now();
        let mut bytes = 0;
        loop {
            for _ in 0..passes {
                self.transform(direction, length);
            }
            bytes += (passes * length) as u64;
            let end = Instant::now();
            if end - start >= slice {
                return Span { start, end, bytes };
            }
        }
    }

    /// Processes the first `length` bytes in place, with the next tweaks.
    fn transform(&mut self, direction: Direction, length: usize) {
        let data = &mut self.buffer[..length];
        match direction {
            Direction::Encrypt => self.cipher.encrypt_in_place(self.next_tweak, data),
            Direction::Decrypt => self.cipher.decrypt_in_place(self.next_tweak, data),
        }
        let units = (length / self.cipher.data_unit()) as u64;
        self.next_tweak = self.next_tweak.wrapping_add(units * self.tweak_step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cryptbench_cipher::{Layout, Tier, find};

    fn worker(buffer: &mut [u8], layout: Layout) -> Worker<'_> {
        let cipher = find("aes-128-xts").unwrap().with_key(&[7; 32], layout, Tier::Soft).unwrap();
        Worker::new(cipher, buffer, layout.tweak_step, 100)
    }

    #[test]
    fn bytes_of_all_threads_count_over_the_common_time() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let spans = [
            Span { start: at(0), end: at(400), bytes: 30_000_000 },
            Span { start: at(100), end: at(500), bytes: 20_000_000 },
        ];
        assert_eq!(mb_s(&spans), 100.0);
        assert_eq!(mb_s(&[]), 0.0);
    }

    #[test]
    fn tweaks_advance_from_call_to_call() {
        let mut buffer = [0; 3 * 4096];
        let mut w = worker(&mut buffer, Layout::LUKS2_4096);
        let span = w.work(Direction::Encrypt, Duration::ZERO);
        let units = (UNCLOCKED / (3 * 4096) * 3) as u64;
        assert_eq!((span.bytes, w.next_tweak), (units * 4096, 100 + units * 8));
        w.warm_up(Direction::Decrypt);
        assert_eq!(w.next_tweak, 100 + (units + 3) * 8, "a warm-up never exceeds the buffer");
    }

    #[test]
    fn every_worker_takes_part_in_both_directions() {
        let mut buffers = vec![vec![0; 4096]; 3];
        let mut workers: Vec<_> =
            buffers.iter_mut().map(|b| worker(b, Layout::SECTOR_512)).collect();
        let sample = sample(&mut workers, Duration::ZERO).unwrap();
        assert!(sample.encrypt_mb_s > 0.0 && sample.decrypt_mb_s > 0.0);
        // Two warm-ups of a buffer and two measured stretches.
        let units = 2 * 8 + 2 * (UNCLOCKED / 512) as u64;
        assert!(workers.iter().all(|w| w.next_tweak == 100 + units));
    }
}
