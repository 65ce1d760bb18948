//! Volumes that VeraCrypt's own program has open: found in its list, dismounted by it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Identity, Recovered, Resource, ResourceStack, orphans, removed};
use crate::SystemError;
use crate::command::run;

const PROGRAM: &str = "veracrypt";

/// A volume that VeraCrypt's own program has open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VeraCryptVolume {
    /// Absolute path of the container.
    pub path: PathBuf,
}

/// What the program shows of a volume.
pub(crate) struct Shown {
    /// The device with the plaintext.
    pub(crate) device: PathBuf,
    /// The file that it is a loop device over, where the program encrypts by itself.
    pub(crate) file: Option<PathBuf>,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

/// Lets VeraCrypt's program open `container`.
pub(crate) fn create(
    stack: &mut ResourceStack,
    container: &Path,
    open: impl FnOnce() -> Result<(), SystemError>,
) -> Result<Shown, SystemError> {
    stack.create(VeraCryptVolume { path: container.to_owned() }, || {
        open()?;
        Ok(((), None))
    })?;
    let device = device_of(container).ok_or_else(|| SystemError::Program {
        program: PROGRAM,
        reason: "it does not list the volume that it has opened".to_owned(),
    })?;
    let file = file_below(&device);
    // Where the program encrypts by itself, it does so in a process that has the volume's name.
    let daemons = match file {
        Some(_) => orphans::processes_with(&container.to_string_lossy()),
        None => Vec::new(),
    };
    Ok(Shown { device, file, daemons })
}

impl Resource for VeraCryptVolume {
    type Live = ();

    fn path(&self) -> &Path {
        &self.path
    }

    fn destroy(&self, (): &mut (), _: Option<Identity>) -> Result<(), SystemError> {
        dismount(&self.path)
    }

    fn recover(&self, _: Option<Identity>) -> Recovered {
        device_of(&self.path)?;
        removed(dismount(&self.path))
    }

    fn made_by(&self) -> Option<String> {
        // What has it open may be a process of that name, which serves on.
        device_of(&self.path).is_none().then(|| self.path.to_string_lossy().into_owned())
    }
}

/// The device on which the program shows the plaintext of the volume at `path`, if it has it open.
fn device_of(path: &Path) -> Option<PathBuf> {
    // Without any volume the program fails.
    device_in(&run(PROGRAM, ["--text", "--non-interactive", "--list"]).ok()?, path)
}

/// `1: /dir/file /dev/mapper/veracrypt1 -`; a path with spaces stands in single quotes.
fn device_in(list: &str, path: &Path) -> Option<PathBuf> {
    let path = path.to_str()?;
    let quoted = format!("'{path}'");
    list.lines().find_map(|line| {
        let (_, rest) = line.split_once(": ")?;
        let rest = rest.strip_prefix(&quoted).or_else(|| rest.strip_prefix(path))?;
        let device = rest.strip_prefix(' ')?.split(' ').next()?;
        device.starts_with("/dev/").then(|| device.into())
    })
}

/// Dismounts the volume at `path` if it is open.
///
/// # Errors
/// [`SystemError::Program`] with what the program said.
fn dismount(path: &Path) -> Result<(), SystemError> {
    if device_of(path).is_none() {
        return Ok(());
    }
    let words = ["--text", "--non-interactive", "--dismount"].map(AsRef::as_ref);
    run(PROGRAM, words.into_iter().chain([path.as_os_str()])).map(drop)
}

/// The file that a loop device is over, if `device` is one.
fn file_below(device: &Path) -> Option<PathBuf> {
    let name = device.file_name()?.to_str()?;
    let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
    Some(PathBuf::from(file.trim_end_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_by_path() {
        let list = "1: /a/b /dev/mapper/veracrypt1 - \n2: '/a/b c' /dev/loop3 /mnt\n3: /a/bb  - ";
        let device = |path: &str| device_in(list, Path::new(path));
        assert_eq!(device("/a/b"), Some("/dev/mapper/veracrypt1".into()));
        assert_eq!(device("/a/b c"), Some("/dev/loop3".into()));
        // Open, but without a device of its own yet.
        assert_eq!(device("/a/bb"), None);
        assert_eq!(device("/a"), None);
    }
}
