//! ZFS pools on loop devices: found by name, told apart by their numbers, exported with zpool(8).

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Identity, NOT_OURS, Recovered, Resource, ResourceStack, loop_device, removed};
use crate::SystemError;
use crate::command::Invocation;
use crate::machine::Machine;

/// A ZFS pool with a name unique to the run. Its identity is its number (zpoolprops(7), `guid`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZfsPool {
    /// Absolute path of the file that contains it.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
}

/// Exporting a pool writes its data back.
const LIMIT: Duration = Duration::from_secs(600);

/// Calls `make` to create or import the pool `name` in `file`.
pub(crate) fn create(
    stack: &mut ResourceStack,
    name: &str,
    file: &Path,
    make: impl FnOnce() -> Result<(), SystemError>,
) -> Result<(), SystemError> {
    let what = ZfsPool { path: file.to_owned(), name: name.to_owned() };
    stack.create(what, || {
        make()?;
        Ok(((), number_of(name)?.map(Identity::number)))
    })?;
    Ok(())
}

/// Writes everything in the memory of the pool `name` to its device.
///
/// # Errors
/// [`SystemError::Program`].
pub(crate) fn sync(name: &str) -> Result<(), SystemError> {
    zpool(&["sync", name]).map(drop)
}

impl Resource for ZfsPool {
    type Live = ();

    fn destroy(&self, (): &mut (), identity: Option<Identity>) -> Result<(), SystemError> {
        let there = number_of(&self.name)?.map(Identity::number);
        if there.is_none() || there != identity {
            return Ok(());
        }
        match zpool(&["export", &self.name]) {
            Err(SystemError::Program { reason, .. }) if reason.contains("busy") => {
                Err(SystemError::Busy { path: self.path.clone() })
            }
            done => done.map(drop),
        }
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        // Without the module, as after a restart, no pool is in use.
        if !Machine::this().kernel_has("zfs") {
            return None;
        }
        let number = match number_of(&self.name) {
            Ok(number) => number?,
            Err(e) => return removed(Err(e)),
        };
        let is_ours = identity.map_or_else(|| self.is_in_its_file(), |id| id.device == number);
        match is_ours {
            true => removed(zpool(&["destroy", "-f", &self.name]).map(drop)),
            false => NOT_OURS,
        }
    }

    fn made_by(&self) -> Option<String> {
        Some(self.name.clone())
    }
}

impl ZfsPool {
    /// Whether the pool of this name is on a loop device over the file.
    fn is_in_its_file(&self) -> bool {
        let listed = zpool(&["list", "-v", "-H", "-P", &self.name]).unwrap_or_default();
        let mut devices = listed.split_whitespace().filter(|word| word.starts_with("/dev/"));
        devices.any(|device| {
            let number = loop_device::number(Path::new(device));
            number.is_some_and(|number| loop_device::of_file(&self.path, Some(number)).is_some())
        })
    }
}

/// The number of the pool `name`, if it is in use.
fn number_of(name: &str) -> Result<Option<u64>, SystemError> {
    Ok(number_in(&zpool(&["list", "-H", "-p", "-o", "name,guid"])?, name))
}

fn number_in(list: &str, name: &str) -> Option<u64> {
    list.lines()
        .find_map(|line| line.split_once('\t').filter(|(found, _)| *found == name)?.1.parse().ok())
}

fn zpool(arguments: &[&str]) -> Result<String, SystemError> {
    Invocation::new("zpool").args(arguments).run(&Machine::this(), LIMIT)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const NAME: &str = "cryptbench-20261128-230000-1a2b3c-0";

    /// As OpenZFS 2.1.11 lists pools with `-H -p -o name,guid`, and one with `-v -H -P`.
    const LIST: &str = "cryptbench-20261128-230000-1a2b3c-0\t13667937412072936282\ntank\t42\n";
    const DEVICES: &str = "cryptbench-20261128-230000-1a2b3c-0\t288M\t596K\t287M\t-\t-\t0%\t0%\t1.00x\tONLINE\t-\n\
                           \t/dev/loop0\t300M\t596K\t287M\t-\t-\t0%\t0.20%\t-\tONLINE\n";

    /// What a cleanup does with the pool of a killed run, and its calls of zpool(8) that change something.
    fn recovered(name: &str, identity: Option<u64>, file_systems: &str) -> (Recovered, String) {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("list"), LIST).unwrap();
        fs::write(at("systems"), file_systems).unwrap();
        fs::write(at("devices"), DEVICES).unwrap();
        let program = format!(
            "#!/bin/sh\ncd {}\ncase $1$2 in list-H) cat list;; list-v) cat devices;; *) echo \"$*\" >>calls;; esac\n",
            place.path().display()
        );
        fs::write(at("zpool"), program).unwrap();
        fs::set_permissions(at("zpool"), Permissions::from_mode(0o755)).unwrap();
        let mut path = std::ffi::OsString::from(place.path());
        path.push(":/bin:/usr/bin");
        let file_systems = at("systems");
        Machine::pretend(Some(Machine { path, file_systems, ..Machine::this() }));
        let pool = ZfsPool { path: at("file"), name: name.to_owned() };
        let done = pool.recover(identity.map(Identity::number));
        Machine::pretend(None);
        (done, fs::read_to_string(at("calls")).unwrap_or_default())
    }

    #[test]
    fn of_a_killed_run_only_its_own_pool_is_destroyed() {
        let zfs = "nodev\tsysfs\nnodev\tzfs\n";
        let destroyed = (Some(Ok(true)), format!("destroy -f {NAME}\n"));
        assert_eq!(recovered(NAME, Some(13_667_937_412_072_936_282), zfs), destroyed);
        let untouched = (NOT_OURS, String::new());
        assert_eq!(recovered(NAME, Some(42), zfs), untouched, "another of this name");
        assert_eq!(recovered(NAME, None, zfs), untouched, "not in the file of the run");
        let nothing = (None, String::new());
        assert_eq!(recovered("cryptbench-20261128-230000-1a2b3c", Some(42), zfs), nothing);
        assert_eq!(recovered(NAME, None, "\text4\n"), nothing, "as after a restart");
    }
}
