//! Device-mapper devices: made by several programs, told apart by name in sysfs, removed with dmsetup(8).

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Identity, NOT_OURS, Recovered, Resource, ResourceStack, removed};
use crate::SystemError;
use crate::command::{Invocation, run};
use crate::machine::Machine;

/// A device-mapper device, whose name is unique to the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// Where it is reached, below `/dev/mapper`.
    pub path: PathBuf,
}

/// Lets `make` set up the mappings of these names, the lowest first, and gives the path of the last.
///
/// A program that fails in the middle may leave some of them: those go with the rest.
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

    fn path(&self) -> &Path {
        &self.path
    }

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        name_of(&self.path).map_or(Ok(()), remove)
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        let name = name_of(&self.path)?;
        let number = number_of(name)?;
        // Without an identity the name has to do, which no other run has.
        if identity.is_some_and(|id| id.device != number) {
            return NOT_OURS;
        }
        removed(remove(name))
    }

    fn made_by(&self) -> Option<String> {
        name_of(&self.path).map(ToOwned::to_owned)
    }
}

/// dmsetup takes milliseconds, and 5 s where a device is in use.
const LIMIT: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(10);

/// How long a node may take to appear: udev makes it, or libdevmapper itself.
const NODE_LIMIT: Duration = Duration::from_secs(10);

/// Whether the running kernel has a device mapper. A `/dev/mapper/control` alone says nothing: the node
/// can be there without a driver behind it.
pub(crate) fn in_kernel() -> bool {
    let misc = fs::read_to_string("/proc/misc").unwrap_or_default();
    misc.lines().any(|line| line.split_whitespace().nth(1) == Some("device-mapper"))
}

/// A program that sets devices up by libdevmapper. Where no udev runs that would make the nodes in /dev, the
/// library is told to make them itself.
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

/// Where the device of that name is reached.
fn path_of(name: &str) -> PathBuf {
    Path::new("/dev/mapper").join(name)
}

/// The name of the device that is reached at `path`.
pub(super) fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Number of the device of that name, or `None` if the kernel has none.
///
/// Sysfs is asked rather than /dev: nodes are made and removed by udev at its own pace.
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

/// Maps `name` straight to all of `device`: the null layer of everything that is built on device mapper.
pub(crate) fn make_linear(name: &str, device: &Path) -> Result<(), SystemError> {
    let sectors = run("blockdev", ["--getsz".as_ref(), device.as_os_str()])?;
    let sectors = sectors.parse().map_err(|_| SystemError::Program {
        program: "blockdev",
        reason: format!("{sectors:?} is no number of sectors"),
    })?;
    let table = linear_table(device, sectors);
    dmsetup(&["create", name, "--table", &table]).map(drop)
}

fn linear_table(device: &Path, sectors: u64) -> String {
    format!("0 {sectors} linear {} 0", device.display())
}

/// Waits until `/dev` shows the device of that name and that number.
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
                problem: "the device was set up, but its node does not appear; is udev running?"
                    .to_owned(),
            });
        }
        sleep(POLL);
    }
}

/// Removes the device of that name; none is fine.
///
/// # Errors
/// [`SystemError::Busy`] if it is still open after dmsetup's own attempts over 5 s (udev looks at a new
/// device for a moment), else what dmsetup said.
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
