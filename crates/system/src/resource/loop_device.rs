//! Loop devices: files as block devices. Requires root.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cryptbench_text::shown;
use serde::{Deserialize, Serialize};
use tracing::info;

use super::orphans::await_detached;
use super::{Identity, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::command::run;

/// A loop device and its backing file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDevice {
    /// Absolute path of the file.
    pub file: PathBuf,
}

/// Attaches a loop device to `file` and returns the device's path.
pub(crate) fn create(
    stack: &mut ResourceStack,
    file: &Path,
    read_only: bool,
) -> Result<PathBuf, SystemError> {
    attached(stack, file, || attach(file, read_only, None))
}

/// Like [`create`], but for an open file, whose path is `file`.
pub(crate) fn create_over(
    stack: &mut ResourceStack,
    open: &fs::File,
    file: &Path,
    read_only: bool,
) -> Result<PathBuf, SystemError> {
    attached(stack, file, || {
        cryptbench_os::loop_device::attach(open, file, read_only)
            .map_err(SystemError::io("attach a loop device to", file))
    })
}

/// Like [`create`], but for a writable device, with this block size in bytes instead of the kernel's default of
/// 512.
pub(crate) fn create_with(
    stack: &mut ResourceStack,
    file: &Path,
    blocks: Option<u32>,
) -> Result<PathBuf, SystemError> {
    attached(stack, file, || attach(file, false, blocks))
}

/// Attaches a loop device to `file`, which is a disk with a partition table. Returns the path of the first
/// partition.
pub(crate) fn create_partitioned(
    stack: &mut ResourceStack,
    file: &Path,
) -> Result<PathBuf, SystemError> {
    let device = attached(stack, file, || attach_with(file, &["--partscan"]))?;
    let partition = PathBuf::from(format!("{}p1", device.display()));
    if !partition.exists() {
        // Needed if the kernel does not read the partition table itself.
        let told = run(
            "partx",
            ["--add", "--nr", "1"].map(AsRef::as_ref).into_iter().chain([device.as_os_str()]),
        );
        if !partition.exists() {
            told?;
        }
    }
    let until = Instant::now() + NODE_LIMIT;
    while !partition.exists() {
        if Instant::now() >= until {
            let problem = "the partition's device node did not appear; is udev running?".to_owned();
            return Err(SystemError::Target { path: partition, problem });
        }
        sleep(Duration::from_millis(10));
    }
    Ok(partition)
}

/// Time limit for the device node of a partition to appear.
const NODE_LIMIT: Duration = Duration::from_secs(10);

fn attached(
    stack: &mut ResourceStack,
    file: &Path,
    attach: impl FnOnce() -> Result<PathBuf, SystemError>,
) -> Result<PathBuf, SystemError> {
    let device = stack.create(LoopDevice { file: file.to_owned() }, || {
        let device = attach()?;
        info!("{} is {}", shown(&device), shown(file));
        let identity = number(&device).map(Identity::number);
        Ok((device, identity))
    })?;
    Ok(device.clone())
}

impl Resource for LoopDevice {
    /// Path of the device.
    type Live = PathBuf;

    fn destroy(&self, device: &mut PathBuf, _: Option<Identity>) -> Result<(), SystemError> {
        if of_file(&self.file, number(device)).is_some() {
            detach(device)?;
            await_detached(&self.file, device);
        }
        Ok(())
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let device = of_file(&self.file, identity.map(|i| i.device))?;
        let detached = detach(&device);
        await_detached(&self.file, &device);
        removed(detached)
    }

    fn made_by(&self) -> Option<String> {
        Some(format!("{DIRECT}\0{}", self.file.display()))
    }

    fn caches(&self, device: &PathBuf) -> bool {
        caches(device)
    }
}

/// Direct I/O, so that data is not cached twice. If the file does not support it, the kernel uses the page
/// cache.
const DIRECT: &str = "--direct-io=on";

/// Attaches `file` to a free loop device and returns the device's path.
fn attach(file: &Path, read_only: bool, blocks: Option<u32>) -> Result<PathBuf, SystemError> {
    let blocks = blocks.map(|bytes| format!("--sector-size={bytes}"));
    let mut options: Vec<&str> = blocks.as_deref().into_iter().collect();
    if read_only {
        options.push("--read-only");
    }
    attach_with(file, &options)
}

fn attach_with(file: &Path, options: &[&str]) -> Result<PathBuf, SystemError> {
    let arguments = ["--find", "--show"].iter().chain(options).chain(&[DIRECT]).map(AsRef::as_ref);
    run("losetup", arguments.chain([file.as_os_str()])).map(PathBuf::from)
}

/// Makes a loop device process its requests one after another: without direct I/O, a single worker handles them
/// in sequence.
pub(crate) fn carry_in_turn(device: &Path) -> Result<(), SystemError> {
    run("losetup", ["--direct-io=off".as_ref(), device.as_os_str()]).map(drop)
}

/// Whether data that is written to a loop device can stay in the page cache of its backing file. Direct I/O
/// bypasses that cache, if the file supports it.
pub fn caches(device: &Path) -> bool {
    let name = device.file_name().unwrap_or_default();
    let direct = Path::new("/sys/block").join(name).join("loop/dio");
    fs::read_to_string(direct).is_ok_and(|direct| direct.trim() == "0")
}

/// Detaches a loop device; the kernel completes this when its last user closes the device.
pub(super) fn detach(device: &Path) -> Result<(), SystemError> {
    run("losetup", ["--detach".as_ref(), device.as_os_str()]).map(drop)
}

/// Device number of a block device.
pub(super) fn number(device: &Path) -> Option<u64> {
    fs::metadata(device).ok().map(|m| m.rdev())
}

/// The loop device that is attached to `file` under this name. If `device` is given, the device or its
/// partition must also have that number.
pub fn of_file(file: &Path, device: Option<u64>) -> Option<PathBuf> {
    let entries = fs::read_dir("/sys/block").ok()?;
    entries.flatten().find_map(|entry| {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        // If the mount of a file is gone, the kernel marks the file as deleted.
        let backing = backing.trim_end_matches('\n').trim_end_matches(" (deleted)");
        let node = Path::new("/dev").join(entry.file_name());
        let part = || PathBuf::from(format!("{}p1", node.display()));
        let fits = device
            .is_none_or(|wanted| number(&node) == Some(wanted) || number(&part()) == Some(wanted));
        (Path::new(backing) == file && fits).then_some(node)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_caches_unless_it_has_direct_io() {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIPPED: loop devices require root and the loop module");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
        let device = attach(&file, false, Some(4096)).unwrap();
        let name = device.file_name().unwrap();
        let queue = Path::new("/sys/block").join(name).join("queue");
        for size in ["logical_block_size", "physical_block_size"] {
            assert_eq!(fs::read_to_string(queue.join(size)).unwrap().trim(), "4096");
        }
        let set = |mode: &str| run("losetup", [mode.as_ref(), device.as_os_str()]);
        let direct = set("--direct-io=on").map(|_| caches(&device));
        let buffered = set("--direct-io=off").map(|_| caches(&device));
        detach(&device).unwrap();
        assert!(buffered.unwrap());
        match direct {
            Ok(caches) => assert!(!caches),
            Err(e) => eprintln!("SKIPPED: no direct I/O here: {e}"),
        }
        assert!(!caches(Path::new("/dev/null")), "no loop device at all");
    }
}
