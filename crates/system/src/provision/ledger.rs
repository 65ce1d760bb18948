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
}

/// What tells a thing that we made from another of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Device of the file system.
    pub device: u64,
    /// Inode number.
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
/// Ledgers of runs that still live are locked and are not touched.
pub fn cleanup() -> Vec<Cleaned> {
    state_directories().iter().flat_map(|d| cleanup_in(d)).collect()
}

fn cleanup_in(state: &Path) -> Vec<Cleaned> {
    let dir = state.join("ledgers");
    if !trusted(state) || !trusted(&dir) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(&dir) else { return Vec::new() };
    let mut done = Vec::new();
    for path in entries.flatten().map(|e| e.path()) {
        if path.extension().is_none_or(|e| e != "jsonl") {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let results: Vec<_> = left_over(&text).iter().filter_map(|l| undo(&l.0, l.1)).collect();
        // A thing that could not be removed keeps its ledger for the next attempt.
        if !results.iter().any(|r| matches!(r, Cleaned::Failed(..))) {
            let _ = fs::remove_file(&path);
        }
        done.extend(results);
    }
    done
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
        }
    }
    acts.into_iter().rev().map(|(_, act, identity)| (act, identity)).collect()
}

fn undo(act: &Act, identity: Option<Identity>) -> Option<Cleaned> {
    let Act::ScratchFile { path } = act;
    let found = fs::symlink_metadata(path).ok()?;
    let ours = match identity {
        Some(id) => id == Identity::from(&found),
        // Killed between creation and the note of it: our file has no byte in it yet.
        None => found.len() == 0 && found.uid() == rustix::process::getuid().as_raw(),
    };
    if !found.is_file() || !ours {
        return Some(Cleaned::NotOurs(path.clone()));
    }
    Some(match fs::remove_file(path) {
        Ok(()) => Cleaned::Removed(path.clone()),
        Err(e) => Cleaned::Failed(path.clone(), e.to_string()),
    })
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
            assert_eq!(cleanup_in(&p.state()), expected, "killed at step {step}");
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
        assert_eq!(cleanup_in(&p.state()), []);
        assert!(p.file().exists());
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
        assert_eq!(cleanup_in(&p.state()), [Cleaned::NotOurs(p.file())]);
        assert_eq!(fs::read(p.file()).unwrap(), b"the user's");
    }

    #[test]
    fn without_an_identity_only_an_empty_file_is_ours() {
        let p = Place::new();
        let mut ledger = p.ledger();
        ledger.intend(&p.act()).unwrap();
        kill(ledger);
        fs::write(p.file(), "the user's").unwrap();
        assert_eq!(cleanup_in(&p.state()), [Cleaned::NotOurs(p.file())]);
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
        assert_eq!(cleanup_in(&p.state()), []);
        assert!(matches!(
            Ledger::create_in(&[p.state()], "other"),
            Err(SystemError::Target { .. })
        ));
    }
}
