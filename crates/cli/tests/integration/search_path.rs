//! No program is started from the current directory, whatever the search path contains.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Sandbox, skipped, text};

/// Programs that cryptbench calls, and some that those call.
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
    "zpool",
];

/// Search paths that lead to or below the current directory because of a careless entry.
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

/// A directory of another user. Every program in it leaves a mark when it is run.
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

    /// Runs with this search path. Returns the programs of the trap that were run, and the result.
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
    /// Runs with this search path: no program of the trap may be started, and if `works`, it must succeed.
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

/// Runs and volumes with this search path. Each path is a separate test, because each takes long.
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

/// The browser is also started by a program.
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
    // The server starts the program that opens the page, and is then stopped. The trap's script would leave its
    // mark shortly afterwards.
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(line.contains("http"), "{line}");
    assert_eq!(fs::read_dir(trap.marks()).unwrap().count(), 0, "xdg-open ran");
}
