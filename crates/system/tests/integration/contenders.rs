//! Contenders are set up on real storage, encrypt what they are given, and leave nothing behind.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::Surface;
use cryptbench_load::{Engine, EngineChoice, MARKER};
use cryptbench_system::provision::mountinfo::mount_at;
use cryptbench_system::provision::{Ledger, Scratch, WorkDirectory};
use cryptbench_system::{Availability, Contender, Ground, Selection, SystemError, find};

const SIZE: u64 = 16 << 20;

/// Sets every arm of `system` up, one after the other, and hands it to `check`.
fn each_arm(system: &str, check: impl Fn(&Contender, bool, &Path)) {
    let system = find(system).unwrap();
    if let Availability::Unavailable { reason, .. } = system.availability() {
        eprintln!("SKIPPED: {}: {reason}", system.name());
        return;
    }
    // On the disk: a file system in RAM has no direct I/O of its own.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let id = |what: &str| format!("test-{}-{}-{what}", std::process::id(), system.name());
    let scratch =
        Scratch::create(&place.path().join("plain"), SIZE, Ledger::create(&id("plain")).unwrap())
            .unwrap();
    let work =
        WorkDirectory::create(&place.path().join("work"), Ledger::create(&id("work")).unwrap())
            .unwrap();
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    let stop = AtomicBool::new(false);
    let mut fill = |surface: &Surface| {
        engine.prefill(surface, 1, &stop, &mut |_| ()).map_err(|e| SystemError::Fill(Box::new(e)))
    };
    fill(&scratch.surface()).unwrap();
    for arm in system.arms(&Selection::default()).unwrap() {
        let mut ground = Ground {
            scratch: &scratch.surface(),
            directory: place.path(),
            work: work.path(),
            room: 0,
            run_id: &id("run"),
            tier: cryptbench_cipher::tier().unwrap(),
            fill: &mut fill,
            stop: &AtomicBool::new(false),
        };
        let contender = system.provision(&arm, &mut ground).unwrap();
        check(&contender, arm.cipher.is_some(), place.path());
        let directory = contender.directory.clone();
        contender.take_down().unwrap();
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left.len(), 2, "{}: {left:?}", arm.id);
        assert!(mount_at(&directory).is_none(), "{}", arm.id);
    }
}

/// Whether the beginning of the sectors of any file below `directory` shows what was written plain.
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
    each_arm("plain", |contender, _, place| {
        assert!(contender.covers_files);
        assert_eq!(contender.directory, place.join("work"));
        assert!(contender.surface.transform.is_none());
    });
}

#[test]
fn the_inline_engine_does_not_cover_files() {
    each_arm("builtin", |contender, _, _| {
        assert!(!contender.covers_files);
        assert!(contender.surface.transform.is_some());
    });
}

#[test]
fn the_mounted_engine_keeps_files_and_requests_encrypted_and_takes_its_mounts_down() {
    each_arm("builtin-mounted", |contender, encrypted, place| {
        assert!(contender.covers_files);
        let file = contender.directory.join("a file");
        let text = [b"what a user wrote".as_slice(), &[b'.'; 4096]].concat();
        let mut made = File::create(&file).unwrap();
        made.write_all(&text).unwrap();
        made.sync_all().unwrap();
        assert_eq!(fs::read(&file).unwrap(), text);
        assert_eq!(shows(place, b"what a user wrote"), !encrypted);
        // The scratch file in it was filled with stamped sectors through the mount.
        let mut first = vec![0; 4096];
        File::open(contender.directory.join("scratch")).unwrap().read_exact(&mut first).unwrap();
        assert_eq!(first[..8], MARKER);
        assert_eq!(contender.surface.extent.len, SIZE);
    });
}

#[test]
fn a_work_directory_goes_with_all_that_is_in_it_and_follows_no_link() {
    let place = tempfile::tempdir().unwrap();
    let precious = place.path().join("precious");
    fs::write(&precious, "kept").unwrap();
    let ledger = Ledger::create(&format!("test-{}-tree", std::process::id())).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), ledger).unwrap();
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
    let ledger = Ledger::create(&format!("test-{}-other", std::process::id())).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), ledger).unwrap();
    fs::rename(work.path(), place.path().join("moved")).unwrap();
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("work/theirs"), "kept").unwrap();
    drop(work);
    assert!(place.path().join("work/theirs").exists());
}
