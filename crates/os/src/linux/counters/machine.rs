//! The kernel's counters of the whole machine: busy and stolen time, pressure, the device's
//! requests.

use std::path::{Path, PathBuf};

use super::task;
use crate::counters::DeviceCounts;

/// Time of all processors since boot, clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MachineTicks {
    /// Time spent on anything except idling, waiting for I/O or being stolen. The kernel samples
    /// the running task at each scheduler tick.
    pub(super) busy: u64,
    /// Taken by the hypervisor while there was work to do.
    pub(super) stolen: Option<u64>,
}

impl MachineTicks {
    pub(super) fn read(proc: &Path) -> Option<Self> {
        // The line with the sum comes first.
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
pub(super) struct DeviceStat(PathBuf);

impl DeviceStat {
    /// `None` if the administrator disabled the counters (`queue/iostats`): constant counters would
    /// suggest that all requests were served from a cache.
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
        counts.then_some(Self(stat))
    }

    pub(super) fn read(&self) -> Option<DeviceCounts> {
        let mut buffer = [0; 1024];
        counters(std::str::from_utf8(task::read(&self.0, &mut buffer)?).ok()?)
    }
}

/// Requests and sectors of 512 bytes (Linux, Documentation/block/stat.rst).
fn counters(stat: &str) -> Option<DeviceCounts> {
    let f: Vec<u64> = stat.split_whitespace().map_while(|f| f.parse().ok()).collect();
    let [reads, _, sectors_read, _, writes, _, sectors_written, ..] = f[..] else { return None };
    Some(DeviceCounts {
        read_bytes: sectors_read * 512,
        written_bytes: sectors_written * 512,
        reads,
        writes,
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
    fn device_stat_in_bytes() {
        let stat = "  10  1  2048  5  20  2  4096  9  0  3  14  0 0 0 0 0 0";
        let moved = counters(stat).unwrap();
        assert_eq!((moved.reads, moved.writes), (10, 20));
        assert_eq!((moved.read_bytes, moved.written_bytes), (1 << 20, 2 << 20));
        assert!(counters("1 2 3").is_none());
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
