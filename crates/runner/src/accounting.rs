//! Whose CPU time a trial took, what the device moved and how the machine fared (Linux: /proc, /sys).
//!
//! | part of the machine's busy time | whose |
//! |---|---|
//! | generator | this process's threads that issue the load, and all its threads that ended meanwhile: the engine ends its own before the second look |
//! | daemons | this process's threads that serve, told by their names, the [watched](Accountant::watch) processes with all their descendants, and children of this process that ended and were waited for meanwhile |
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

use cryptbench_record::{Accounting, DeviceMoved};

use self::kernel::{KernelReading, KernelThreads};
use self::machine::{DeviceStat, MachineTicks, Pressure};
use self::own::{OwnReading, OwnThreads};
use self::processes::{ProcessReading, Processes};
use self::sensors::{EnergyReading, Sensors};
use self::task::TaskClock;

/// Beginnings of the names of the threads that serve a device in this process (`export`).
pub(crate) const SERVING: [&str; 3] = ["fuse-", "nbd", "export"];

/// Counters of one moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    close: Close,
    wide: Wide,
}

/// What is read right at the edge of the span, so that the cost of reading all else lies outside of it.
#[derive(Clone, Debug)]
struct Close {
    at: Instant,
    /// The same moment in clock ticks since boot.
    boot_ticks: u64,
    machine: Option<MachineTicks>,
    device: Option<DeviceMoved>,
    own: OwnReading,
}

/// What takes longer to read.
#[derive(Clone, Debug)]
struct Wide {
    kernel: KernelReading,
    daemons: ProcessReading,
    pressure: Pressure,
    energy: Option<EnergyReading>,
}

/// What passed between two snapshots.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    pub(crate) wall_s: f64,
    /// CPU seconds of the whole machine, less the idle baseline.
    pub(crate) busy_s: f64,
    pub(crate) device: Option<DeviceMoved>,
    /// Of all the span; the parts add up to `busy_s`. `cached_before` is left empty.
    pub(crate) accounting: Accounting,
}

/// CPU seconds per second that the machine spends when this program does nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    busy: f64,
    kernel: f64,
}

/// Reads the counters that a run needs.
pub(crate) struct Accountant {
    proc: PathBuf,
    /// The devices whose counters can be read; one for each place that is measured.
    devices: Vec<Option<DeviceStat>>,
    /// Which of them is read.
    place: usize,
    own: OwnThreads,
    daemons: Processes,
    kernel: KernelThreads,
    sensors: Sensors,
    idle: Idle,
}

impl Accountant {
    /// `device_stat` is the `stat` file of the block device under the target.
    ///
    /// The thread that makes it is taken for one that issues the load, as the process's first thread is.
    pub(crate) fn new(device_stat: Option<PathBuf>) -> Self {
        let proc = Path::new("/proc");
        let clock = TaskClock::detect(proc);
        let mut own = OwnThreads::new(proc, clock);
        own.serving(&SERVING);
        Self {
            proc: proc.to_owned(),
            devices: vec![device_stat.and_then(DeviceStat::open)],
            place: 0,
            own,
            daemons: Processes::new(proc, clock),
            kernel: KernelThreads::new(proc, clock),
            sensors: Sensors::find(Path::new("/sys")),
            idle: Idle::default(),
        }
    }

    /// Counts a process and its descendants, present and future, among the daemons from the next
    /// snapshot on.
    pub(crate) fn watch(&mut self, pid: u32) {
        self.daemons.watch(pid);
    }

    /// Ends all watching: the system under test is taken down.
    pub(crate) fn forget_watched(&mut self) {
        self.daemons.forget();
    }

    /// Replaces [`SERVING`], for programs that serve under other names.
    #[allow(dead_code, reason = "all that serves in this process today is in SERVING")]
    pub(crate) fn serving_threads(&mut self, beginnings: &[&str]) {
        self.own.serving(beginnings);
    }

    /// Adds the device under another place and gives that place's number; the first is number 0.
    pub(crate) fn add_place(&mut self, device_stat: Option<PathBuf>) -> usize {
        self.devices.push(device_stat.and_then(DeviceStat::open));
        self.devices.len() - 1
    }

    /// Reads the counters of that place's device from the next snapshot on.
    pub(crate) fn look_at(&mut self, place: usize) {
        self.place = place;
    }

    /// Whether there are counters of that place's device.
    pub(crate) fn device_counts(&self, place: usize) -> bool {
        self.devices[place].is_some()
    }

    /// Measures the machine's idle baseline for `wait` and returns its busy fraction, 0 to 1.
    pub(crate) fn measure_baseline(&mut self, wait: Duration, cpus: u32) -> f64 {
        self.idle = Idle::default();
        let before = self.snapshot();
        sleep(wait);
        let passed = self.passed(&before);
        self.idle = Idle {
            busy: passed.busy_s / passed.wall_s,
            kernel: passed.accounting.kernel_s / passed.wall_s,
        };
        (self.idle.busy / f64::from(cpus)).min(1.0)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let wide = self.wide();
        Snapshot { close: self.close(), wide }
    }

    pub(crate) fn passed(&self, before: &Snapshot) -> Passed {
        let close = self.close();
        let now = Snapshot { close, wide: self.wide() };
        let wall_s = (now.close.at - before.close.at).as_secs_f64();
        let machine = before.close.machine.zip(now.close.machine);
        let ticks_s = |ticks: u64| ticks as f64 / task::ticks_per_s() as f64;
        let busy_s = machine.map_or(0.0, |(a, b)| {
            (ticks_s(b.busy.saturating_sub(a.busy)) - self.idle.busy * wall_s).max(0.0)
        });
        let stolen = machine.and_then(|(a, b)| Some(b.stolen?.saturating_sub(a.stolen?)));
        let mut accounting = self.parts(before, &now, wall_s);
        if machine.is_some() {
            let known = accounting.generator_s + accounting.daemons_s + accounting.kernel_s;
            accounting.other_s = busy_s - known;
        }
        accounting.stolen_s = stolen.map(ticks_s);
        let device = before.close.device.zip(now.close.device).map(|(a, b)| DeviceMoved {
            read_bytes: b.read_bytes.saturating_sub(a.read_bytes),
            written_bytes: b.written_bytes.saturating_sub(a.written_bytes),
            reads: b.reads.saturating_sub(a.reads),
            writes: b.writes.saturating_sub(a.writes),
        });
        Passed { wall_s, busy_s, device, accounting }
    }

    /// All but the parts that follow from the machine's counters.
    fn parts(&self, before: &Snapshot, now: &Snapshot, wall_s: f64) -> Accounting {
        let since = before.close.boot_ticks;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let own = self.own.used(&before.close.own, &now.close.own, since);
        let (a, b) = (&before.wide, &now.wide);
        let kernel = seconds(self.kernel.used(&a.kernel, &b.kernel, since));
        let share = |before: Option<u64>, now: Option<u64>| {
            Some((now?.saturating_sub(before?) as f64 / 1e6 / wall_s).min(1.0))
        };
        Accounting {
            generator_s: seconds(own.generator),
            daemons_s: seconds(own.servers + self.daemons.used(&a.daemons, &b.daemons, since)),
            kernel_s: (kernel - self.idle.kernel * wall_s).max(0.0) + seconds(own.kernel),
            energy_j: a
                .energy
                .as_ref()
                .zip(b.energy.as_ref())
                .map(|(a, b)| self.sensors.joules(a, b)),
            temperature_c: self.sensors.temperature_c(),
            frequency_mhz: self.sensors.frequency_mhz(),
            cpu_pressure: share(a.pressure.cpu, b.pressure.cpu),
            io_pressure: share(a.pressure.io, b.pressure.io),
            memory_pressure: share(a.pressure.memory, b.pressure.memory),
            ..Accounting::default()
        }
    }

    fn close(&self) -> Close {
        Close {
            own: self.own.read(),
            device: self.devices[self.place].as_ref().and_then(DeviceStat::read),
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
        }
    }
}

/// The share of an account that falls to a part of its span: seconds and joules are scaled, states and
/// fractions of time stay.
pub(crate) fn scaled(accounting: &Accounting, share: f64) -> Accounting {
    Accounting {
        generator_s: accounting.generator_s * share,
        daemons_s: accounting.daemons_s * share,
        kernel_s: accounting.kernel_s * share,
        other_s: accounting.other_s * share,
        energy_j: accounting.energy_j.map(|j| j * share),
        stolen_s: accounting.stolen_s.map(|s| s * share),
        ..accounting.clone()
    }
}
