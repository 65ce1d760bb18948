//! The memory that is available to this process: the machine's free memory without swap, within the
//! limits of its cgroups.
//!
//! Linux overcommits memory, and kills a process when it runs out of memory. A derivation that needs more memory than
//! is available is therefore refused before it starts. Swap does not count: Argon2 accesses its memory at random, which
//! would take hours on swap.
#![expect(clippy::disallowed_methods, reason = "files of /proc and of cgroups")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::KdfError;

/// The stored value, if the available memory was determined permanently.
static KEPT: OnceLock<Option<u64>> = OnceLock::new();

/// Memory in KiB that is available to this process now; `None` if the operating system does not report it.
pub fn available_kib() -> Option<u64> {
    KEPT.get().copied().unwrap_or_else(|| available_under(Path::new("/")))
}

/// Stores the result of [`available_kib`] permanently, for a process that will soon lose the permission to open
/// files.
pub fn keep_available() {
    KEPT.get_or_init(|| available_under(Path::new("/")));
}

/// Checks that `kib` KiB of memory are available.
///
/// # Errors
/// [`KdfError::Memory`] if `function` needs more.
pub(crate) fn ask(function: &'static str, kib: u64) -> Result<(), KdfError> {
    match available_kib() {
        Some(free) if free < kib => Err(KdfError::Memory { function, kib, free: Some(free) }),
        _ => Ok(()),
    }
}

/// Like [`available_kib`], with `/proc` and the cgroups below `root`.
fn available_under(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok();
    let machine = meminfo.and_then(|text| machine_kib(&text));
    machine.into_iter().chain(cgroup_kib(root)).min()
}

/// Memory in KiB that the machine can provide without swapping, from `/proc/meminfo` (proc_meminfo(5)).
fn machine_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Memory in KiB that remains within the limits of this process's cgroups and their parents.
fn cgroup_kib(root: &Path) -> Option<u64> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    // Mount point names need not be UTF-8.
    let mounts = fs::read(root.join("proc/self/mountinfo")).ok()?;
    let mounts = String::from_utf8_lossy(&mounts);
    let hierarchies = mounts.lines().filter_map(|line| Hierarchy::of(line, &own));
    hierarchies.filter_map(|hierarchy| hierarchy.left(root)).min().map(|bytes| bytes / 1024)
}

/// A mounted cgroup hierarchy with the memory controller, and this process's group in it.
struct Hierarchy {
    files: &'static Files,
    /// Mount point.
    top: PathBuf,
    /// Path of this process's group, relative to the mount point.
    group: PathBuf,
}

/// The names that one version of cgroups uses for limits, for usage, and for fields of `memory.stat`.
struct Files {
    limits: &'static [&'static str],
    usage: &'static str,
    /// Page cache.
    cached: [&'static str; 2],
    /// The part of the page cache that must be written before it can be dropped.
    dirty: [&'static str; 2],
}

/// Version 1; its figures include subgroups (Documentation/admin-guide/cgroup-v1/memory.rst).
const V1: Files = Files {
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    cached: ["total_inactive_file", "total_active_file"],
    dirty: ["total_dirty", "total_writeback"],
};

/// Version 2 (Documentation/admin-guide/cgroup-v2.rst). Above `memory.high` the kernel throttles a
/// process almost to a standstill.
const V2: Files = Files {
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    cached: ["inactive_file", "active_file"],
    dirty: ["file_dirty", "file_writeback"],
};

impl Hierarchy {
    /// The hierarchy in a line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)); `own` is the contents of
    /// `/proc/self/cgroup`.
    fn of(mount: &str, own: &str) -> Option<Self> {
        let (place, system) = mount.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (within, top) = (unescape(place.next()?), unescape(place.next()?));
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        let mut own = own.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?, fields.next()?))
        });
        let mut group = |wanted: &dyn Fn(&str) -> bool| {
            own.find(|(controllers, _)| wanted(controllers)).map(|(_, path)| path)
        };
        let is_memory = |list: &str| list.split(',').any(|name| name == "memory");
        let (files, group) = match kind {
            "cgroup2" => (&V2, group(&str::is_empty)?),
            "cgroup" if is_memory(options) => (&V1, group(&is_memory)?),
            _ => return None,
        };
        // In a container the group can be outside the mounted part; in that case the topmost visible group is used.
        let below = Path::new(group).strip_prefix(&within).unwrap_or(Path::new(""));
        let visible =
            below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let below = if visible { below } else { Path::new("") };
        Some(Self { files, group: below.to_owned(), top: top.into() })
    }

    /// Number of bytes that remain within the strictest limit from this group up to the root.
    fn left(&self, root: &Path) -> Option<u64> {
        let top = root.join(self.top.strip_prefix("/").unwrap_or(&self.top));
        self.group.ancestors().filter_map(|group| self.left_in(&top.join(group))).min()
    }

    fn left_in(&self, group: &Path) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(group.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        // If there is no limit, the file contains `max` or does not exist.
        let limit = self.files.limits.iter().filter_map(|name| number(name)).min()?;
        let stat = read("memory.stat").unwrap_or_default();
        let sum = |names: [&str; 2]| -> u64 { names.iter().map(|name| field(&stat, name)).sum() };
        // The page cache counts as used, but the kernel drops it on demand.
        let gives_way = sum(self.files.cached).saturating_sub(sum(self.files.dirty));
        Some(limit.saturating_sub(number(self.files.usage)?.saturating_sub(gives_way)))
    }
}

/// A field of a `memory.stat` file; 0 if it is missing.
fn field(stat: &str, name: &str) -> u64 {
    let mut fields = stat.lines().filter_map(|line| line.split_once(' '));
    fields.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// Decodes a path in `mountinfo`, where some bytes are octal escapes.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A machine in a directory: 8 GiB free and as much swap, and these files.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal: 16000000 kB\nMemAvailable: 8388608 kB\nSwapFree: 8388608 kB\n";
        for (path, text) in [("proc/meminfo", meminfo)].iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn mib(files: &[(&str, &str)]) -> Option<u64> {
        available_under(machine(files).path()).map(|kib| kib / 1024)
    }

    #[test]
    fn swap_does_not_count() {
        assert_eq!(mib(&[]), Some(8192));
        for strange in ["", "MemFree: 5 kB", "MemAvailable: x kB", "MemAvailable: 5 pages"] {
            assert_eq!(machine_kib(strange), None, "{strange}");
        }
    }

    #[test]
    fn the_strictest_group_on_the_way_up_counts_in_version_2() {
        let tree = |inner: &str, outer: &str, high: &str| {
            mib(&[
                ("proc/self/cgroup", "0::/user.slice/a b/c\n"),
                (
                    "proc/self/mountinfo",
                    "20 1 0:3 / /proc rw - proc proc rw\n\
                     30 1 0:26 / /sys/fs/cg\\040x rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
                ),
                ("sys/fs/cg x/user.slice/a b/c/memory.max", inner),
                ("sys/fs/cg x/user.slice/a b/c/memory.current", &(100 * MIB).to_string()),
                ("sys/fs/cg x/user.slice/memory.max", outer),
                ("sys/fs/cg x/user.slice/memory.high", high),
                ("sys/fs/cg x/user.slice/memory.current", &(900 * MIB).to_string()),
                (
                    "sys/fs/cg x/user.slice/memory.stat",
                    &format!(
                        "anon 5\ninactive_file {}\nactive_file {}\nfile_dirty {}\n",
                        500 * MIB,
                        200 * MIB,
                        100 * MIB
                    ),
                ),
            ])
            .unwrap()
        };
        let gib = (1024 * MIB).to_string();
        assert_eq!(tree("max\n", "max\n", "max\n"), 8192);
        assert_eq!(tree(&gib, "max\n", "max\n"), 924);
        // 900 MiB are in use, of which 600 make room.
        assert_eq!(tree("max\n", &gib, "max\n"), 724);
        assert_eq!(tree(&gib, &gib, &(400 * MIB).to_string()), 100);
        assert_eq!(tree(&(50 * MIB).to_string(), &gib, "max\n"), 0);
    }

    #[test]
    fn version_1_and_containers_are_understood() {
        let tree = |own: &str| {
            mib(&[
                ("proc/self/cgroup", &format!("9:cpu,cpuacct:/x\n4:memory:{own}\n0::/\n")),
                (
                    "proc/self/mountinfo",
                    "30 1 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     31 1 0:27 /docker/1 /cg/memory rw - cgroup cgroup rw,memory\n\
                     32 1 0:28 / /cg/unified rw - cgroup2 cgroup2 rw\n",
                ),
                ("cg/cpu/memory.limit_in_bytes", "1"),
                ("cg/memory/memory.limit_in_bytes", &(600 * MIB).to_string()),
                ("cg/memory/memory.usage_in_bytes", &(300 * MIB).to_string()),
                ("cg/memory/memory.stat", &format!("total_inactive_file {}\n", 50 * MIB)),
                ("cg/memory/in/memory.limit_in_bytes", "9223372036854771712"),
                ("cg/memory/in/memory.usage_in_bytes", &(300 * MIB).to_string()),
            ])
        };
        for own in ["/docker/1", "/docker/1/in", "/elsewhere", "/../x", "/docker/1/../../.."] {
            assert_eq!(tree(own), Some(350), "{own}");
        }
    }

    #[test]
    fn more_than_there_is_is_refused_with_both_figures() {
        let Some(free) = available_kib() else {
            eprintln!("SKIPPED: the system does not report its free memory");
            return;
        };
        assert_eq!(ask("argon2id", free / 2), Ok(()));
        let said = ask("argon2id", 1 << 40).unwrap_err().to_string();
        assert!(
            said.contains("1073741824 MiB") && said.contains("this process can have"),
            "{said}"
        );
    }
}
