//! The measured time: which completions count, and what they add up to.
//!
//! The window opens at the first completion after the ramp and closes at the first completion at
//! or after the planned duration; the completions after the opening one, up to and including the
//! closing one, count. A number of completions that begins and ends with a completion is free of
//! the bias that a fixed end has for few large requests: by Wald's identity the request that is
//! under way at the deadline must be included, since long requests are the likelier ones to be
//! under way. It also keeps a stall at the end of a trial from vanishing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::clock::process_cpu_ns;

/// What one job did in its measured time.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// From the opening of the measured window to the last counted completion.
    pub elapsed: Duration,
    /// Requests counted.
    pub ios: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Bytes of all requests, the ramp and the end included: what the device was asked for while
    /// the job ran.
    pub total_bytes: u64,
    /// Total latency of each counted request in nanoseconds, from before the inline layer seals to
    /// after it opened; three significant digits.
    pub latency: Histogram<u64>,
    /// CPU time of this process, user and system, during the measured time.
    pub cpu: Duration,
    /// True when the stop flag ended the job before its time; possibly nothing was counted.
    pub interrupted: bool,
}

const UNSET: u64 = u64::MAX;

/// Opens and closes the window, for any number of threads. Times are nanoseconds of one clock.
pub(crate) struct Gate {
    ramp: u64,
    duration: u64,
    ramp_end: AtomicU64,
    opened: AtomicU64,
    closed: AtomicU64,
    cpu_opened: AtomicU64,
    cpu_closed: AtomicU64,
}

impl Gate {
    pub(crate) fn new(ramp: Duration, duration: Duration) -> Self {
        let ns = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(UNSET / 4).min(UNSET / 4);
        let unset = || AtomicU64::new(UNSET);
        Self {
            ramp: ns(ramp),
            duration: ns(duration),
            ramp_end: unset(),
            opened: unset(),
            closed: unset(),
            cpu_opened: unset(),
            cpu_closed: unset(),
        }
    }

    /// Starts the ramp; without a ramp the window opens at once.
    pub(crate) fn begin(&self, now: u64) {
        if self.ramp == 0 {
            self.cpu_opened.store(process_cpu_ns(), Relaxed);
            self.opened.store(now, Relaxed);
        }
        self.ramp_end.store(now + self.ramp, Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed) != UNSET
    }

    /// Whether a completion at `done` counts; opens or closes the window when it is time.
    #[inline]
    fn counts(&self, done: u64) -> bool {
        let mut opened = self.opened.load(Relaxed);
        if opened == UNSET {
            if done < self.ramp_end.load(Relaxed) {
                return false;
            }
            match self.opened.compare_exchange(UNSET, done, Relaxed, Relaxed) {
                Ok(_) => {
                    self.cpu_opened.store(process_cpu_ns(), Relaxed);
                    return false;
                }
                Err(other) => opened = other,
            }
        }
        if done <= opened {
            return false;
        }
        let mut closed = self.closed.load(Relaxed);
        if closed == UNSET {
            if done - opened < self.duration {
                return true;
            }
            match self.closed.compare_exchange(UNSET, done, Relaxed, Relaxed) {
                Ok(_) => {
                    self.cpu_closed.store(process_cpu_ns(), Relaxed);
                    return true;
                }
                Err(other) => closed = other,
            }
        }
        done <= closed
    }
}

/// What one thread counted.
pub(crate) struct Tally {
    gate: Arc<Gate>,
    latency: Histogram<u64>,
    ios: u64,
    bytes: u64,
    total_bytes: u64,
    last: u64,
}

impl Tally {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        // 1 ns to 1 h; longer latencies are counted as one hour. The bounds are constants for
        // which the constructor has no error.
        let latency = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("valid bounds");
        Self { gate, latency, ios: 0, bytes: 0, total_bytes: 0, last: 0 }
    }

    /// Adds up the tallies of all threads of one gate.
    pub(crate) fn sum(gate: &Gate, tallies: Vec<Self>, interrupted: bool) -> Measurement {
        let mut tallies = tallies.into_iter();
        let mut sum = tallies
            .next()
            .unwrap_or_else(|| Self::new(Arc::new(Gate::new(Duration::ZERO, Duration::ZERO))));
        for t in tallies {
            sum.latency.add(t.latency).expect("same bounds");
            sum.ios += t.ios;
            sum.bytes += t.bytes;
            sum.total_bytes += t.total_bytes;
            sum.last = sum.last.max(t.last);
        }
        let opened = gate.opened.load(Relaxed);
        let cpu_closed = match gate.cpu_closed.load(Relaxed) {
            UNSET => process_cpu_ns(),
            closed => closed,
        };
        let since = |end: u64, start: u64| Duration::from_nanos(end.saturating_sub(start));
        Measurement {
            elapsed: since(sum.last, opened),
            ios: sum.ios,
            bytes: sum.bytes,
            total_bytes: sum.total_bytes,
            latency: sum.latency,
            cpu: since(cpu_closed, gate.cpu_opened.load(Relaxed)),
            interrupted: interrupted && !gate.is_closed(),
        }
    }
}

/// Told of completions by an engine.
pub(crate) trait Sink {
    /// The first request is about to be prepared.
    fn begin(&mut self, now: u64);
    /// A request of `len` bytes was under way from `started` to `done`.
    fn completed(&mut self, len: u32, started: u64, done: u64);
    /// No further request is wanted.
    fn finished(&self) -> bool;
}

impl Sink for Tally {
    fn begin(&mut self, now: u64) {
        self.gate.begin(now);
    }

    #[inline]
    fn completed(&mut self, len: u32, started: u64, done: u64) {
        self.total_bytes += u64::from(len);
        if self.gate.counts(done) {
            self.latency.saturating_record(done.saturating_sub(started));
            self.ios += 1;
            self.bytes += u64::from(len);
            self.last = self.last.max(done);
        }
    }

    #[inline]
    fn finished(&self) -> bool {
        self.gate.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(ramp: u64, duration: u64) -> Tally {
        let ns = Duration::from_nanos;
        Tally::new(Arc::new(Gate::new(ns(ramp), ns(duration))))
    }

    fn finish(t: Tally) -> Measurement {
        let gate = Arc::clone(&t.gate);
        Tally::sum(&gate, vec![t], true)
    }

    #[test]
    fn counts_between_two_completions() {
        let mut t = tally(100, 1000);
        t.begin(1_000);
        for done in [1_050, 1_099] {
            t.completed(512, 1_000, done); // ramp
        }
        t.completed(512, 1_000, 1_130); // opens
        t.completed(512, 1_000, 1_130); // same batch as the opening one
        t.completed(512, 1_100, 1_200);
        t.completed(512, 1_200, 2_129);
        assert!(!t.finished());
        t.completed(512, 2_000, 2_500); // closes
        assert!(t.finished());
        t.completed(512, 2_100, 2_500); // same batch as the closing one
        t.completed(512, 2_100, 2_501);
        let m = finish(t);
        assert_eq!((m.ios, m.bytes), (4, 2048));
        assert_eq!(m.total_bytes, 9 * 512);
        assert_eq!(m.elapsed, Duration::from_nanos(2_500 - 1_130));
        assert_eq!(m.latency.len(), 4);
        assert_eq!(m.latency.min(), 100);
        assert!(!m.interrupted, "a closed window is complete");
    }

    #[test]
    fn without_a_ramp_the_first_completion_counts() {
        let mut t = tally(0, 1000);
        t.begin(10);
        t.completed(512, 10, 40);
        let m = finish(t);
        assert_eq!((m.ios, m.elapsed), (1, Duration::from_nanos(30)));
        assert!(m.interrupted);
    }

    #[test]
    fn nothing_counted_is_all_zero() {
        let mut t = tally(1000, 1000);
        t.begin(10);
        t.completed(512, 10, 40);
        let m = finish(t);
        assert_eq!((m.ios, m.bytes, m.elapsed), (0, 0, Duration::ZERO));
        assert_eq!(m.latency.len(), 0);
        assert_eq!(m.cpu, Duration::ZERO);
    }

    #[test]
    fn a_rate_is_unbiased_for_few_large_requests() {
        // Constant service of 70 ns, window of 250 ns: exactly one request per 70 ns.
        let mut t = tally(100, 250);
        t.begin(0);
        let mut now = 0;
        while !t.finished() {
            t.completed(512, now, now + 70);
            now += 70;
        }
        let m = finish(t);
        assert_eq!(m.elapsed.as_nanos() as u64, m.ios * 70);
        assert_eq!(m.ios, 4);
    }
}
