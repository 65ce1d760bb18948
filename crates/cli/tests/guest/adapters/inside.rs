//! Sets systems up completely and removes them again, one arm after the other: as root, in the guest or on this
//! machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::IoTarget;
use cryptbench_load::{Engine, EngineChoice, MARKER};
use cryptbench_system::resource::{Journal, Reserve, Scratch, WorkDirectory};
use cryptbench_system::{
    ArmContext, ArmSpec, Availability, Closed, PreparedArm, Role, Selection, System, SystemError,
    find,
};

const SIZE: u64 = 4 << 20;
const TEXT: &[u8] = b"what a user wrote";

/// Plain storage in the guest, as a base for systems.
struct Site {
    place: PathBuf,
    journal: Journal,
    scratch: Scratch,
    work: WorkDirectory,
    engine: Engine,
}

impl Site {
    fn new() -> Self {
        let place = PathBuf::from(std::env::var_os("PLACE").unwrap());
        let journal = Journal::create(&format!("run-{}", std::process::id())).unwrap();
        let scratch = Scratch::create(&place.join("plain"), SIZE, &journal).unwrap();
        let work = WorkDirectory::create(&place.join("cryptbench-inside.work"), &journal).unwrap();
        let (engine, _) = Engine::open(EngineChoice::Threads).unwrap();
        Self { place, journal, scratch, work, engine }
    }

    fn provision(&mut self, arm: &ArmSpec) -> Result<PreparedArm, SystemError> {
        let stop = AtomicBool::new(false);
        let mut fill = |io_target: &IoTarget| {
            self.engine
                .prefill(io_target, 1, &stop, &mut |_| ())
                .map_err(|e| SystemError::Fill(Box::new(e)))
        };
        let mut context = ArmContext {
            journal: &self.journal,
            scratch: &self.scratch.io_target(),
            directory: &self.place,
            work: self.work.path(),
            reserve: &Reserve::default(),
            room: 0,
            run_id: &format!("run-{}", std::process::id()),
            tier: cryptbench_cipher::tier().unwrap(),
            fill: &mut fill,
            stop: &AtomicBool::new(false),
        };
        find(arm.system).unwrap().prepare(arm, &mut context)
    }
}

fn system() -> &'static System {
    find(&std::env::var("SYSTEM").unwrap()).unwrap()
}

fn arms() -> Vec<ArmSpec> {
    let text = fs::read(std::env::var_os("SETTINGS").unwrap()).unwrap();
    let settings: BTreeMap<String, Vec<String>> = serde_json::from_slice(&text).unwrap();
    system().arms(&Selection { settings, ..Selection::default() }).unwrap()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Counts the sectors of the containers that begin with each of `what`. Reads each container only once, because
/// reading is slow in the guest.
fn sectors_that_show<const N: usize>(place: &Path, what: [&[u8]; N]) -> [usize; N] {
    let containers = fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
    let mut found = [0; N];
    for path in containers.filter(|p| p.extension().is_some_and(|e| e == "container")) {
        let mut file = File::open(path).unwrap();
        let mut chunk = vec![0; 1 << 20];
        loop {
            let n = file.read(&mut chunk).unwrap();
            if n == 0 {
                break;
            }
            for sector in chunk[..n].chunks(512) {
                for (found, what) in found.iter_mut().zip(what) {
                    *found += usize::from(sector.starts_with(what));
                }
            }
        }
    }
    found
}

#[test]
#[ignore = "started by other tests"]
fn sets_every_arm_up() {
    match system().availability() {
        Availability::Available(version) => eprintln!("{} {version}", system().name()),
        Availability::Unavailable { reason, .. } => {
            crate::sandbox::skipped(&format!("{}: {reason}", system().name()));
            return;
        }
    }
    let mut site = Site::new();
    for arm in arms() {
        if was_checked(&arm) {
            continue;
        }
        let mut prepared = site.provision(&arm).unwrap_or_else(|e| panic!("{}: {e}", arm.id));
        check(&arm, &prepared, &site.place);
        closes(&arm, &mut prepared);
        let directory = prepared.directory.clone();
        prepared.destroy().unwrap_or_else(|e| panic!("{}: {e}", arm.id));
        assert!(!directory.exists(), "{}", arm.id);
        // In the guest, the script checks everything; on this machine, other programs may have devices of their
        // own.
        assert!(!said("dmsetup", &["ls"]).contains("cryptbench-run"), "{}", arm.id);
        let place = site.place.to_str().unwrap();
        assert!(!said("losetup", &["-a"]).contains(place), "{}", arm.id);
        eprintln!("checked {}: {}", arm.id, arm.label);
    }
}

/// Whether this arm was already set up in this guest: several lines of settings have the same null layers.
fn was_checked(arm: &ArmSpec) -> bool {
    let Some(list) = std::env::var_os("CHECKED") else { return false };
    let known = fs::read_to_string(&list).unwrap_or_default();
    if known.lines().any(|id| id == arm.id) {
        return true;
    }
    fs::write(&list, format!("{known}{}\n", arm.id)).unwrap();
    false
}

/// Closes the arm down to its container and opens it again: its contents must be the same.
fn closes(arm: &ArmSpec, prepared: &mut PreparedArm) {
    let id = &arm.id;
    let closed = prepared.close().unwrap_or_else(|e| panic!("{id}: {e}"));
    assert_eq!(closed, Closed::Unmounted, "{id}");
    assert!(!said("dmsetup", &["ls"]).contains("cryptbench-run"), "{id}");
    prepared.reopen().unwrap_or_else(|e| panic!("{id}: {e}"));
    let text = fs::read(prepared.directory.join("a file")).unwrap();
    assert!(text.starts_with(TEXT), "{id}");
    filled(prepared, id);
}

fn check(arm: &ArmSpec, prepared: &PreparedArm, place: &Path) {
    let id = &arm.id;
    let encrypted = arm.role == Role::Encrypted;
    assert!(prepared.covers_files, "{id}");
    assert_eq!(prepared.io_target.extent.len, SIZE, "{id}");
    filled(prepared, id);
    let file = prepared.directory.join("a file");
    let text = [TEXT, &[b'.'; 8192]].concat();
    let mut made = File::create(&file).unwrap();
    made.write_all(&text).unwrap();
    made.sync_all().unwrap();
    drop(made);
    rustix::fs::sync();
    assert_eq!(fs::read(&file).unwrap(), text, "{id}");
    // The stored data must not contain the plaintext. The null layers prove that the search would find it.
    let what = [&MARKER[..], TEXT];
    for (shown, what) in sectors_that_show(place, what).into_iter().zip(what) {
        assert_eq!(shown == 0, encrypted, "{id}: {shown} sectors show {what:?}");
    }
    if arm.system == "dm-crypt" && (encrypted || id.contains("cipher-null")) {
        kernel_has_what_was_chosen(arm, &said("dmsetup", &["table"]));
    }
    if arm.system == "veracrypt" {
        kernel_encrypts(arm, prepared);
    }
}

/// The settings leave encryption to the kernel: VeraCrypt must have done so, and the record must name the kernel's
/// driver.
fn kernel_encrypts(arm: &ArmSpec, prepared: &PreparedArm) {
    let id = &arm.id;
    assert_eq!(arm.settings["kernel-crypto"], "yes", "{id}");
    assert_eq!(prepared.turned_out, None, "{id}: another way than it was asked to");
    let table = said("dmsetup", &["table"]);
    let layers = table.lines().filter(|l| l.starts_with("veracrypt") && l.contains(" crypt "));
    let ciphers = arm.cipher.unwrap().trim_end_matches("-xts").split('-').filter(|c| *c != "256");
    assert_eq!(layers.count(), ciphers.count(), "{id}: {table}");
    let driver = find("veracrypt").unwrap().kernel_tier(arm, cryptbench_cipher::tier().unwrap());
    assert!(driver.is_some_and(|driver| driver.contains("xts")), "{id}");
}

/// Everything that the I/O target was filled with can be read through it, sector by sector.
fn filled(prepared: &PreparedArm, id: &str) {
    assert_eq!(prepared.io_target.extent.len, SIZE, "{id}");
    let mut data = cryptbench_blockdev::AlignedBuf::zeroed(1 << 20);
    let at = prepared.io_target.extent.offset;
    prepared.io_target.file.read_exact_at(&mut data, at).unwrap();
    assert!(data.chunks(512).all(|sector| sector.starts_with(&MARKER)), "{id}");
}

/// The kernel's table contains the chosen settings and no others.
fn kernel_has_what_was_chosen(arm: &ArmSpec, table: &str) {
    let set = |setting: &str| arm.settings.get(setting).map_or("", String::as_str);
    let queues = set("workqueues");
    for (word, expected) in [
        ("no_read_workqueue", matches!(queues, "no-read" | "no-read-write")),
        ("no_write_workqueue", matches!(queues, "no-write" | "no-read-write")),
        ("same_cpu_crypt", set("same-cpu") == "yes"),
        ("sector_size:4096", set("sector-size") == "4096"),
        ("hmac(sha256)", set("integrity") == "hmac-sha256"),
        ("gcm(aes)", set("integrity") == "aead"),
        ("cipher_null", arm.cipher.is_none()),
        ("aes-cbc-essiv:sha256", arm.cipher == Some("aes-256-cbc-essiv")),
        ("crc32c", set("integrity") == "crc32c"),
        // dm-integrity's modes: with a journal, a bitmap, or direct writes (dm-integrity.rst).
        (" B ", set("integrity-journal") == "bitmap"),
        (" D ", set("integrity-journal") == "none"),
    ] {
        assert_eq!(table.contains(word), expected, "{}: {word}: {table}", arm.id);
    }
}

#[test]
#[ignore = "started in the guest"]
fn fails_as_a_whole() {
    let program = std::env::var("PROGRAM").unwrap();
    let mut site = Site::new();
    // dmsetup sets up dm-linear, cryptsetup everything else.
    let role = if program == "dmsetup" { Role::NullLayer } else { Role::Encrypted };
    let arm = arms().into_iter().find(|arm| arm.role == role).unwrap();
    let error = site.provision(&arm).err().expect("a program of it fails").to_string();
    assert!(error.contains(&program) && error.contains("told to fail"), "{error}");
    eprintln!("{error}");
}

#[test]
#[ignore = "started in the guest"]
fn waits_to_be_killed() {
    let mut site = Site::new();
    let arm = arms().into_iter().find(|arm| arm.role == Role::Encrypted).unwrap();
    let prepared = site.provision(&arm).unwrap();
    fs::write("/run/ready", "").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(600));
    drop(prepared);
}
