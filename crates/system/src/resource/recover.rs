//! Cleans up after killed runs: removes the resources that are listed in their journals, if they still have the
//! recorded identity.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_os::lock::{Lock, lock_within};
use tracing::info;

use super::journal::{left_over, owner};
use super::journals::{Found, Journals};
use super::orphans::await_programs;
use super::ours::is_away;
use super::{AnyResource, Identity, stuck};
use crate::provision::state_directories;

/// A result of cleanup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// A leftover was removed.
    Removed(PathBuf),
    /// The name exists, but does not belong to the killed run's resource. It was left unchanged.
    NotOurs(PathBuf),
    /// The resource is ours but could not be removed.
    Failed(PathBuf, String),
}

/// Replays the journals of killed runs in reverse and removes their remains.
///
/// Does not touch the journals of active runs, which are locked, except for killed processes that cannot exit.
pub fn cleanup() -> Vec<Cleaned> {
    cleanup_by_subject().into_iter().map(|(_, done)| done).collect()
}

/// Like [`cleanup`], but also returns the subject of each killed process that recorded a subject.
pub fn cleanup_by_subject() -> Vec<(Option<PathBuf>, Cleaned)> {
    state_directories().iter().flat_map(|d| cleanup_in(d)).collect()
}

fn cleanup_in(state: &Path) -> Vec<(Option<PathBuf>, Cleaned)> {
    let Some(journals) = Journals::open(state) else { return Vec::new() };
    journals.remove_unnamed();
    let mut done = Vec::new();
    let mut names = journals.names();
    names.sort_by_key(|name| undone_when(name));
    for name in names {
        let mut found = journals.look(&name);
        if let Some(Found::Living { text, file }) = &found {
            stuck::free(file, &left_over(text));
            stuck::await_ending(file);
            found = journals.look(&name);
        }
        let Some(Found::Dead { text, lock }) = found else { continue };
        // Only one cleanup at a time may process a journal.
        if lock_within(&lock, Lock::Exclusive, Duration::ZERO).is_err() {
            continue;
        }
        let left = left_over(&text);
        let away = left.iter().any(|l| is_away(&l.0, l.1));
        let results = recover_all(&left);
        // If a resource could not be removed, or is not accessible at present, the journal is kept for the next
        // attempt.
        if !away && !results.iter().any(|r| matches!(r, Cleaned::Failed(..))) {
            let _ = journals.held().remove_file(&name);
        }
        let subject = owner(&text).map(|(_, subject)| subject);
        done.extend(results.into_iter().map(|result| (subject.clone(), result)));
    }
    done
}

/// Removes everything that is left of a run, in the given order.
///
/// Failed resources are retried at the end. They may be on a device that this run itself served. While that
/// device is mounted without a server, they appear broken; afterwards they are gone.
fn recover_all(left: &[(AnyResource, Option<Identity>)]) -> Vec<Cleaned> {
    let once = |(what, identity): &(AnyResource, Option<Identity>)| recover(what, *identity);
    let mut results: Vec<_> = left.iter().map(once).collect();
    for (result, left) in results.iter_mut().zip(left) {
        if matches!(result, Some(Cleaned::Failed(..))) {
            *result = once(left);
        }
    }
    results.into_iter().flatten().collect()
}

/// Recovers one resource; `None` if nothing of it is left.
fn recover(what: &AnyResource, identity: Option<Identity>) -> Option<Cleaned> {
    if let Some(word) = what.made_by() {
        await_programs(&word);
    }
    let path = what.path().to_owned();
    let done = match what.recover(identity)? {
        Ok(true) => Cleaned::Removed(path),
        Ok(false) => Cleaned::NotOurs(path),
        Err(why) => Cleaned::Failed(path, why),
    };
    info!("cleans up {}: {done:?}", what.told());
    Some(done)
}

/// The order in which to replay journals. Versions before 0.2 wrote several journals per run, whose names show
/// the dependencies. An emulated device with everything on it comes first. Next come the mounts of a container
/// or store, with the programs that still write to it, and then the containers and stores. A private directory,
/// which may contain all of these, comes last.
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
#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::fs::File;
    use std::io::Write as _;

    use super::super::journal::living_in;
    use super::super::{FuseMount, Journal, MountPoint, ScratchFile, WorkTree};
    use super::*;
    use crate::SystemError;

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
        fn journal(&self) -> Journal {
            Journal::create_in(&[self.state()], "test").unwrap()
        }
        fn journals(&self) -> usize {
            fs::read_dir(self.state().join("ledgers")).unwrap().count()
        }
        fn scratch(&self) -> ScratchFile {
            ScratchFile { path: self.file() }
        }
    }

    fn cleaned(p: &Place) -> Vec<Cleaned> {
        cleanup_in(&p.state()).into_iter().map(|(_, done)| done).collect()
    }

    /// Releases the lock like a killed process, without cleaning up.
    ///
    /// A child that another test starts at this moment holds the lock until it executes its program, so this
    /// function waits for the lock.
    fn kill(journal: Journal) {
        let again = journal.killed();
        again.lock().unwrap();
    }

    #[test]
    fn a_finished_run_leaves_no_journal() {
        let p = Place::new();
        let journal = p.journal();
        let id = journal.intend(p.scratch()).unwrap();
        journal.undone(id).unwrap();
        drop(journal);
        assert_eq!(p.journals(), 0);
    }

    #[test]
    fn a_run_that_was_killed_before_it_named_its_journal_leaves_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let p = Place::new();
        drop(p.journal());
        let new = p.state().join("ledgers/other.new");
        let living = File::create_new(&new).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
        living.lock().unwrap();
        assert_eq!(cleaned(&p), []);
        assert!(new.exists(), "its process is about to name it");
        drop(living);
        assert_eq!(cleaned(&p), []);
        assert_eq!(p.journals(), 0);
    }

    #[test]
    fn a_journal_is_created_while_a_cleanup_takes_its_file() {
        let p = Place::new();
        drop(p.journal());
        let new = p.state().join("ledgers/test.new");
        let mut taken = Some(File::create_new(&new).unwrap());
        // The cleanup removes the file after the run has opened it.
        let pause = || {
            drop(taken.take());
            fs::remove_file(&new).unwrap();
        };
        let journals = Journals::open(&p.state()).unwrap();
        let made = journals.create_with("test", OsStr::new("test.jsonl"), pause).unwrap();
        assert!(taken.is_none(), "it met the file");
        assert_eq!(journals.names(), ["test.jsonl"]);
        drop(made);
    }

    #[test]
    fn a_killed_run_is_cleaned_at_each_step() {
        for step in 0..3 {
            let p = Place::new();
            let journal = p.journal();
            let id = journal.intend(p.scratch()).unwrap();
            if step > 0 {
                let mut file = File::create_new(p.file()).unwrap();
                if step > 1 {
                    journal.made(id, Identity::of(&file).unwrap()).unwrap();
                    file.write_all(b"data").unwrap();
                }
            }
            kill(journal);
            let expected = if step == 0 { vec![] } else { vec![Cleaned::Removed(p.file())] };
            assert_eq!(cleaned(&p), expected, "killed at step {step}");
            assert!(!p.file().exists());
            assert_eq!(p.journals(), 0);
        }
    }

    #[test]
    fn a_path_may_hold_any_bytes_and_a_torn_line_spoils_no_other() {
        use std::os::unix::ffi::OsStrExt as _;
        for name in [&b"caf\xe9"[..], b"a\nb", b"100%41\xff %", "caf\u{e9}".as_bytes()] {
            let p = Place::new();
            let place = p.dir.path().join(OsStr::from_bytes(name));
            fs::create_dir(&place).unwrap();
            let path = place.join("scratch");
            let journal = p.journal();
            journal.tell_owner(std::process::id(), &place).unwrap();
            let id = journal.intend(ScratchFile { path: path.clone() }).unwrap();
            journal.made(id, Identity::of(&File::create_new(&path).unwrap()).unwrap()).unwrap();
            let living = living_in(&p.state());
            assert_eq!(
                (living[0].subject.as_path(), living[0].resources[0].path()),
                (&*place, &*path)
            );
            kill(journal);
            let file = p.state().join("ledgers/test.jsonl");
            let written = fs::read(&file).unwrap();
            // Unicode paths are written as before.
            let plain = serde_json::to_string(&path).is_ok_and(|path| {
                String::from_utf8_lossy(&written).contains(&format!("\"path\":{path}"))
            });
            assert_eq!(plain, std::str::from_utf8(name).is_ok());
            // Truncated within a character.
            fs::write(&file, [&written[..], b"{\"intent\":{\"id\":1,\"path\":\"/caf\xc3"].concat())
                .unwrap();
            assert_eq!(cleanup_in(&p.state()), [(Some(place), Cleaned::Removed(path.clone()))]);
            assert!(!path.exists() && p.journals() == 0);
        }
    }

    #[test]
    fn every_kind_keeps_its_paths() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = || PathBuf::from(OsStr::from_bytes(b"/a\n\xe9"));
        let mut all: Vec<AnyResource> =
            left_over(&LINES.join("\n")).into_iter().map(|(what, _)| what).collect();
        assert!(all.iter_mut().all(|what| !what.paths().is_empty()));
        all.iter_mut().flat_map(AnyResource::paths).for_each(|path| *path = odd());
        let p = Place::new();
        let journal = p.journal();
        journal.tell_owner(std::process::id(), &odd()).unwrap();
        let ids: Vec<u32> = all.iter().map(|what| journal.intend(what.clone()).unwrap()).collect();
        all.reverse();
        assert_eq!(living_in(&p.state())[0].resources, all);
        ids.into_iter().for_each(|id| journal.undone(id).unwrap());
    }

    #[test]
    fn a_living_run_is_left_alone() {
        let p = Place::new();
        let journal = p.journal();
        let id = journal.intend(p.scratch()).unwrap();
        let file = File::create_new(p.file()).unwrap();
        journal.made(id, Identity::of(&file).unwrap()).unwrap();
        assert_eq!(cleaned(&p), []);
        assert!(p.file().exists());
    }

    #[test]
    fn a_living_process_is_found_by_what_it_works_on() {
        let p = Place::new();
        let journal = p.journal();
        journal.tell_owner(4711, Path::new("/volume")).unwrap();
        journal.intend(FuseMount { path: "/mnt".into() }).unwrap();
        let found = living_in(&p.state());
        assert_eq!((found[0].process, found[0].subject.as_path()), (4711, Path::new("/volume")));
        assert_eq!(found[0].resources, [FuseMount { path: "/mnt".into() }.into()]);
        assert!(!found[0].has_ended());
        kill(journal);
        assert!(found[0].has_ended() && living_in(&p.state()).is_empty());
    }

    #[test]
    fn a_users_file_of_the_same_name_survives() {
        let p = Place::new();
        let journal = p.journal();
        let id = journal.intend(p.scratch()).unwrap();
        let ours = File::create_new(p.file()).unwrap();
        journal.made(id, Identity::of(&ours).unwrap()).unwrap();
        kill(journal);
        fs::rename(p.file(), p.dir.path().join("moved")).unwrap();
        fs::write(p.file(), "the user's").unwrap();
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(p.file())]);
        assert_eq!(fs::read(p.file()).unwrap(), b"the user's");
    }

    #[test]
    fn a_users_file_that_got_the_inode_number_of_ours_survives() {
        let p = Place::new();
        let journal = p.journal();
        let id = journal.intend(p.scratch()).unwrap();
        fs::write(p.file(), "the user's").unwrap();
        let theirs = Identity::at(&p.file()).unwrap();
        let Some(born) = theirs.born else {
            eprintln!("SKIPPED: this file system keeps no birth times");
            return;
        };
        // The file of the run is gone, and the user's file was given its inode number.
        journal.made(id, Identity { born: Some(born - 1), ..theirs }).unwrap();
        kill(journal);
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(p.file())]);
        assert_eq!(fs::read(p.file()).unwrap(), b"the user's");
    }

    #[test]
    fn a_tree_goes_only_under_a_name_that_a_run_gives() {
        let p = Place::new();
        let home = p.dir.path().join("home");
        fs::create_dir_all(home.join("deep")).unwrap();
        let journal = p.journal();
        let id = journal.intend(WorkTree { path: home.clone() }).unwrap();
        journal.made(id, Identity::at(&home).unwrap()).unwrap();
        kill(journal);
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(home.clone())]);
        assert!(home.join("deep").exists());
    }

    #[test]
    fn a_journal_that_somebody_else_could_have_written_is_not_read() {
        use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
        let p = Place::new();
        let forged = |at: &Path| {
            fs::write(p.file(), "").unwrap();
            let path = p.file();
            let intent = serde_json::json!({
                "intent": { "id": 0, "act": "scratch-file", "path": path }
            });
            fs::write(at, intent.to_string()).unwrap();
        };
        let journals = p.state().join("ledgers");
        drop(p.journal());
        // A link to one of our files.
        let elsewhere = p.dir.path().join("elsewhere");
        forged(&elsewhere);
        symlink(&elsewhere, journals.join("link.jsonl")).unwrap();
        assert_eq!(cleaned(&p), []);
        // A journal that others can write to.
        let open = journals.join("open.jsonl");
        forged(&open);
        fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(cleaned(&p), []);
        // A journal that belongs to another user.
        let theirs = journals.join("theirs.jsonl");
        forged(&theirs);
        if chown(&theirs, Some(12_345), None).is_err() {
            eprintln!("SKIPPED: giving a file away requires root");
        } else {
            assert_eq!(cleaned(&p), []);
        }
        // The directory itself is a link.
        fs::rename(&journals, p.dir.path().join("moved")).unwrap();
        symlink(p.dir.path().join("moved"), &journals).unwrap();
        forged(&p.dir.path().join("moved/good.jsonl"));
        assert_eq!(cleaned(&p), []);
        fs::remove_file(&journals).unwrap();
        fs::rename(p.dir.path().join("moved"), &journals).unwrap();
        // The same line in our own journal is followed.
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
        let journal = p.journal();
        journal.intend(p.scratch()).unwrap();
        kill(journal);
        fs::write(p.file(), "the user's").unwrap();
        assert_eq!(cleaned(&p), [Cleaned::NotOurs(p.file())]);
    }

    #[test]
    fn a_file_system_that_is_not_mounted_keeps_its_journal() {
        let p = Place::new();
        let place = p.dir.path().join("place");
        let path = place.join("cryptbench-20261121-203000-1a2b3c.scratch");
        let elsewhere = |device| Identity { device, inode: 7, born: None };
        let noted = |path: &Path, device| {
            let journal = p.journal();
            let id = journal.intend(ScratchFile { path: path.to_owned() }).unwrap();
            journal.made(id, elsewhere(device)).unwrap();
            kill(journal);
        };
        noted(&path, 999_999);
        assert_eq!((cleaned(&p), p.journals()), (vec![], 1), "no mount point");
        fs::create_dir(&place).unwrap();
        assert_eq!((cleaned(&p), p.journals()), (vec![], 1), "an empty one");
        // The file system is mounted again, with another device number.
        fs::write(&path, "ours").unwrap();
        assert_eq!((cleaned(&p), p.journals()), (vec![Cleaned::Removed(path.clone())], 0));
        // On the same file system, a different inode means a different file, and a name that a user chose does
        // not prove anything.
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
        assert_eq!((cleaned(&p), p.journals()), (vec![], 0), "its user has removed it");
        noted(&p.dir.path().join("our own mount point/scratch"), 999_999);
        assert_eq!((cleaned(&p), p.journals()), (vec![], 0), "gone with its container");
    }

    /// Lines of every kind, as written by earlier versions.
    const LINES: &[&str] = &[
        r#"{"intent":{"id":0,"act":"scratch-file","path":"/x"}}"#,
        r#"{"intent":{"id":1,"act":"directory","path":"/x"}}"#,
        r#"{"intent":{"id":2,"act":"work-directory","path":"/x"}}"#,
        r#"{"intent":{"id":3,"act":"fuse-mount","path":"/x"}}"#,
        r#"{"intent":{"id":4,"act":"loop-device","file":"/x"}}"#,
        r#"{"intent":{"id":5,"act":"file-system","path":"/x","file":"/y"}}"#,
        r#"{"intent":{"id":6,"act":"daemon","program":"p","path":"/x"}}"#,
        r#"{"intent":{"id":7,"act":"program-mount","path":"/x","file_system":"fuse.p"}}"#,
        r#"{"intent":{"id":8,"act":"stacked-mount","path":"/x","file_system":"ecryptfs"}}"#,
        r#"{"intent":{"id":9,"act":"file-system-key","path":"/x","identifier":"00ff"}}"#,
        r#"{"intent":{"id":10,"act":"user-key","description":"/x"}}"#,
        r#"{"intent":{"id":11,"act":"mapping","path":"/x"}}"#,
        r#"{"intent":{"id":12,"act":"vera-crypt-volume","path":"/x"}}"#,
        r#"{"intent":{"id":13,"act":"bind-mount","path":"/x"}}"#,
        r#"{"intent":{"id":14,"act":"mapped-file-system","path":"/x","device":"/y"}}"#,
        r#"{"intent":{"id":15,"act":"kernel-parameter","path":"/x","before":"0"}}"#,
        r#"{"intent":{"id":16,"act":"zfs-pool","path":"/x","name":"p"}}"#,
        r#"{"intent":{"id":17,"act":"partition-table","path":"/x","guid":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"partitions":[[1,2]]}}"#,
    ];

    #[test]
    fn lines_are_those_of_earlier_versions() {
        let left = left_over(&LINES.join("\n"));
        assert_eq!(left.len(), LINES.len());
        let p = Place::new();
        let journal = p.journal();
        for (what, _) in left.iter().rev() {
            assert_eq!(what.path(), Path::new("/x"));
            journal.intend(what.clone()).unwrap();
        }
        let text = fs::read_to_string(p.state().join("ledgers/test.jsonl")).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), LINES);
        drop(journal.killed());
    }

    #[test]
    fn what_was_made_last_goes_first_whichever_part_of_the_run_made_it() {
        let p = Place::new();
        let journal = p.journal();
        let tree = |name: &str| {
            let path = p.dir.path().join(name);
            fs::create_dir(&path).unwrap();
            let id = journal.intend(WorkTree { path: path.clone() }).unwrap();
            journal.made(id, Identity::at(&path).unwrap()).unwrap();
            path
        };
        let outer = tree("cryptbench-a");
        let inner = tree("cryptbench-a/cryptbench-b");
        let reopened = tree("cryptbench-a/cryptbench-b/cryptbench-c");
        kill(journal);
        let all = [&reopened, &inner, &outer].map(|path| Cleaned::Removed(path.clone()));
        assert_eq!(cleaned(&p), all);
    }

    #[test]
    fn what_fails_while_it_lies_on_something_broken_is_gone_with_that() {
        let p = Place::new();
        let (below, above) = (p.dir.path().join("cryptbench-below"), "full");
        fs::create_dir(&below).unwrap();
        let journal = p.journal();
        let id = journal.intend(WorkTree { path: below.clone() }).unwrap();
        journal.made(id, Identity::at(&below).unwrap()).unwrap();
        let mount_point = below.join(above);
        fs::create_dir(&mount_point).unwrap();
        let id = journal.intend(MountPoint { path: mount_point.clone() }).unwrap();
        journal.made(id, Identity::at(&mount_point).unwrap()).unwrap();
        // A file of someone else prevents its removal.
        fs::write(mount_point.join("file"), "x").unwrap();
        kill(journal);
        assert_eq!(cleaned(&p), [Cleaned::Removed(below)]);
        assert_eq!(p.journals(), 0);
    }

    #[test]
    fn a_torn_last_line_is_no_obstacle() {
        let intent = r#"{"intent":{"id":0,"act":"scratch-file","path":"/x"}}"#;
        let made = r#"{"made":{"id":0,"identity":{"device":1,"inode":2}}}"#;
        for cut in 0..made.len() {
            let text = format!("{intent}\n{}", &made[..cut]);
            assert_eq!(left_over(&text), [(ScratchFile { path: "/x".into() }.into(), None)]);
        }
        let whole = format!("{intent}\n{made}\n");
        assert_eq!(left_over(&whole)[0].1, Some(Identity { device: 1, inode: 2, born: None }));
    }

    #[test]
    fn a_directory_that_others_may_write_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let p = Place::new();
        kill(p.journal());
        fs::set_permissions(p.state(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cleaned(&p), []);
        assert!(matches!(
            Journal::create_in(&[p.state()], "other"),
            Err(SystemError::Target { .. })
        ));
    }
}
