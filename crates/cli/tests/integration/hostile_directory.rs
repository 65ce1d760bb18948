//! Root runs the benchmark in a directory of another user, who replaces everything that appears there with a link
//! to a file that only root may write. The file must not change.

use std::fs::{self, File, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::sandbox::{Sandbox, skipped, text};

/// Tells this test process that it is the attacker, and in which directory.
const ATTACK: &str = "CRYPTBENCH_TEST_ATTACK";
const VICTIM: &str = "CRYPTBENCH_TEST_VICTIM";

/// Seconds for which each system is attacked; for manual tests, a minute or more.
const SECONDS: &str = "CRYPTBENCH_TEST_ATTACK_SECONDS";

/// A user that exists on no machine.
const SOMEBODY: u32 = 12_345;

/// Until it is killed, replaces everything in `directory`, and in all accessible directories in it, with links to
/// `victim`. The original entries get other names, so that the run notices no gap.
fn swap_for_ever(directory: &Path, victim: &Path) -> ! {
    let mut number = 0_u64;
    loop {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_symlink() || path.to_string_lossy().ends_with(".moved") {
                continue;
            }
            number += 1;
            let moved = directory.join(format!("{number}.moved"));
            if fs::rename(&path, &moved).is_ok() {
                let _ = symlink(victim, &path);
            }
        }
    }
}

struct Attacker(Child);

impl Attacker {
    fn start(test: &str, directory: &Path, victim: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("hostile_directory::{test}"), "--nocapture"])
            .env(ATTACK, directory)
            .env(VICTIM, victim)
            .uid(SOMEBODY)
            .gid(SOMEBODY)
            .current_dir("/")
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A file of root that must not change.
struct Victim {
    file: PathBuf,
    state: State,
}

/// Length, blocks, times of the last write and of the last change, owner and mode, and the first bytes.
type State = (u64, u64, [i64; 4], [u32; 3], Vec<u8>);

impl Victim {
    /// As long as any file that a run creates, but almost completely sparse: any write allocates blocks and changes
    /// the times, so that the test need not read the whole file after each run.
    fn make(directory: &Path) -> Self {
        let file = directory.join("victim");
        fs::write(&file, [0xa5; 4096]).unwrap();
        File::options().write(true).open(&file).unwrap().set_len(300 << 20).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        // Blocks are only counted after they have reached the disk.
        File::open(&file).unwrap().sync_all().unwrap();
        let state = state(&file);
        Self { file, state }
    }

    fn is_untouched(&self) -> bool {
        File::open(&self.file).unwrap().sync_all().unwrap();
        state(&self.file) == self.state
    }
}

fn state(file: &Path) -> State {
    let mut first = vec![0; 1 << 20];
    File::open(file).unwrap().read_exact(&mut first).unwrap();
    let found = fs::metadata(file).unwrap();
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    (found.len(), found.blocks(), times, [found.uid(), found.gid(), found.mode()], first)
}

#[test]
fn a_victim_that_was_touched_is_told() {
    let write = |file: &Path, at: u64, bytes: &[u8]| {
        let file = File::options().write(true).open(file).unwrap();
        file.write_all_at(bytes, at).unwrap();
    };
    type Touch<'a> = &'a dyn Fn(&Path);
    let touches: [Touch<'_>; 5] = [
        &|file| write(file, 0, b"x"),
        // Identical data, data in a hole, and data beyond the end.
        &|file| write(file, 0, &[0xa5]),
        &|file| write(file, 200 << 20, &[0]),
        &|file| write(file, 400 << 20, &[0]),
        &|file| File::options().write(true).open(file).unwrap().set_len(1 << 20).unwrap(),
    ];
    for (number, touch) in touches.into_iter().enumerate() {
        let place = tempfile::tempdir().unwrap();
        let victim = Victim::make(place.path());
        assert!(victim.is_untouched());
        // The clock of a file system may be coarse.
        std::thread::sleep(std::time::Duration::from_millis(20));
        touch(&victim.file);
        assert!(!victim.is_untouched(), "touch {number}");
    }
}

/// Runs `arguments` repeatedly under attack.
fn attacked(test: &str, arguments: &[&str]) {
    if let (Ok(directory), Ok(victim)) = (std::env::var(ATTACK), std::env::var(VICTIM)) {
        swap_for_ever(Path::new(&directory), Path::new(&victim));
    }
    if !rustix::process::geteuid().is_root() {
        return skipped("an attack on root needs root");
    }
    let s = Sandbox::with_little_room();
    let above = s.target().parent().unwrap().to_owned();
    fs::set_permissions(&above, Permissions::from_mode(0o755)).unwrap();
    chown(s.target(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let victim = Victim::make(&above.join("home"));
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let seconds = number(SECONDS).or_else(|| number(cryptbench_prove::SECONDS)).unwrap_or(3);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    let attacker = Attacker::start(test, &s.target(), &victim.file);
    let mut arguments = s.tiny(arguments);
    arguments.push("--quiet");
    let mut done = Vec::new();
    while done.is_empty() || std::time::Instant::now() < until {
        let output = s.run(&arguments);
        done.push(format!("{}: {}", output.status, text(&output.stderr)));
        assert!(victim.is_untouched(), "{done:?}");
    }
    drop(attacker);
    cryptbench_prove::count(done.len() as u64, "attacks: runs whose files were swapped");
    // 10: everything was set up, but a busy machine had no time left to compare.
    let through = ["exit status: 0:", "exit status: 10:"];
    let any = done.iter().any(|d| through.iter().any(|status| d.starts_with(status)));
    assert!(any, "no run came through: {done:?}");
    let cleaned = s.run(&["cleanup"]);
    assert!(victim.is_untouched(), "{done:?} {}", text(&cleaned.stdout));
    // Everything that the attacker moved is empty by now, or removed.
    for left in s.left_behind() {
        assert!(is_empty(&left), "{}", left.display());
    }
}

/// Whether the entries that the attacker moved contain no data of a run. An empty directory also has a length.
fn is_empty(left: &Path) -> bool {
    let found = fs::symlink_metadata(left).unwrap();
    match fs::read_dir(left) {
        _ if found.is_symlink() => true,
        Ok(mut entries) => entries.all(|entry| is_empty(&entry.unwrap().path())),
        Err(_) => found.len() == 0,
    }
}

#[test]
fn an_empty_directory_that_was_moved_is_nothing_and_what_is_in_one_is_something() {
    let place = tempfile::tempdir().unwrap();
    let moved = place.path().join("1.moved");
    fs::create_dir_all(moved.join("within")).unwrap();
    fs::write(moved.join("none"), "").unwrap();
    symlink("/etc/passwd", moved.join("link")).unwrap();
    assert!(is_empty(&moved) && is_empty(&moved.join("link")));
    fs::write(moved.join("within/some"), "x").unwrap();
    assert!(!is_empty(&moved));
}

#[test]
fn the_scratch_file_is_swapped() {
    attacked("the_scratch_file_is_swapped", &["--systems", "builtin"]);
}

#[test]
fn a_container_is_swapped() {
    if !Path::new("/dev/loop-control").exists() || !Path::new("/dev/fuse").exists() {
        return skipped("mounting a container needs FUSE and loop devices");
    }
    attacked("a_container_is_swapped", &["--systems", "builtin-mounted"]);
}

#[test]
fn a_container_of_qemu_is_swapped() {
    if !Path::new("/usr/bin/qemu-storage-daemon").exists() {
        return skipped("there is no qemu-storage-daemon");
    }
    attacked("a_container_of_qemu_is_swapped", &["--systems", "qemu-luks"]);
}

#[test]
fn a_store_is_swapped() {
    if !Path::new("/usr/bin/gocryptfs").exists() {
        return skipped("there is no gocryptfs");
    }
    attacked("a_store_is_swapped", &["--systems", "gocryptfs"]);
}

#[test]
fn a_directory_with_a_private_one_works_without_an_attack() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root works in another user's directory as root");
    }
    let s = Sandbox::with_little_room();
    chown(s.target(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let record = s.measured(&["--systems", "builtin,builtin-mounted"]);
    assert_eq!(record.target.directory, s.target().canonicalize().unwrap().to_str().unwrap());
    assert!(record.trials.iter().any(|t| t.arm.starts_with("builtin-mounted/")));
}
