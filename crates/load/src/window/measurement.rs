//! The results of one job for its measured time.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The results of one job for its measured time.
///
/// Latencies are in nanoseconds, up to one hour, with three significant digits. Only io_uring separates submission from
/// completion latency, and only for a sample of the requests: reading the clock between submission and completion
/// requires a separate system call for the submission, so only every 31st submission is timed. With threads, one system
/// call performs both steps, and the two histograms are empty.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Time from the opening of the measured window to the last counted completion or, with
    /// [`Amount::Bytes`](crate::Amount::Bytes), from before the first request to the last completion or flush.
    pub elapsed: Duration,
    /// Number of requests counted.
    pub ios: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Number of writes among them.
    pub writes: u64,
    /// Bytes of all requests, including those of the ramp and the drain; this is the load on the device during the job.
    pub total_bytes: u64,
    /// The written part of `total_bytes`.
    pub total_written_bytes: u64,
    /// Number of file flushes that ended in the measured time. Flushes that are part of a write
    /// ([`Flush::EachWrite`](crate::Flush::EachWrite)) are not counted separately.
    pub flushes: u64,
    /// Total latency of each counted request, including the time in which the inline layer seals a write or opens a
    /// read. In a mix, a read's latency starts with its submission, so the latency does not include the sealing of
    /// writes in the same batch.
    pub latency: Histogram<u64>,
    /// Time from the start of the latency until the kernel had accepted the request.
    pub submission: Histogram<u64>,
    /// Time from the kernel's acceptance to the end of the request.
    pub completion: Histogram<u64>,
    /// The first counted requests, up to the number of samples that the job specifies, in order of completion.
    pub samples: Vec<Sample>,
    /// CPU time of this process (user and system) during the measured time.
    pub cpu: Duration,
    /// Whether the stop flag ended the job early; the counts may then be zero.
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
