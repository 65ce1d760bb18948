//! Contenders are taken down to what lies on the storage and brought up again: what was written comes back, nothing
//! that shows it stays meanwhile, and nothing is left in the end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::{AlignedBuf, Surface};
use cryptbench_load::{Engine, EngineChoice, SectorState, verify_sector};
use cryptbench_system::provision::mountinfo::mounts;
use cryptbench_system::provision::{Ledger, Scratch, WorkDirectory};
use cryptbench_system::{
    Availability, Contender, Content, Ground, Rest, Selection, SystemError, find,
};

use crate::place::Place;

const SIZE: u64 = 4 << 20;

/// Sets each arm of `system` up, writes, lets it rest twice, and reads.
fn rests_and_wakes(system: &str, settings: &[(&str, &[&str])], expected: Rest) {
    let system = find(system).unwrap();
    if let Availability::Unavailable { reason, .. } = system.availability() {
        eprintln!("SKIPPED: {}: {reason}", system.name());
        return;
    }
    // What encrypts on the target needs a target that can.
    let place = match settings.iter().any(|(name, _)| *name == "on") {
        true => Place::that_encrypts(),
        false => Some(Place::new()),
    };
    let Some(place) = place else { return };
    let number = place.path().file_name().unwrap().to_string_lossy().replace('.', "");
    let run_id = format!("test-{}-{number}", system.name());
    let ledger = |what: &str| Ledger::create(&format!("{run_id}-{what}")).unwrap();
    let scratch = Scratch::create(&place.path().join("plain"), SIZE, ledger("plain")).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), ledger("work")).unwrap();
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    let stop = AtomicBool::new(false);
    let mut fill = |surface: &Surface| {
        engine.prefill(surface, 1, &stop, &mut |_| ()).map_err(|e| SystemError::Fill(Box::new(e)))
    };
    let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
    let settings: BTreeMap<String, Vec<String>> =
        settings.iter().map(|(n, v)| ((*n).to_owned(), owned(v))).collect();
    for arm in system.arms(&Selection { settings, ..Selection::default() }).unwrap() {
        let mut ground = Ground {
            scratch: &scratch.surface(),
            directory: place.path(),
            work: work.path(),
            room: 0,
            run_id: &run_id,
            tier: cryptbench_cipher::tier().unwrap(),
            fill: &mut fill,
            stop: &AtomicBool::new(false),
        };
        let mut contender = match system.provision(&arm, &mut ground) {
            Ok(contender) => contender,
            Err(e @ (SystemError::Unavailable { .. } | SystemError::Target { .. })) => {
                eprintln!("SKIPPED: {}: {e}", arm.id);
                continue;
            }
            Err(e) => panic!("{}: {e}", arm.id),
        };
        // Where direct writes end in a page cache first, whatever is asked for.
        let cached = match system.name() {
            "plain" | "builtin" | "builtin-mounted" => Some(false),
            "fscrypt" => Some(arm.cipher.is_some()),
            // As the version's loop device is.
            "qemu-luks" => None,
            _ => Some(true),
        };
        assert!(cached.is_none_or(|c| c == contender.cached_below), "{}", arm.id);
        // What they write to is the others' too, and is filled with their data.
        if expected == Rest::CacheDropped {
            fill_through(&contender.surface);
        }
        fs::write(contender.directory.join("file"), arm.id.repeat(1000)).unwrap();
        for round in 0..rounds(system.name()) {
            let daemons = contender.daemons.clone();
            let rest = contender.rest().unwrap_or_else(|e| panic!("{}: {e}", arm.id));
            // The null layer has no key that could be taken.
            let rests = if arm.cipher.is_none() && expected == Rest::KeyRemoved {
                Rest::Unmounted
            } else {
                expected
            };
            assert_eq!(rest, rests, "{}", arm.id);
            for daemon in daemons {
                assert!(!Path::new(&format!("/proc/{daemon}")).exists(), "{}", arm.id);
            }
            if rest == Rest::Unmounted {
                assert_eq!(mounts_over(&number), 0, "{}", arm.id);
                assert_eq!(loops_over(&number), 0, "{}", arm.id);
            }
            if rest == Rest::KeyRemoved {
                let readable = fs::read(contender.directory.join("file"));
                assert!(readable.is_err(), "{}: its key was removed", arm.id);
            }
            for content in &contender.backing().unwrap().content {
                if let Content::Path(path) = content {
                    assert!(path.exists(), "{}: {}", arm.id, path.display());
                }
            }
            contender.wake().unwrap_or_else(|e| panic!("{}: {e}", arm.id));
            let read = fs::read(contender.directory.join("file")).unwrap();
            assert_eq!(read, arm.id.repeat(1000).as_bytes(), "{} {round}", arm.id);
            whole(&contender, &arm.id);
        }
        fs::remove_file(contender.directory.join("file")).unwrap();
        contender.take_down().unwrap();
        let mut left: Vec<_> =
            fs::read_dir(place.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        left.sort();
        assert_eq!(left, ["plain", "work"], "{}", arm.id);
        assert_eq!((mounts_over(&number), loops_over(&number)), (0, 0), "{}", arm.id);
    }
}

/// How many times a contender rests. What worked once works from what it was woken to, too; of CryFS, whose key derivation
/// takes seconds each time, only the nightly tests see that (CONTRIBUTING.md, "Tiers").
fn rounds(system: &str) -> usize {
    let nightly = std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly");
    if system == "cryfs" && !nightly { 1 } else { 2 }
}

fn fill_through(surface: &Surface) {
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    engine.prefill(surface, 1, &AtomicBool::new(false), &mut |_| ()).unwrap();
}

/// Every sector of the surface holds what the prefill wrote there.
fn whole(contender: &Contender, id: &str) {
    let Surface { file, extent, transform, .. } = &contender.surface;
    assert_eq!(extent.len, SIZE, "{id}");
    let mut data = AlignedBuf::zeroed(SIZE as usize);
    file.read_exact_at(&mut data, extent.offset).unwrap();
    if let Some(transform) = transform {
        transform.open(0, &mut data);
    }
    for (i, sector) in data.chunks(512).enumerate() {
        let state = verify_sector(sector, i as u64 * 512);
        assert!(matches!(state, SectorState::Valid { .. }), "{id}: sector {i}: {state:?}");
    }
}

fn mounts_over(place: &str) -> usize {
    mounts().unwrap().iter().filter(|m| m.source.contains(place)).count()
}

fn loops_over(place: &str) -> usize {
    let files = fs::read_dir("/sys/block").unwrap().flatten();
    files
        .filter_map(|e| fs::read_to_string(e.path().join("loop/backing_file")).ok())
        .filter(|file| file.contains(place))
        .count()
}

#[test]
fn plain() {
    rests_and_wakes("plain", &[], Rest::CacheDropped);
}

#[test]
fn builtin() {
    rests_and_wakes("builtin", &[], Rest::CacheDropped);
}

#[test]
fn builtin_mounted() {
    rests_and_wakes("builtin-mounted", &[], Rest::Unmounted);
}

#[test]
fn bindfs() {
    rests_and_wakes("bindfs", &[], Rest::Unmounted);
}

#[test]
fn gocryptfs() {
    rests_and_wakes("gocryptfs", &[("names", &["encrypted", "plain"])], Rest::Unmounted);
}

#[test]
fn encfs() {
    rests_and_wakes("encfs", &[("preset", &["standard", "paranoia"])], Rest::Unmounted);
}

#[test]
fn cryfs() {
    rests_and_wakes("cryfs", &[], Rest::Unmounted);
}

#[test]
fn securefs() {
    rests_and_wakes("securefs", &[], Rest::Unmounted);
}

#[test]
fn fscrypt() {
    rests_and_wakes("fscrypt", &[("on", &["container", "target"])], Rest::KeyRemoved);
}

#[test]
fn qemu_luks() {
    rests_and_wakes("qemu-luks", &[("surface", &["file", "device"])], Rest::Unmounted);
}
