//! Arms are closed and reopened: the data must come back, must not be accessible in the meantime, and nothing
//! may be left behind at the end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::{AlignedBuf, IoTarget};
use cryptbench_load::{Engine, EngineChoice, SectorState, verify_sector};
use cryptbench_system::provision::mountinfo::mounts;
use cryptbench_system::resource::{Journal, Reserve, Scratch, WorkDirectory};
use cryptbench_system::{
    ArmContext, Availability, Closed, Content, PreparedArm, Selection, SystemError, find,
    lacks_ntfs,
};

use crate::place::Place;

const SIZE: u64 = 4 << 20;

/// Whether a process is still running. One that has exited stays in /proc until its parent, which for daemons
/// is the machine's first process, queries its exit code.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // proc_pid_stat(5): the state follows the name, which is in parentheses.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Sets up each arm of `system`, writes data, closes and reopens the arm twice, and reads the data.
fn rests_and_wakes(system: &str, settings: &[(&str, &[&str])], expected: Closed) {
    let system = find(system).unwrap();
    if let Availability::Unavailable { reason, .. } = system.availability() {
        eprintln!("SKIPPED: {}: {reason}", system.name());
        return;
    }
    // Encryption on the target requires a target that supports it.
    let on_target = settings.iter().any(|(_, values)| values.contains(&"target"));
    let place = match (on_target, system.name()) {
        (true, _) => Place::that_encrypts(),
        (false, "builtin-mounted" | "qemu-luks" | "nbdkit-luks" | "fscrypt" | "veracrypt") => {
            Some(Place::with_little_room())
        }
        _ => Some(Place::new()),
    };
    let Some(place) = place else { return };
    let number = place.path().file_name().unwrap().to_string_lossy().replace('.', "");
    let run_id = format!("test-{}-{number}", system.name());
    let journal = Journal::create(&run_id).unwrap();
    let scratch = Scratch::create(&place.path().join("plain"), SIZE, &journal).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), &journal).unwrap();
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    let stop = AtomicBool::new(false);
    let mut fill = |io_target: &IoTarget| {
        engine.prefill(io_target, 1, &stop, &mut |_| ()).map_err(|e| SystemError::Fill(Box::new(e)))
    };
    let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
    let settings: BTreeMap<String, Vec<String>> =
        settings.iter().map(|(n, v)| ((*n).to_owned(), owned(v))).collect();
    for arm in system.arms(&Selection { settings, ..Selection::default() }).unwrap() {
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
        let mut prepared = match system.prepare(&arm, &mut context) {
            Ok(prepared) => prepared,
            Err(e @ (SystemError::Unavailable { .. } | SystemError::Target { .. })) => {
                eprintln!("SKIPPED: {}: {e}", arm.id);
                continue;
            }
            Err(e) => panic!("{}: {e}", arm.id),
        };
        // Whether direct writes always go to a page cache first.
        let cached = match system.name() {
            // ntfs-3g uses the page cache of the device; the kernel's driver does not.
            "builtin-mounted" if arm.settings.get("file-system").is_some_and(|f| f == "ntfs") => {
                let all = mounts().unwrap();
                let here = all.iter().filter(|m| prepared.directory.starts_with(&m.mountpoint));
                let innermost = here.max_by_key(|m| m.mountpoint.as_os_str().len());
                innermost.map(|mount| mount.file_system.starts_with("fuse"))
            }
            "plain" | "builtin" | "builtin-mounted" => Some(false),
            "fscrypt" => Some(arm.cipher.is_some()),
            // The same as the loop device of that version.
            "qemu-luks" => None,
            _ => Some(true),
        };
        assert!(cached.is_none_or(|c| c == prepared.cached_below), "{}", arm.id);
        // VeraCrypt's own process serves a file to a loop device that caches it.
        if arm.settings.get("kernel-crypto").is_some_and(|who| who == "no") {
            let served = prepared.cached_above.last().unwrap();
            assert!(served.ends_with("volume") && served.is_file(), "{}", served.display());
        }
        // These arms share the underlying storage with others, whose data fills it.
        if expected == Closed::CacheDropped {
            fill_through(&prepared.io_target);
        }
        fs::write(prepared.directory.join("file"), arm.id.repeat(1000)).unwrap();
        for round in 0..ROUNDS {
            let daemons = prepared.daemons.clone();
            let rest = prepared.close().unwrap_or_else(|e| panic!("{}: {e}", arm.id));
            // The null layer has no key to remove.
            let rests = if arm.cipher.is_none() && expected == Closed::KeyRemoved {
                Closed::Unmounted
            } else {
                expected
            };
            assert_eq!(rest, rests, "{}", arm.id);
            for daemon in daemons {
                assert!(!lives(daemon), "{}", arm.id);
            }
            if rest == Closed::Unmounted {
                assert_eq!(mounts_over(&number), 0, "{}", arm.id);
                assert_eq!(loops_over(&number), 0, "{}", arm.id);
            }
            if rest == Closed::KeyRemoved {
                let readable = fs::read(prepared.directory.join("file"));
                assert!(readable.is_err(), "{}: its key was removed", arm.id);
            }
            for content in &prepared.backing().unwrap().content {
                if let Content::Path(path) = content {
                    assert!(path.exists(), "{}: {}", arm.id, path.display());
                }
            }
            prepared.reopen().unwrap_or_else(|e| panic!("{}: {e}", arm.id));
            let read = fs::read(prepared.directory.join("file")).unwrap();
            assert_eq!(read, arm.id.repeat(1000).as_bytes(), "{} {round}", arm.id);
            whole(&prepared, &arm.id);
        }
        fs::remove_file(prepared.directory.join("file")).unwrap();
        prepared.destroy().unwrap();
        let mut left: Vec<_> =
            fs::read_dir(place.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        left.sort();
        assert_eq!(left, ["plain", "work"], "{}", arm.id);
        assert_eq!((mounts_over(&number), loops_over(&number)), (0, 0), "{}", arm.id);
    }
}

/// Number of times that an arm is closed: closing must also work after reopening.
const ROUNDS: usize = 2;

fn fill_through(io_target: &IoTarget) {
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    engine.prefill(io_target, 1, &AtomicBool::new(false), &mut |_| ()).unwrap();
}

/// Checks that every sector of the I/O target holds the data of the prefill.
fn whole(prepared: &PreparedArm, id: &str) {
    let IoTarget { file, extent, transform, .. } = &prepared.io_target;
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
    rests_and_wakes("plain", &[], Closed::CacheDropped);
}

#[test]
fn builtin() {
    rests_and_wakes("builtin", &[], Closed::CacheDropped);
}

#[test]
fn builtin_mounted() {
    rests_and_wakes("builtin-mounted", &[], Closed::Unmounted);
}

/// On a real partition, and in a container file on a partition.
#[test]
fn builtin_mounted_in_other_places() {
    let on = ("on", &["partition", "container-in-partition"][..]);
    rests_and_wakes("builtin-mounted", &[on], Closed::Unmounted);
}

/// NTFS, as on volumes of Windows, for both I/O targets.
#[test]
fn ntfs_on_the_systems_disks() {
    if let Some((reason, remedy)) = lacks_ntfs() {
        eprintln!("SKIPPED: {reason}; {remedy}");
        return;
    }
    let ntfs = ("file-system", &["ntfs"][..]);
    rests_and_wakes("builtin-mounted", &[ntfs], Closed::Unmounted);
    let io_targets = ("io-target", &["file", "device"][..]);
    let who = ("kernel-crypto", &["no"][..]);
    rests_and_wakes("veracrypt", &[who, ntfs, io_targets], Closed::Unmounted);
}

#[test]
fn bindfs() {
    rests_and_wakes("bindfs", &[], Closed::Unmounted);
}

#[test]
fn gocryptfs() {
    rests_and_wakes("gocryptfs", &[("names", &["encrypted", "plain"])], Closed::Unmounted);
}

#[test]
fn encfs() {
    rests_and_wakes("encfs", &[("preset", &["standard", "paranoia"])], Closed::Unmounted);
}

/// CryFS needs seconds for each key derivation. The short tier covers it with the evidence of a run (`cli`) and
/// with `killed` (CONTRIBUTING.md, "Tiers").
#[test]
fn cryfs() {
    if std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly") {
        rests_and_wakes("cryfs", &[], Closed::Unmounted);
    }
}

#[test]
fn securefs() {
    rests_and_wakes("securefs", &[], Closed::Unmounted);
}

#[test]
fn rclone() {
    rests_and_wakes("rclone", &[("cache", &["full", "writes"])], Closed::Unmounted);
}

#[test]
fn zfs() {
    rests_and_wakes("zfs", &[("record-size", &["4KiB"])], Closed::Unmounted);
}

#[test]
fn fscrypt() {
    rests_and_wakes("fscrypt", &[("on", &["container", "target"])], Closed::KeyRemoved);
}

/// VeraCrypt's own program, in its own process: every cipher and cascade, every PRF, PIM and location.
#[test]
fn veracrypt() {
    let who = ("kernel-crypto", &["no"][..]);
    let closed = Closed::Unmounted;
    let setting = |name: &str| {
        let all = find("veracrypt").unwrap().settings();
        all.iter().find(|s| s.name == name).unwrap().values
    };
    rests_and_wakes("veracrypt", &[who, ("cipher", setting("cipher"))], closed);
    rests_and_wakes("veracrypt", &[who, ("prf", setting("prf")), ("pim", &["10"])], closed);
    let io_targets = ("io-target", setting("io-target"));
    rests_and_wakes("veracrypt", &[who, ("on", setting("on")), io_targets], closed);
}

#[test]
fn qemu_luks() {
    rests_and_wakes("qemu-luks", &[("io-target", &["file", "device"])], Closed::Unmounted);
}
