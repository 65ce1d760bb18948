//! Records the generation that was last acknowledged at each offset.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use cryptbench_blockdev::IoTarget;

use crate::window::{Completed, Sink};
use crate::{Content, Job, LoadError, Operation, SECTOR};

/// The last two acknowledged generations of each unit of an I/O target.
///
/// The unit is the greatest common divisor of the jobs' block sizes. Each unit needs 16 bytes of memory.
pub struct Acknowledged {
    unit: u64,
    units: Vec<[AtomicU64; 2]>,
    jobs: Mutex<Vec<Writer>>,
}

/// A job that wrote the data to be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) generation: u64,
    /// Low half of the job's seed, as in verify headers.
    pub(super) seed: u32,
    /// Whether some of the job's writes may not have been acknowledged, because it is running, has failed, or was
    /// stopped.
    pub(super) open: bool,
}

/// The value for a unit without an acknowledged write.
const NONE: u64 = 0;

/// The acknowledged generations of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    pub(super) last: u64,
    pub(super) before: Option<u64>,
}

impl Acknowledged {
    /// A map for an I/O target of `len` bytes to which nothing has been written.
    ///
    /// # Errors
    /// [`LoadError::Untraceable`] if the unit is zero or not a multiple of 512 bytes.
    pub fn nothing(len: u64, unit: u64) -> Result<Self, LoadError> {
        Self::new(len, unit, NONE)
    }

    /// A map for an I/O target of `len` bytes after a [prefill](crate::Engine::prefill) with this seed: every unit
    /// has generation 0.
    ///
    /// # Errors
    /// The errors of [`nothing`](Self::nothing).
    pub fn filled(len: u64, unit: u64, seed: u64) -> Result<Self, LoadError> {
        let map = Self::new(len, unit, encode(0))?;
        map.note(Writer { generation: 0, seed: seed as u32, open: false });
        Ok(map)
    }

    fn new(len: u64, unit: u64, last: u64) -> Result<Self, LoadError> {
        if unit == 0 || !unit.is_multiple_of(SECTOR as u64) {
            return Err(LoadError::Untraceable { unit });
        }
        let each = || [AtomicU64::new(last), AtomicU64::new(NONE)];
        let units = (0..len / unit).map(|_| each()).collect();
        Ok(Self { unit, units, jobs: Mutex::default() })
    }

    /// Records that a job begins.
    pub(crate) fn begin(&self, job: &Job) {
        self.note_job(job, true);
    }

    /// Records that all writes of a job that [began](Self::begin) were acknowledged.
    pub(crate) fn end(&self, job: &Job) {
        self.note_job(job, false);
    }

    fn note_job(&self, job: &Job, open: bool) {
        if job.direction.writes() {
            self.note(Writer { generation: job.generation, seed: job.seed as u32, open });
        }
    }

    fn note(&self, writer: Writer) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |w: &Writer| (w.generation, w.seed) == (writer.generation, writer.seed);
        jobs.retain(|w| !is(w));
        jobs.push(writer);
    }

    /// The jobs that wrote.
    pub(super) fn writers(&self) -> Vec<Writer> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes covered by one acknowledgement.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Number of bytes covered by the map. A partial unit at the end is not covered.
    pub(super) fn len(&self) -> u64 {
        self.unit * self.units.len() as u64
    }

    /// Records that a write of `generation` to whole units was acknowledged.
    pub(crate) fn acknowledge(&self, offset: u64, len: u64, generation: u64) {
        let first = (offset / self.unit) as usize;
        let count = (len / self.unit) as usize;
        for [last, before] in self.units.iter().skip(first).take(count) {
            // Two writes of the same generation to one unit may race, but both store the same value.
            let was = last.load(Relaxed);
            if was != encode(generation) {
                before.store(was, Relaxed);
                last.store(encode(generation), Relaxed);
            }
        }
    }

    /// The history of the unit with this number.
    pub(super) fn history(&self, unit: u64) -> Option<History> {
        let [last, before] = self.units.get(unit as usize)?;
        Some(History { last: decode(last.load(Relaxed))?, before: decode(before.load(Relaxed)) })
    }

    /// Checks that a job's writes can be traced.
    pub(crate) fn check(&self, io_target: &IoTarget, job: &Job) -> Result<(), LoadError> {
        let has_headers = job.content != Content::Zeros || !job.direction.writes();
        let inside = io_target.extent.len / self.unit <= self.units.len() as u64;
        if has_headers && inside && job.block_size.is_multiple_of(self.unit) {
            return Ok(());
        }
        Err(LoadError::Untraceable { unit: self.unit })
    }
}

/// Unique for all generations except 2^64 - 1, which does not occur, because jobs count up from 1.
fn encode(generation: u64) -> u64 {
    generation.saturating_add(1)
}

fn decode(code: u64) -> Option<u64> {
    (code != NONE).then(|| code - 1)
}

/// A sink that records acknowledged writes and forwards them to another sink.
pub(crate) struct Traced<S> {
    inner: S,
    acknowledged: Arc<Acknowledged>,
    generation: u64,
}

impl<S> Traced<S> {
    pub(crate) fn new(inner: S, acknowledged: &Arc<Acknowledged>, generation: u64) -> Self {
        Self { inner, acknowledged: Arc::clone(acknowledged), generation }
    }

    pub(crate) fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Sink> Sink for Traced<S> {
    fn completed(&mut self, request: &Completed) {
        if request.operation == Operation::Write {
            let (offset, len) = (request.offset, u64::from(request.len));
            self.acknowledged.acknowledge(offset, len, self.generation);
        }
        self.inner.completed(request);
    }

    fn finished(&self) -> bool {
        self.inner.finished()
    }

    fn idle(&mut self, now: u64) {
        self.inner.idle(now);
    }

    fn resumed(&mut self) {
        self.inner.resumed();
    }

    fn flushed(&mut self, done: u64) {
        self.inner.flushed(done);
    }

    fn exhausted(&mut self, done: u64) -> bool {
        self.inner.exhausted(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_generations_of_each_unit_are_known() {
        let map = Acknowledged::filled(10 * 4096 + 100, 4096, 1).unwrap();
        assert_eq!(map.len(), 40960);
        map.acknowledge(8192, 8192, 3);
        map.acknowledge(12288, 4096, 7);
        map.acknowledge(12288, 4096, 7);
        let of = |unit| map.history(unit).map(|h| (h.last, h.before));
        assert_eq!(of(1), Some((0, None)));
        assert_eq!(of(2), Some((3, Some(0))));
        assert_eq!(of(3), Some((7, Some(3))));
        assert_eq!(of(10), None);
        assert_eq!(Acknowledged::nothing(4096, 4096).unwrap().history(0), None);
        assert!(matches!(
            Acknowledged::nothing(4096, 100),
            Err(LoadError::Untraceable { unit: 100 })
        ));
    }
}
