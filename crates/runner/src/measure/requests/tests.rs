//! Tests the figures of a trial of an arm with a cache below it, on this machine's disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cryptbench_load::{EngineChoice, Profile, Work};
use cryptbench_record::Event;

use super::*;
use crate::Request;
use crate::decide::decide;
use crate::look::look;
use crate::prepare::Claimed;
use crate::recorder::Recorder;
use crate::time::RunTime;

/// Bytes that others have left in the page cache: many times the amount of a trial.
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

/// The counters of the device of `path`.
fn counters(path: &Path) -> Option<PathBuf> {
    let device = fs::metadata(path).unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    stat.exists().then_some(stat)
}

/// Requests 4 MiB on plain storage in `place`.
fn request(place: &Path) -> Request {
    let mut request = Request::of(place, Profile::from_toml(PROFILE, "a test").unwrap());
    request.target.size = Some(4 << 20);
    request.selection.systems.push("plain".to_owned());
    (request.trials, request.seed, request.max_pairs) = (Some(1), Some(1), 1);
    Request { engine: EngineChoice::Threads, slices: false, ..request }
}

/// The minimum that the device wrote in a trial of 1 MiB, over a few attempts, because others use it as well.
fn written_beside_others(cached_below: bool) -> Option<(u64, bool)> {
    let place = tempfile::tempdir().unwrap();
    counters(place.path())?;
    let (request, stop) = (request(place.path()), AtomicBool::new(false));
    let plan = decide(&request, &look(&request)).unwrap();
    let time = RunTime::begin(&stop);
    let claimed = Claimed::claim(&plan, &time).unwrap();
    let mut nobody = |_: &Event| {};
    let mut recorder = Recorder::begin(&plan, &claimed, "0", &mut nobody).unwrap();
    let mut measured = claimed.prepare(&mut recorder).measure(&mut recorder);
    assert!(measured.prepared.halt.is_none());
    if measured.arm(0).io_target.mode != IoMode::Direct {
        return None;
    }
    let stored = place.path().join("stored");
    fs::create_dir(&stored).unwrap();
    let arm = &mut measured.prepared.up.arms[0].prepared;
    arm.stored = Some(stored.clone());
    arm.cached_below = cached_below;
    let Work::Block(work) = plan.workloads[0].work.clone() else { unreachable!() };
    let (mut least, mut late) = (u64::MAX, false);
    for _ in 0..5 {
        let mut others = File::create(stored.join("others")).unwrap();
        others.write_all(&vec![7; OTHERS]).unwrap();
        let observed = measured.requests(&work, 0, 0).unwrap();
        least = least.min(observed.device.unwrap().written_bytes);
        late = observed.parts.contains_key(FLUSH);
    }
    measured.verify(&mut recorder).finish(&mut recorder);
    Some((least, late))
}

#[test]
fn what_was_dirty_before_a_trial_is_not_billed_to_it() {
    for cached_below in [true, false] {
        let Some((written, late)) = written_beside_others(cached_below) else {
            eprintln!(
                "SKIPPED: no device with counters, or no direct I/O, in the directory for temporary files"
            );
            return;
        };
        assert!(written < OTHERS as u64 / 2, "{written}");
        assert_eq!(late, cached_below, "the flag decides, not where it stores");
    }
}
