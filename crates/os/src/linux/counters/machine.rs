//! The kernel's counters of the whole machine: busy and stolen time, pressure, the device's
//! requests.

use std::path::{Path, PathBuf};

use rustix::time::ClockId;

use super::task;
use crate::counters::DeviceCounts;

/// Time of all CPUs since boot, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MachineTicks {
    /// All time except idle, I/O wait and steal time. The kernel samples the running task at each scheduler tick.
    pub(super) busy: u64,
    /// Steal time, during which the hypervisor ran something else although this machine had work to do.
    pub(super) stolen: Option<u64>,
}

impl MachineTicks {
    pub(super) fn read(proc: &Path) -> Option<Self> {
        // The first line contains the sums.
        let mut buffer = [0; 512];
        Self::parse(std::str::from_utf8(task::read(&proc.join("stat"), &mut buffer)?).ok()?)
    }

    /// proc(5), /proc/stat: user nice system idle iowait irq softirq steal.
    fn parse(stat: &str) -> Option<Self> {
        let fields: Vec<u64> = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map_while(|f| f.parse().ok())
            .collect();
        let [user, nice, system, _idle, _iowait, irq, softirq, ..] = fields[..] else {
            return None;
        };
        let busy = user + nice + system + irq + softirq;
        Some(Self { busy, stolen: fields.get(7).copied() })
    }
}

/// Microseconds since boot in which some task waited for a resource (Linux,
/// Documentation/accounting/psi.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pressure {
    pub(super) cpu: Option<u64>,
    pub(super) io: Option<u64>,
    pub(super) memory: Option<u64>,
}

impl Pressure {
    pub(super) fn read(proc: &Path) -> Self {
        let total = |resource: &str| {
            let mut buffer = [0; 256];
            let text = task::read(&proc.join("pressure").join(resource), &mut buffer)?;
            some_total(std::str::from_utf8(text).ok()?)
        };
        Self { cpu: total("cpu"), io: total("io"), memory: total("memory") }
    }
}

/// The value of `total` in the line `some`.
fn some_total(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find_map(|l| l.strip_prefix("some "))?;
    line.split_whitespace().find_map(|f| f.strip_prefix("total="))?.parse().ok()
}

/// The device's own counters, from its `stat` file in /sys.
#[derive(Debug)]
pub(super) struct DeviceStat {
    stat: PathBuf,
    /// The `stat` file of a partition's disk, because the kernel counts no flushes for partitions.
    disk: Option<PathBuf>,
}

impl DeviceStat {
    /// `None` if the administrator disabled the counters (`queue/iostats`): counters that do not change would suggest
    /// that all requests were served from a cache.
    pub(super) fn open(stat: PathBuf) -> Option<Self> {
        let device = stat.parent()?;
        // The queue of a partition is in the directory of its disk.
        let queues = [Some(device), device.parent()];
        let mut buffer = [0; 16];
        let counts = queues
            .into_iter()
            .flatten()
            .find_map(|d| {
                Some(task::read(&d.join("queue/iostats"), &mut buffer)?.trim_ascii() != b"0")
            })
            .unwrap_or(true);
        let is_partition = device.join("partition").exists();
        let disk = device.parent().filter(|_| is_partition).map(|disk| disk.join("stat"));
        counts.then_some(Self { stat, disk })
    }

    pub(super) fn read(&self) -> Option<DeviceCounts> {
        let own = counters(&self.stat)?;
        let Some(disk) = &self.disk else { return Some(own) };
        let disk = counters(disk).unwrap_or_default();
        Some(DeviceCounts { flushes: disk.flushes, flush_ns: disk.flush_ns, ..own })
    }
}

fn counters(stat: &Path) -> Option<DeviceCounts> {
    let mut buffer = [0; 1024];
    let found = parsed(std::str::from_utf8(task::read(stat, &mut buffer)?).ok()?)?;
    Some(DeviceCounts { span_ns: task::nanoseconds(ClockId::Monotonic), ..found })
}

/// Requests, sectors of 512 bytes and milliseconds (Linux, Documentation/block/stat.rst). Kernels before 4.18 do not
/// count discards, and kernels before 5.5 do not count flushes.
fn parsed(stat: &str) -> Option<DeviceCounts> {
    let f: Vec<u64> = stat.split_whitespace().map_while(|f| f.parse().ok()).collect();
    let [reads, merged_reads, read, read_ms, writes, merged_writes, written, write_ms, ..] = f[..]
    else {
        return None;
    };
    let ns = |ms: u64| ms * 1_000_000;
    let field = |number: usize| f.get(number - 1).copied();
    Some(DeviceCounts {
        span_ns: 0,
        read_bytes: read * 512,
        written_bytes: written * 512,
        reads,
        writes,
        read_ns: ns(read_ms),
        write_ns: ns(write_ms),
        busy_ns: field(10).map_or(0, ns),
        queued: field(9),
        merged_reads: Some(merged_reads),
        merged_writes: Some(merged_writes),
        discards: field(12),
        discarded_bytes: field(14).map(|sectors| sectors * 512),
        flushes: field(16),
        flush_ns: field(17).map(ns),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn proc_stat_without_idle_iowait_and_steal() {
        let parse = MachineTicks::parse;
        let stat = "cpu  100 20 30 4000 500 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        let busy = 100 + 20 + 30 + 6 + 7;
        assert_eq!(parse(stat), Some(MachineTicks { busy, stolen: Some(80) }));
        let old = "cpu  100 20 30 4000 500 6 7\n";
        assert_eq!(parse(old), Some(MachineTicks { busy, stolen: None }));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=21.22 avg60=9.67 avg300=5.78 total=10469409392\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(some_total(text), Some(10_469_409_392));
        assert_eq!(some_total("full avg10=0.00 total=7\n"), None);
        assert_eq!(Pressure::read(Path::new("/nowhere")), Pressure::default());
    }

    #[test]
    fn device_stat_in_bytes_and_nanoseconds() {
        let stat = "  10  1  2048  5  20  2  4096  9  6  3  14  7 1 8 2 11 4";
        let ms = |ms: u64| ms * 1_000_000;
        let moved = DeviceCounts {
            span_ns: 0,
            reads: 10,
            read_bytes: 1 << 20,
            read_ns: ms(5),
            writes: 20,
            written_bytes: 2 << 20,
            write_ns: ms(9),
            queued: Some(6),
            busy_ns: ms(3),
            merged_reads: Some(1),
            merged_writes: Some(2),
            discards: Some(7),
            discarded_bytes: Some(4096),
            flushes: Some(11),
            flush_ns: Some(ms(4)),
        };
        assert_eq!(parsed(stat), Some(moved));
        let old = parsed("10 1 2048 5 20 2 4096 9 6 3 14").unwrap();
        let unknown = DeviceCounts { discards: None, discarded_bytes: None, ..moved };
        assert_eq!(old, DeviceCounts { flushes: None, flush_ns: None, ..unknown });
        assert!(parsed("1 2 3").is_none());
    }

    #[test]
    fn flushes_of_a_partition_are_those_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let partition = dir.path().join("sda/sda1");
        fs::create_dir_all(&partition).unwrap();
        fs::write(partition.join("stat"), "1 0 8 0 1 0 8 0 0 0 0 0 0 0 0 0 0").unwrap();
        fs::write(dir.path().join("sda/stat"), "9 0 8 0 9 0 8 0 0 0 0 0 0 0 0 5 6").unwrap();
        let read = || DeviceStat::open(partition.join("stat")).unwrap().read().unwrap();
        assert_eq!((read().reads, read().flushes), (1, Some(0)), "not known to be a partition");
        fs::write(partition.join("partition"), "1").unwrap();
        let found = read();
        assert_eq!((found.reads, found.flushes, found.flush_ns), (1, Some(5), Some(6_000_000)));
        assert!(read().span_ns > found.span_ns);
    }

    #[test]
    fn a_device_that_does_not_count_has_no_counters() {
        let dir = tempfile::tempdir().unwrap();
        let partition = dir.path().join("sda/sda1");
        fs::create_dir_all(&partition).unwrap();
        fs::create_dir_all(dir.path().join("sda/queue")).unwrap();
        for device in ["sda", "sda/sda1"] {
            let stat = dir.path().join(device).join("stat");
            fs::write(&stat, "1 0 8 0 1 0 8 0 0 0 0").unwrap();
            let read = || DeviceStat::open(stat.clone()).and_then(|s| s.read());
            let setting = dir.path().join("sda/queue/iostats");
            fs::write(&setting, "0\n").unwrap();
            assert!(read().is_none(), "{device}");
            fs::write(&setting, "1\n").unwrap();
            assert!(read().is_some(), "{device}");
            fs::remove_file(&setting).unwrap();
            assert!(read().is_some(), "{device}");
        }
    }

    #[test]
    fn this_machine_has_counters_that_grow() {
        let proc = Path::new("/proc");
        let a = MachineTicks::read(proc).unwrap().busy;
        let spin = std::time::Instant::now();
        while spin.elapsed() < std::time::Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        assert!(MachineTicks::read(proc).unwrap().busy > a);
    }
}
