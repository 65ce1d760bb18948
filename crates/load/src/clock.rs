//! Wall and CPU clocks as plain nanoseconds.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Monotonic nanoseconds since the clock was made; one read costs about 20 ns.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    base: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { base: Instant::now() }
    }

    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        let d = self.base.elapsed();
        d.as_secs() * 1_000_000_000 + u64::from(d.subsec_nanos())
    }
}

/// CPU time, user and system, of all threads of this process, kernel workers on its behalf
/// (io-wq) included, in nanoseconds.
pub(crate) fn process_cpu_ns() -> u64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec).unwrap_or(0)
}
