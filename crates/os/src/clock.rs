//! Time that a process had of the processors.

/// CPU time, user and system, of all threads of this process, what the kernel does on its behalf in threads of its own
/// (Linux: io-wq) included, in nanoseconds. 0 where the system does not tell.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    crate::system::clock::process_cpu_ns()
}
