//! Wall-clock time and CPU time in nanoseconds.

use std::time::Instant;

pub(crate) use cryptbench_os::clock::process_cpu_ns;

/// Monotonic nanoseconds since the creation of the clock. Each reading takes about 20 ns.
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
