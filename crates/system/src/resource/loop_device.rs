//! Loop devices: a file as a block device, which takes root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::orphans::await_detached;
use super::{Identity, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::command::run;

/// A loop device over a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDevice {
    /// Absolute path of the file.
    pub file: PathBuf,
}

/// Puts a loop device on `file` and gives its path.
pub(crate) fn create(
    stack: &mut ResourceStack,
    file: &Path,
    read_only: bool,
) -> Result<PathBuf, SystemError> {
    let device = stack.create(LoopDevice { file: file.to_owned() }, || {
        let device = attach(file, read_only)?;
        let identity = number(&device).map(Identity::number);
        Ok((device, identity))
    })?;
    Ok(device.clone())
}

impl Resource for LoopDevice {
    /// Where the device is reached.
    type Live = PathBuf;

    fn path(&self) -> &Path {
        &self.file
    }

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

/// Direct I/O, so that nothing is cached twice; the kernel falls back where the file has none.
const DIRECT: &str = "--direct-io=on";

/// Attaches `file` to a free loop device and gives the device's path.
fn attach(file: &Path, read_only: bool) -> Result<PathBuf, SystemError> {
    let mut arguments = vec!["--find", "--show"];
    if read_only {
        arguments.push("--read-only");
    }
    arguments.push(DIRECT);
    let arguments = arguments.into_iter().map(AsRef::as_ref);
    run("losetup", arguments.chain([file.as_os_str()])).map(PathBuf::from)
}

/// Lets a loop device give its file one request after the other: without direct I/O a single worker carries them, each
/// to its end.
pub(crate) fn carry_in_turn(device: &Path) -> Result<(), SystemError> {
    run("losetup", ["--direct-io=off".as_ref(), device.as_os_str()]).map(drop)
}

/// Whether what is written to a loop device stays in the page cache of its file for a while; direct I/O, where the
/// file has it, passes that by.
#[must_use]
pub fn caches(device: &Path) -> bool {
    let name = device.file_name().unwrap_or_default();
    let direct = Path::new("/sys/block").join(name).join("loop/dio");
    fs::read_to_string(direct).is_ok_and(|direct| direct.trim() == "0")
}

/// Detaches a loop device; the kernel does so once its last user has gone.
fn detach(device: &Path) -> Result<(), SystemError> {
    run("losetup", ["--detach".as_ref(), device.as_os_str()]).map(drop)
}

/// Device number of a block device.
pub(super) fn number(device: &Path) -> Option<u64> {
    fs::metadata(device).ok().map(|m| m.rdev())
}

/// The loop device of the kernel that `file` is attached to, by the name that it was attached under; if
/// `number` is given, only the device of that number.
#[must_use]
pub fn of_file(file: &Path, device: Option<u64>) -> Option<PathBuf> {
    let entries = fs::read_dir("/sys/block").ok()?;
    entries.flatten().find_map(|entry| {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        // A file whose mount is gone is shown as deleted.
        let backing = backing.trim_end_matches('\n').trim_end_matches(" (deleted)");
        let node = Path::new("/dev").join(entry.file_name());
        let fits = device.is_none_or(|wanted| number(&node) == Some(wanted));
        (Path::new(backing) == file && fits).then_some(node)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_caches_unless_it_has_direct_io() {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIPPED: loop devices take root, and the loop module");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
        let device = attach(&file, false).unwrap();
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
