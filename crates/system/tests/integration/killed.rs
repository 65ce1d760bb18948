//! A run is killed at any point while it sets up or uses an arm. Cleanup must remove everything of the run, and
//! nothing of the user's.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _, stdout};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cryptbench_system::provision::mountinfo::mounts;
use cryptbench_system::provision::runtime_directory;
use cryptbench_system::resource::{Cleaned, Journal, Reserve, Scratch, WorkDirectory, cleanup};
use cryptbench_system::{ArmContext, Availability, Selection, find};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::place::Place;

/// When the run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// When everything has been set up.
    Standing,
    /// At any time before that.
    SettingUp,
    /// While it is closed and reopened.
    Resting,
}

/// The moments for a system, each with its seed. The first one also measures how long setting up takes.
fn moments(system: &str) -> Box<dyn Iterator<Item = (Moment, u64)>> {
    use Moment::{Resting, SettingUp, Standing};
    if cryptbench_prove::is_asked() {
        let mut standing = true;
        return Box::new(cryptbench_prove::seeds(1).map(move |seed| {
            let moment = match seed % 10 {
                _ if std::mem::take(&mut standing) => Standing,
                0 => Standing,
                1..=6 => SettingUp,
                _ => Resting,
            };
            (moment, seed)
        }));
    }
    let nightly = std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly");
    let moments = if system == "cryfs" && !nightly {
        // CryFS needs seconds for each key derivation, and closing is preceded by a complete set-up.
        vec![Resting, SettingUp]
    } else {
        let (usual, resting) = if nightly { (3, 4) } else { (1, 1) };
        [vec![Standing], vec![SettingUp; usual], vec![Resting; resting]].concat()
    };
    Box::new(moments.into_iter().zip(1..))
}

/// The variables with a child's task and directory.
const PART: &str = "CRYPTBENCH_TEST_PART";
const PLACE: &str = "CRYPTBENCH_TEST_PLACE";

fn part() -> Option<(String, String)> {
    Some((std::env::var(PART).ok()?, std::env::var(PLACE).ok()?))
}

/// Sets up `system` and waits to be killed.
fn set_up(system: &str, place: &Path) {
    let system = find(system).unwrap();
    let journal = Journal::create("killed").unwrap();
    let scratch = Scratch::create(&place.join("plain"), 1 << 20, &journal).unwrap();
    let work = WorkDirectory::create(&place.join("cryptbench-killed.work"), &journal).unwrap();
    let arms = system.arms(&Selection::default()).unwrap();
    let mut fill = |_: &cryptbench_blockdev::IoTarget| Ok(());
    let mut context = ArmContext {
        journal: &journal,
        scratch: &scratch.io_target(),
        directory: place,
        work: work.path(),
        reserve: &Reserve::default(),
        room: 0,
        run_id: "killed",
        tier: cryptbench_cipher::tier().unwrap(),
        fill: &mut fill,
        stop: &std::sync::atomic::AtomicBool::new(false),
    };
    say("begins");
    let mut prepared = system.prepare(arms.last().unwrap(), &mut context).unwrap();
    fs::write(prepared.directory.join("file"), "content").unwrap();
    say("stands");
    // Waits for a signal to continue, and then to be killed.
    let _ = std::io::stdin().read(&mut [0]);
    loop {
        prepared.close().unwrap();
        prepared.reopen().unwrap();
        assert_eq!(fs::read(prepared.directory.join("file")).unwrap(), b"content");
    }
}

/// Reports progress to the parent.
fn say(word: &str) {
    writeln!(stdout(), "{word}").and_then(|()| stdout().flush()).unwrap();
}

/// This test as a separate process.
fn child(test: &str, part: &str, place: &Path, state: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("killed::{test}"), "--nocapture", "--test-threads=1"])
        .env(PART, part)
        .env(PLACE, place)
        .env("XDG_STATE_HOME", state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

fn killed_anywhere(test: &str, system: &str) {
    match part() {
        Some((part, place)) if part == "run" => return set_up(system, Path::new(&place)),
        Some(_) => {
            if cryptbench_prove::is_broken("cleanup") {
                return;
            }
            let failed: Vec<_> =
                cleanup().into_iter().filter(|c| !matches!(c, Cleaned::Removed(_))).collect();
            assert!(failed.is_empty(), "{failed:?}");
            return;
        }
        None => {}
    }
    if let Availability::Unavailable { reason, .. } = find(system).unwrap().availability() {
        eprintln!("SKIPPED: {system}: {reason}");
        return;
    }
    let mut took = Duration::ZERO;
    let disk = Place::with_little_room();
    let mappings = mappings();
    for (moment, seed) in moments(system) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let when = format!("{system}, seed {seed}, {moment:?}");
        let place = tempfile::tempdir_in(disk.path()).unwrap();
        let state = tempfile::tempdir().unwrap();
        let own = place.path().join("the user's own");
        fs::write(&own, "kept").unwrap();
        let mut run = child(test, "run", place.path(), state.path()).spawn().unwrap();
        let mut said = BufReader::new(run.stdout.take().unwrap()).lines();
        said.find(|l| l.as_ref().unwrap().ends_with("begins")).unwrap().unwrap();
        if moment == Moment::SettingUp {
            // A random point in time, not a limit: everything must be removed in any case.
            sleep(took.mul_f64(random.random_range(0.0..1.0)));
        } else {
            let began = Instant::now();
            said.find(|l| l.as_ref().unwrap().ends_with("stands")).unwrap().unwrap();
            if took.is_zero() {
                took = began.elapsed();
            }
            if moment == Moment::Resting {
                run.stdin.as_mut().unwrap().write_all(b"!").unwrap();
                sleep(took.mul_f64(random.random_range(0.0..0.5)));
            }
        }
        run.kill().unwrap();
        // A process that waits for a file system that it served itself exits only when cleanup frees it.
        let until = Instant::now() + Duration::from_secs(2);
        while run.try_wait().unwrap().is_none() && Instant::now() < until {
            sleep(Duration::from_millis(2));
        }
        let journals = || fs::read_dir(state.path().join("cryptbench/ledgers")).unwrap();
        let elsewhere: Vec<_> =
            journals().flatten().flat_map(|e| among_mounts(&e.path())).collect();
        let _undone = Undone { test, place: place.path(), state: state.path() };
        let cleaned = child(test, "cleanup", place.path(), state.path()).output().unwrap();
        assert!(cleaned.status.success(), "{when}: {cleaned:?}");
        run.wait().unwrap();
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["the user's own"], "{when}");
        assert_eq!(fs::read(&own).unwrap(), b"kept");
        let path = place.path().to_str().unwrap();
        assert!(!mounts().unwrap().iter().any(|m| m.source.contains(path)), "{when}");
        for path in &elsewhere {
            assert!(
                !mounts().unwrap().iter().any(|m| m.mountpoint.starts_with(path)),
                "{when}: {path}"
            );
            assert_eq!(loop_devices_over(path), 0, "{when}: {path}");
            assert!(!Path::new(path).exists(), "{when}: {path}");
        }
        assert!(!somebody_works_with(path), "{when}");
        assert_eq!(loop_devices_over(path), 0, "{when}");
        assert_eq!(journals().count(), 0, "{when}");
        assert_eq!(self::mappings(), mappings, "{when}");
        cryptbench_prove::count(1, &format!("kills of {system}"));
    }
}

/// The paths below the directory for mounts that a journal contains, none of which belong to the place.
fn among_mounts(journal: &Path) -> Vec<String> {
    let mounts = runtime_directory().expect("one");
    let text = fs::read(journal).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.split('"').filter(|word| Path::new(word).starts_with(&mounts)).map(str::to_owned).collect()
}

/// Finally removes what a cleanup with a deliberate fault has left behind.
struct Undone<'a> {
    test: &'a str,
    place: &'a Path,
    state: &'a Path,
}

impl Drop for Undone<'_> {
    fn drop(&mut self) {
        if cryptbench_prove::is_broken("cleanup") {
            let mut cleanup = child(self.test, "cleanup", self.place, self.state);
            let _ = cleanup.env_remove(cryptbench_prove::BROKEN).output();
        }
    }
}

fn somebody_works_with(path: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let mut line = Vec::new();
        File::open(entry.path().join("cmdline")).and_then(|mut f| f.read_to_end(&mut line)).is_ok()
            && String::from_utf8_lossy(&line).contains(path)
    })
}

/// Device-mapper devices.
fn mappings() -> Vec<std::ffi::OsString> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten().map(|e| e.file_name());
    devices.filter(|name| name.as_encoded_bytes().starts_with(b"dm-")).collect()
}

fn loop_devices_over(path: &str) -> usize {
    let files = fs::read_dir("/sys/block").unwrap().flatten();
    files
        .filter_map(|e| fs::read_to_string(e.path().join("loop/backing_file")).ok())
        .filter(|file| file.contains(path))
        .count()
}

#[test]
fn gocryptfs_killed() {
    killed_anywhere("gocryptfs_killed", "gocryptfs");
}

#[test]
fn encfs_killed() {
    killed_anywhere("encfs_killed", "encfs");
}

#[test]
fn securefs_killed() {
    killed_anywhere("securefs_killed", "securefs");
}

#[test]
fn rclone_killed() {
    killed_anywhere("rclone_killed", "rclone");
}

#[test]
fn zfs_killed() {
    killed_anywhere("zfs_killed", "zfs");
}

#[test]
fn fscrypt_killed() {
    killed_anywhere("fscrypt_killed", "fscrypt");
}

#[test]
fn cryfs_killed() {
    killed_anywhere("cryfs_killed", "cryfs");
}

#[test]
fn bindfs_killed() {
    killed_anywhere("bindfs_killed", "bindfs");
}

#[test]
fn builtin_mounted_killed() {
    killed_anywhere("builtin_mounted_killed", "builtin-mounted");
}

#[test]
fn veracrypt_killed() {
    killed_anywhere("veracrypt_killed", "veracrypt");
}

#[test]
fn qemu_luks_killed() {
    killed_anywhere("qemu_luks_killed", "qemu-luks");
}

#[test]
fn nbdkit_luks_killed() {
    killed_anywhere("nbdkit_luks_killed", "nbdkit-luks");
}
