//! Converts the operating system's data to the record's types.

use cryptbench_os::counters::{DeviceCounts, Passed, ThreadTime, busiest};

use crate::{Accounting, BusyThread, DeviceMoved, DiskCounts, Limits, Machine, Power, Threads};

impl From<DeviceCounts> for DeviceMoved {
    fn from(counts: DeviceCounts) -> Self {
        Self {
            read_bytes: counts.read_bytes,
            written_bytes: counts.written_bytes,
            reads: counts.reads,
            writes: counts.writes,
        }
    }
}

impl DiskCounts {
    /// The counters of a device while a load of `asked` requests with `asked_bytes` ran.
    pub fn of(counts: &DeviceCounts, asked: u64, asked_bytes: u64) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            span_s: seconds(counts.span_ns),
            asked,
            asked_bytes,
            reads: counts.reads,
            read_bytes: counts.read_bytes,
            read_s: seconds(counts.read_ns),
            writes: counts.writes,
            written_bytes: counts.written_bytes,
            write_s: seconds(counts.write_ns),
            busy_s: seconds(counts.busy_ns),
            queued: counts.queued,
            merged_reads: counts.merged_reads,
            merged_writes: counts.merged_writes,
            discards: counts.discards,
            discarded_bytes: counts.discarded_bytes,
            flushes: counts.flushes,
            flush_s: counts.flush_ns.map(seconds),
        }
    }
}

impl From<cryptbench_os::machine::Machine> for Machine {
    /// Leaves the idle baseline at 0, because measuring it takes a while.
    fn from(machine: cryptbench_os::machine::Machine) -> Self {
        Self {
            cpu_model: machine.cpu_model,
            cpus: machine.cpus,
            cpu_features: machine.cpu_features,
            memory_bytes: machine.memory_bytes,
            kernel: machine.kernel,
            os: machine.os,
            virtualisation: machine.virtualisation,
            emulated: machine.emulated,
            idle_baseline: 0.0,
            load_average: machine.load_average,
            power: machine.power.into(),
            limits: cryptbench_os::machine::Limits::this().into(),
        }
    }
}

impl From<cryptbench_os::machine::Limits> for Limits {
    fn from(limits: cryptbench_os::machine::Limits) -> Self {
        let cryptbench_os::machine::Limits { memory_bytes, cpus } = limits;
        Self { memory_bytes, cpus, throttled_s: None }
    }
}

impl From<cryptbench_os::machine::Power> for Power {
    fn from(power: cryptbench_os::machine::Power) -> Self {
        let cryptbench_os::machine::Power { governor, driver, preference, on_battery } = power;
        Self { governor, driver, preference, on_battery }
    }
}

impl Threads {
    /// The busiest threads of a span with this many `asked` requests; `None` if the system does not report
    /// threads.
    pub fn of(passed: &Passed, asked: u64) -> Option<Self> {
        let busy = |threads: &[ThreadTime]| {
            busiest(threads).map(|found| BusyThread {
                name: cryptbench_text::printable(&found.name).into_owned(),
                cpu_s: found.ns as f64 / 1e9,
                waited_s: found.waited_ns as f64 / 1e9,
            })
        };
        let found = Self {
            span_s: passed.wall_s,
            asked,
            load: busy(&passed.load_threads),
            helper: busy(&passed.helper_threads),
            kernel: busy(&passed.kernel_threads),
            voluntary_switches: passed.switches.map(|switches| switches.voluntary),
            involuntary_switches: passed.switches.map(|switches| switches.involuntary),
        };
        let is_known = found.load.is_some() || found.helper.is_some() || found.kernel.is_some();
        is_known.then_some(found)
    }
}

impl Accounting {
    /// The part of `passed` that belongs to a trial: scales seconds and joules by `share` (0 to 1),
    /// and copies states and fractions of time. Leaves `cached_before` empty.
    pub fn of(passed: &Passed, share: f64) -> Self {
        Self {
            generator_s: passed.generator_s * share,
            daemons_s: passed.daemons_s * share,
            kernel_s: passed.kernel_s * share,
            other_s: passed.other_s * share,
            cached_before: None,
            energy_j: passed.energy_j.map(|j| j * share),
            battery_j: passed.battery_j.map(|j| j * share),
            temperature_c: passed.temperature_c,
            frequency_mhz: passed.frequency_mhz,
            cpu_pressure: passed.cpu_pressure,
            io_pressure: passed.io_pressure,
            memory_pressure: passed.memory_pressure,
            stolen_s: passed.stolen_s.map(|s| s * share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_scaled_and_states_are_not() {
        let whole = Passed {
            generator_s: 1.0,
            daemons_s: 2.0,
            kernel_s: 3.0,
            other_s: -4.0,
            energy_j: Some(5.0),
            battery_j: Some(9.0),
            temperature_c: Some(60.0),
            frequency_mhz: Some(3000.0),
            cpu_pressure: Some(0.1),
            io_pressure: Some(0.2),
            memory_pressure: Some(0.3),
            stolen_s: Some(6.0),
            ..Passed::default()
        };
        let half = Accounting::of(&whole, 0.5);
        assert_eq!((half.generator_s, half.daemons_s), (0.5, 1.0));
        assert_eq!((half.kernel_s, half.other_s), (1.5, -2.0));
        assert_eq!((half.energy_j, half.stolen_s), (Some(2.5), Some(3.0)));
        assert_eq!(half.battery_j, Some(4.5));
        assert_eq!((half.cached_before, half.temperature_c), (None, Some(60.0)));
        assert_eq!((half.frequency_mhz, half.cpu_pressure), (Some(3000.0), Some(0.1)));
        assert_eq!((half.io_pressure, half.memory_pressure), (Some(0.2), Some(0.3)));
    }
}
