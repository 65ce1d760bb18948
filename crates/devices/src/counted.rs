//! Counts the requests that reach an emulated device, like a kernel's disk counters, but exactly.

use std::time::Duration;

use cryptbench_os::counters::DeviceCounts;

use crate::request::{Operation, Request};

/// The counters of an emulated device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    counts: DeviceCounts,
    flushes: u64,
    flush_ns: u64,
    /// Number of pieces that continued a request: for reads, and for writes.
    pieces: [u64; 2],
    /// Completion time of the last request so far, in seconds.
    busy_until: f64,
}

impl Counted {
    /// Counts a request that completes at `done`. If it is the next piece of a request that completed at
    /// `before`, that request becomes longer instead.
    pub(crate) fn request(&mut self, request: &Request, before: Option<f64>, done: f64) {
        let begun = before.unwrap_or(request.arrival_s);
        self.lasts(request.operation, begun, done);
        let counts = &mut self.counts;
        let (number, bytes, pieces) = match request.operation {
            Operation::Read => (&mut counts.reads, &mut counts.read_bytes, &mut self.pieces[0]),
            Operation::Write => {
                (&mut counts.writes, &mut counts.written_bytes, &mut self.pieces[1])
            }
            Operation::Flush => return self.flushes += 1,
        };
        *bytes += request.bytes;
        match before {
            None => *number += 1,
            Some(_) => *pieces += 1,
        }
    }

    /// Counts the time by which a request completed later than in the model.
    pub(crate) fn late(&mut self, operation: Operation, done: f64, by: f64) {
        self.lasts(operation, done, done + by);
    }

    fn lasts(&mut self, operation: Operation, from: f64, to: f64) {
        let taken = match operation {
            Operation::Read => &mut self.counts.read_ns,
            Operation::Write => &mut self.counts.write_ns,
            Operation::Flush => &mut self.flush_ns,
        };
        *taken += ns(to - from);
        self.counts.busy_ns += ns(to - from.max(self.busy_until));
        self.busy_until = self.busy_until.max(to);
    }

    /// The counters at a moment.
    pub(crate) fn at(&self, moment: Duration) -> DeviceCounts {
        DeviceCounts {
            span_ns: moment.as_nanos() as u64,
            merged_reads: Some(self.pieces[0]),
            merged_writes: Some(self.pieces[1]),
            flushes: Some(self.flushes),
            flush_ns: Some(self.flush_ns),
            ..self.counts
        }
    }
}

/// Nanoseconds; 0 for less than nothing.
fn ns(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(operation: Operation, bytes: u64, arrival_s: f64) -> Request {
        Request { operation, offset: 0, bytes, arrival_s, continues: false }
    }

    #[test]
    fn requests_bytes_and_times_are_those_of_the_model() {
        let mut counted = Counted::default();
        // Two reads that overlap for a second, and a pause of two before a write.
        counted.request(&request(Operation::Read, 4096, 0.0), None, 2.0);
        counted.request(&request(Operation::Read, 4096, 1.0), None, 3.0);
        counted.request(&request(Operation::Write, 512, 5.0), None, 6.0);
        counted.request(&request(Operation::Flush, 0, 6.0), None, 6.5);
        let found = counted.at(Duration::from_secs(8));
        let s = |seconds: f64| (seconds * 1e9) as u64;
        let expected = DeviceCounts {
            span_ns: s(8.0),
            reads: 2,
            read_bytes: 8192,
            read_ns: s(4.0),
            writes: 1,
            written_bytes: 512,
            write_ns: s(1.0),
            busy_ns: s(3.0 + 1.5),
            merged_reads: Some(0),
            merged_writes: Some(0),
            flushes: Some(1),
            flush_ns: Some(s(0.5)),
            ..DeviceCounts::default()
        };
        assert_eq!(found, expected);
        counted.late(Operation::Write, 6.5, 0.25);
        let late = counted.at(Duration::from_secs(8)).since(&found);
        assert_eq!((late.writes, late.write_ns, late.busy_ns), (0, s(0.25), s(0.25)));
    }

    #[test]
    fn the_pieces_of_a_request_are_one() {
        let mut counted = Counted::default();
        counted.request(&request(Operation::Write, 1 << 18, 0.0), None, 1.0);
        counted.request(&request(Operation::Write, 1 << 18, 0.1), Some(1.0), 1.5);
        let found = counted.at(Duration::from_secs(2));
        assert_eq!((found.writes, found.merged_writes), (1, Some(1)));
        assert_eq!((found.written_bytes, found.write_ns), (1 << 19, 1_500_000_000));
        assert_eq!(found.busy_ns, 1_500_000_000);
    }
}
