//! CPU time of this process.

/// CPU time, user and system, of all threads of this process in nanoseconds. Includes the work that the kernel does for
/// this process in separate threads (Linux: io-wq). 0 if the system does not report the time.
pub fn process_cpu_ns() -> u64 {
    crate::system::clock::process_cpu_ns()
}
