//! Arms are set up on real storage, encrypt their data, and leave nothing behind.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::IoTarget;
use cryptbench_load::{Engine, EngineChoice, MARKER};
use cryptbench_system::provision::mountinfo::mount_at;
use cryptbench_system::resource::{Journal, Reserve, Scratch, WorkDirectory};
use cryptbench_system::{ArmContext, Availability, PreparedArm, Selection, SystemError, find};

use crate::place::Place;

const SIZE: u64 = 16 << 20;

/// Sets up every arm of `system`, one after another, and passes it to `check`.
fn each_arm(system: &str, check: impl Fn(&PreparedArm, bool, &Path)) {
    each_arm_of(system, &Selection::default(), check);
}

/// The same with a selection of its settings.
fn each_arm_of(system: &str, selection: &Selection, check: impl Fn(&PreparedArm, bool, &Path)) {
    let system = find(system).unwrap();
    if let Availability::Unavailable { reason, .. } = system.availability() {
        eprintln!("SKIPPED: {}: {reason}", system.name());
        return;
    }
    // On a disk, because a file system in RAM has no real direct I/O.
    let place = match system.name() {
        "builtin-mounted" => Place::with_little_room(),
        _ => Place::new(),
    };
    let run_id = format!("test-{}-{}", std::process::id(), system.name());
    let journal = Journal::create(&run_id).unwrap();
    let scratch = Scratch::create(&place.path().join("plain"), SIZE, &journal).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), &journal).unwrap();
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    let stop = AtomicBool::new(false);
    let mut fill = |io_target: &IoTarget| {
        engine.prefill(io_target, 1, &stop, &mut |_| ()).map_err(|e| SystemError::Fill(Box::new(e)))
    };
    fill(&scratch.io_target()).unwrap();
    for arm in system.arms(selection).unwrap() {
        let mut context = ArmContext {
            journal: &journal,
            scratch: &scratch.io_target(),
            directory: place.path(),
            work: work.path(),
            reserve: &Reserve::default(),
            room: 0,
            run_id: &run_id,
            tier: cryptbench_cipher::tier().unwrap(),
            fill: &mut fill,
            stop: &AtomicBool::new(false),
        };
        let prepared = system.prepare(&arm, &mut context).unwrap();
        check(&prepared, arm.cipher.is_some(), place.path());
        let directory = prepared.directory.clone();
        prepared.destroy().unwrap();
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left.len(), 2, "{}: {left:?}", arm.id);
        assert!(mount_at(&directory).is_none(), "{}", arm.id);
    }
}

/// Whether a sector of any file below `directory` starts with the plaintext.
fn shows(directory: &Path, what: &[u8]) -> bool {
    fs::read_dir(directory).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if !path.is_file() || path.extension().is_none_or(|e| e != "container") {
            return false;
        }
        let mut bytes = Vec::new();
        File::open(&path).unwrap().read_to_end(&mut bytes).unwrap();
        bytes.chunks(512).any(|sector| sector.starts_with(what))
    })
}

#[test]
fn plain_makes_files_where_the_work_is() {
    each_arm("plain", |prepared, _, place| {
        assert!(prepared.covers_files);
        assert_eq!(prepared.directory, place.join("work"));
        assert!(prepared.io_target.transform.is_none());
    });
}

#[test]
fn the_inline_engine_does_not_cover_files() {
    each_arm("builtin", |prepared, _, _| {
        assert!(!prepared.covers_files);
        assert!(prepared.io_target.transform.is_some());
    });
}

#[test]
fn the_mounted_engine_keeps_files_and_requests_encrypted_and_takes_its_mounts_down() {
    each_arm("builtin-mounted", |prepared, encrypted, place| {
        assert!(prepared.covers_files);
        let file = prepared.directory.join("a file");
        let text = [b"what a user wrote".as_slice(), &[b'.'; 4096]].concat();
        let mut made = File::create(&file).unwrap();
        made.write_all(&text).unwrap();
        made.sync_all().unwrap();
        assert_eq!(fs::read(&file).unwrap(), text);
        assert_eq!(shows(place, b"what a user wrote"), !encrypted);
        // The scratch file in it was filled through the mount, with sectors that have verify headers.
        let mut first = vec![0; 4096];
        File::open(prepared.directory.join("scratch")).unwrap().read_exact(&mut first).unwrap();
        assert_eq!(first[..8], MARKER);
        assert_eq!(prepared.io_target.extent.len, SIZE);
    });
}

#[test]
fn the_own_mount_says_by_which_way_requests_reach_it() {
    let with = |way: &str| {
        let set = [("transport".to_owned(), vec![way.to_owned()])].into();
        Selection { data_units: vec![512], settings: set, ..Selection::default() }
    };
    let is_through_fuse = |prepared: &PreparedArm| {
        mount_at(&prepared.directory).unwrap().source.starts_with("/dev/loop")
    };
    each_arm_of("builtin-mounted", &with("fuse"), |prepared, _, _| {
        assert_eq!(prepared.turned_out, None);
        assert!(is_through_fuse(prepared));
    });
    each_arm_of("builtin-mounted", &with("auto"), |prepared, _, _| {
        let way = &prepared.turned_out.as_ref().unwrap().settings["transport"];
        let has = |node: &str| Path::new(node).exists();
        let best = match () {
            () if has("/dev/ublk-control") => "ublk",
            () if has("/sys/module/fuse/parameters/enable_uring") => "io-uring",
            () => "fuse",
        };
        assert_eq!((way.as_str(), is_through_fuse(prepared)), (best, best != "ublk"));
    });
}

#[test]
fn a_work_directory_goes_with_all_that_is_in_it_and_follows_no_link() {
    let place = tempfile::tempdir().unwrap();
    let precious = place.path().join("precious");
    fs::write(&precious, "kept").unwrap();
    let journal = Journal::create(&format!("test-{}-tree", std::process::id())).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), &journal).unwrap();
    fs::create_dir(work.path().join("deep")).unwrap();
    fs::write(work.path().join("deep/file"), "x").unwrap();
    std::os::unix::fs::symlink(&precious, work.path().join("link")).unwrap();
    work.remove().unwrap();
    assert!(!place.path().join("work").exists());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
}

#[test]
fn another_directory_of_the_same_name_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let journal = Journal::create(&format!("test-{}-other", std::process::id())).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), &journal).unwrap();
    fs::rename(work.path(), place.path().join("moved")).unwrap();
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("work/theirs"), "kept").unwrap();
    drop(work);
    assert!(place.path().join("work/theirs").exists());
}
