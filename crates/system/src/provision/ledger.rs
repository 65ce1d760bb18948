//! The ledger of a run: each act is written down before it is done, with the identity of what it
//! made after it, so that a killed run's left-overs can be found, recognised and removed.
//!
//! A ledger is a file of JSON lines, locked for as long as its run lives. The kernel drops the lock
//! when the process ends, however it ends, so a ledger that can be locked belongs to a dead run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::state::{make_private, state_directories, trusted};
use super::stuck;
use super::undo::{is_away, undo};
use crate::SystemError;

/// Something that must be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Act {
    /// A file created where none was (exclusively), empty until its identity is written down.
    ScratchFile {
        /// Absolute path.
        path: PathBuf,
    },
    /// A directory made for a mount of ours.
    Directory {
        /// Absolute path.
        path: PathBuf,
    },
    /// A directory for files of a workload; it goes with all that is in it.
    WorkDirectory {
        /// Absolute path.
        path: PathBuf,
    },
    /// A FUSE mount that this process serves.
    FuseMount {
        /// Absolute path of the mount point.
        path: PathBuf,
    },
    /// A loop device over a file.
    LoopDevice {
        /// Absolute path of the file.
        file: PathBuf,
    },
    /// A file system mounted from a loop device.
    FileSystem {
        /// Absolute path of the mount point.
        path: PathBuf,
        /// Absolute path of the file that the loop device is over.
        file: PathBuf,
    },
    /// A program that serves a mount, started as a child.
    Daemon {
        /// Its name.
        program: String,
        /// Absolute path of the mount point, which is among its arguments.
        path: PathBuf,
    },
    /// A mount that a program serves.
    ProgramMount {
        /// Absolute path of the mount point.
        path: PathBuf,
        /// Its type, such as `fuse.gocryptfs`.
        file_system: String,
    },
    /// A file system of the kernel mounted over a directory.
    StackedMount {
        /// Absolute path of the mount point.
        path: PathBuf,
        /// Its type, such as `ecryptfs`.
        file_system: String,
    },
    /// A key of fscrypt in the kernel.
    FileSystemKey {
        /// A path on the file system that it was added to.
        path: PathBuf,
        /// What names it, in hexadecimal digits.
        identifier: String,
    },
    /// A key in the user's keyring.
    UserKey {
        /// What names it.
        description: PathBuf,
    },
    /// A device-mapper device, whose name is unique to the run.
    Mapping {
        /// Where it is reached, below `/dev/mapper`.
        path: PathBuf,
    },
    /// A volume that VeraCrypt's own program has open.
    VeraCryptVolume {
        /// Absolute path of the container.
        path: PathBuf,
    },
    /// A file system mounted from a device-mapper device.
    MappedFileSystem {
        /// Absolute path of the mount point.
        path: PathBuf,
        /// Where the device is reached.
        device: PathBuf,
    },
}

impl Act {
    /// What it makes, or what it makes something of.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::ScratchFile { path }
            | Self::Directory { path }
            | Self::WorkDirectory { path }
            | Self::FuseMount { path }
            | Self::LoopDevice { file: path }
            | Self::FileSystem { path, .. }
            | Self::Daemon { path, .. }
            | Self::ProgramMount { path, .. }
            | Self::StackedMount { path, .. }
            | Self::FileSystemKey { path, .. }
            | Self::UserKey { description: path }
            | Self::Mapping { path }
            | Self::VeraCryptVolume { path }
            | Self::MappedFileSystem { path, .. } => path,
        }
    }
}

/// What tells a thing that we made from another of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Device of the file system; of a loop device or a process, its own number.
    pub device: u64,
    /// Inode number; of a process, its start in clock ticks after boot; 0 for mounts and loop devices.
    pub inode: u64,
}

impl Identity {
    /// The identity of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|m| Self::from(&m))
    }

    /// The identity of what lies at `path`, a symbolic link not followed.
    pub fn at(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|m| Self::from(&m))
    }
}

impl From<&fs::Metadata> for Identity {
    fn from(m: &fs::Metadata) -> Self {
        Self { device: m.dev(), inode: m.ino() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// Who writes the ledger: the first line.
    Owner {
        process: u32,
        /// What the user named, such as the volume.
        subject: PathBuf,
    },
    Intent {
        id: u32,
        #[serde(flatten)]
        act: Act,
    },
    Made {
        id: u32,
        identity: Identity,
    },
    Undone {
        id: u32,
    },
}

/// The ledger of this run.
pub struct Ledger {
    file: File,
    path: PathBuf,
    next: u32,
    open: u32,
}

impl Ledger {
    /// Creates and locks the ledger of the run `run_id` in the first usable state directory.
    pub fn create(run_id: &str) -> Result<Self, SystemError> {
        Self::create_in(&state_directories(), run_id)
    }

    /// The same, with what it is about, by which [`living`] finds it.
    pub fn create_about(run_id: &str, subject: &Path) -> Result<Self, SystemError> {
        let mut ledger = Self::create(run_id)?;
        let process = std::process::id();
        ledger.append(&Line::Owner { process, subject: subject.to_owned() })?;
        Ok(ledger)
    }

    fn create_in(directories: &[PathBuf], run_id: &str) -> Result<Self, SystemError> {
        let mut tried = Vec::new();
        for state in directories {
            let dir = state.join("ledgers");
            // Both levels are checked: whoever may write the parent may replace the child.
            if !make_private(state) || !make_private(&dir) {
                tried.push(state.display().to_string());
                continue;
            }
            let path = dir.join(format!("{run_id}.jsonl"));
            // Locked before it takes the name that cleanup looks for: a cleanup at this very
            // moment would otherwise take it for a dead run's.
            let unlocked = path.with_extension("new");
            let file = OpenOptions::new()
                .create_new(true)
                .append(true)
                .mode(0o600)
                .open(&unlocked)
                .map_err(SystemError::io("create the ledger", &unlocked))?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)
                .map_err(|e| SystemError::io("lock the ledger", &unlocked)(e.into()))?;
            fs::rename(&unlocked, &path).map_err(SystemError::io("name the ledger", &path))?;
            return Ok(Self { file, path, next: 0, open: 0 });
        }
        Err(SystemError::Target {
            path: PathBuf::from(tried.join(", ")),
            problem: "no directory for the ledger can be written, and without it a killed run \
                      could not be cleaned up; set XDG_STATE_HOME to a writable directory"
                .to_owned(),
        })
    }

    /// Writes down that `act` is about to be done; call before doing it.
    pub fn intend(&mut self, act: &Act) -> Result<u32, SystemError> {
        let id = self.next;
        self.append(&Line::Intent { id, act: act.clone() })?;
        self.next += 1;
        self.open += 1;
        Ok(id)
    }

    /// Writes down that `act` is about to be done, and does it. A deed that fails has made nothing: its act is
    /// written down as undone.
    ///
    /// # Errors
    /// The deed's own, or that the ledger cannot be written.
    pub fn attempt<T, E: From<SystemError>>(
        &mut self,
        act: &Act,
        deed: impl FnOnce() -> Result<T, E>,
    ) -> Result<(u32, T), E> {
        let id = self.intend(act)?;
        match deed() {
            Ok(made) => Ok((id, made)),
            Err(e) => {
                self.undone(id)?;
                Err(e)
            }
        }
    }

    /// Writes down what the act made; call right after it.
    pub fn made(&mut self, id: u32, identity: Identity) -> Result<(), SystemError> {
        self.append(&Line::Made { id, identity })
    }

    /// Writes down that the act was undone.
    pub fn undone(&mut self, id: u32) -> Result<(), SystemError> {
        self.append(&Line::Undone { id })?;
        self.open -= 1;
        Ok(())
    }

    fn append(&mut self, line: &Line) -> Result<(), SystemError> {
        let mut text = serde_json::to_vec(line).expect("a line is plain data");
        text.push(b'\n');
        self.file
            .write_all(&text)
            .and_then(|()| self.file.sync_data())
            .map_err(SystemError::io("write the ledger", &self.path))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // With an act still open the ledger is what cleanup needs: it stays.
        if self.open == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What cleanup did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// A left-over was removed.
    Removed(PathBuf),
    /// Something of that name is there, but it is not what the dead run made: left alone.
    NotOurs(PathBuf),
    /// It is ours and could not be removed.
    Failed(PathBuf, String),
}

/// Replays the ledgers of dead runs in reverse and removes what they left behind.
///
/// Ledgers of runs that still live are locked and are not touched, but for killed ones that cannot end by themselves.
pub fn cleanup() -> Vec<Cleaned> {
    cleanup_by_subject().into_iter().map(|(_, done)| done).collect()
}

/// The same, with what each dead process had worked on, where it told.
pub fn cleanup_by_subject() -> Vec<(Option<PathBuf>, Cleaned)> {
    state_directories().iter().flat_map(|d| cleanup_in(d)).collect()
}

fn cleanup_in(state: &Path) -> Vec<(Option<PathBuf>, Cleaned)> {
    let dir = state.join("ledgers");
    if !trusted(state) || !trusted(&dir) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(&dir) else { return Vec::new() };
    let mut done = Vec::new();
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    // What lay on an emulated device went with it: that device first, or the rest looks broken instead of gone.
    paths.sort_by_key(|path| !path.to_string_lossy().ends_with("-emulated.jsonl"));
    for path in paths {
        let mut found = look(&path);
        if let Some(Found::Living { text }) = &found {
            stuck::free(&path, &left_over(text));
            found = look(&path);
        }
        let Some(Found::Dead { text, lock }) = found else { continue };
        // One cleanup at a time replays it.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let left = left_over(&text);
        let away = left.iter().any(|l| is_away(&l.0, l.1));
        let results: Vec<_> = left.iter().filter_map(|l| undo(&l.0, l.1)).collect();
        // A thing that could not be removed, or is not there to be, keeps its ledger for the next attempt.
        if !away && !results.iter().any(|r| matches!(r, Cleaned::Failed(..))) {
            let _ = fs::remove_file(&path);
        }
        let subject = owner(&text).map(|(_, subject)| subject);
        done.extend(results.into_iter().map(|result| (subject.clone(), result)));
    }
    done
}

/// Number and subject of the process that wrote a ledger.
fn owner(text: &str) -> Option<(u32, PathBuf)> {
    text.lines().find_map(|line| match serde_json::from_str(line) {
        Ok(Line::Owner { process, subject }) => Some((process, subject)),
        _ => None,
    })
}

enum Found {
    /// Its process has ended.
    Dead { text: String, lock: File },
    /// Its process has it locked.
    Living { text: String },
}

fn look(path: &Path) -> Option<Found> {
    if path.extension().is_none_or(|e| e != "jsonl") {
        return None;
    }
    let file = File::open(path).ok()?;
    // Shared: others who look at the same time do not make a dead process look alive.
    let dead = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
    let text = fs::read_to_string(path).ok()?;
    Some(if dead { Found::Dead { text, lock: file } } else { Found::Living { text } })
}

/// A process that lives and has set something up.
#[derive(Clone, Debug)]
pub struct Living {
    /// Its number.
    pub process: u32,
    /// What it was asked to work on.
    pub subject: PathBuf,
    /// What it has made and not yet undone, the last first.
    pub acts: Vec<Act>,
    ledger: PathBuf,
}

impl Living {
    /// Whether it has ended since: then its ledger is gone or no longer locked.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !matches!(look(&self.ledger), Some(Found::Living { .. }))
    }
}

/// This user's processes that live and told what they work on.
#[must_use]
pub fn living() -> Vec<Living> {
    state_directories().iter().flat_map(|state| living_in(state)).collect()
}

fn living_in(state: &Path) -> Vec<Living> {
    let dir = state.join("ledgers");
    if !trusted(state) || !trusted(&dir) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(&dir) else { return Vec::new() };
    let mut found = Vec::new();
    for ledger in entries.flatten().map(|e| e.path()) {
        let Some(Found::Living { text }) = look(&ledger) else { continue };
        if let Some((process, subject)) = owner(&text) {
            let acts = left_over(&text).into_iter().map(|(act, _)| act).collect();
            found.push(Living { process, subject, acts, ledger });
        }
    }
    found
}

/// Acts that were not undone, the last one first.
fn left_over(text: &str) -> Vec<(Act, Option<Identity>)> {
    let mut acts: Vec<(u32, Act, Option<Identity>)> = Vec::new();
    // The last line may be torn by the kill: what does not parse was not acted upon.
    for line in text.lines().filter_map(|l| serde_json::from_str(l).ok()) {
        match line {
            Line::Intent { id, act } => acts.push((id, act, None)),
            Line::Made { id, identity } => {
                acts.iter_mut().filter(|a| a.0 == id).for_each(|a| a.2 = Some(identity));
            }
            Line::Undone { id } => acts.retain(|a| a.0 != id),
            Line::Owner { .. } => {}
        }
    }
    acts.into_iter().rev().map(|(_, act, identity)| (act, identity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }
        fn state(&self) -> PathBuf {
            self.dir.path().join("state")
        }
        fn file(&self) -> PathBuf {
            self.dir.path().join("scratch")
        }
        fn ledger(&self) -> Ledger {
            Ledger::create_in(&[self.state()], "test").unwrap()
        }
        fn ledgers(&self) -> usize {
            fs::read_dir(self.state().join("ledgers")).unwrap().count()
        }
        fn act(&self) -> Act {
            Act::ScratchFile { path: self.file() }
        }
    }

    fn cleaned(p: &Place) -> Vec<Cleaned> {
        cleanup_in(&p.state()).into_iter().map(|(_, done)| done).collect()
    }

    /// Lets go of the lock as a killed process does: without any farewell.
    fn kill(mut ledger: Ledger) {
        ledger.open = 1;
        drop(ledger);
    }

    #[test]
    fn a_finished_run_leaves_no_ledger() {
        let p = Place::new();
        let mut ledger = p.ledger();
        let id = ledger.intend(&p.act()).unwrap();
        ledger.undone(id).unwrap();
        drop(ledger);
        assert_eq!(p.ledgers(), 0);
    }

    #[test]
    fn a_killed_run_is_cleaned_at_each_step() {
        for step in 0..3 {
            let p = Place::new();
            let mut ledger = p.ledger();
            let id = ledger.intend(&p.act()).unwrap();
            if step > 0 {
                let mut file = File::create_new(p.file()).unwrap();
                if step > 1 {
                    ledger.made(id, Identity::of(&file).unwrap()).unwrap();
                    file.write_all(b"data").unwrap();
                }
            }
            kill(ledger);
            let expected = if step == 0 { vec![] } else { vec![Cleaned::Removed(p.file())] };
            assert_eq!(cleaned(&p), expected, "killed at step {step}");
            assert!(!p.file().exists());
            assert_eq!(p.ledgers(), 0);
        }
    }

    #[test]
    fn a_living_run_is_left_alone() {
        let p = Place::new();
        let mut ledger = p.ledger();
        let id = ledger.intend(&p.act()).unwrap();
        let file = File::create_new(p.file()).unwrap();
        ledger.made(id, Identity::of(&file).unwrap()).unwrap();
        assert_eq!(cleaned(&p), []);
        assert!(p.file().exists());
    }

    #[test]
    fn a_living_process_is_found_by_what_it_works_on() {
        let p = Place::new();
        let mut ledger = p.ledger();
        let owner = Line::Owner { process: 4711, subject: "/volume".into() };
        ledger.append(&owner).unwrap();
        ledger.intend(&Act::FuseMount { path: "/mnt".into() }).unwrap();
        let found = living_in(&p.state());
        assert_eq!((found[0].process, found[0].subject.as_path()), (4711, Path::new("/volume")));
        assert_eq!(found[0].acts, [Act::FuseMount { path: "/mnt".into() }]);
        assert!(!found[0].has_ended());
        kill(ledger);
        assert!(found[0].has_ended() && living_in(&p.state()).is_empty());
    }

    #[test]
    fn a_users_file_of_the_same_name_survives() {
        let p = Place::new();
        let mut ledger = p.ledger();
        let id = ledger.intend(&p.act()).unwrap();
        let ours = File::create_new(p.file()).unwrap();
        ledger.made(id, Identity::of(&ours).unwrap()).unwrap();
        kill(ledger);
        fs::rename(p.file(), p.dir.path().join("moved")).unwrap();
        fs::write(p.file(), "the user's").unwrap();
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(p.file())]);
        assert_eq!(fs::read(p.file()).unwrap(), b"the user's");
    }

    #[test]
    fn without_an_identity_only_an_empty_file_is_ours() {
        let p = Place::new();
        let mut ledger = p.ledger();
        ledger.intend(&p.act()).unwrap();
        kill(ledger);
        fs::write(p.file(), "the user's").unwrap();
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(p.file())]);
    }

    #[test]
    fn a_file_system_that_is_not_mounted_keeps_its_ledger() {
        let p = Place::new();
        let place = p.dir.path().join("place");
        let path = place.join("cryptbench-20261121-203000-1a2b3c.scratch");
        let elsewhere = |device| Identity { device, inode: 7 };
        let noted = |path: &Path, device| {
            let mut ledger = p.ledger();
            let id = ledger.intend(&Act::ScratchFile { path: path.to_owned() }).unwrap();
            ledger.made(id, elsewhere(device)).unwrap();
            kill(ledger);
        };
        noted(&path, 999_999);
        assert_eq!((cleaned(&p), p.ledgers()), (vec![], 1), "no mount point");
        fs::create_dir(&place).unwrap();
        assert_eq!((cleaned(&p), p.ledgers()), (vec![], 1), "an empty one");
        // It is mounted again, under another number.
        fs::write(&path, "ours").unwrap();
        assert_eq!((cleaned(&p), p.ledgers()), (vec![Cleaned::Removed(path.clone())], 0));
        // On the same file system another inode is another file, and a user's name tells nothing.
        let here = Identity::at(&place).unwrap().device;
        let chosen = place.join("scratch");
        for (path, device) in [(&path, here), (&chosen, 999_999)] {
            fs::write(path, "the user's").unwrap();
            noted(path, device);
            assert_eq!(cleaned(&p), [Cleaned::NotOurs(path.clone())]);
            assert_eq!(fs::read(path).unwrap(), b"the user's");
        }
        fs::remove_file(&path).unwrap();
        noted(&path, here);
        assert_eq!((cleaned(&p), p.ledgers()), (vec![], 0), "its user has removed it");
        noted(&p.dir.path().join("our own mount point/scratch"), 999_999);
        assert_eq!((cleaned(&p), p.ledgers()), (vec![], 0), "gone with its container");
    }

    #[test]
    fn a_torn_last_line_is_no_obstacle() {
        let intent = r#"{"intent":{"id":0,"act":"scratch-file","path":"/x"}}"#;
        let made = r#"{"made":{"id":0,"identity":{"device":1,"inode":2}}}"#;
        for cut in 0..made.len() {
            let text = format!("{intent}\n{}", &made[..cut]);
            assert_eq!(left_over(&text), [(Act::ScratchFile { path: "/x".into() }, None)]);
        }
        let whole = format!("{intent}\n{made}\n");
        assert_eq!(left_over(&whole)[0].1, Some(Identity { device: 1, inode: 2 }));
    }

    #[test]
    fn a_directory_that_others_may_write_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let p = Place::new();
        kill(p.ledger());
        fs::set_permissions(p.state(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cleaned(&p), []);
        assert!(matches!(
            Ledger::create_in(&[p.state()], "other"),
            Err(SystemError::Target { .. })
        ));
    }
}
