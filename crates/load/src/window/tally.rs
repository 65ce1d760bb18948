//! Counts the completions of one thread, and adds up the counts of several threads.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::{Completed, Gate, Measurement, Sample, Sink};
use crate::{Amount, Job, Operation};

/// Number of samples for which memory is allocated in advance.
const SAMPLES_AHEAD: u32 = 1 << 16;

/// The counts of one thread.
pub(crate) struct Tally {
    gate: Arc<Gate>,
    latency: Histogram<u64>,
    /// Submission and completion latency, if they were measured.
    parts: Option<Box<[Histogram<u64>; 2]>>,
    /// Completion time and sample.
    samples: Vec<(u64, Sample)>,
    wanted_samples: usize,
    /// One in this many counted requests is recorded as a sample.
    sample_every: u64,
    ios: u64,
    bytes: u64,
    writes: u64,
    total_bytes: u64,
    total_written_bytes: u64,
    flushes: u64,
    /// Requests counted by earlier slices.
    counted_before: u64,
    last: u64,
    /// Whether nothing is in flight.
    idle: bool,
}

/// The totals of a thread up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) total_bytes: u64,
}

/// 1 ns to 1 h; longer latencies are counted as one hour.
fn histogram() -> Histogram<u64> {
    // The bounds are constant and valid, so the constructor cannot fail.
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("valid bounds")
}

/// The n in "one in n requests is a sample". If the total number of requests of a job is known, the samples are
/// distributed evenly over all requests.
fn sample_every(job: &Job) -> u64 {
    match job.amount {
        Amount::Bytes(bytes) => {
            let requests = bytes / job.block_size.max(1);
            (requests / u64::from(job.samples.max(1))).max(1)
        }
        Amount::Time { .. } => 1,
    }
}

impl Tally {
    pub(crate) fn new(gate: &Arc<Gate>, job: &Job) -> Self {
        Self {
            gate: Arc::clone(gate),
            latency: histogram(),
            parts: None,
            samples: Vec::with_capacity(job.samples.min(SAMPLES_AHEAD) as usize),
            wanted_samples: job.samples as usize,
            sample_every: sample_every(job),
            ios: 0,
            bytes: 0,
            writes: 0,
            total_bytes: 0,
            total_written_bytes: 0,
            flushes: 0,
            counted_before: 0,
            last: 0,
            idle: false,
        }
    }

    /// Continues with the next slice, using its gate, and keeps the counts.
    pub(crate) fn go_on(&mut self, gate: &Arc<Gate>) {
        self.gate = Arc::clone(gate);
        self.counted_before = self.ios;
        self.last = 0;
    }

    /// Number of requests and bytes counted, and number of bytes in all requests.
    pub(crate) fn moved(&self) -> Moved {
        Moved { ios: self.ios, bytes: self.bytes, total_bytes: self.total_bytes }
    }

    /// The time at which the last counted request of this slice or job completed.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Adds up the tallies of all threads of one gate.
    pub(crate) fn sum(gate: &Gate, tallies: Vec<Self>, interrupted: bool) -> Measurement {
        let last = tallies.iter().map(Self::last).max().unwrap_or(0);
        Measurement {
            elapsed: gate.measured(last),
            cpu: gate.cpu(),
            interrupted: interrupted && !gate.is_closed() && !gate.complete.load(Relaxed),
            ..Self::merge(tallies)
        }
    }

    /// Adds up the counts of all threads, without the times.
    pub(crate) fn merge(tallies: Vec<Self>) -> Measurement {
        let (mut latency, mut submission, mut completion) = (histogram(), histogram(), histogram());
        let (mut ios, mut bytes, mut writes, mut flushes) = (0, 0, 0, 0);
        let (mut total_bytes, mut total_written_bytes) = (0, 0);
        let mut samples = Vec::new();
        let mut wanted_samples = 0;
        for t in tallies {
            latency.add(t.latency).expect("same bounds");
            if let Some(parts) = t.parts {
                let [s, c] = *parts;
                submission.add(s).expect("same bounds");
                completion.add(c).expect("same bounds");
            }
            ios += t.ios;
            bytes += t.bytes;
            writes += t.writes;
            flushes += t.flushes;
            total_bytes += t.total_bytes;
            total_written_bytes += t.total_written_bytes;
            samples.extend(t.samples);
            wanted_samples = t.wanted_samples;
        }
        // Each thread has recorded its own first samples. The sort is stable, so the order within a thread is
        // preserved.
        samples.sort_by_key(|(done, _)| *done);
        Measurement {
            elapsed: Duration::ZERO,
            ios,
            bytes,
            writes,
            total_bytes,
            total_written_bytes,
            flushes,
            latency,
            submission,
            completion,
            samples: samples.into_iter().take(wanted_samples).map(|(_, sample)| sample).collect(),
            cpu: Duration::ZERO,
            interrupted: false,
        }
    }

    #[cold]
    fn parts(&mut self) -> &mut [Histogram<u64>; 2] {
        self.parts.get_or_insert_with(|| Box::new([histogram(), histogram()]))
    }

    #[inline]
    fn count(&mut self, r: &Completed) {
        let latency = r.done.saturating_sub(r.started);
        self.latency.saturating_record(latency);
        self.ios += 1;
        self.bytes += u64::from(r.len);
        self.writes += u64::from(r.operation == Operation::Write);
        self.last = self.last.max(r.done);
        if r.taken != 0 {
            let [submission, completion] = self.parts();
            submission.saturating_record(r.taken.saturating_sub(r.started));
            completion.saturating_record(r.done.saturating_sub(r.taken));
        }
        if self.samples.len() < self.wanted_samples
            && (self.ios - 1).is_multiple_of(self.sample_every)
        {
            self.samples.push((r.done, Sample { offset: r.offset, latency }));
        }
    }
}

impl Sink for Tally {
    #[inline]
    fn completed(&mut self, request: &Completed) {
        let len = u64::from(request.len);
        self.total_bytes += len;
        if request.operation == Operation::Write {
            self.total_written_bytes += len;
        }
        if self.gate.counts(request.done, self.ios - self.counted_before) {
            self.count(request);
        }
    }

    #[inline]
    fn finished(&self) -> bool {
        self.gate.is_closed()
    }

    fn idle(&mut self, now: u64) {
        if !self.idle {
            self.idle = true;
            self.gate.active.fetch_sub(1, Relaxed);
        }
        if self.gate.expire(now) {
            self.last = now;
        }
    }

    fn resumed(&mut self) {
        if std::mem::take(&mut self.idle) {
            self.gate.active.fetch_add(1, Relaxed);
        }
    }

    fn flushed(&mut self, done: u64) {
        if self.gate.is_open() {
            self.flushes += 1;
        }
        if self.gate.whole {
            self.last = self.last.max(done);
            if self.gate.busy.load(Relaxed) == 0 {
                self.gate.finish();
            }
        }
    }

    fn exhausted(&mut self, done: u64) -> bool {
        if self.gate.whole {
            self.last = self.last.max(done);
        }
        self.gate.leave()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flush, Pattern};

    fn job(amount: Amount) -> Job {
        Job { amount, ..Job::new(Operation::Read, Pattern::Random, 512, 1) }
    }

    fn tally(ramp: u64, duration: u64) -> Tally {
        let ns = Duration::from_nanos;
        let job = job(Amount::Time { ramp: ns(ramp), duration: ns(duration) });
        Tally::new(&Arc::new(Gate::new(&job, 1)), &job)
    }

    fn finish(t: Tally) -> Measurement {
        let gate = Arc::clone(&t.gate);
        Tally::sum(&gate, vec![t], true)
    }

    impl Tally {
        fn begin(&self, now: u64) {
            self.gate.begin(now);
        }

        fn request(&mut self, len: u32, started: u64, done: u64) {
            let operation = Operation::Read;
            self.completed(&Completed { operation, offset: done, len, started, taken: 0, done });
        }
    }

    #[test]
    fn counts_between_two_completions() {
        let mut t = tally(100, 1000);
        t.begin(1_000);
        for done in [1_050, 1_099] {
            t.request(512, 1_000, done); // ramp
        }
        t.request(512, 1_000, 1_130); // opens
        t.request(512, 1_000, 1_130); // same batch as the opening one
        t.request(512, 1_100, 1_200);
        t.request(512, 1_200, 2_129);
        assert!(!t.finished());
        t.request(512, 2_000, 2_500); // closes
        assert!(t.finished());
        t.request(512, 2_100, 2_500); // same batch as the closing one
        t.request(512, 2_100, 2_501);
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
        t.request(512, 10, 40);
        let m = finish(t);
        assert_eq!((m.ios, m.elapsed), (1, Duration::from_nanos(30)));
        assert!(m.interrupted);
    }

    #[test]
    fn nothing_counted_is_all_zero() {
        let mut t = tally(1000, 1000);
        t.begin(10);
        t.request(512, 10, 40);
        let m = finish(t);
        assert_eq!((m.ios, m.bytes, m.elapsed), (0, 0, Duration::ZERO));
        assert_eq!(m.latency.len(), 0);
        assert_eq!(m.cpu, Duration::ZERO);
    }

    #[test]
    fn a_rate_is_unbiased_for_few_large_requests() {
        // A constant service time of 70 ns and a window of 250 ns: exactly one request per 70 ns.
        let mut t = tally(100, 250);
        t.begin(0);
        let mut now = 0;
        while !t.finished() {
            t.request(512, now, now + 70);
            now += 70;
        }
        let m = finish(t);
        assert_eq!(m.elapsed.as_nanos() as u64, m.ios * 70);
        assert_eq!(m.ios, 4);
    }

    #[test]
    fn a_rate_is_unbiased_when_requests_complete_in_bursts() {
        // Four requests complete together every 170 ns, except that the last three follow the first
        // by up to 13 ns, because its successor is sealed in between. The trial is much shorter
        // than a cycle.
        for (ramp, late) in [(0, 13), (20, 13), (20, 0), (200, 1), (200, 13)] {
            let ns = Duration::from_nanos;
            let amount = Amount::Time { ramp: ns(ramp), duration: ns(10) };
            let job = Job { queue_depth: 4, ..job(amount) };
            let mut t = Tally::new(&Arc::new(Gate::new(&job, 1)), &job);
            t.begin(0);
            let mut cycle = 1;
            while !t.finished() {
                for done in [0, late, late, late] {
                    t.request(512, (cycle - 1) * 170, cycle * 170 + done);
                }
                cycle += 1;
            }
            let m = finish(t);
            let rate = m.ios as f64 / m.elapsed.as_nanos() as f64;
            assert!((rate * 170.0 / 4.0 - 1.0).abs() < 0.09, "ramp {ramp}, {late} late: {m:?}");
        }
    }

    #[test]
    fn all_requests_and_the_flush_of_a_whole_job_count() {
        let job = Job { flush: Flush::AtEnd, samples: 3, ..job(Amount::Bytes(4 * 512)) };
        let gate = Arc::new(Gate::new(&job, 2));
        let (mut a, mut b) = (Tally::new(&gate, &job), Tally::new(&gate, &job));
        gate.begin(1_000);
        a.request(512, 1_000, 1_000); // even one at the resolution of the clock
        b.request(512, 1_000, 1_400);
        a.request(512, 1_000, 1_300);
        b.request(512, 1_400, 1_900);
        assert!(!a.exhausted(1_300), "b is still busy");
        assert!(!a.finished() && !b.finished());
        assert!(b.exhausted(1_900), "the last one flushes");
        b.flushed(2_500);
        let m = Tally::sum(&gate, vec![a, b], true);
        assert_eq!((m.ios, m.bytes, m.flushes, m.interrupted), (4, 2048, 1, false));
        assert_eq!(m.elapsed, Duration::from_nanos(1_500));
        let order: Vec<u64> = m.samples.iter().map(|s| s.offset).collect();
        assert_eq!(order, [1_000, 1_300, 1_400], "the first three, by completion");
        assert_eq!(m.samples[2].latency, 400);
    }

    #[test]
    fn samples_of_a_known_number_of_requests_are_spread_over_them() {
        let job = Job { samples: 3, ..job(Amount::Bytes(11 * 512)) };
        let gate = Arc::new(Gate::new(&job, 1));
        let mut t = Tally::new(&gate, &job);
        gate.begin(0);
        for request in 0..11 {
            t.request(512, request, request);
        }
        let places: Vec<u64> = finish(t).samples.iter().map(|s| s.offset).collect();
        assert_eq!(places, [0, 3, 6]);
    }

    #[test]
    fn a_window_without_requests_ends_in_time() {
        let mut t = tally(100, 1000);
        t.begin(1_000);
        t.idle(1_050);
        t.resumed();
        t.request(512, 1_000, 1_060); // ramp
        t.idle(1_100); // opens
        t.resumed();
        t.request(512, 1_200, 1_300);
        t.idle(2_099);
        assert!(!t.finished());
        t.idle(2_100);
        assert!(t.finished());
        let m = finish(t);
        assert_eq!((m.ios, m.elapsed), (1, Duration::from_nanos(1_000)));
    }

    /// A request in flight when the time is up counts, even if another thread is idle.
    #[test]
    fn an_idle_thread_leaves_the_window_to_a_request_in_flight() {
        let ns = Duration::from_nanos;
        let job = Job {
            rate: Some(crate::Rate::Requests(1.0)),
            ..job(Amount::Time { ramp: ns(100), duration: ns(1000) })
        };
        let gate = Arc::new(Gate::new(&job, 2));
        let (mut a, mut b) = (Tally::new(&gate, &job), Tally::new(&gate, &job));
        gate.begin(1_000);
        a.idle(1_000);
        b.idle(1_050);
        b.idle(1_100); // opens
        b.resumed(); // a request of 1,000 ns
        a.idle(1_500);
        a.idle(2_150);
        assert!(!a.finished(), "b's request is in flight");
        b.request(512, 1_200, 2_200); // closes
        assert!(a.finished());
        let m = Tally::sum(&gate, vec![a, b], false);
        assert_eq!((m.ios, m.elapsed), (1, ns(1_100)));
    }

    #[test]
    fn a_whole_job_that_was_stopped_is_interrupted() {
        let job = job(Amount::Bytes(4 * 512));
        let gate = Arc::new(Gate::new(&job, 1));
        let mut t = Tally::new(&gate, &job);
        gate.begin(1_000);
        t.request(512, 1_000, 1_100);
        let m = Tally::sum(&gate, vec![t], true);
        assert_eq!((m.ios, m.interrupted), (1, true));
    }

    #[test]
    fn parts_of_a_latency_add_up_and_merge() {
        let job = job(Amount::Bytes(1024));
        let gate = Arc::new(Gate::new(&job, 2));
        let mut tallies = [Tally::new(&gate, &job), Tally::new(&gate, &job)];
        gate.begin(0);
        for (t, taken) in tallies.iter_mut().zip([1_200, 0]) {
            let (operation, offset, len) = (Operation::Write, 0, 512);
            t.completed(&Completed { operation, offset, len, started: 1_000, taken, done: 1_900 });
        }
        let m = Tally::sum(&gate, tallies.into(), false);
        assert_eq!((m.latency.len(), m.submission.len(), m.completion.len()), (2, 1, 1));
        assert_eq!((m.submission.max(), m.completion.max(), m.latency.max()), (200, 700, 900));
        assert_eq!((m.writes, m.total_written_bytes), (2, 1024));
    }

    /// Percentiles of the histogram agree with exact ones to its three significant digits.
    #[test]
    fn percentiles_are_exact_to_three_digits() {
        let job = job(Amount::Bytes(512));
        let gate = Arc::new(Gate::new(&job, 1));
        let mut t = Tally::new(&gate, &job);
        gate.begin(0);
        let mut exact: Vec<u64> = (0..20_000)
            .map(|i| 1 << (10 + crate::offsets::splitmix(5, i) % 20))
            .enumerate()
            .map(|(i, base)| base + crate::offsets::splitmix(6, i as u64) % base)
            .collect();
        exact.iter().for_each(|&ns| t.request(512, 7, 7 + ns));
        exact.sort_unstable();
        let m = finish(t);
        for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let true_value = exact[(exact.len() as f64 * q).ceil() as usize - 1] as f64;
            let told = m.latency.value_at_quantile(q) as f64;
            assert!((told / true_value - 1.0).abs() < 0.001, "{q}: {told} for {true_value}");
        }
    }
}
