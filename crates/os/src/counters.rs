//! Whose CPU time went by between two moments, what the device moved, and how the machine fared.
//!
//! | part of the machine's busy time | whose |
//! |---|---|
//! | generator | this process's threads that issue the load, and all its threads that ended meanwhile: the engine ends its own before the second look |
//! | daemons | this process's threads that serve, told by their names, the [watched](Counters::watch) processes with all their descendants, and children of this process that ended and were waited for meanwhile |
//! | kernel | kernel threads, and io_uring's workers in this process: they run kernel code for whoever submitted, as kworkers do |
//! | other | the rest: other programs, interrupts, and what is lost |
//!
//! The first three are the scheduler's exact account of each task; the whole is the kernel's sample at
//! each scheduler tick. So `other`, their difference, is as coarse as that sample and can be negative in
//! a short trial; over many trials it evens out. Time that a hypervisor stole while a task was running is
//! in that task's account, unless the kernel has `CONFIG_PARAVIRT_TIME_ACCOUNTING`, and is not in the
//! whole.
//!
//! Lost, and so in `other`, is what these used: kernel threads that ended between two looks, and
//! processes that ended and were waited for neither by this process nor by one that is watched. In a
//! container that hides kernel threads they are in `other` as well.

pub use crate::system::counters::{Counters, Snapshot};

/// What passed between two snapshots. What the system does not tell is `None`, and of CPU seconds 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passed {
    /// Seconds from the first snapshot to the second.
    pub wall_s: f64,
    /// CPU seconds of the whole machine, less the idle baseline.
    pub busy_s: f64,
    /// Of these, CPU seconds of the threads that issue the load. The four parts add up to `busy_s`.
    pub generator_s: f64,
    /// CPU seconds of the encryption system's own processes and serving threads.
    pub daemons_s: f64,
    /// CPU seconds of kernel threads, less their idle baseline.
    pub kernel_s: f64,
    /// CPU seconds of all else. May be slightly negative: the machine counts in ticks.
    pub other_s: f64,
    /// CPU seconds that the hypervisor took from this machine (steal).
    pub stolen_s: Option<f64>,
    /// Joules of the processor packages, less nothing.
    pub energy_j: Option<f64>,
    /// Hottest processor temperature at the end, degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Mean clock rate of the processors at the end, MHz.
    pub frequency_mhz: Option<f64>,
    /// Share of the time in which some task waited for a processor, 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// Share of the time in which some task waited for I/O, 0 to 1.
    pub io_pressure: Option<f64>,
    /// Share of the time in which some task waited for memory, 0 to 1.
    pub memory_pressure: Option<f64>,
    /// What the device in use counted.
    pub device: Option<DeviceCounts>,
}

/// Bytes and requests that a device counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
}
