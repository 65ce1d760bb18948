//! Processes by their numbers.

/// When a process started, in a unit of the system's (Linux: clock ticks after boot): with its number it tells one process
/// from another that later has the number. `None` where there is none of the number, or the system does not tell.
#[must_use]
pub fn started(process: u32) -> Option<u64> {
    crate::system::process::started(process)
}

/// Whether no program runs under the number: there is none, or it has ended and was not waited for yet. Where the system
/// does not tell, it has.
#[must_use]
pub fn has_ended(process: u32) -> bool {
    crate::system::process::has_ended(process)
}

/// CPU seconds of a process with all its threads, ended ones included. `None` as for [`started`].
#[must_use]
pub fn cpu_s(process: u32) -> Option<f64> {
    crate::system::process::cpu_s(process)
}
