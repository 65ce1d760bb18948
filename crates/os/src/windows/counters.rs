//! Counters: CPU time of the machine and of this process, and the disk counters of a volume.
//!
//! Windows reports the time of this process exactly and the time of the machine by its clock interrupts. It does not
//! separate the kernel's threads, drivers in interrupts, and the server of an encrypted volume: the time of all three
//! is in `other`.

use std::fs::File;
use std::time::{Duration, Instant};

use windows_sys::Win32::System::Ioctl::DISK_PERFORMANCE;

use super::call;
use crate::counters::{CountedBy, DeviceCounts, Passed, Reader};

/// The readings at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    /// Idle and total time of the CPUs.
    machine: Option<(u64, u64)>,
    own: Option<u64>,
    device: Option<DeviceCounts>,
}

/// Reads the counters that a run needs.
#[derive(Default)]
pub struct Counters {
    /// The volumes; `None` for volumes whose disk counters this user cannot read.
    pub(crate) devices: Vec<Option<Reader>>,
    /// Index of the volume in use.
    pub(crate) device: usize,
    /// Busy seconds per second while the machine idles.
    idle: f64,
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / 1e7
}

/// Reads a volume's counters, if the volume has any and this user may read them.
pub(crate) fn reader(device: CountedBy) -> Option<Reader> {
    device.reader(|device| {
        let volume = super::files::open_volume(&device).ok()?;
        counted(&volume)?;
        Some(Box::new(move || counted(&volume)))
    })
}

fn counted(volume: &File) -> Option<DeviceCounts> {
    Some(counts(&call::disk_performance(volume).ok()?))
}

fn counts(found: &DISK_PERFORMANCE) -> DeviceCounts {
    // Units of 100 ns.
    let ns = |time: i64| time.max(0).cast_unsigned() * 100;
    DeviceCounts {
        span_ns: ns(found.QueryTime),
        read_bytes: found.BytesRead.cast_unsigned(),
        written_bytes: found.BytesWritten.cast_unsigned(),
        reads: u64::from(found.ReadCount),
        writes: u64::from(found.WriteCount),
        read_ns: ns(found.ReadTime),
        write_ns: ns(found.WriteTime),
        busy_ns: ns(found.QueryTime - found.IdleTime),
        queued: Some(u64::from(found.QueueDepth)),
        ..DeviceCounts::default()
    }
}

impl Counters {
    /// `device` is the volume that holds the target; it gets number 0. Threads have no names that could tell them
    /// apart.
    pub fn new(device: Option<CountedBy>, _serving: &[&str]) -> Self {
        Self { devices: vec![device.and_then(reader)], ..Self::default() }
    }

    /// Has no effect: nothing that a run sets up here is served by a process.
    pub fn watch(&mut self, _pid: u32) {}

    /// Has no effect.
    pub fn forget_watched(&mut self) {}

    /// Measures the machine's idle baseline for `wait` and returns its busy fraction, 0 to 1.
    pub fn measure_baseline(&mut self, wait: Duration, cpus: u32) -> f64 {
        self.idle = 0.0;
        let before = self.snapshot();
        std::thread::sleep(wait);
        let passed = self.passed(&before);
        self.idle = passed.busy_s / passed.wall_s;
        (self.idle / f64::from(cpus)).min(1.0)
    }

    /// Reads the counters.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            own: call::own_time(),
            device: self.counted(self.device),
            machine: call::system_times(),
            at: Instant::now(),
        }
    }

    /// The difference between now and a snapshot.
    pub fn passed(&self, before: &Snapshot) -> Passed {
        self.lap(before).0
    }

    /// The difference between now and a snapshot, and a new snapshot for a span that follows immediately.
    pub fn lap(&self, before: &Snapshot) -> (Passed, Snapshot) {
        let now = self.snapshot();
        let wall_s = (now.at - before.at).as_secs_f64();
        let busy_s = before.machine.zip(now.machine).map(|((idle, all), (idle_now, all_now))| {
            let all = seconds(all_now.saturating_sub(all));
            let busy = all - seconds(idle_now.saturating_sub(idle));
            busy - self.idle * wall_s
        });
        let own = before.own.zip(now.own).map(|(a, b)| seconds(b.saturating_sub(a)));
        let generator_s = own.unwrap_or(0.0);
        let device = before.device.zip(now.device).map(|(a, b)| b.since(&a));
        let passed = Passed {
            wall_s,
            busy_s: busy_s.unwrap_or(0.0),
            generator_s,
            other_s: busy_s.map_or(0.0, |busy| busy - generator_s),
            device,
            ..Passed::default()
        };
        (passed, now)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::storage::{Tree, mount_of};
    use crate::system::{dirs, files, storage};

    #[test]
    fn what_a_disk_counts_is_told_in_bytes_and_nanoseconds() {
        let mut found = DISK_PERFORMANCE::default();
        (found.BytesRead, found.BytesWritten) = (8192, 512);
        (found.ReadCount, found.WriteCount, found.QueueDepth) = (2, 1, 3);
        (found.ReadTime, found.WriteTime) = (40, 5);
        (found.QueryTime, found.IdleTime) = (1000, 970);
        let told = counts(&found);
        let expected = DeviceCounts {
            span_ns: 100_000,
            read_bytes: 8192,
            written_bytes: 512,
            reads: 2,
            writes: 1,
            read_ns: 4000,
            write_ns: 500,
            busy_ns: 3000,
            queued: Some(3),
            ..DeviceCounts::default()
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn the_disk_below_a_directory_counts_what_is_written() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let path = dirs::plain(&file.path().canonicalize().unwrap());
        let number = storage::number_of(&path).unwrap();
        let mount = mount_of(number, &path).unwrap();
        let volume = Tree::this().of_mount(number, &mount.source).unwrap().counters();
        let told = files::open_volume(&volume).and_then(|volume| call::disk_performance(&volume));
        if let Err(why) = told {
            let volume = volume.display();
            eprintln!("SKIPPED: {volume} does not answer IOCTL_DISK_PERFORMANCE: {why}");
            return;
        }
        let counters = Counters::new(Some(CountedBy::System(volume)), &[]);
        let before = counters.snapshot();
        file.write_all(&[7; 1 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        let counted = counters.passed(&before).device.unwrap();
        assert!(counted.written_bytes >= 1 << 20 && counted.writes > 0, "{counted:?}");
        assert!(counted.span_ns > 0 && counted.busy_ns <= counted.span_ns, "{counted:?}");
    }

    #[test]
    fn work_of_this_process_is_counted_as_the_generators() {
        let mut counters = Counters::new(None, &[]);
        counters.measure_baseline(Duration::from_millis(50), 1);
        let before = counters.snapshot();
        let mut n = 1_u64;
        while before.at.elapsed() < Duration::from_millis(300) {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        let passed = counters.passed(&before);
        assert!(n != 0 && passed.generator_s > 0.05, "{passed:?}");
        assert!(passed.wall_s >= 0.3 && passed.device.is_none());
        assert!(!counters.device_counts(0));
    }
}
