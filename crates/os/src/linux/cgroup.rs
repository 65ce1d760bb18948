//! The limits of this process's control groups, in versions 1 and 2 (Documentation/admin-guide/cgroup-v2.rst and
//! cgroup-v1/memory.rst, scheduler/sched-bwc.rst).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::storage::mounts::unescaped;
use crate::machine::Limits;

/// Without a memory limit, version 1 reports a number near 2^63.
const NO_LIMIT: u64 = 1 << 60;

pub(crate) fn limits() -> Limits {
    limits_under(Path::new("/"))
}

pub(crate) fn throttled() -> Option<Duration> {
    throttled_under(Path::new("/"))
}

fn limits_under(root: &Path) -> Limits {
    let least = |values: Vec<f64>| values.into_iter().reduce(f64::min);
    let groups = groups(root);
    let memory = groups.iter().flat_map(|group| {
        let files = ["memory.max", "memory.high", "memory.limit_in_bytes"];
        files.into_iter().filter_map(|file| number(&group.join(file)))
    });
    Limits {
        memory_bytes: memory.filter(|bytes| *bytes < NO_LIMIT).min(),
        cpus: least(groups.iter().filter_map(|group| quota(group)).collect()),
    }
}

/// The longest wait in any of the groups. The wait of a group with a quota includes the waits that its quota caused in
/// lower groups.
fn throttled_under(root: &Path) -> Option<Duration> {
    let of = |group: &PathBuf| {
        quota(group)?;
        let stat = fs::read_to_string(group.join("cpu.stat")).ok()?;
        let value = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        value("throttled_usec ")
            .map(Duration::from_micros)
            .or_else(|| value("throttled_time ").map(Duration::from_nanos))
    };
    groups(root).iter().filter_map(of).max()
}

/// CPU time that the group may use, as a number of CPUs.
fn quota(group: &Path) -> Option<f64> {
    if let Ok(text) = fs::read_to_string(group.join("cpu.max")) {
        let (quota, period) = text.trim().split_once(' ')?;
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    // -1 is none.
    let quota = number(&group.join("cpu.cfs_quota_us"))?;
    let period = number(&group.join("cpu.cfs_period_us")).filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The directories of this process's groups and of all groups above them, as far as they are mounted.
fn groups(root: &Path) -> Vec<PathBuf> {
    let Ok(own) = fs::read_to_string(root.join("proc/self/cgroup")) else { return Vec::new() };
    // Mount point names need not be UTF-8.
    let mounts = fs::read(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts);
    let mut found = Vec::new();
    for (top, group) in mounts.lines().filter_map(|line| hierarchy(line, &own)) {
        let top = root.join(top.strip_prefix("/").unwrap_or(&top));
        let mut group = group.as_path();
        loop {
            let directory = top.join(group);
            if directory.is_dir() && !found.contains(&directory) {
                found.push(directory);
            }
            match group.parent() {
                Some(parent) => group = parent,
                None => break,
            }
        }
    }
    found
}

/// The mount point of a hierarchy that controls memory or CPUs, and this process's group below it, from a line of
/// `/proc/self/mountinfo` (proc_pid_mountinfo(5)) and all of `/proc/self/cgroup`.
fn hierarchy(mount: &str, own: &str) -> Option<(PathBuf, PathBuf)> {
    let (place, system) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (within, top) = (unescaped(place.next()?.as_bytes()), unescaped(place.next()?.as_bytes()));
    let mut system = system.split(' ');
    let (kind, options) = (system.next()?, system.nth(1)?);
    let limits = |names: &str| names.split(',').any(|name| ["memory", "cpu"].contains(&name));
    let wanted = match kind {
        "cgroup2" => "",
        "cgroup" if limits(options) => options,
        _ => return None,
    };
    let group = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let is_it = match wanted {
            "" => controllers.is_empty(),
            options => {
                let known: Vec<&str> = options.split(',').collect();
                !controllers.is_empty() && controllers.split(',').all(|name| known.contains(&name))
            }
        };
        is_it.then_some(group)
    })?;
    // A container may mount only its own group; the group's name outside the container is then not below the mount.
    let group = Path::new(group).strip_prefix(within).unwrap_or(Path::new(""));
    Some((top, group.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn version_2_with_a_limit_above() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "proc/self/cgroup", "0::/box/inner\n");
        write(root, "proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write(root, "sys/fs/cgroup/box/cpu.max", "20000 100000\n");
        write(root, "sys/fs/cgroup/box/memory.max", "100663296\n");
        write(
            root,
            "sys/fs/cgroup/box/cpu.stat",
            "usage_usec 9\nnr_periods 208\nthrottled_usec 1400000\n",
        );
        write(root, "sys/fs/cgroup/box/inner/cpu.max", "max 100000\n");
        write(root, "sys/fs/cgroup/box/inner/memory.max", "max\n");
        assert_eq!(limits_under(root), Limits { memory_bytes: Some(96 << 20), cpus: Some(0.2) });
        assert_eq!(throttled_under(root), Some(Duration::from_millis(1400)));
    }

    #[test]
    fn version_1_and_a_container_that_sees_its_own_group_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(
            root,
            "proc/self/cgroup",
            "5:memory:/docker/7f\n4:cpu,cpuacct:/docker/7f\n1:name=systemd:/x\n",
        );
        let mounts = "1 2 0:1 /docker/7f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                      3 2 0:2 /docker/7f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
        write(root, "proc/self/mountinfo", mounts);
        write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "25165824\n");
        write(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
        write(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        write(
            root,
            "sys/fs/cgroup/cpu,cpuacct/cpu.stat",
            "nr_throttled 50\nthrottled_time 2500000000\n",
        );
        assert_eq!(limits_under(root), Limits { memory_bytes: Some(24 << 20), cpus: Some(1.5) });
        assert_eq!(throttled_under(root), Some(Duration::from_millis(2500)));
    }

    #[test]
    fn a_mount_point_with_a_space() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "proc/self/cgroup", "0::/my box/inner\n");
        let mounts = "30 25 0:26 /my\\040box /c\\040g rw - cgroup2 cgroup2 rw\n";
        write(root, "proc/self/mountinfo", mounts);
        write(root, "c g/inner/memory.max", "100663296\n");
        assert_eq!(limits_under(root), Limits { memory_bytes: Some(96 << 20), cpus: None });
    }

    #[test]
    fn no_limits_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!((limits_under(root), throttled_under(root)), (Limits::default(), None));
        write(root, "proc/self/cgroup", "5:memory:/\n4:cpu:/\n");
        let mounts = "1 2 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      3 2 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        write(root, "proc/self/mountinfo", mounts);
        write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        write(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        assert_eq!(limits_under(root), Limits::default());
    }
}
