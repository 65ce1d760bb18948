//! No program is started from the directory that somebody works in, whatever the search path says.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Sandbox, skipped, text};

/// Programs that this one calls, and some that others call.
const CALLED: &[&str] = &[
    "bindfs",
    "blkid",
    "btrfs",
    "cryfs",
    "cryptsetup",
    "dislocker-fuse",
    "dmsetup",
    "ecryptfs-add-passphrase",
    "encfs",
    "fscrypt",
    "fsck.ext4",
    "fusermount",
    "fusermount3",
    "gocryptfs",
    "keyctl",
    "losetup",
    "lsblk",
    "mkfs.btrfs",
    "mkfs.exfat",
    "mkfs.ext4",
    "mkfs.ntfs",
    "mkfs.vfat",
    "mkfs.xfs",
    "modprobe",
    "mount",
    "mount.ntfs",
    "nbdfuse",
    "nbdkit",
    "ntfs-3g",
    "qemu-img",
    "qemu-storage-daemon",
    "rclone",
    "securefs",
    "sh",
    "systemd-detect-virt",
    "tcplay",
    "udevadm",
    "umount",
    "veracrypt",
    "wipefs",
    "xdg-open",
    "xfs_io",
    "zfs",
];

/// Search paths that lead to the current directory, or below it, by a careless part.
const PATHS: &[Option<&str>] = &[
    None,
    Some(""),
    Some("."),
    Some("bin"),
    Some(":/usr/bin"),
    Some("/usr/bin::/bin"),
    Some("/usr/sbin:/usr/bin:/bin:"),
    Some("./bin:../target:/usr/bin"),
];

/// A directory of a stranger's in which every program leaves a mark that it ran.
struct Trap {
    sandbox: Sandbox,
}

impl Trap {
    fn new() -> Self {
        let trap = Self { sandbox: Sandbox::new() };
        fs::create_dir(trap.marks()).unwrap();
        for place in [trap.sandbox.target(), trap.sandbox.target().join("bin")] {
            fs::create_dir_all(&place).unwrap();
            for name in CALLED {
                let file = place.join(name);
                let script =
                    format!("#!/bin/sh\n: > '{}/{name}'\nexit 1\n", trap.marks().display());
                fs::write(&file, script).unwrap();
                fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
            }
        }
        fs::write(trap.sandbox.target().join("secret"), "a secret").unwrap();
        trap
    }

    fn marks(&self) -> std::path::PathBuf {
        self.sandbox.out().join("marks")
    }

    /// Runs with that search path; what the trap caught, and how it went.
    fn run(&self, path: Option<&str>, args: &str) -> (Vec<String>, Output) {
        let words: Vec<&str> = args.split(' ').collect();
        let mut command = self.sandbox.command(&words);
        match path {
            Some(path) => command.env("PATH", path),
            None => command.env_remove("PATH"),
        };
        let done = command.output().unwrap();
        let ran = fs::read_dir(self.marks()).unwrap().flatten();
        let ran: Vec<String> = ran.map(|e| e.file_name().into_string().unwrap()).collect();
        ran.iter().for_each(|name| fs::remove_file(self.marks().join(name)).unwrap());
        (ran, done)
    }
}

impl Trap {
    /// Runs with that search path: nothing of the trap is started, and it succeeds if it must.
    fn tried(&self, path: Option<&str>, args: &str, works: bool) {
        let (ran, done) = self.run(path, args);
        assert!(ran.is_empty(), "PATH={path:?} {args}: {}", ran.join(" "));
        assert!(
            !works || done.status.success(),
            "PATH={path:?} {args} fails: {}",
            text(&done.stderr)
        );
    }
}

#[test]
fn whoever_looks_starts_nothing_in_the_current_directory() {
    let trap = Trap::new();
    for path in PATHS {
        trap.tried(*path, "doctor", true);
        trap.tried(*path, "systems", true);
        trap.tried(*path, "run --dry-run", true);
        trap.tried(*path, "run --dry-run --system all", false);
    }
}

fn can_mount() -> bool {
    let can = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    if !can {
        skipped("mounting needs root and /dev/fuse");
    }
    can
}

/// Runs and volumes with that search path; each path is a test of its own, as they take long.
fn runs_and_volumes_start_nothing(path: Option<&str>) {
    let (trap, root) = (Trap::new(), can_mount());
    let tiny = "run --size 16MiB --trial 10ms --max-pairs 6 --budget 60s --profile ../tiny.toml";
    trap.tried(path, &format!("{tiny} --builtin-only"), true);
    trap.tried(path, &format!("{tiny} --system builtin-mounted"), root);
    trap.tried(path, &format!("{tiny} --system gocryptfs"), false);
    if root {
        fs::create_dir(trap.sandbox.target().join("mnt")).unwrap();
        let with = "--passphrase-file secret";
        let new = "volume create v --size 16MiB --format luks1 --unlock-time 1ms --mkfs ext4";
        trap.tried(path, &format!("{new} {with}"), true);
        trap.tried(path, &format!("volume mount v mnt {with}"), true);
        trap.tried(path, "volume umount mnt", true);
    }
    let left = trap.sandbox.left_behind();
    assert!(left.iter().all(|path| path.extension().is_none_or(|e| e != "jsonl")), "{left:?}");
}

#[test]
fn runs_and_volumes_start_nothing_there_without_a_search_path() {
    runs_and_volumes_start_nothing(None);
}

#[test]
fn runs_and_volumes_start_nothing_there_if_the_search_path_leads_there() {
    runs_and_volumes_start_nothing(Some("."));
}

#[test]
fn runs_and_volumes_start_nothing_there_if_a_part_is_empty() {
    runs_and_volumes_start_nothing(Some(":/usr/bin"));
}

#[test]
fn runs_and_volumes_start_nothing_there_if_a_part_is_relative() {
    runs_and_volumes_start_nothing(Some("bin"));
}

/// The browser is opened by a program, too.
#[test]
fn the_browser_is_not_opened_by_a_program_of_the_current_directory() {
    let trap = Trap::new();
    let mut command = trap.sandbox.command(&["serve", "--open"]);
    command
        .env("PATH", ".")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    }
    // It ends once it has started what opens the page; the script would leave its mark soon after.
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(line.contains("http"), "{line}");
    assert_eq!(fs::read_dir(trap.marks()).unwrap().count(), 0, "xdg-open ran");
}
