//! Stacked systems: the real programs encrypt data, return it, and leave nothing behind.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use cryptbench_blockdev::IoTarget;
use cryptbench_load::{Engine, EngineChoice, MARKER};
use cryptbench_system::provision::mountinfo::mounts;
use cryptbench_system::provision::state_directories;
use cryptbench_system::resource::{Journal, Reserve, Scratch, WorkDirectory};
use cryptbench_system::{
    ArmContext, Availability, PreparedArm, Role, Selection, SystemError, find,
};
use memchr::memmem;

use crate::place::Place;

const SIZE: u64 = 4 << 20;
const NAME: &str = "a name that only the user knows";
const TEXT: &[u8] = b"what a user wrote, which nobody else may read";

/// What a test expects of a system.
struct Expected {
    system: &'static str,
    settings: &'static [(&'static str, &'static [&'static str])],
    /// Number of arms with a cipher.
    encrypted: usize,
    /// Whether a process serves it.
    served: bool,
}

/// Sets up every arm on the disk, uses it, inspects the stored data, and removes the arm.
fn use_each_arm(expected: &Expected) {
    let system = find(expected.system).unwrap();
    if let Availability::Unavailable { reason, remedy } = system.availability() {
        eprintln!("SKIPPED: {}: {reason}; {remedy}", system.name());
        return;
    }
    // Encryption on the target requires a target that supports it.
    let place = match (expected.settings.iter().any(|(name, _)| *name == "on"), expected.system) {
        (true, _) => Place::that_encrypts(),
        (false, "fscrypt") => Some(Place::with_little_room()),
        _ => Some(Place::new()),
    };
    let Some(place) = place else { return };
    // Two tests of one system run in parallel.
    let number = place.path().file_name().unwrap().to_string_lossy().replace('.', "");
    let run_id = format!("test-{}-{number}", system.name());
    let own = Journal::create(&format!("{run_id}-own")).unwrap();
    let scratch = Scratch::create(&place.path().join("plain"), SIZE, &own).unwrap();
    let work = WorkDirectory::create(&place.path().join("work"), &own).unwrap();
    let (mut engine, _) = Engine::open(EngineChoice::Auto).unwrap();
    let stop = AtomicBool::new(false);
    let mut fill = |io_target: &IoTarget| {
        engine.prefill(io_target, 1, &stop, &mut |_| ()).map_err(|e| SystemError::Fill(Box::new(e)))
    };
    let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
    let settings: BTreeMap<String, Vec<String>> =
        expected.settings.iter().map(|(n, v)| ((*n).to_owned(), owned(v))).collect();
    let arms = system.arms(&Selection { settings, ..Selection::default() }).unwrap();
    let encrypted: Vec<_> = arms.iter().filter(|a| a.role == Role::Encrypted).collect();
    assert_eq!(encrypted.len(), expected.encrypted, "{arms:?}");
    for arm in &arms {
        let journal = Journal::create(&run_id).unwrap();
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
        let prepared = match system.prepare(arm, &mut context) {
            Ok(prepared) => prepared,
            // A kernel can lack a cipher or a feature, which only an attempt reveals. Even then, nothing may be
            // left behind.
            Err(e @ (SystemError::Unavailable { .. } | SystemError::Target { .. })) => {
                eprintln!("SKIPPED: {}: {e}", arm.id);
                drop(journal);
                assert_nothing_left(place.path(), &run_id, &[]);
                continue;
            }
            Err(e) => panic!("{}: {e}", arm.id),
        };
        assert_eq!(prepared.daemons.len(), usize::from(expected.served), "{}", arm.id);
        use_it(&prepared, &arm.id);
        let plain_names = arm.settings.get("names").is_some_and(|n| n == "plain");
        look_below(&prepared, arm.cipher.is_some(), plain_names, &arm.id);
        let daemons = prepared.daemons.clone();
        prepared.destroy().unwrap();
        drop(journal);
        assert_nothing_left(place.path(), &run_id, &daemons);
    }
}

/// Writes and reads files, and reads the data of the prefill.
fn use_it(prepared: &PreparedArm, id: &str) {
    assert!(prepared.covers_files && prepared.io_target.transform.is_none());
    assert_eq!(prepared.io_target.extent.len, SIZE, "{id}");
    let deep = prepared.directory.join("deep");
    fs::create_dir(&deep).unwrap();
    let content = TEXT.repeat(1000);
    let mut file = File::create(deep.join(NAME)).unwrap();
    file.write_all(&content).unwrap();
    file.sync_all().unwrap();
    drop(file);
    assert_eq!(fs::read(deep.join(NAME)).unwrap(), content, "{id}");
    let mut first = vec![0; 512];
    File::open(prepared.directory.join("scratch")).unwrap().read_exact(&mut first).unwrap();
    assert_eq!(first[..8], MARKER, "{id}");
}

/// Checks that the stored data differs from the written data, unless nothing encrypts it.
fn look_below(prepared: &PreparedArm, encrypted: bool, names: bool, id: &str) {
    rustix::fs::syncfs(File::open(&prepared.directory).unwrap()).unwrap();
    prepared.write_back().unwrap();
    let Some(place) = &prepared.stored else { return look_at_device(prepared, id) };
    // Makes sure that the inspected directory contains the written data, because a wrong directory would not
    // contain plaintext either. CryFS keeps its blocks for a while even after a sync.
    let mut below = stored(place);
    for _ in 0..600 {
        let size: u64 = below.iter().filter_map(|p| fs::metadata(p).ok()).map(|m| m.len()).sum();
        if size >= SIZE {
            break;
        }
        sleep(Duration::from_millis(100));
        below = stored(place);
    }
    let size: u64 = below.iter().filter_map(|p| fs::metadata(p).ok()).map(|m| m.len()).sum();
    assert!(size >= SIZE, "{id}: {size} bytes in {} files", below.len());
    let mut bytes = Vec::new();
    let mut shown = |what: &[u8]| {
        below.iter().any(|path| {
            bytes.clear();
            // A block that was replaced in the meantime belongs to another file.
            let Ok(mut file) = File::open(path) else { return false };
            file.read_to_end(&mut bytes).unwrap();
            memmem::find(&bytes, what).is_some()
        })
    };
    assert_eq!(shown(&MARKER), !encrypted, "{id}: marker");
    assert_eq!(shown(TEXT), !encrypted, "{id}: text");
    let named = below.iter().any(|path| path.ends_with(NAME));
    // In a container, names are stored in the blocks of its directories.
    let named = named || shown(NAME.as_bytes());
    assert_eq!(named, !encrypted || names, "{id}: name");
}

/// The same for a directory that the file system of the target encrypts: only the device shows ciphertext.
fn look_at_device(prepared: &PreparedArm, id: &str) {
    const WITNESS: &[u8] = b"this file beside the encrypted directory is plain";
    let beside = prepared.directory.parent().unwrap();
    fs::write(beside.join("witness"), WITNESS).unwrap();
    rustix::fs::syncfs(File::open(beside).unwrap()).unwrap();
    let device = fs::metadata(&prepared.directory).unwrap().dev();
    let source = mounts().unwrap().into_iter().rfind(|m| m.device == device).unwrap().source;
    let mut disk = File::open(&source).unwrap();
    let size = disk.seek(SeekFrom::End(0)).unwrap();
    if size > 1 << 30 {
        eprintln!("SKIPPED: {id}: {source} is too large to be searched");
        return;
    }
    let mut bytes = Vec::new();
    disk.rewind().unwrap();
    disk.read_to_end(&mut bytes).unwrap();
    let shown = |what: &[u8]| memmem::find(&bytes, what).is_some();
    assert!(shown(WITNESS), "{id}: nothing of this is on {source}");
    assert!(!shown(&MARKER) && !shown(TEXT) && !shown(NAME.as_bytes()), "{id}");
}

/// `place`, or every file below it.
fn stored(place: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if place.is_file() {
        found.push(place.to_owned());
    } else {
        files(place, &mut found);
    }
    found
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Checks that no file, mount, process or journal of the arm is left.
fn assert_nothing_left(place: &Path, run_id: &str, daemons: &[u32]) {
    let mut left: Vec<_> = fs::read_dir(place).unwrap().flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["plain", "work"]);
    for daemon in daemons {
        assert!(!Path::new(&format!("/proc/{daemon}")).exists());
    }
    let place = place.to_str().unwrap();
    assert!(!mounts().unwrap().iter().any(|m| m.source.contains(place)));
    let journals =
        state_directories().into_iter().filter_map(|d| fs::read_dir(d.join("ledgers")).ok());
    let ours = journals
        .flat_map(Iterator::flatten)
        .map(|e| e.file_name().into_string().unwrap())
        .filter(|name| name.starts_with(run_id) && !name.contains("-own"));
    assert_eq!(ours.count(), 0);
}

#[test]
fn bindfs_encrypts_nothing_and_so_the_other_tests_can_see_plaintext() {
    use_each_arm(&Expected { system: "bindfs", settings: &[], encrypted: 0, served: true });
}

#[test]
fn gocryptfs_in_each_cipher_with_names_both_ways() {
    use_each_arm(&Expected {
        system: "gocryptfs",
        settings: &[
            ("cipher", &["aes-256-gcm", "xchacha20-poly1305", "aes-256-siv"]),
            ("names", &["encrypted", "plain"]),
        ],
        encrypted: 6,
        served: true,
    });
}

#[test]
fn encfs_in_both_presets() {
    use_each_arm(&Expected {
        system: "encfs",
        settings: &[("preset", &["standard", "paranoia"])],
        encrypted: 2,
        served: true,
    });
}

/// CryFS needs seconds for each key derivation. The short tier covers it with its defaults in a run's evidence
/// (`cli`) (CONTRIBUTING.md, "Tiers").
#[test]
fn cryfs_in_a_cipher_and_a_block_size_of_choice() {
    if !std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly") {
        return;
    }
    use_each_arm(&Expected {
        system: "cryfs",
        settings: &[("cipher", &["aes-256-gcm"]), ("block-size", &["65536"])],
        encrypted: 1,
        served: true,
    });
}

#[test]
fn securefs_in_two_block_sizes() {
    use_each_arm(&Expected {
        system: "securefs",
        settings: &[("block-size", &["4096", "16384"])],
        encrypted: 2,
        served: true,
    });
}

#[test]
fn fscrypt_in_a_container_in_each_cipher_and_without() {
    use_each_arm(&Expected {
        system: "fscrypt",
        settings: &[("cipher", &["aes-256-xts", "aes-128-cbc", "adiantum"])],
        encrypted: 3,
        served: false,
    });
}

#[test]
fn zfs_in_each_cipher_and_without() {
    use_each_arm(&Expected {
        system: "zfs",
        settings: &[
            ("cipher", &["aes-256-gcm", "aes-256-ccm", "aes-128-gcm"]),
            ("record-size", &["16KiB"]),
        ],
        encrypted: 3,
        served: false,
    });
}

#[test]
fn fscrypt_on_the_target() {
    use_each_arm(&Expected {
        system: "fscrypt",
        settings: &[("on", &["target"])],
        encrypted: 1,
        served: false,
    });
}

#[test]
fn ecryptfs_with_both_keys_and_names_both_ways() {
    use_each_arm(&Expected {
        system: "ecryptfs",
        settings: &[
            ("cipher", &["aes-128-cbc", "aes-256-cbc"]),
            ("names", &["plain", "encrypted"]),
        ],
        encrypted: 4,
        served: false,
    });
}
