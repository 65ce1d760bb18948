//! The ledger of a run: each act is written down before it is done, with the identity of what it
//! made after it, so that a killed run's left-overs can be found, recognised and removed.
//!
//! A ledger is a file of JSON lines, locked for as long as its run lives. The kernel drops the lock
//! when the process ends, however it ends, so a ledger that can be locked belongs to a dead run.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cryptbench_os::FileIdentity;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::ledgers::{Found, Ledgers};
use super::state::state_directories;
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
    /// A directory mounted once more where only root can rename it.
    BindMount {
        /// Absolute path of the mount point.
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
            | Self::BindMount { path }
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
    /// When a file was made, in nanoseconds since 1970, where its file system keeps that: inode numbers are given
    /// again. Ledgers of versions before 0.2 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<i64>,
}

impl Identity {
    /// What a number alone tells: of a mount or a device.
    #[must_use]
    pub fn number(device: u64) -> Self {
        Self { device, inode: 0, born: None }
    }

    /// The identity of an open file.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn of(file: &File) -> io::Result<Self> {
        FileIdentity::of(file).map(Self::from)
    }

    /// The identity of what lies at `path`, a symbolic link not followed.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn at(path: &Path) -> io::Result<Self> {
        FileIdentity::at(path).map(Self::from)
    }

    /// Whether `found` is what was noted; births are compared where both are known.
    #[must_use]
    pub fn is(self, found: Self) -> bool {
        (self.device, self.inode) == (found.device, found.inode) && self.is_born_like(found)
    }

    /// Whether nothing is known of two births that tells one file from the other.
    pub(super) fn is_born_like(self, found: Self) -> bool {
        self.born.zip(found.born).is_none_or(|(noted, now)| noted == now)
    }
}

impl From<FileIdentity> for Identity {
    fn from(found: FileIdentity) -> Self {
        Self { device: found.device, inode: found.inode, born: found.born }
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
    directory: Ledgers,
    name: OsString,
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
            let Some(directory) = Ledgers::make(state) else {
                tried.push(state.display().to_string());
                continue;
            };
            let name = OsString::from(format!("{run_id}.jsonl"));
            let path = directory.path(&name);
            // Locked before it takes the name that cleanup looks for: a cleanup at this very
            // moment would otherwise take it for a dead run's.
            let unlocked = OsString::from(format!("{run_id}.new"));
            let held = directory.held();
            let file = held
                .create_file(&unlocked, 0o600)
                .map_err(SystemError::io("create the ledger", &path))?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)
                .map_err(|e| SystemError::io("lock the ledger", &path)(e.into()))?;
            held.rename(&unlocked, &name).map_err(SystemError::io("name the ledger", &path))?;
            return Ok(Self { file, directory, name, next: 0, open: 0 });
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
            .map_err(|e| SystemError::io("write the ledger", self.directory.path(&self.name))(e))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // With an act still open the ledger is what cleanup needs: it stays.
        if self.open == 0 {
            let _ = self.directory.held().remove_file(&self.name);
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
    let Some(ledgers) = Ledgers::open(state) else { return Vec::new() };
    let mut done = Vec::new();
    let mut names = ledgers.names();
    names.sort_by_key(|name| undone_when(name));
    for name in names {
        let mut found = ledgers.look(&name);
        if let Some(Found::Living { text, file }) = &found {
            stuck::free(file, &left_over(text));
            stuck::await_forked(file);
            found = ledgers.look(&name);
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
            let _ = ledgers.held().remove_file(&name);
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

/// The order in which the ledgers of a run are undone, by what stands on what. What lay on an emulated device went with
/// it: that device first, or the rest looks broken instead of gone. Then what shows a container or a store, with the
/// programs that still write to it, before these themselves. All of it may lie in a private directory: that last.
fn undone_when(name: &OsStr) -> usize {
    const ORDER: [&[&str]; 5] = [
        &["-emulated"],
        &["-devices", "-mount"],
        &["-stack"],
        &[],
        &["-private", "-private-paired"],
    ];
    let name = name.to_string_lossy();
    let name = name.trim_end_matches(".jsonl");
    let at = ORDER.iter().position(|endings| endings.iter().any(|ending| name.ends_with(ending)));
    at.unwrap_or(3)
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
    state: PathBuf,
    ledger: OsString,
}

impl Living {
    /// Whether it has ended since: then its ledger is gone or no longer locked.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let found = Ledgers::open(&self.state).and_then(|ledgers| ledgers.look(&self.ledger));
        !matches!(found, Some(Found::Living { .. }))
    }
}

/// This user's processes that live and told what they work on.
#[must_use]
pub fn living() -> Vec<Living> {
    state_directories().iter().flat_map(|state| living_in(state)).collect()
}

fn living_in(state: &Path) -> Vec<Living> {
    let Some(ledgers) = Ledgers::open(state) else { return Vec::new() };
    let mut found = Vec::new();
    for ledger in ledgers.names() {
        let Some(Found::Living { text, .. }) = ledgers.look(&ledger) else { continue };
        if let Some((process, subject)) = owner(&text) {
            let acts = left_over(&text).into_iter().map(|(act, _)| act).collect();
            found.push(Living { process, subject, acts, state: state.to_owned(), ledger });
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
    use std::fs;
    use std::os::fd::AsRawFd;

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
    ///
    /// A child that another test starts at this moment holds the lock until it executes its program, so the
    /// lock is waited for.
    fn kill(mut ledger: Ledger) {
        ledger.open = 1;
        let again = File::open(format!("/proc/self/fd/{}", ledger.file.as_raw_fd())).unwrap();
        drop(ledger);
        again.lock().unwrap();
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
    fn a_users_file_that_got_the_inode_number_of_ours_survives() {
        let p = Place::new();
        let mut ledger = p.ledger();
        let id = ledger.intend(&p.act()).unwrap();
        fs::write(p.file(), "the user's").unwrap();
        let theirs = Identity::at(&p.file()).unwrap();
        let Some(born) = theirs.born else {
            eprintln!("SKIPPED: this file system keeps no birth times");
            return;
        };
        // What a run noted whose file is gone, and whose inode number was given to the user's.
        ledger.made(id, Identity { born: Some(born - 1), ..theirs }).unwrap();
        kill(ledger);
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(p.file())]);
        assert_eq!(fs::read(p.file()).unwrap(), b"the user's");
    }

    #[test]
    fn a_tree_goes_only_under_a_name_that_a_run_gives() {
        let p = Place::new();
        let home = p.dir.path().join("home");
        fs::create_dir_all(home.join("deep")).unwrap();
        let mut ledger = p.ledger();
        let id = ledger.intend(&Act::WorkDirectory { path: home.clone() }).unwrap();
        ledger.made(id, Identity::at(&home).unwrap()).unwrap();
        kill(ledger);
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(home.clone())]);
        assert!(home.join("deep").exists());
    }

    #[test]
    fn a_ledger_that_somebody_else_could_have_written_is_not_read() {
        use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
        let p = Place::new();
        let forged = |at: &Path| {
            fs::write(p.file(), "").unwrap();
            let intent = Line::Intent { id: 0, act: p.act() };
            fs::write(at, serde_json::to_vec(&intent).unwrap()).unwrap();
        };
        let ledgers = p.state().join("ledgers");
        drop(p.ledger());
        // A link to a file that is ours.
        let elsewhere = p.dir.path().join("elsewhere");
        forged(&elsewhere);
        symlink(&elsewhere, ledgers.join("link.jsonl")).unwrap();
        assert_eq!(cleaned(&p), []);
        // One that others may write.
        let open = ledgers.join("open.jsonl");
        forged(&open);
        fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(cleaned(&p), []);
        // Another user's.
        let theirs = ledgers.join("theirs.jsonl");
        forged(&theirs);
        if chown(&theirs, Some(12_345), None).is_err() {
            eprintln!("SKIPPED: giving a file away takes root");
        } else {
            assert_eq!(cleaned(&p), []);
        }
        // The directory itself is a link.
        fs::rename(&ledgers, p.dir.path().join("moved")).unwrap();
        symlink(p.dir.path().join("moved"), &ledgers).unwrap();
        forged(&p.dir.path().join("moved/good.jsonl"));
        assert_eq!(cleaned(&p), []);
        fs::remove_file(&ledgers).unwrap();
        fs::rename(p.dir.path().join("moved"), &ledgers).unwrap();
        // The same line in a ledger of our own is obeyed.
        assert_eq!(cleaned(&p), [Cleaned::Removed(p.file())]);
    }

    #[test]
    fn programs_are_ended_before_what_they_write_to_is_removed() {
        let mut names: Vec<OsString> =
            ["a-1", "a-private", "a-stack", "a-emulated", "a-devices", "a-scratch", "a-mount"]
                .map(|name| format!("{name}.jsonl").into())
                .into();
        names.sort_by_key(|name| undone_when(name));
        let order: Vec<_> = names.iter().map(|n| n.to_str().unwrap()).collect();
        let expected =
            ["a-emulated", "a-devices", "a-mount", "a-stack", "a-1", "a-scratch", "a-private"];
        assert_eq!(order, expected.map(|name| format!("{name}.jsonl")));
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
        let elsewhere = |device| Identity { device, inode: 7, born: None };
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
        assert_eq!(left_over(&whole)[0].1, Some(Identity { device: 1, inode: 2, born: None }));
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
