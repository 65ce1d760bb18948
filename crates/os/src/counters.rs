//! Accounts for CPU time, device traffic and the state of the machine between two moments.
//!
//! | part of the machine's busy time | includes |
//! |---|---|
//! | generator | this process's threads that submit the load, and all its threads that exited between the snapshots; those of the engine exit before the second one |
//! | daemons | this process's serving threads, identified by name, and io_uring's workers of these; the [watched](Counters::watch) processes with all descendants; and children of this process that it waited for between the snapshots |
//! | kernel | kernel threads, and io_uring's other workers in this process, which run kernel code for the submitter like kworkers |
//! | other | the rest: other programs, interrupts, and lost time |
//!
//! The first three come from the scheduler's exact account of each task. The total is sampled by the kernel at each
//! scheduler tick. `other`, the difference, is therefore as coarse as that sample and can be negative in a short trial;
//! over many trials the error averages out. Steal time while a task was running counts for that task, unless the kernel
//! has `CONFIG_PARAVIRT_TIME_ACCOUNTING`. The total does not include steal time.
//!
//! Two kinds of time are lost and end up in `other`: that of kernel threads that exited between two snapshots, and that
//! of processes that exited and were waited for neither by this process nor by a watched process. In a container that
//! hides kernel threads, the time of these threads is in `other` as well.

mod device;
mod thread;

pub(crate) use self::device::Reader;
pub use self::device::{CountedBy, DeviceCounts};
pub use self::thread::{Switches, ThreadTime, busiest};
use crate::system::counters::reader;
pub use crate::system::counters::{Counters, Snapshot};

impl Counters {
    /// Adds another device and returns its number.
    pub fn add_device(&mut self, device: Option<CountedBy>) -> usize {
        self.devices.push(device.and_then(reader));
        self.devices.len() - 1
    }

    /// From the next snapshot on, the device with this number is the device in use.
    ///
    /// # Panics
    /// At the next snapshot if no device has this number.
    pub fn use_device(&mut self, device: usize) {
        self.device = device;
    }

    /// Whether the device with this number has counters.
    ///
    /// # Panics
    /// If no device has this number.
    pub fn device_counts(&self, device: usize) -> bool {
        self.devices[device].is_some()
    }

    /// The counters of the device with this number so far.
    ///
    /// # Panics
    /// If no device has this number.
    pub fn counted(&self, device: usize) -> Option<DeviceCounts> {
        self.devices[device].as_ref().and_then(|read| read())
    }
}

/// The difference between two snapshots. Values that the system does not report are `None`, and 0 for CPU seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passed {
    /// Seconds from the first snapshot to the second.
    pub wall_s: f64,
    /// CPU seconds of the whole machine, less the idle baseline: negative if other programs used more CPU time while
    /// the baseline was measured. Negative values are kept, so that a sum over many spans has no bias.
    pub busy_s: f64,
    /// CPU seconds of the threads that submit the load. The four parts add up to `busy_s`.
    pub generator_s: f64,
    /// CPU seconds of the encryption system's processes and serving threads.
    pub daemons_s: f64,
    /// CPU seconds of kernel threads, less their idle baseline.
    pub kernel_s: f64,
    /// CPU seconds of everything else. May be slightly negative, because the machine's total is counted in ticks.
    pub other_s: f64,
    /// CPU seconds that the hypervisor took from this machine (steal time).
    pub stolen_s: Option<f64>,
    /// Energy of the CPU packages in joules; no baseline is subtracted.
    pub energy_j: Option<f64>,
    /// Joules that the whole machine drew from its batteries, estimated from the power at both ends; `None` on
    /// mains power.
    pub battery_j: Option<f64>,
    /// Hottest CPU temperature at the end, degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Mean clock frequency of the CPUs at the end, MHz.
    pub frequency_mhz: Option<f64>,
    /// Share of the time in which some task waited for a CPU, 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// Share of the time in which some task waited for I/O, 0 to 1.
    pub io_pressure: Option<f64>,
    /// Share of the time in which some task waited for memory, 0 to 1.
    pub memory_pressure: Option<f64>,
    /// Counters of the device in use.
    pub device: Option<DeviceCounts>,
    /// Those threads that submit the load and have used CPU time.
    pub load_threads: Vec<ThreadTime>,
    /// The busiest threads of the encryption system's processes, and its serving threads.
    pub helper_threads: Vec<ThreadTime>,
    /// The busiest kernel threads.
    pub kernel_threads: Vec<ThreadTime>,
    /// How often the encryption system's threads gave up a CPU.
    pub switches: Option<Switches>,
}

impl Passed {
    /// Adds a later span. Shares of time are weighted by the spans' lengths; values read at the end are taken from the
    /// later span.
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
        let [mut load, mut helpers, mut kernel] =
            [&mut self.load_threads, &mut self.helper_threads, &mut self.kernel_threads]
                .map(std::mem::take);
        thread::add(&mut load, &later.load_threads);
        thread::add(&mut helpers, &later.helper_threads);
        thread::add(&mut kernel, &later.kernel_threads);
        *self = Self {
            wall_s: a + b,
            load_threads: load,
            helper_threads: helpers,
            kernel_threads: kernel,
            switches: match (self.switches, later.switches) {
                (Some(x), Some(y)) => Some(x.and(y)),
                (x, y) => y.or(x),
            },
            busy_s: self.busy_s + later.busy_s,
            generator_s: self.generator_s + later.generator_s,
            daemons_s: self.daemons_s + later.daemons_s,
            kernel_s: self.kernel_s + later.kernel_s,
            other_s: self.other_s + later.other_s,
            stolen_s: sum(self.stolen_s, later.stolen_s),
            energy_j: sum(self.energy_j, later.energy_j),
            battery_j: sum(self.battery_j, later.battery_j),
            temperature_c: later.temperature_c.or(self.temperature_c),
            frequency_mhz: later.frequency_mhz.or(self.frequency_mhz),
            cpu_pressure: share(self.cpu_pressure, later.cpu_pressure),
            io_pressure: share(self.io_pressure, later.io_pressure),
            memory_pressure: share(self.memory_pressure, later.memory_pressure),
            device: match (self.device, later.device) {
                (Some(x), Some(y)) => Some(x.and(&y)),
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
        let device = |n| {
            let optional = Some(n);
            let counts = DeviceCounts { read_bytes: n, reads: 1, ..DeviceCounts::default() };
            Some(DeviceCounts { flushes: optional, ..counts })
        };
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
        let found = sum.device.map(|d| (d.read_bytes, d.reads, d.flushes, d.discards));
        assert_eq!(found, Some((12, 2, Some(12), None)));
        assert_eq!(sum.energy_j, None);
    }
}
