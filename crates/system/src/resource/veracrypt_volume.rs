//! Volumes that VeraCrypt's program has open. They are found in its list and dismounted by the program or, if
//! its process has died, by this crate.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Identity, Recovered, Resource, ResourceStack, loop_device, mapping, orphans, removed};
use crate::SystemError;
use crate::command::Invocation;
use crate::machine::Machine;
use crate::provision::filesystem::unmount_dead;
use crate::provision::mountinfo::{MountEntry, mounts};

const PROGRAM: &str = "veracrypt";

/// Maximum time for listing or dismounting volumes, and for the program of a killed run to exit.
const LIMIT: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);

/// The path prefix of the mount points at which the program's process serves files. It is in `$TMPDIR`, which
/// is the same for a run and for the cleanup after it ([`program`]).
const SERVED_AT: &str = "/tmp/.veracrypt_aux_mnt";

/// A volume that VeraCrypt's program has open. Its identity is the device number of the mount that the
/// program's process serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VeraCryptVolume {
    /// Absolute path of the container.
    pub path: PathBuf,
}

/// The program's information about a volume.
pub(crate) struct Shown {
    /// The device with the plaintext.
    pub(crate) device: PathBuf,
    /// The underlying file, if the program itself encrypts and this is a loop device.
    pub(crate) file: Option<PathBuf>,
    /// Processes that serve it.
    pub(crate) daemons: Vec<u32>,
}

/// The program, which always stores its list of open volumes in the same location.
pub(crate) fn program() -> Invocation {
    mapping::program(PROGRAM).variable("TMPDIR", "/tmp")
}

/// Opens `container` with VeraCrypt's program.
pub(crate) fn create(
    stack: &mut ResourceStack,
    container: &Path,
    open: impl FnOnce() -> Result<(), SystemError>,
) -> Result<Shown, SystemError> {
    let before = served();
    stack.create(VeraCryptVolume { path: container.to_owned() }, || {
        open()?;
        let is_new = |mount: &&MountEntry| !before.iter().any(|b| b.device == mount.device);
        let device = device_of(container);
        let file = device.as_deref().and_then(file_below);
        // If there are several new mounts, the device identifies the right mount. With kernel crypto, the device does
        // not identify the mount.
        let mount = served()
            .iter()
            .filter(is_new)
            .find(|m| file.as_ref().is_none_or(|f| f.starts_with(&m.mountpoint)))
            .map(|m| Identity::number(m.device));
        Ok(((), mount))
    })?;
    let device = device_of(container).ok_or_else(|| SystemError::Program {
        program: PROGRAM,
        reason: "it does not list the volume that it opened".to_owned(),
    })?;
    let file = file_below(&device);
    // If the program itself encrypts, the encrypting process has the volume's path in its arguments.
    let daemons = match file {
        Some(_) => orphans::processes_with(&container.to_string_lossy()),
        None => Vec::new(),
    };
    Ok(Shown { device, file, daemons })
}

impl Resource for VeraCryptVolume {
    type Live = ();

    fn destroy(&self, (): &mut (), identity: Option<Identity>) -> Result<(), SystemError> {
        dismount(&self.path)?;
        await_end(&self.path);
        by_hand(&self.path, identity).map(drop)
    }

    fn recover(&self, identity: Option<Identity>) -> Recovered {
        await_opening(&self.path);
        let listed = is_listed(&self.path);
        match dismount(&self.path).and_then(|()| by_hand(&self.path, identity)) {
            Ok(false) if !listed => None,
            result => removed(result.map(drop)),
        }
    }
}

/// Waits until the program of a killed run has opened the volume or failed. That program is still running, and anything
/// that it set up later would remain.
fn await_opening(path: &Path) {
    let until = Instant::now() + LIMIT;
    let word = path.to_string_lossy();
    while Instant::now() < until
        && device_of(path).is_none()
        && !orphans::processes_with(&word).is_empty()
    {
        sleep(POLL);
    }
}

/// Waits until the server processes of the volume have exited, because the program does not wait. Until then
/// they have the volume's key and file.
fn await_end(path: &Path) {
    let until = Instant::now() + LIMIT;
    let word = path.to_string_lossy();
    while Instant::now() < until && !orphans::processes_with(&word).is_empty() {
        sleep(POLL);
    }
}

/// The program's list; empty if it has no volume open, which it reports as an error.
fn list() -> String {
    let words = ["--text", "--non-interactive", "--list"];
    program().args(words).run(&Machine::this(), LIMIT).unwrap_or_default()
}

/// The device with the plaintext of the volume at `path`, if the program has it open.
fn device_of(path: &Path) -> Option<PathBuf> {
    device_in(&list(), path)
}

/// Whether the program has it open, even if its device does not exist yet.
fn is_listed(path: &Path) -> bool {
    entry_in(&list(), path).is_some()
}

/// The text after the path in its line: `1: /dir/file /dev/mapper/veracrypt1 -`; a path with spaces is in
/// single quotes.
fn entry_in<'a>(list: &'a str, path: &Path) -> Option<&'a str> {
    // The list was decoded as text, in which bytes that are not UTF-8 are replaced.
    let path = &*path.to_string_lossy();
    let quoted = format!("'{path}'");
    list.lines().find_map(|line| {
        let (_, rest) = line.split_once(": ")?;
        let rest = rest.strip_prefix(&quoted).or_else(|| rest.strip_prefix(path))?;
        rest.strip_prefix(' ')
    })
}

fn device_in(list: &str, path: &Path) -> Option<PathBuf> {
    let device = entry_in(list, path)?.split(' ').next()?;
    device.starts_with("/dev/").then(|| device.into())
}

/// Dismounts the volume at `path` if it is open.
///
/// # Errors
/// [`SystemError::Program`] with the program's message.
fn dismount(path: &Path) -> Result<(), SystemError> {
    if !is_listed(path) {
        return Ok(());
    }
    let words = ["--text", "--non-interactive", "--dismount"].map(AsRef::as_ref);
    let words = words.into_iter().chain([path.as_os_str()]);
    program().args(words).run(&Machine::this(), LIMIT).map(drop)
}

/// Removes resources that the program no longer lists because its server process has died: mappings over the
/// container, its loop device, the served mount and the loop device over a file in that mount. Returns whether
/// anything was found.
fn by_hand(path: &Path, identity: Option<Identity>) -> Result<bool, SystemError> {
    let mut found = false;
    if let Some(device) = loop_device::of_file(path, None) {
        mapping::remove_above(&device)?;
        detach(path, &device)?;
        found = true;
    }
    let ours = |m: &MountEntry| identity.is_some_and(|id| id.device == m.device);
    for mount in served().into_iter().filter(ours) {
        let image = mount.mountpoint.join(IMAGE);
        if let Some(device) = loop_device::of_file(&image, None) {
            detach(&image, &device)?;
        }
        unmount_dead(&mount.mountpoint)?;
        // The directory is empty. If it remains, the program uses another name.
        let _ = fs::remove_dir(&mount.mountpoint);
        found = true;
    }
    Ok(found)
}

/// Detaches a loop device; the program itself may do this at the same time.
fn detach(file: &Path, device: &Path) -> Result<(), SystemError> {
    let tried = loop_device::detach(device);
    match loop_device::of_file(file, loop_device::number(device)) {
        Some(_) => tried,
        None => Ok(()),
    }
}

/// The file in a served mount that contains the plaintext (FuseService, `GetVolumeImagePath`).
const IMAGE: &str = "volume";

/// The mounts that the program's processes serve, or served before they died.
fn served() -> Vec<MountEntry> {
    let mut all = mounts().unwrap_or_default();
    all.retain(|m| m.mountpoint.to_string_lossy().starts_with(SERVED_AT));
    all
}

/// The backing file of `device`, if that is a loop device.
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
        // Open, but without its own device so far.
        assert_eq!(device("/a/bb"), None);
        assert_eq!(device("/a"), None);
    }
}
