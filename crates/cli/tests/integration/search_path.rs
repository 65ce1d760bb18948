//! No program is started from the directory that somebody works in, whatever the search path says.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

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

#[test]
fn nothing_in_the_current_directory_is_started() {
    let trap = Trap::new();
    let mut caught = Vec::new();
    let mut tried = |path: Option<&str>, args: &str, works: bool| {
        let (ran, done) = trap.run(path, args);
        if !ran.is_empty() {
            caught.push(format!("PATH={path:?} {args}: {}", ran.join(" ")));
        }
        if works && !done.status.success() {
            caught.push(format!("PATH={path:?} {args} fails: {}", text(&done.stderr)));
        }
    };
    for path in PATHS {
        tried(*path, "doctor", true);
        tried(*path, "systems", true);
        tried(*path, "run --dry-run", true);
        tried(*path, "run --dry-run --system all", false);
    }
    let root = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    if !root {
        skipped("mounting needs root and /dev/fuse");
    }
    let tiny = "run --size 64MiB --trial 10ms --max-pairs 6 --budget 60s --profile ../tiny.toml";
    for path in [None, Some("."), Some(":/usr/bin"), Some("bin")] {
        tried(path, &format!("{tiny} --builtin-only"), true);
        tried(path, &format!("{tiny} --system builtin-mounted"), root);
        tried(path, &format!("{tiny} --system gocryptfs"), false);
        if root {
            let _ = fs::remove_file(trap.sandbox.target().join("v"));
            let _ = fs::create_dir(trap.sandbox.target().join("mnt"));
            let with = "--passphrase-file secret";
            tried(
                path,
                &format!(
                    "volume create v --size 16MiB --format luks1 --unlock-time 1ms --mkfs ext4 {with}"
                ),
                true,
            );
            tried(path, &format!("volume mount v mnt {with}"), true);
            tried(path, "volume umount mnt", true);
        }
    }
    assert!(caught.is_empty(), "{}", caught.join("\n"));
    assert!(trap.sandbox.left_behind().iter().all(|path| !path.ends_with(".jsonl")));
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
    std::thread::sleep(std::time::Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("http"), "{line}");
    assert_eq!(fs::read_dir(trap.marks()).unwrap().count(), 0, "xdg-open ran");
}
