//! CPU time and device counters from the kernel (Linux: /proc and /sys).

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cryptbench_record::DeviceMoved;

/// Counters of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    at: Instant,
    busy_s: Option<f64>,
    device: Option<DeviceMoved>,
}

/// What passed between two snapshots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub(crate) wall_s: f64,
    /// CPU seconds of the whole machine, less the idle baseline.
    pub(crate) busy_s: f64,
    pub(crate) device: Option<DeviceMoved>,
}

/// Reads the counters that a run needs.
pub(crate) struct Accountant {
    device_stat: Option<PathBuf>,
    ticks_per_s: f64,
    /// CPU seconds per second that the machine spends when this program does nothing.
    baseline: f64,
}

impl Accountant {
    /// `device_stat` is the `stat` file of the block device under the target.
    pub(crate) fn new(device_stat: Option<PathBuf>) -> Self {
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        Self { device_stat, ticks_per_s, baseline: 0.0 }
    }

    /// Measures the machine's idle baseline for `wait` and returns its busy fraction, 0 to 1.
    pub(crate) fn measure_baseline(&mut self, wait: Duration, cpus: u32) -> f64 {
        let before = self.snapshot();
        sleep(wait);
        let passed = self.passed(&before);
        self.baseline = passed.busy_s / passed.wall_s;
        (self.baseline / f64::from(cpus)).min(1.0)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            at: Instant::now(),
            busy_s: machine_busy_ticks().map(|t| t as f64 / self.ticks_per_s),
            device: self.device_stat.as_deref().and_then(device_counters),
        }
    }

    pub(crate) fn passed(&self, before: &Snapshot) -> Passed {
        let now = self.snapshot();
        let wall_s = (now.at - before.at).as_secs_f64();
        let busy_s = match (before.busy_s, now.busy_s) {
            (Some(a), Some(b)) => (b - a - self.baseline * wall_s).max(0.0),
            _ => 0.0,
        };
        let device = before.device.zip(now.device).map(|(a, b)| DeviceMoved {
            read_bytes: b.read_bytes.saturating_sub(a.read_bytes),
            written_bytes: b.written_bytes.saturating_sub(a.written_bytes),
            reads: b.reads.saturating_sub(a.reads),
            writes: b.writes.saturating_sub(a.writes),
        });
        Passed { wall_s, busy_s, device }
    }
}

/// Clock ticks that all processors spent on anything but idling, waiting for I/O or being stolen
/// by the hypervisor (proc(5), /proc/stat: user nice system idle iowait irq softirq steal).
fn machine_busy_ticks() -> Option<u64> {
    busy_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

fn busy_ticks(stat: &str) -> Option<u64> {
    let fields: Vec<u64> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map_while(|f| f.parse().ok())
        .collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, ..] = fields[..] else { return None };
    Some(user + nice + system + irq + softirq)
}

/// Requests and sectors of 512 bytes (Linux, Documentation/block/stat.rst).
fn device_counters(stat: &Path) -> Option<DeviceMoved> {
    counters(&fs::read_to_string(stat).ok()?)
}

fn counters(stat: &str) -> Option<DeviceMoved> {
    let f: Vec<u64> = stat.split_whitespace().map_while(|f| f.parse().ok()).collect();
    let [reads, _, sectors_read, _, writes, _, sectors_written, ..] = f[..] else { return None };
    Some(DeviceMoved {
        read_bytes: sectors_read * 512,
        written_bytes: sectors_written * 512,
        reads,
        writes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_stat_without_idle_iowait_and_steal() {
        let stat = "cpu  100 20 30 4000 500 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(busy_ticks(stat), Some(100 + 20 + 30 + 6 + 7));
        assert_eq!(busy_ticks("nonsense"), None);
        assert_eq!(busy_ticks(""), None);
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
    fn this_machine_has_counters_that_grow() {
        let a = machine_busy_ticks().unwrap();
        let spin = Instant::now();
        while spin.elapsed() < Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        assert!(machine_busy_ticks().unwrap() > a);
    }
}
