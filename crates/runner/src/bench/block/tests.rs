//! What is billed to a trial of a contender with a cache below it, on the disk of this machine.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cryptbench_load::{Engine, EngineChoice, Profile, Work, WorkloadSpec};
use cryptbench_os::counters::Counters;
use cryptbench_system::provision::{Ledger, Scratch, WorkDirectory};
use cryptbench_system::{Ground, Selection, find};

use super::*;

/// Bytes that others have left in the page cache, many times what a trial writes.
const OTHERS: usize = 96 << 20;

const PROFILE: &str = r#"
name = "tiny"
description = "One kind of request."
[[workload]]
id = "w"
label = "write 64 KiB"
operation = "write"
pattern = "sequential"
block_size = "64KiB"
queue_depth = 1
amount = "1MiB"
headline = "bandwidth"
"#;

/// The counters of the device that `path` lies on.
fn counters(path: &Path) -> Option<PathBuf> {
    let device = fs::metadata(path).unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    stat.exists().then_some(stat)
}

fn workload() -> WorkloadSpec {
    Profile::from_toml(PROFILE, "a test").unwrap().workloads.remove(0)
}

/// The least that the device wrote in a trial of 1 MiB, over a few tries: others use it as well.
fn written_beside_others(cached_below: bool) -> Option<(u64, bool)> {
    let place = tempfile::tempdir().unwrap();
    let stat = counters(place.path())?;
    let name = format!("test-{}-late-{cached_below}", std::process::id());
    let ledger = |what: &str| Ledger::create(&format!("{name}-{what}")).unwrap();
    let scratch = Scratch::create(&place.path().join("plain"), 4 << 20, ledger("plain")).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), ledger("work")).unwrap();
    let system = find("plain").unwrap();
    let arm = system.arms(&Selection::default()).unwrap().remove(0);
    let stop = AtomicBool::new(false);
    let mut ground = Ground {
        scratch: &scratch.surface(),
        directory: place.path(),
        work: work.path(),
        room: 0,
        run_id: &name,
        tier: cryptbench_cipher::tier().unwrap(),
        fill: &mut |_: &Surface| Ok(()),
        stop: &stop,
    };
    let mut contender = system.provision(&arm, &mut ground).unwrap();
    if contender.surface.mode != IoMode::Direct {
        return None;
    }
    let stored = place.path().join("stored");
    fs::create_dir(&stored).unwrap();
    contender.stored = Some(stored.clone());
    contender.cached_below = cached_below;
    let mut storage = Storage {
        engine: Engine::open(EngineChoice::Threads).unwrap().0,
        contenders: vec![contender],
        places: vec![0],
        workloads: vec![workload()],
        accountant: Counters::new(Some(stat), &[]),
        files: BTreeMap::new(),
        unlocker: None,
        trial: Duration::from_millis(10),
        ramp: Duration::ZERO,
        seed: 1,
        verify: false,
        started: Instant::now(),
        before: Duration::ZERO,
        stop: &stop,
        generation: 0,
    };
    let Work::Block(work) = storage.workloads[0].work.clone() else { unreachable!() };
    let (mut least, mut late) = (u64::MAX, false);
    for _ in 0..5 {
        let mut others = File::create(stored.join("others")).unwrap();
        others.write_all(&vec![7; OTHERS]).unwrap();
        let outcome = storage.block(&work, 0, 0).unwrap().unwrap();
        least = least.min(outcome.device.unwrap().written_bytes);
        late = outcome.parts.contains_key(FLUSH);
    }
    Some((least, late))
}

#[test]
fn what_was_dirty_before_a_trial_is_not_billed_to_it() {
    for cached_below in [true, false] {
        let Some((written, late)) = written_beside_others(cached_below) else {
            eprintln!(
                "SKIPPED: no device with counters, or no direct I/O, at the place for temporary files"
            );
            return;
        };
        assert!(written < OTHERS as u64 / 2, "{written}");
        assert_eq!(late, cached_below, "the flag decides, not where it stores");
    }
}
