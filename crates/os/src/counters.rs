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

impl Passed {
    /// Adds what passed in another, later span. Shares of the time are weighted with it; what was read at the end is that
    /// of the later span.
    pub fn add(&mut self, later: &Self) {
        let (a, b) = (self.wall_s, later.wall_s);
        let share = |x: Option<f64>, y: Option<f64>| match (x, y) {
            (Some(x), Some(y)) => Some((x * a + y * b) / (a + b)),
            (x, y) => y.or(x),
        };
        let sum = |x: Option<f64>, y: Option<f64>| match (x, y) {
            (Some(x), Some(y)) => Some(x + y),
            (x, y) => y.or(x),
        };
        *self = Self {
            wall_s: a + b,
            busy_s: self.busy_s + later.busy_s,
            generator_s: self.generator_s + later.generator_s,
            daemons_s: self.daemons_s + later.daemons_s,
            kernel_s: self.kernel_s + later.kernel_s,
            other_s: self.other_s + later.other_s,
            stolen_s: sum(self.stolen_s, later.stolen_s),
            energy_j: sum(self.energy_j, later.energy_j),
            temperature_c: later.temperature_c.or(self.temperature_c),
            frequency_mhz: later.frequency_mhz.or(self.frequency_mhz),
            cpu_pressure: share(self.cpu_pressure, later.cpu_pressure),
            io_pressure: share(self.io_pressure, later.io_pressure),
            memory_pressure: share(self.memory_pressure, later.memory_pressure),
            device: match (self.device, later.device) {
                (Some(x), Some(y)) => Some(DeviceCounts {
                    read_bytes: x.read_bytes + y.read_bytes,
                    written_bytes: x.written_bytes + y.written_bytes,
                    reads: x.reads + y.reads,
                    writes: x.writes + y.writes,
                }),
                (x, y) => y.or(x),
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_add_up_and_shares_are_weighted() {
        let device =
            |n| Some(DeviceCounts { read_bytes: n, written_bytes: 0, reads: 1, writes: 0 });
        let mut sum = Passed::default();
        for (wall_s, busy_s, pressure, device) in
            [(1.0, 0.5, Some(0.4), device(7)), (3.0, 2.5, Some(0.8), device(5))]
        {
            let temperature_c = Some(busy_s * 10.0);
            let cpu_pressure = pressure;
            sum.add(&Passed {
                wall_s,
                busy_s,
                cpu_pressure,
                temperature_c,
                device,
                ..Passed::default()
            });
        }
        assert_eq!((sum.wall_s, sum.busy_s, sum.temperature_c), (4.0, 3.0, Some(25.0)));
        assert!((sum.cpu_pressure.unwrap() - 0.7).abs() < 1e-12);
        assert_eq!(sum.device.map(|d| (d.read_bytes, d.reads)), Some((12, 2)));
        assert_eq!(sum.energy_j, None);
    }
}
