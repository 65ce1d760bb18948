//! Small files on a real file system: what each action leaves, that wrong data is detected, and
//! that only our own files are ever removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cryptbench_load::{
    FileAction, FileSet, FileSizes, FileWork, FilesMeasurement, LoadError, SECTOR, SectorState,
    remove_left_behind, verify_sector,
};

const COUNT: u32 = 250;

fn work(action: FileAction) -> FileWork {
    FileWork { action, count: COUNT, sizes: FileSizes::Fixed(1500) }
}

fn run(set: &mut FileSet, dir: &Path, action: FileAction) -> FilesMeasurement {
    set.run(dir, &work(action), 7, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e:?}"))
}

/// Every file below `dir` except the marker, with its content; does not follow links.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() && path.file_name().unwrap() != ".cryptbench-files" {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// The only folder below `dir`.
fn folder(dir: &Path) -> PathBuf {
    let mut entries = fs::read_dir(dir).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    path
}

#[test]
fn each_action_leaves_what_it_should_and_counts_what_it_did() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut set = FileSet::new(1);
    let created = run(&mut set, dir, FileAction::Create);
    assert_eq!((created.files, created.bytes, created.interrupted), (250, 250 * 1500, false));
    let first = files(dir);
    assert_eq!(first.len(), 250);
    assert!(first.values().all(|data| data.len() == 1500));
    // A hundred files per folder.
    let folders =
        fs::read_dir(folder(dir)).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir());
    let mut per_folder: Vec<_> =
        folders.map(|e| fs::read_dir(e.unwrap().path()).unwrap().count()).collect();
    per_folder.sort_unstable();
    assert_eq!(per_folder, [50, 100, 100]);

    for action in [FileAction::Stat, FileAction::Read] {
        let m = run(&mut set, dir, action);
        let bytes = if action == FileAction::Read { 250 * 1500 } else { 0 };
        assert_eq!((m.files, m.bytes, m.latency.len()), (250, bytes, 250));
        assert!(m.elapsed.as_nanos() as u64 >= m.latency.min() * 250);
        assert_eq!(files(dir), first, "{action:?} changes nothing");
    }
    let renamed = run(&mut set, dir, FileAction::Rename);
    assert_eq!((renamed.files, renamed.bytes), (250, 0));
    let second = files(dir);
    assert!(second.keys().all(|path| !first.contains_key(path)), "every name is new");
    let parents = |f: &BTreeMap<PathBuf, Vec<u8>>| {
        f.iter()
            .map(|(p, d)| (d.clone(), p.parent().unwrap().to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(parents(&first), parents(&second), "same data in the same folders");
    assert_eq!(run(&mut set, dir, FileAction::Read).files, 250);
    run(&mut set, dir, FileAction::Rename);
    assert_eq!(files(dir), first, "and back");

    run(&mut set, dir, FileAction::Create);
    let again = files(dir);
    assert!(again.keys().eq(first.keys()));
    assert!(again.values().all(|data| first.values().all(|old| old != data)), "all data are new");
    let deleted = run(&mut set, dir, FileAction::Delete);
    assert_eq!((deleted.files, deleted.bytes), (250, 0));
    assert!(files(dir).is_empty());
    // The needs of the next action are prepared before the clock starts.
    assert_eq!(run(&mut set, dir, FileAction::Stat).files, 250);
    assert_eq!(files(dir).len(), 250);
    assert_eq!(run(&mut set, dir, FileAction::Delete).files, 250);
    assert_eq!(run(&mut set, dir, FileAction::Delete).files, 250);
    set.remove().unwrap();
    assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
}

#[test]
fn contents_are_incompressible_with_verify_headers_and_repeat_with_the_seed() {
    let [a, b, c] = [5, 5, 6].map(|seed| {
        let dir = tempfile::tempdir().unwrap();
        let mut set = FileSet::new(seed);
        let sizes = FileSizes::LogNormal { median: 2000, sigma: 1.0 };
        let work = FileWork { action: FileAction::Create, count: 60, sizes };
        let m = set.run(dir.path(), &work, seed * 99, &AtomicBool::new(false)).unwrap();
        let data: Vec<_> = files(dir.path()).into_values().collect();
        assert_eq!(m.bytes, data.iter().map(|d| d.len() as u64).sum::<u64>());
        data
    });
    assert_eq!(a, b);
    assert_ne!(a, c);
    let sector = a.iter().find(|d| d.len() >= SECTOR).unwrap();
    let places = (0..60).map(|file| file << 25);
    let valid = |offset| matches!(verify_sector(sector, offset), SectorState::Valid { .. });
    assert_eq!(places.filter(|offset| valid(*offset)).count(), 1);
}

/// Damages one file in one way. The read action must name that file, and the stat action if it can.
#[test]
fn wrong_data_are_noticed() {
    type Damage = fn(&Path, Vec<u8>);
    let flip: Damage = |path, mut data| {
        data[777] ^= 0x10;
        fs::write(path, data).unwrap();
    };
    let shorten: Damage = |path, data| fs::write(path, &data[..1499]).unwrap();
    let lengthen: Damage = |path, mut data| {
        data.push(0);
        fs::write(path, data).unwrap();
    };
    for (damage, at, seen_by_stat) in
        [(flip, 777, false), (shorten, 1499, true), (lengthen, 1500, true)]
    {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut set = FileSet::new(1);
        run(&mut set, dir, FileAction::Create);
        let (path, data) = files(dir).into_iter().nth(123).unwrap();
        damage(&path, data);
        let actions = [(FileAction::Read, true), (FileAction::Stat, seen_by_stat)];
        for (action, seen) in actions {
            match set.run(dir, &work(action), 3, &AtomicBool::new(false)) {
                Err(LoadError::FileContent { path: named, offset }) if seen => {
                    assert_eq!((named, offset), (path.clone(), at));
                }
                Ok(_) if !seen => {}
                other => panic!("{action:?}: {other:?}"),
            }
        }
    }
}

/// A file with the contents of another file, or with its own earlier contents.
#[test]
fn misplaced_and_stale_files_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut set = FileSet::new(1);
    run(&mut set, dir, FileAction::Create);
    let old = files(dir);
    run(&mut set, dir, FileAction::Create);
    let new = files(dir);
    let paths: Vec<_> = new.keys().collect();
    for data in [&old[paths[9]], &new[paths[8]]] {
        fs::write(paths[9], data).unwrap();
        let e = set.run(dir, &work(FileAction::Read), 3, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(&e, LoadError::FileContent { path, .. } if path == paths[9]), "{e:?}");
        fs::write(paths[9], &new[paths[9]]).unwrap();
    }
    run(&mut set, dir, FileAction::Read);
}

#[test]
fn a_missing_file_is_named() {
    for action in [FileAction::Stat, FileAction::Read, FileAction::Rename, FileAction::Delete] {
        let dir = tempfile::tempdir().unwrap();
        let mut set = FileSet::new(1);
        set.prepare(dir.path(), &work(action), &AtomicBool::new(false)).unwrap();
        let path = files(dir.path()).into_keys().nth(200).unwrap();
        fs::remove_file(&path).unwrap();
        let e = set.run(dir.path(), &work(action), 3, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(&e, LoadError::File { path: named, .. } if *named == path), "{e:?}");
        let text = format!("{e}");
        assert!(text.starts_with("cannot ") && text.contains(path.to_str().unwrap()), "{text}");
        set.remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn only_what_was_made_is_removed() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("f000000");
    fs::write(&precious, "keep me").unwrap();
    fs::write(dir.path().join("own.txt"), "mine").unwrap();
    let mut set = FileSet::new(1);
    run(&mut set, dir.path(), FileAction::Create);
    let made = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir());
    let made = made.unwrap();
    let foreign = made.join("d001/notes.txt");
    fs::write(&foreign, "not yours").unwrap();
    // A folder of ours was replaced by a link to someone else's files.
    fs::rename(made.join("d000"), made.join("aside")).unwrap();
    symlink(elsewhere.path(), made.join("d000")).unwrap();
    let e = set.run(dir.path(), &work(FileAction::Delete), 1, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(&e, LoadError::File { path, .. } if path.ends_with("d000")), "{e:?}");
    fs::remove_file(made.join("d000")).unwrap();
    fs::rename(made.join("aside"), made.join("d000")).unwrap();
    assert!(set.remove().is_err(), "a folder with something else in it stays");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "keep me");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "not yours");
    assert_eq!(fs::read_to_string(dir.path().join("own.txt")).unwrap(), "mine");
    assert_eq!(files(&made).len(), 1, "everything of ours is gone");
}

#[test]
fn a_folder_without_our_marker_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut set = FileSet::new(1);
    run(&mut set, dir.path(), FileAction::Create);
    let marker = folder(dir.path()).join(".cryptbench-files");
    let text = fs::read(&marker).unwrap();
    fs::write(&marker, "somebody else's").unwrap();
    for action in [FileAction::Stat, FileAction::Delete] {
        let e = set.run(dir.path(), &work(action), 1, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(e, LoadError::NotOurs { .. }), "{e:?}");
    }
    assert_eq!(files(dir.path()).len(), 250);
    fs::write(&marker, text).unwrap();
    set.remove().unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A set as a killed process leaves it: its marker names a process that has ended.
fn abandoned(dir: &Path) -> PathBuf {
    let mut set = FileSet::new(1);
    run(&mut set, dir, FileAction::Create);
    let made = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let made = made.filter(|p| p.join(".cryptbench-files").exists()).max().unwrap();
    std::mem::forget(set);
    let mut ended = std::process::Command::new(std::env::current_exe().unwrap());
    let mut ended = ended.arg("--list").stdout(std::process::Stdio::null()).spawn().unwrap();
    ended.wait().unwrap();
    fs::write(made.join(".cryptbench-files"), format!("cryptbench {} 1\n", ended.id())).unwrap();
    made
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_process_left_behind_is_removed_and_nothing_else() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("f000000"), "keep me").unwrap();
    fs::write(dir.join("f000000"), "mine").unwrap();
    let mut alive = FileSet::new(2);
    run(&mut alive, dir, FileAction::Create);
    abandoned(dir);
    // Entries with a matching name that are a link or have no marker.
    symlink(elsewhere.path(), dir.join("cryptbench-files-1-0")).unwrap();
    fs::create_dir_all(dir.join("cryptbench-files-2-0/d000")).unwrap();
    fs::write(dir.join("cryptbench-files-2-0/d000/f000000"), "unmarked").unwrap();
    let kept = files(dir).len() - 250;
    assert_eq!(remove_left_behind(dir).unwrap(), 1);
    assert_eq!(files(dir).len(), kept, "the living set's 250, and two of others");
    assert_eq!(kept, 252);
    assert_eq!(fs::read_to_string(elsewhere.path().join("f000000")).unwrap(), "keep me");
    assert_eq!(remove_left_behind(dir).unwrap(), 0);

    let made = abandoned(dir);
    fs::write(made.join("d002/notes.txt"), "not yours").unwrap();
    assert!(matches!(remove_left_behind(dir), Err(LoadError::File { .. })));
    assert_eq!(fs::read_to_string(made.join("d002/notes.txt")).unwrap(), "not yours");
    fs::remove_file(made.join("d002/notes.txt")).unwrap();
    assert_eq!(remove_left_behind(dir).unwrap(), 1);
    run(&mut alive, dir, FileAction::Read);
}

#[test]
fn sets_stand_side_by_side_and_are_removed_when_dropped() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    {
        let mut set = FileSet::new(1);
        for dir in &dirs {
            run(&mut set, dir.path(), FileAction::Create);
            let sizes = FileSizes::Fixed(10);
            let small = FileWork { action: FileAction::Create, count: 5, sizes };
            set.run(dir.path(), &small, 1, &AtomicBool::new(false)).unwrap();
            assert_eq!(files(dir.path()).len(), 255);
        }
        let data = |dir: &Path| files(dir).into_values().collect::<Vec<_>>();
        assert_eq!(data(dirs[0].path()), data(dirs[1].path()), "the same for every arm");
    }
    for dir in &dirs {
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_stop_ends_an_action_early_and_a_preparation_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut set = FileSet::new(1);
    let stop = AtomicBool::new(true);
    let e = set.prepare(dir.path(), &work(FileAction::Read), &stop).unwrap_err();
    assert!(matches!(e, LoadError::Interrupted), "{e:?}");
    run(&mut set, dir.path(), FileAction::Create);
    let m = set.run(dir.path(), &work(FileAction::Delete), 1, &stop).unwrap();
    assert!(m.interrupted);
    assert_eq!((m.files, files(dir.path()).len()), (0, 250));
}

/// A foreign file with one of our names is neither overwritten nor removed.
#[test]
fn a_foreign_file_in_the_way_survives() {
    let dir = tempfile::tempdir().unwrap();
    let mut set = FileSet::new(1);
    run(&mut set, dir.path(), FileAction::Delete);
    let path = folder(dir.path()).join("d000/f000003");
    fs::write(&path, "foreign").unwrap();
    let e = set.run(dir.path(), &work(FileAction::Create), 1, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(&e, LoadError::File { path: named, .. } if *named == path), "{e:?}");
    assert!(set.remove().is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "foreign");
    assert_eq!(files(dir.path()).len(), 1);
}

/// A rename never replaces a file with the new name, neither during preparation nor during the run.
#[test]
fn a_foreign_file_with_the_new_name_is_not_replaced() {
    for before in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let mut set = FileSet::new(1);
        run(&mut set, dir.path(), FileAction::Create);
        if !before {
            set.prepare(dir.path(), &work(FileAction::Rename), &AtomicBool::new(false)).unwrap();
        }
        let path = folder(dir.path()).join("d001/r000142");
        fs::write(&path, "foreign").unwrap();
        let e = set.run(dir.path(), &work(FileAction::Rename), 1, &AtomicBool::new(false));
        let named = folder(dir.path()).join("d001/f000142");
        assert!(
            matches!(&e, Err(LoadError::File { path, source, .. })
                if *path == named && source.kind() == std::io::ErrorKind::AlreadyExists),
            "{e:?}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "foreign");
        assert_eq!(files(dir.path()).len(), 251);
        // The foreign file keeps its folder; a second attempt removes what the first one left.
        assert!(set.remove().is_err());
        assert_eq!(files(dir.path()).len(), 1);
        fs::remove_file(&path).unwrap();
        set.remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// An obstacle in one file or folder does not stop the others.
#[test]
fn a_partial_failure_leaves_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let obstruct = |made: &Path| {
        // A file of ours was replaced by a folder, which cannot be unlinked, and a whole folder is
        // gone.
        fs::remove_file(made.join("d000/f000000")).unwrap();
        fs::create_dir(made.join("d000/f000000")).unwrap();
        fs::remove_dir_all(made.join("d001")).unwrap();
    };
    let mut set = FileSet::new(1);
    run(&mut set, dir, FileAction::Create);
    let made = folder(dir);
    obstruct(&made);
    let e = set.remove().unwrap_err();
    assert!(matches!(&e, LoadError::File { path, .. } if path.ends_with("d000/f000000")), "{e:?}");
    assert!(files(&made).is_empty() && !made.join("d002").exists());
    fs::remove_dir(made.join("d000/f000000")).unwrap();
    set.remove().unwrap();
    assert!(!made.exists());

    let sets = [abandoned(dir), abandoned(dir)];
    sets.iter().for_each(|made| obstruct(made));
    assert!(remove_left_behind(dir).is_err());
    for made in sets {
        assert!(files(&made).is_empty() && !made.join("d002").exists());
        fs::remove_dir(made.join("d000/f000000")).unwrap();
    }
    assert_eq!(remove_left_behind(dir).unwrap(), 2);
}

#[test]
fn a_directory_that_is_none_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let none = dir.path().join("none");
    let e = FileSet::new(1).run(&none, &work(FileAction::Stat), 1, &AtomicBool::new(false));
    assert!(matches!(e, Err(LoadError::File { path, .. }) if path == none));
}
