//! The results of one job in its measured time.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The results of one job in its measured time.
///
/// Latencies are in nanoseconds, up to one hour, with three significant digits. Only io_uring
/// separates submission from completion latency, and only for a sample of the requests: reading the
/// clock between the two takes a system call per submission, so it times every 31st one. With
/// threads one system call does both, and the two histograms are empty.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// From the opening of the measured window to the last counted completion. With
    /// [`Amount::Bytes`](crate::Amount::Bytes), from before the first request to the last
    /// completion or flush.
    pub elapsed: Duration,
    /// Number of requests counted.
    pub ios: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Number of writes among them.
    pub writes: u64,
    /// Bytes of all requests, including the ramp and the end: the load on the device while the job
    /// ran.
    pub total_bytes: u64,
    /// The written part of `total_bytes`.
    pub total_written_bytes: u64,
    /// Flushes of the file that ended in the measured time. Flushes that are part of a write
    /// ([`Flush::EachWrite`](crate::Flush::EachWrite)) are not counted separately.
    pub flushes: u64,
    /// Total latency of each counted request, from before the inline layer seals it until after it
    /// opens it. A read in a mix begins when it is submitted, so the sealing of its neighbours
    /// before that is not included.
    pub latency: Histogram<u64>,
    /// Time from the same start until the kernel had accepted the request.
    pub submission: Histogram<u64>,
    /// Time from there to the end.
    pub completion: Histogram<u64>,
    /// The first counted requests, up to the number that the job requests, in order of completion.
    pub samples: Vec<Sample>,
    /// CPU time of this process, user and system, during the measured time.
    pub cpu: Duration,
    /// True if the stop flag ended the job early; possibly nothing was counted.
    pub interrupted: bool,
}

/// Offset and latency of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Offset in bytes from the start of the extent.
    pub offset: u64,
    /// Total latency, nanoseconds.
    pub latency: u64,
}
