//! What one job did in its measured time.

use std::time::Duration;

use hdrhistogram::Histogram;

/// What one job did in its measured time.
///
/// Latencies are in nanoseconds, up to one hour, with three significant digits. Those of submission and
/// completion are taken by io_uring alone, and of part of the requests: to look at the clock between
/// the two means a system call for each, so every 31st submission is looked at. With threads, one
/// system call is both, and the two are empty.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// From the opening of the measured window to the last counted completion; with
    /// [`Amount::Bytes`](crate::Amount::Bytes) from before the first request to the last completion or
    /// flush.
    pub elapsed: Duration,
    /// Requests counted.
    pub ios: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Requests counted that wrote.
    pub writes: u64,
    /// Bytes of all requests, the ramp and the end included: what the device was asked for while
    /// the job ran.
    pub total_bytes: u64,
    /// The written part of `total_bytes`.
    pub total_written_bytes: u64,
    /// Flushes of the file that ended in the measured time; those that belong to a write
    /// ([`Flush::EachWrite`](crate::Flush::EachWrite)) are not told apart from it.
    pub flushes: u64,
    /// Total latency of each counted request, from before the inline layer seals to after it opened. A read
    /// of a mix begins when it is submitted: what is sealed for its neighbours before that is no part of it.
    pub latency: Histogram<u64>,
    /// From the same beginning until the kernel had taken the request.
    pub submission: Histogram<u64>,
    /// From there to the end.
    pub completion: Histogram<u64>,
    /// The first requests counted, as many as the job asks for, in the order of their completion.
    pub samples: Vec<Sample>,
    /// CPU time of this process, user and system, during the measured time.
    pub cpu: Duration,
    /// True when the stop flag ended the job before its time; possibly nothing was counted.
    pub interrupted: bool,
}

/// Place and latency of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Bytes from the start of the extent.
    pub offset: u64,
    /// Total latency, nanoseconds.
    pub latency: u64,
}
