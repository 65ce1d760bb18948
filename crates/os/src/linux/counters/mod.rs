//! Counters in /proc and /sys, and the account derived from them.

mod kernel;
mod machine;
mod own;
mod processes;
mod sensors;
mod task;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use self::kernel::{KernelReading, KernelThreads};
use self::machine::{DeviceStat, MachineTicks, Pressure};
use self::own::{OwnReading, OwnThreads};
use self::processes::{ProcessReading, Processes};
use self::sensors::{EnergyReading, Sensors};
use self::task::TaskClock;
use crate::counters::{CountedBy, DeviceCounts, Passed, Reader};

/// The counters at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    close: Close,
    wide: Wide,
}

/// Counters read at the edges of the span, so that the span does not include the time for reading the other
/// counters.
#[derive(Clone, Debug)]
struct Close {
    at: Instant,
    /// The moment `at`, in clock ticks since boot.
    boot_ticks: u64,
    machine: Option<MachineTicks>,
    device: Option<DeviceCounts>,
    own: OwnReading,
}

/// Counters that take longer to read.
#[derive(Clone, Debug)]
struct Wide {
    kernel: KernelReading,
    daemons: ProcessReading,
    pressure: Pressure,
    energy: Option<EnergyReading>,
    /// Watts from the batteries.
    battery: Option<f64>,
}

/// CPU seconds per second that the machine uses when this program does nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    busy: f64,
    kernel: f64,
}

/// Reads the counters that a run needs.
pub struct Counters {
    proc: PathBuf,
    /// The devices; `None` for devices without readable counters.
    pub(crate) devices: Vec<Option<Reader>>,
    /// Index of the device in use.
    pub(crate) device: usize,
    own: OwnThreads,
    daemons: Processes,
    kernel: KernelThreads,
    sensors: Sensors,
    idle: Idle,
}

pub(crate) fn reader(device: CountedBy) -> Option<Reader> {
    device.reader(|stat| {
        let stat = DeviceStat::open(stat)?;
        Some(Box::new(move || stat.read()))
    })
}

impl Counters {
    /// `device` is the underlying block device of the target; it gets number 0. Threads of this process whose names
    /// start with one of `serving` count as daemons.
    ///
    /// The calling thread and the first thread of the process count as threads that submit the
    /// load.
    pub fn new(device: Option<CountedBy>, serving: &[&str]) -> Self {
        let proc = Path::new("/proc");
        let clock = TaskClock::detect(proc);
        Self {
            proc: proc.to_owned(),
            devices: vec![device.and_then(reader)],
            device: 0,
            own: OwnThreads::new(proc, clock, serving),
            daemons: Processes::new(proc, clock),
            kernel: KernelThreads::new(proc, clock),
            sensors: Sensors::find(Path::new("/sys")),
            idle: Idle::default(),
        }
    }

    /// Counts a process and all its present and future descendants as daemons from the next
    /// snapshot on.
    pub fn watch(&mut self, pid: u32) {
        self.daemons.watch(pid);
    }

    /// Stops watching all processes, because the system under test is about to be removed.
    pub fn forget_watched(&mut self) {
        self.daemons.forget();
    }

    /// Measures the machine's idle baseline for `wait` and returns its busy fraction, from 0 to 1.
    pub fn measure_baseline(&mut self, wait: Duration, cpus: u32) -> f64 {
        self.idle = Idle::default();
        let before = self.snapshot();
        sleep(wait);
        let passed = self.passed(&before);
        self.idle =
            Idle { busy: passed.busy_s / passed.wall_s, kernel: passed.kernel_s / passed.wall_s };
        (self.idle.busy / f64::from(cpus)).min(1.0)
    }

    /// Reads the counters; the span starts when this returns.
    pub fn snapshot(&self) -> Snapshot {
        let wide = self.wide();
        Snapshot { close: self.close(), wide }
    }

    /// The difference between now and a snapshot.
    pub fn passed(&self, before: &Snapshot) -> Passed {
        let close = self.close();
        self.difference(before, &Snapshot { close, wide: self.wide() })
    }

    /// The difference between now and a snapshot, and a new snapshot: for an immediately following span with the same
    /// device and daemons. Counters that take long to read are read only once for both snapshots.
    pub fn lap(&self, before: &Snapshot) -> (Passed, Snapshot) {
        let close = self.close();
        let now = Snapshot { close, wide: self.wide() };
        let passed = self.difference(before, &now);
        (passed, Snapshot { close: self.close(), ..now })
    }

    fn difference(&self, before: &Snapshot, now: &Snapshot) -> Passed {
        let wall_s = (now.close.at - before.close.at).as_secs_f64();
        let machine = before.close.machine.zip(now.close.machine);
        let ticks_s = |ticks: u64| ticks as f64 / task::ticks_per_s() as f64;
        let busy_s = machine
            .map_or(0.0, |(a, b)| ticks_s(b.busy.saturating_sub(a.busy)) - self.idle.busy * wall_s);
        let stolen = machine.and_then(|(a, b)| Some(b.stolen?.saturating_sub(a.stolen?)));
        let mut passed = self.parts(before, now, wall_s);
        if machine.is_some() {
            let known = passed.generator_s + passed.daemons_s + passed.kernel_s;
            passed.other_s = busy_s - known;
        }
        passed.stolen_s = stolen.map(ticks_s);
        passed.device = before.close.device.zip(now.close.device).map(|(a, b)| b.since(&a));
        Passed { busy_s, ..passed }
    }

    /// All values except the values that are derived from the machine's counters.
    fn parts(&self, before: &Snapshot, now: &Snapshot, wall_s: f64) -> Passed {
        let since = before.close.boot_ticks;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let own = self.own.used(&before.close.own, &now.close.own, since);
        let (a, b) = (&before.wide, &now.wide);
        let kernel_threads = self.kernel.used(&a.kernel, &b.kernel, since);
        let kernel = seconds(kernel_threads.iter().map(|(_, ns)| ns).sum());
        let (helpers, of_helpers) = self.daemons.threads(&a.daemons, &b.daemons, since);
        let waits = |read: &Snapshot, id: u32| {
            let of_helpers = || read.wide.daemons.values().find_map(|p| p.waits.get(&id));
            read.close.own.waits.get(&id).or_else(of_helpers).copied()
        };
        let busiest = |threads: &[(u32, u64)]| {
            let mut found = task::busiest(&self.proc, threads.iter().copied());
            for thread in &mut found {
                let both = waits(before, thread.id).zip(waits(now, thread.id));
                thread.waited_ns = both.map_or(0, |(before, now)| now.saturating_sub(before));
            }
            found
        };
        let share = |before: Option<u64>, now: Option<u64>| {
            Some((now?.saturating_sub(before?) as f64 / 1e6 / wall_s).min(1.0))
        };
        Passed {
            wall_s,
            generator_s: seconds(own.generator),
            daemons_s: seconds(own.servers + self.daemons.used(&a.daemons, &b.daemons, since)),
            kernel_s: kernel - self.idle.kernel * wall_s + seconds(own.kernel),
            energy_j: a
                .energy
                .as_ref()
                .zip(b.energy.as_ref())
                .map(|(a, b)| self.sensors.joules(a, b)),
            battery_j: a.battery.zip(b.battery).map(|(a, b)| (a + b) / 2.0 * wall_s),
            temperature_c: self.sensors.temperature_c(),
            frequency_mhz: self.sensors.frequency_mhz(),
            cpu_pressure: share(a.pressure.cpu, b.pressure.cpu),
            io_pressure: share(a.pressure.io, b.pressure.io),
            memory_pressure: share(a.pressure.memory, b.pressure.memory),
            load_threads: busiest(&own.generating),
            helper_threads: busiest(&[helpers, own.serving].concat()),
            kernel_threads: busiest(&kernel_threads),
            switches: match (of_helpers, own.switches) {
                (Some(helpers), Some(serving)) => Some(helpers.and(serving)),
                (helpers, serving) => helpers.or(serving),
            },
            ..Passed::default()
        }
    }

    fn close(&self) -> Close {
        Close {
            own: self.own.read(),
            device: self.counted(self.device),
            machine: MachineTicks::read(&self.proc),
            boot_ticks: task::boot_ticks(),
            at: Instant::now(),
        }
    }

    fn wide(&self) -> Wide {
        Wide {
            kernel: self.kernel.read(),
            daemons: self.daemons.read(),
            pressure: Pressure::read(&self.proc),
            energy: self.sensors.energy(),
            battery: self.sensors.battery_w(),
        }
    }
}
