//! Current conditions that may disturb measurements: other load, steal time, a busy disk, swapping, power saving.
#![expect(clippy::disallowed_methods, reason = "files of /proc and /sys")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cryptbench_os::Details;
use cryptbench_os::storage::number_in_words;
use cryptbench_text::human;

use crate::doctor::diagnosis::Finding;

/// Duration for which the counters are observed.
const WATCHED: Duration = Duration::from_secs(1);

/// Minimum shares of the time that count as a disturbance: at about these values, a disturbance becomes visible in the
/// noise floor.
const BUSY: f64 = 0.10;
const STOLEN: f64 = 0.01;
const DISK_BUSY: f64 = 0.05;

pub fn look(directory: &Path) -> Vec<Finding> {
    let root = Root { proc: "/proc".into(), sys: "/sys".into() };
    let disk = root.disk(directory);
    let before = root.counters(disk.as_deref());
    let started = Instant::now();
    sleep(WATCHED);
    let after = root.counters(disk.as_deref());
    let seconds = started.elapsed().as_secs_f64();
    let mut findings = vec![
        root.governor(),
        processors(&before, &after),
        stolen(&before, &after),
        disk_busy(&before, &after, seconds),
        root.swap(&before, &after),
    ];
    findings.extend(root.power());
    findings.extend(root.clock());
    findings
}

/// The directories of the kernel's files; tests use other directories.
struct Root {
    proc: PathBuf,
    sys: PathBuf,
}

/// Counters since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    /// Clock ticks of all CPUs: total, busy, and steal time.
    all: u64,
    busy: u64,
    stolen: u64,
    /// Milliseconds during which the disk had requests in flight.
    disk_ms: Option<u64>,
    /// Pages swapped in and out.
    swapped: u64,
}

impl Root {
    fn counters(&self, disk: Option<&Path>) -> Counters {
        let stat = text(&self.proc.join("stat"));
        let ticks: Vec<u64> = stat
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("cpu "))
            .map(|rest| rest.split_whitespace().map_while(|f| f.parse().ok()).collect())
            .unwrap_or_default();
        // proc_stat(5): user nice system idle iowait irq softirq steal; user and nice already include guest time.
        let of = |i: usize| ticks.get(i).copied().unwrap_or(0);
        let vmstat = text(&self.proc.join("vmstat"));
        let pages = |name: &str| field(&vmstat, name).unwrap_or(0);
        Counters {
            all: ticks.iter().take(8).sum(),
            busy: of(0) + of(1) + of(2) + of(5) + of(6),
            stolen: of(7),
            // Linux, Documentation/block/stat.rst: the tenth field is io_ticks.
            disk_ms: disk.and_then(|d| text(d).split_whitespace().nth(9)?.parse().ok()),
            swapped: pages("pswpin") + pages("pswpout"),
        }
    }

    /// The `stat` file of the device that holds a directory; `None` for file systems on several devices.
    fn disk(&self, directory: &Path) -> Option<PathBuf> {
        let number = Details::of(&fs::metadata(directory).ok()?).file_system;
        let file = self.sys.join(format!("dev/block/{}/stat", number_in_words(number)));
        file.exists().then_some(file)
    }

    /// How the clock rate of the CPUs is chosen.
    fn governor(&self) -> Finding {
        let cpus = self.sys.join("devices/system/cpu/cpufreq");
        let mut names: Vec<String> = fs::read_dir(cpus)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with("policy"))
            .map(|e| text(&e.path().join("scaling_governor")).trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        match &names[..] {
            [] => Finding::ok("clock rate", "not reported here, as in most virtual machines"),
            [only] if only == "performance" => Finding::ok("clock rate", "governor performance"),
            names => Finding::warning(
                "clock rate",
                format!("governor {}: the CPU clock rate varies", names.join(", ")),
            )
            .remedy("cpupower frequency-set -g performance, as root, while measuring"),
        }
    }

    fn swap(&self, before: &Counters, after: &Counters) -> Finding {
        let info = text(&self.proc.join("meminfo"));
        let bytes = |name: &str| field(&info, name).unwrap_or(0) * 1024;
        let used = bytes("SwapTotal:").saturating_sub(bytes("SwapFree:"));
        let available = human(bytes("MemAvailable:"));
        let pages = after.swapped.saturating_sub(before.swapped);
        if pages > 0 {
            let words =
                format!("{pages} pages were swapped within a second; {available} available");
            return Finding::warning("memory", words)
                .remedy("close programs that use a lot of memory");
        }
        match used {
            0 => Finding::ok("memory", format!("{available} available, no swap in use")),
            used => Finding::ok(
                "memory",
                format!("{available} available, {} swapped out, no swapping now", human(used)),
            ),
        }
    }

    /// Whether the machine runs on battery power; `None` if it has no battery.
    fn power(&self) -> Option<Finding> {
        let supplies: Vec<PathBuf> = fs::read_dir(self.sys.join("class/power_supply"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .collect();
        let says = |supply: &Path, file: &str, wanted: &str| {
            text(&supply.join(file)).trim().eq_ignore_ascii_case(wanted)
        };
        // A wireless mouse also has a battery, with the scope `Device`.
        let batteries: Vec<_> = supplies
            .iter()
            .filter(|s| says(s, "type", "Battery") && !says(s, "scope", "Device"))
            .collect();
        if batteries.is_empty() {
            return None;
        }
        Some(match batteries.iter().any(|s| says(s, "status", "Discharging")) {
            true => Finding::warning("power", "on battery: CPUs and disks save power")
                .remedy("connect the machine to mains power"),
            false => Finding::ok("power", "not on battery"),
        })
    }

    /// The kernel's clock source.
    fn clock(&self) -> Option<Finding> {
        let source = self.sys.join("devices/system/clocksource/clocksource0/current_clocksource");
        let source = text(&source).trim().to_owned();
        Some(match source.as_str() {
            "" => return None,
            // These clocks are read in user space (vdso(7)).
            "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter" => {
                Finding::ok("clock", format!("{source}, read without a system call"))
            }
            slow => Finding::warning(
                "clock",
                format!("{slow}: each reading is a system call, which slows small requests"),
            ),
        })
    }
}

fn processors(before: &Counters, after: &Counters) -> Finding {
    let share = share(after.busy.saturating_sub(before.busy), before, after);
    let words = format!("{} busy with other work during this check", percent(share));
    match share >= BUSY {
        true => Finding::warning("processors", words).remedy("stop other programs, or wait"),
        false => Finding::ok("processors", words),
    }
}

fn stolen(before: &Counters, after: &Counters) -> Finding {
    let share = share(after.stolen.saturating_sub(before.stolen), before, after);
    let words =
        format!("{} of the CPU time stolen by the hypervisor during this check", percent(share));
    match share >= STOLEN {
        true => Finding::warning("steal", words)
            .remedy("retry later: other virtual machines load the host differently over the day"),
        false => Finding::ok("steal", words),
    }
}

fn disk_busy(before: &Counters, after: &Counters, seconds: f64) -> Finding {
    let (Some(before), Some(after)) = (before.disk_ms, after.disk_ms) else {
        return Finding::ok("disk", "its counters cannot be read, so its load is unknown");
    };
    let share = (after.saturating_sub(before) as f64 / 1e3 / seconds).min(1.0);
    let words = format!("busy with other work for {} of the last second", percent(share));
    match share >= DISK_BUSY {
        true => Finding::warning("disk", words).remedy("stop the programs that use it, or wait"),
        false => Finding::ok("disk", words),
    }
}

/// Share of CPU time between two readings of the counters.
fn share(ticks: u64, before: &Counters, after: &Counters) -> f64 {
    let all = after.all.saturating_sub(before.all);
    if all == 0 { 0.0 } else { ticks as f64 / all as f64 }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The content of a kernel file, or an empty string if it cannot be read.
fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// The number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::diagnosis::State;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let root = Root { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
        (dir, root)
    }

    #[test]
    fn counters_are_read() {
        let (_dir, root) = machine(&[
            ("proc/stat", "cpu  100 20 30 4000 500 6 7 80 9 9\ncpu0 1 2\n"),
            ("proc/vmstat", "pgpgin 5\npswpin 3\npswpout 4\n"),
            ("disk", "1 2 3 4 5 6 7 8 9 1234 11\n"),
        ]);
        let disk = root.proc.parent().unwrap().join("disk");
        let read = root.counters(Some(&disk));
        let all = 100 + 20 + 30 + 4000 + 500 + 6 + 7 + 80;
        let wanted = Counters { all, busy: 163, stolen: 80, disk_ms: Some(1234), swapped: 7 };
        assert_eq!(read, wanted);
        assert_eq!(machine(&[]).1.counters(None), Counters::default());
    }

    #[test]
    fn what_is_taken_within_the_second_is_told() {
        let before = Counters::default();
        let after = Counters { all: 200, busy: 30, stolen: 6, disk_ms: Some(400), swapped: 9 };
        let busy = processors(&before, &after);
        assert_eq!((busy.state, &busy.says[..4]), (State::Warning, "15 %"));
        assert_eq!(stolen(&before, &after).state, State::Warning);
        assert_eq!(stolen(&after, &after).state, State::Ok);
        let disk = disk_busy(&Counters { disk_ms: Some(0), ..before }, &after, 1.0);
        assert!(disk.state == State::Warning && disk.says.contains("40 %"), "{disk:?}");
        assert_eq!(disk_busy(&before, &after, 1.0).state, State::Ok, "not known");
        let (_dir, root) = machine(&[]);
        assert_eq!(root.swap(&before, &after).state, State::Warning);
        assert_eq!(root.swap(&before, &before).state, State::Ok);
    }

    #[test]
    fn governor_battery_and_clock() {
        let (_dir, root) = machine(&[
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n"),
            ("sys/class/power_supply/BAT0/type", "Battery\n"),
            ("sys/class/power_supply/BAT0/status", "Discharging\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ]);
        assert_eq!(root.governor().state, State::Warning);
        assert!(root.governor().says.starts_with("governor powersave:"));
        assert_eq!(root.power().unwrap().state, State::Warning);
        assert_eq!(root.clock().unwrap().state, State::Warning);
        let (_dir, root) = machine(&[
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
            ("sys/class/power_supply/AC/type", "Mains\n"),
            ("sys/class/power_supply/mouse/type", "Battery\n"),
            ("sys/class/power_supply/mouse/scope", "Device\n"),
            ("sys/class/power_supply/mouse/status", "Discharging\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        assert_eq!(root.governor().state, State::Ok);
        assert_eq!(root.power(), None, "a mouse's battery is none of the machine's");
        assert_eq!(root.clock().unwrap().state, State::Ok);
    }
}
