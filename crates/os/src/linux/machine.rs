//! Describes the machine from /proc, /sys and os-release.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use super::processor::{self, field};
use crate::machine::{Machine, VIRTUAL_MACHINE};

/// CPU features that ciphers and hashes use, named as in /proc/cpuinfo.
const FEATURES: &[&str] = &[
    "aes",
    "pclmulqdq",
    "ssse3",
    "sse4_1",
    "avx",
    "avx2",
    "bmi2",
    "sha_ni",
    "vaes",
    "vpclmulqdq",
    "gfni",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512vbmi", // aarch64:
    "asimd",
    "pmull",
    "sha1",
    "sha2",
    "sha512",
    "sve",
];

pub(crate) fn describe() -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let uname = rustix::system::uname();
    let words = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    Machine {
        cpu_model: processor::name(&cpuinfo).unwrap_or_else(|| words(uname.machine())),
        cpus: available_parallelism().map_or(1, |n| n.get() as u32),
        cpu_features: features(&cpuinfo),
        memory_bytes: meminfo("MemTotal:").or_else(memory_bytes).unwrap_or(0),
        kernel: format!(
            "{} {} {}",
            words(uname.sysname()),
            words(uname.release()),
            words(uname.machine())
        ),
        os: os_release().unwrap_or_else(|| "unknown".to_owned()),
        emulated: (field(&cpuinfo, &["vendor_id"]).as_deref() == Some(USER_MODE_VENDOR))
            .then(|| USER_MODE.to_owned()),
        virtualisation: virtualisation(&cpuinfo, in_container()),
        load_average: load_average().unwrap_or(0.0),
        power: super::power::power(Path::new("/sys")),
    }
}

pub(crate) use super::cgroup::{limits, throttled};

pub(crate) fn missing_file_system() -> Option<&'static str> {
    // /proc is needed to reach open files by name, and to read the mounts.
    (!Path::new("/proc/self/fd").is_dir()).then_some("/proc")
}

pub(crate) fn possible_cpus() -> Option<u32> {
    // `0-1`, or `0,2-3`.
    let list = fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    let last = list.trim().rsplit([',', '-']).next()?.parse::<u32>().ok()?;
    last.checked_add(1)
}

fn features(cpuinfo: &str) -> Vec<String> {
    let flags = field(cpuinfo, &["flags", "Features"]).unwrap_or_default();
    let have: Vec<_> = flags.split_whitespace().collect();
    FEATURES.iter().filter(|f| have.contains(f)).map(ToString::to_string).collect()
}

/// From sysinfo(2).
pub(crate) fn memory_bytes() -> Option<u64> {
    let info = rustix::system::sysinfo();
    // The field's width differs between architectures.
    #[allow(clippy::useless_conversion, clippy::cast_lossless)]
    let total = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    Some(total)
}

/// `MemAvailable` of proc_meminfo(5).
pub(crate) fn memory_available() -> Option<u64> {
    meminfo("MemAvailable:")
}

/// The value of a line of `/proc/meminfo`, in bytes.
fn meminfo(name: &str) -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = info.lines().find_map(|l| l.strip_prefix(name)?.split_whitespace().next())?;
    Some(kib.parse::<u64>().ok()? * 1024)
}

pub(crate) fn processor_time() -> Option<(u64, u64)> {
    times(&fs::read_to_string("/proc/stat").ok()?)
}

/// Busy and total ticks of all CPUs together, from the first line of `/proc/stat` (proc_stat(5)). `idle` and `iowait`
/// count as idle; `guest` and `guest_nice` are included in `user` and `nice`.
fn times(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|n| n.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all - idle, all))
}

pub(crate) fn kernel_setting(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.trim().to_owned())
}

pub(crate) fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // The kernel's host name if no name was set.
    Some(name).filter(|name| !name.is_empty() && name != "(none)")
}

/// The locations specified by machine-id(5) and by D-Bus.
pub(crate) fn machine_id() -> Option<String> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        // In a container or image that has not been started yet, the file is empty or contains "uninitialized".
        let id = text.trim();
        (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| id.to_owned())
    })
}

/// "2" drops directory entries and inodes (Linux, Documentation/admin-guide/sysctl/vm.rst).
pub(crate) fn drop_directory_caches() -> bool {
    fs::write("/proc/sys/vm/drop_caches", "2\n").is_ok()
}

fn os_release() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Marker files that container managers create in the root directory.
fn in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|p| fs::exists(p).unwrap_or(false))
}

/// The CPU vendor that is reported by a kernel that runs as a program.
const USER_MODE_VENDOR: &str = "User Mode Linux";

/// The name of a machine whose kernel runs as a program.
const USER_MODE: &str = "user-mode Linux";

fn virtualisation(cpuinfo: &str, in_container: bool) -> Option<String> {
    if field(cpuinfo, &["vendor_id"]).as_deref() == Some(USER_MODE_VENDOR) {
        return Some(USER_MODE.to_owned());
    }
    let read = |p: &str| fs::read_to_string(p).ok().map(|s| s.trim().to_owned());
    let guest = field(cpuinfo, &["flags"]).is_some_and(|f| f.split(' ').any(|f| f == "hypervisor"))
        || emulated_board(&fs::read("/proc/device-tree/compatible").unwrap_or_default());
    let host = guest.then(|| {
        let name = read("/sys/hypervisor/type").or_else(|| read("/sys/class/dmi/id/sys_vendor"));
        match name {
            Some(name) if !name.is_empty() => format!("{VIRTUAL_MACHINE} ({name})"),
            _ => VIRTUAL_MACHINE.to_owned(),
        }
    });
    match (in_container, host) {
        (true, Some(host)) => Some(format!("container in a {host}")),
        (true, None) => Some("container".to_owned()),
        (false, host) => host,
    }
}

/// Whether a device tree is that of QEMU's `virt` machine; only x86 CPUs have a flag for a hypervisor.
fn emulated_board(compatible: &[u8]) -> bool {
    compatible.split(|byte| *byte == 0).any(|name| name == b"linux,dummy-virt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_is_read() {
        let text =
            "processor\t: 0\nmodel name\t: A CPU: fast\nflags\t\t: fpu aes avx2 hypervisor\n";
        assert_eq!(field(text, &["model name"]).as_deref(), Some("A CPU: fast"));
        assert_eq!(features(text), ["aes", "avx2"]);
        assert!(virtualisation(text, false).unwrap().starts_with("virtual machine"));
        assert!(virtualisation(text, true).unwrap().starts_with("container in a virtual"));
        assert_eq!(virtualisation("flags : aes", true).as_deref(), Some("container"));
        assert_eq!(virtualisation("flags : aes", false), None);
        assert!(emulated_board(b"linux,dummy-virt\0"));
        assert!(!emulated_board(b"raspberrypi,4-model-b\0brcm,bcm2711\0") && !emulated_board(b""));
        let user_mode = "vendor_id\t: User Mode Linux\nmode\t: skas\n";
        assert_eq!(virtualisation(user_mode, true).as_deref(), Some(USER_MODE));
    }

    #[test]
    fn waiting_for_storage_is_no_work_and_guests_count_once() {
        let stat = "cpu  100 5 20 800 50 3 2 1 40 0\ncpu0 1 1 1 1\n";
        assert_eq!(times(stat), Some((131, 981)));
        for text in ["", "cpu  1 2 3\n", "intr 1\n", "cpu  a b c d e\n"] {
            assert_eq!(times(text), None, "{text}");
        }
    }

    #[test]
    fn memory_and_settings_are_told() {
        let all = memory_bytes().unwrap();
        assert!(memory_available().unwrap() <= all);
        assert!(kernel_setting("kernel.osrelease").is_some_and(|release| !release.is_empty()));
        assert_eq!(kernel_setting("kernel.no_such_setting"), None);
        assert!(host_name().is_none_or(|name| !name.is_empty()));
        assert!(crate::machine::boot_id().is_some_and(|id| id.len() == 36));
    }

    #[test]
    fn this_machine_is_described() {
        let m = describe();
        assert!(m.cpus > 0 && m.memory_bytes > 0 && m.kernel.starts_with("Linux"));
    }
}
