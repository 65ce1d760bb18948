//! The schedule of a job with a rate limit.

use crate::{Job, Rate};

/// The schedule of one thread's requests. Due times depend on request numbers, not on completions, so the job catches
/// up after a stall and never exceeds the rate over the whole time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateLimit {
    /// Nanoseconds between two requests of the job.
    interval: f64,
    /// Index of this thread, and number of threads. The threads submit requests in turn.
    part: u32,
    of: u32,
}

impl RateLimit {
    pub(super) fn of_job(job: &Job) -> Option<Self> {
        let per_second = match job.rate? {
            Rate::Requests(rate) => rate,
            Rate::Bytes(rate) => rate / job.block_size as f64,
        };
        Some(Self { interval: 1e9 / per_second, part: 0, of: 1 })
    }

    /// The schedule of thread `part` of `of`.
    pub(super) fn share(self, part: u32, of: u32) -> Self {
        Self { part, of, ..self }
    }

    /// The time at which the thread may submit its request `index`, if the job began at `began`.
    #[inline]
    pub(super) fn due(&self, began: u64, index: u64) -> u64 {
        let number = index as f64 * f64::from(self.of) + f64::from(self.part);
        began.saturating_add((number * self.interval) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, Pattern};

    #[test]
    fn threads_take_turns_at_the_rate_of_the_job() {
        let mut job = Job::new(Operation::Read, Pattern::Random, 4096, 1);
        assert!(RateLimit::of_job(&job).is_none());
        job.rate = Some(Rate::Bytes(4096.0 * 1000.0));
        let rate_limit = RateLimit::of_job(&job).unwrap();
        assert_eq!([0, 1, 500].map(|i| rate_limit.due(7, i)), [7, 1_000_007, 500_000_007]);
        let second = rate_limit.share(1, 4);
        assert_eq!([0, 1].map(|i| second.due(0, i)), [1_000_000, 5_000_000]);
        job.rate = Some(Rate::Requests(1e-300));
        assert_eq!(RateLimit::of_job(&job).unwrap().due(1, 1), u64::MAX, "saturates");
    }
}
