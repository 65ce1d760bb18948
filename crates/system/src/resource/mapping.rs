//! Device-mapper devices: various programs create them, sysfs lists them by name, and dmsetup(8) removes them.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Identity, NOT_OURS, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::command::{Invocation, run};
use crate::machine::Machine;

/// A device-mapper device with a name unique to the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// Its path in `/dev/mapper`.
    pub path: PathBuf,
}

/// Calls `make` to set up the mappings with these names, lowest first, and returns the path of the last one.
///
/// If a program fails midway, the mappings that it created are removed with the others.
pub(crate) fn create(
    stack: &mut ResourceStack,
    names: &[String],
    make: impl FnOnce() -> Result<(), SystemError>,
) -> Result<PathBuf, SystemError> {
    let mut announced = Vec::new();
    for name in names {
        announced.push((stack.announce(Mapping { path: path_of(name) }, ())?, name));
    }
    make()?;
    for (number, name) in announced {
        if let Some(device) = number_of(name) {
            stack.note(number, Identity::number(device))?;
        }
    }
    await_node(names.last().map_or("", String::as_str))
}

impl Resource for Mapping {
    type Live = ();

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        name_of(&self.path).map_or(Ok(()), remove)
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let name = name_of(&self.path)?;
        let number = number_of(name)?;
        // Without an identity, the name decides, because no other run uses it.
        if identity.is_some_and(|id| id.device != number) {
            return NOT_OURS;
        }
        removed(remove(name))
    }

    fn made_by(&self) -> Option<String> {
        name_of(&self.path).map(ToOwned::to_owned)
    }
}

/// dmsetup needs milliseconds, or 5 s if a device is in use.
const LIMIT: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(10);

/// Time limit for a device node, which udev or libdevmapper creates.
const NODE_LIMIT: Duration = Duration::from_secs(10);

/// Whether the running kernel has device mapper. The existence of `/dev/mapper/control` does not prove this,
/// because the node can exist without the driver.
pub(crate) fn in_kernel() -> bool {
    let misc = fs::read_to_string("/proc/misc").unwrap_or_default();
    misc.lines().any(|line| line.split_whitespace().nth(1) == Some("device-mapper"))
}

/// A program that sets up devices with libdevmapper. If udev is not running to create the nodes in /dev, the
/// library is instructed to create them.
pub(crate) fn program(name: &'static str) -> Invocation {
    let program = Invocation::new(name);
    match Path::new("/run/udev/control").exists() {
        true => program,
        false => program.variable("DM_DISABLE_UDEV", "1"),
    }
}

fn dmsetup(arguments: &[&str]) -> Result<String, SystemError> {
    program("dmsetup").args(arguments).run(&Machine::this(), LIMIT)
}

/// The path of the device with this name.
fn path_of(name: &str) -> PathBuf {
    Path::new("/dev/mapper").join(name)
}

/// The name of the device at `path`.
pub(super) fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Number of the device with this name; `None` if the kernel has no such device.
///
/// Uses sysfs instead of /dev, because udev creates and removes nodes with a delay.
pub(super) fn number_of(name: &str) -> Option<u64> {
    let entries = fs::read_dir("/sys/block").ok()?;
    entries.flatten().find_map(|entry| {
        let found = fs::read_to_string(entry.path().join("dm/name")).ok()?;
        if found.trim_end_matches('\n') != name {
            return None;
        }
        let number = fs::read_to_string(entry.path().join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
    })
}

/// Maps `name` linearly to the whole of `device`, as the null layer of systems that use device mapper.
pub(crate) fn make_linear(name: &str, device: &Path) -> Result<(), SystemError> {
    let table = linear_table(device, sectors(device)?);
    dmsetup(&["create", name, "--table", &table]).map(drop)
}

/// Creates the mapping `name` from `table`. The table is passed through a pipe, because it may contain a key.
pub(crate) fn make(name: &str, table: Zeroizing<Vec<u8>>) -> Result<(), SystemError> {
    let dmsetup = program("dmsetup").args(["create", name]).input(table);
    dmsetup.run(&Machine::this(), LIMIT).map(drop)
}

/// Size of a block device in 512-byte sectors.
pub(crate) fn sectors(device: &Path) -> Result<u64, SystemError> {
    let sectors = run("blockdev", ["--getsz".as_ref(), device.as_os_str()])?;
    sectors.parse().map_err(|_| SystemError::Program {
        program: "blockdev",
        reason: format!("{sectors:?} is not a number of sectors"),
    })
}

fn linear_table(device: &Path, sectors: u64) -> String {
    format!("0 {sectors} linear {} 0", device.display())
}

/// Waits until `/dev` contains the device with this name and number.
fn await_node(name: &str) -> Result<PathBuf, SystemError> {
    use std::os::unix::fs::MetadataExt as _;
    let path = path_of(name);
    let until = Instant::now() + NODE_LIMIT;
    loop {
        let number = number_of(name);
        if number.is_some() && fs::metadata(&path).ok().map(|m| m.rdev()) == number {
            return Ok(path);
        }
        if Instant::now() >= until {
            return Err(SystemError::Target {
                path,
                problem: "the device was set up, but its node did not appear; is udev running?"
                    .to_owned(),
            });
        }
        sleep(POLL);
    }
}

/// Removes the devices that sysfs lists as built on `device`, the topmost first.
pub(super) fn remove_above(device: &Path) -> Result<(), SystemError> {
    let Some(block) = device.file_name() else { return Ok(()) };
    let holders = Path::new("/sys/block").join(block).join("holders");
    for holder in fs::read_dir(holders).into_iter().flatten().flatten() {
        remove_above(&Path::new("/dev").join(holder.file_name()))?;
        let name = Path::new("/sys/block").join(holder.file_name()).join("dm/name");
        if let Ok(name) = fs::read_to_string(name) {
            remove(name.trim_end_matches('\n'))?;
        }
    }
    Ok(())
}

/// Removes the device with this name; it is not an error if the device does not exist.
///
/// # Errors
/// [`SystemError::Busy`] if the device is still open after dmsetup has tried for 5 s (udev inspects a new device for a
/// moment), otherwise dmsetup's error.
fn remove(name: &str) -> Result<(), SystemError> {
    if number_of(name).is_none() {
        return Ok(());
    }
    match dmsetup(&["remove", "--retry", name]) {
        Err(_) if number_of(name).is_none() => Ok(()),
        Err(_) if is_open(name) => Err(SystemError::Busy { path: path_of(name) }),
        other => other.map(drop),
    }
}

fn is_open(name: &str) -> bool {
    let open = ["info", "--columns", "--noheadings", "-o", "open", name];
    dmsetup(&open).is_ok_and(|count| count.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_table_covers_the_whole_device() {
        assert_eq!(linear_table(Path::new("/dev/loop7"), 2048), "0 2048 linear /dev/loop7 0");
    }

    #[test]
    fn names_and_paths_are_each_others_inverse() {
        assert_eq!(name_of(&path_of("cryptbench-x")), Some("cryptbench-x"));
        assert_eq!(number_of("no such device at all"), None);
    }
}
