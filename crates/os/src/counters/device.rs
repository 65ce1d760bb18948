//! The counters of a device, and how they are read.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The counters of a device at one moment, or the difference between two moments. `None` for values that the system
/// does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Nanoseconds of a monotonic clock; for the difference, the time between the two moments.
    pub span_ns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Completed read requests.
    pub reads: u64,
    /// Completed write requests.
    pub writes: u64,
    /// Total time of the completed reads in nanoseconds.
    pub read_ns: u64,
    /// Total time of the completed writes in nanoseconds.
    pub write_ns: u64,
    /// Nanoseconds during which requests were in flight. Linux counts in clock ticks; a tick in which a request
    /// started counts in full.
    pub busy_ns: u64,
    /// Requests in flight at this moment; for the difference between two moments, at the first moment.
    pub queued: Option<u64>,
    /// Reads that were merged with adjacent reads before they reached the device.
    pub merged_reads: Option<u64>,
    /// Writes that were merged in the same way.
    pub merged_writes: Option<u64>,
    /// Completed discard requests.
    pub discards: Option<u64>,
    /// Bytes discarded.
    pub discarded_bytes: Option<u64>,
    /// Completed flushes of the device's cache. For a partition, Linux counts the flushes of the whole disk.
    pub flushes: Option<u64>,
    /// Nanoseconds that these flushes took.
    pub flush_ns: Option<u64>,
}

impl DeviceCounts {
    /// The difference from an `earlier` moment.
    pub fn since(&self, earlier: &Self) -> Self {
        let passed = self.with(earlier, u64::saturating_sub, time_since);
        Self { queued: earlier.queued, ..passed }
    }

    /// The sum of the counts over two spans.
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |a, b| a + b, |a, b| a + b)
    }

    fn with(&self, other: &Self, join: fn(u64, u64) -> u64, time: fn(u64, u64) -> u64) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| Some(join(a?, b?));
        Self {
            span_ns: join(self.span_ns, other.span_ns),
            read_bytes: join(self.read_bytes, other.read_bytes),
            written_bytes: join(self.written_bytes, other.written_bytes),
            reads: join(self.reads, other.reads),
            writes: join(self.writes, other.writes),
            read_ns: time(self.read_ns, other.read_ns),
            write_ns: time(self.write_ns, other.write_ns),
            busy_ns: time(self.busy_ns, other.busy_ns),
            queued: both(self.queued, other.queued),
            merged_reads: both(self.merged_reads, other.merged_reads),
            merged_writes: both(self.merged_writes, other.merged_writes),
            discards: both(self.discards, other.discards),
            discarded_bytes: both(self.discarded_bytes, other.discarded_bytes),
            flushes: both(self.flushes, other.flushes),
            flush_ns: self.flush_ns.zip(other.flush_ns).map(|(a, b)| time(a, b)),
        }
    }
}

/// Nanoseconds after which Linux's times wrap around: Linux reports milliseconds as 32-bit numbers.
const ROUND: u64 = (1 << 32) * 1_000_000;

fn time_since(now: u64, earlier: u64) -> u64 {
    let round = if now < earlier { ROUND } else { 0 };
    (now + round).saturating_sub(earlier)
}

/// The source of a device's counters.
#[derive(Clone)]
pub enum CountedBy {
    /// The operating system, through the file or volume that [`crate::storage::Node::counters`] returns.
    System(PathBuf),
    /// The device itself, if the device is part of this process.
    Itself(Arc<dyn Fn() -> DeviceCounts + Send + Sync>),
}

impl fmt::Debug for CountedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(path) => f.debug_tuple("System").field(path).finish(),
            Self::Itself(_) => f.write_str("Itself"),
        }
    }
}

/// Reads the counters of a device.
pub(crate) type Reader = Box<dyn Fn() -> Option<DeviceCounts> + Send + Sync>;

impl CountedBy {
    /// A reader; `open` creates the reader for a file or volume that has counters.
    pub(crate) fn reader(self, open: impl FnOnce(PathBuf) -> Option<Reader>) -> Option<Reader> {
        match self {
            Self::System(path) => open(path),
            Self::Itself(counts) => Some(Box::new(move || Some(counts()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_that_of_the_beginning_and_what_is_not_counted_stays_unknown() {
        let at = |n, queued| DeviceCounts {
            span_ns: n * 1000,
            reads: n,
            read_ns: n * 7,
            flushes: Some(n),
            queued: Some(queued),
            ..DeviceCounts::default()
        };
        let passed = at(9, 0).since(&at(4, 3));
        assert_eq!(passed, DeviceCounts { span_ns: 5000, ..at(5, 3) });
        let sum = passed.and(&at(10, 2).since(&at(9, 1)));
        assert_eq!((sum.reads, sum.queued, sum.flushes, sum.discards), (6, Some(4), Some(6), None));
    }

    #[test]
    fn times_that_began_again_are_told() {
        let at = |ms: u64| DeviceCounts { read_ns: ms * 1_000_000, ..DeviceCounts::default() };
        assert_eq!(at(5).since(&at((1 << 32) - 7)).read_ns, 12_000_000);
        assert_eq!(at(7).since(&at(5)).read_ns, 2_000_000);
    }

    #[test]
    fn a_device_of_this_process_counts_itself() {
        let counts = Arc::new(|| DeviceCounts { reads: 3, ..DeviceCounts::default() });
        let reader = CountedBy::Itself(counts).reader(|_| unreachable!("no file")).unwrap();
        assert_eq!(reader().map(|counts| counts.reads), Some(3));
        let none = CountedBy::System(PathBuf::from("/nowhere")).reader(|_| None);
        assert!(none.is_none());
    }
}
