//! `doctor` and `--dry-run` refuse exactly the directories that `run` refuses: disks as desktops mount them, and
//! hostile directories.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use crate::sandbox::disk::{Mount, did};
use crate::sandbox::{Sandbox, skipped, text};

/// A user that exists on no machine.
const USER: u32 = 12_345;

/// Files that are opened by name, so that another user could replace them.
const FILES: &str = r#"
name = "named"
description = "A few files."

[[sweep]]
id = "create"
label = "create files"
headline = "files"
kind = "files"
count = 20
action = ["create"]

[[sweep.case]]
name = "4k"
label = "4 KiB"
file_size = "4KiB"
"#;

struct Case {
    above: (u32, u32),
    disk: (u32, u32),
    as_root: bool,
    /// Whether a run succeeds. If others can rename files there, it must not.
    may_run: bool,
}

/// Owner and mode of the parent directory and of the disk, and whether root runs.
fn cases() -> Vec<Case> {
    let case = |above, disk, as_root, may_run| Case { above, disk, as_root, may_run };
    vec![
        // As udisks mounts it for the user, but without an access control list.
        case((USER, 0o700), (USER, 0o777), false, true),
        case((USER, 0o750), (USER, 0o777), false, true),
        case((USER, 0o700), (0, 0o777), false, true),
        // Everybody has access.
        case((0, 0o755), (USER, 0o777), false, false),
        case((USER, 0o777), (USER, 0o755), false, false),
        case((0, 0o755), (USER, 0o755), false, true),
        // Not writable.
        case((0, 0o755), (0, 0o755), false, false),
        case((0, 0o755), (USER, 0o555), false, false),
        // If another user has access, root keeps its files in a private directory.
        case((0, 0o755), (USER, 0o777), true, true),
        case((USER, 0o750), (USER, 0o777), true, true),
        case((0, 0o700), (USER, 0o777), true, true),
        case((0, 0o700), (0, 0o755), true, true),
    ]
}

fn set(path: &Path, (owner, mode): (u32, u32)) {
    chown(path, Some(owner), Some(owner)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

struct Bench {
    s: Sandbox,
    profile: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let s = Sandbox::new();
        let profile = s.out().join("named.toml");
        fs::write(&profile, FILES).unwrap();
        let place = s.target().parent().unwrap().to_owned();
        fs::set_permissions(&place, Permissions::from_mode(0o755)).unwrap();
        Self { s, profile }
    }

    /// Exit code and output of a command run by this user.
    fn said(&self, args: &[&str], as_root: bool) -> (Option<i32>, String) {
        let mut command = self.s.command(args);
        let home = self.s.target().parent().unwrap().join("home");
        chown(&home, Some(if as_root { 0 } else { USER }), None).unwrap();
        if !as_root {
            command.uid(USER).gid(USER).current_dir("/");
        }
        let done = command.output().unwrap();
        (done.status.code(), self.s.without_place(&text(&done.stderr)))
    }

    /// Whether a run with files succeeds in `disk`, after checking that doctor and the dry run predict the same.
    fn runs(&self, disk: &Path, as_root: bool) -> bool {
        let (disk, profile) = (disk.to_str().unwrap(), self.profile.to_str().unwrap());
        let run = ["run", disk, "--systems", "plain", "--profile", profile, "--quiet"];
        let (dry, words) = self.said(&[&run[..], &["--dry-run"]].concat(), as_root);
        let short = ["--trials", "1", "--budget", "60s", "--size", "1MiB"];
        let (real, said) = self.said(&[&run[..], &short].concat(), as_root);
        assert_eq!(
            dry == Some(3),
            real == Some(3),
            "{disk}: dry {dry:?} {words}\nrun {real:?} {said}"
        );
        if real == Some(3) {
            assert_eq!(words, said);
        } else {
            assert_eq!(real, Some(0), "{said}");
        }
        let default = ["run", disk, "--dry-run"];
        let (dry, words) = self.said(&default, as_root);
        let (doctor, _) = self.said(&["doctor", disk], as_root);
        assert_eq!(
            (doctor == Some(3), dry == Some(3)),
            (dry == Some(3), dry == Some(3)),
            "{disk}: {words}"
        );
        real == Some(0)
    }
}

#[test]
fn doctor_the_dry_run_and_the_run_refuse_the_same() {
    if !rustix::process::geteuid().is_root() {
        return skipped("giving directories away needs root");
    }
    let bench = Bench::new();
    for (number, case) in cases().iter().enumerate() {
        let above = bench.s.target().join(format!("user-{number}"));
        let disk = above.join("My 'Disk'");
        fs::create_dir_all(&disk).unwrap();
        set(&disk, case.disk);
        set(&above, case.above);
        let runs = bench.runs(&disk, case.as_root);
        assert_eq!(runs, case.may_run, "{:?} {:?} root {}", case.above, case.disk, case.as_root);
    }
}

#[test]
fn a_view_of_the_kernel_is_no_disk() {
    let bench = Bench::new();
    for place in ["/proc", "/sys"] {
        let said = bench.s.refused(&["run", place, "--dry-run"]);
        assert!(said.starts_with(&format!("$ cryptbench run {place} --dry-run\n[3]")), "{said}");
        assert_eq!(said.replace(" --dry-run", ""), bench.s.refused(&["run", place]));
        assert!(said.contains("shows kernel data and stores nothing"), "{said}");
    }
}

/// A file system without permissions, mounted as udisks mounts it for a user.
struct Stick {
    mkfs: &'static [&'static str],
    /// The kernel's driver, or that of a program.
    types: &'static [&'static str],
}

const STICKS: [Stick; 3] = [
    Stick { mkfs: &["mkfs.vfat"], types: &["vfat"] },
    Stick { mkfs: &["mkfs.exfat"], types: &["exfat", "exfat-fuse"] },
    Stick { mkfs: &["mkfs.ntfs", "-Q", "-F"], types: &["ntfs-3g"] },
];

/// Mounts a new one for the user, with this mask.
fn plugged_in(stick: &Stick, image: &str, disk: &Path, umask: &str) -> Option<Mount> {
    fs::File::create(image).unwrap().set_len(600 << 20).unwrap();
    let [mkfs, options @ ..] = stick.mkfs else { panic!("no program") };
    if !did(mkfs, &[options, &[image]].concat()) {
        skipped(&format!("{mkfs} cannot be run"));
        return None;
    }
    let (options, at) =
        (format!("loop,uid={USER},gid={USER},umask={umask}"), disk.display().to_string());
    fs::create_dir_all(disk).unwrap();
    let mounts = |of: &&&str| did("mount", &["-t", of, "-o", &options, image, &at]);
    if stick.types.iter().find(mounts).is_none() {
        skipped(&format!("neither the kernel nor a program mounts {}", stick.types[0]));
        return None;
    }
    Some(Mount::at(disk))
}

#[test]
fn a_usb_stick_is_measured_by_the_user_who_had_it_mounted() {
    if !rustix::process::geteuid().is_root() {
        return skipped("mounting for another user needs root");
    }
    let bench = Bench::new();
    for stick in &STICKS {
        let image = bench.s.out().join("image").display().to_string();
        let above = bench.s.target().join(format!("user-{}", stick.types[0]));
        let disk = above.join("My STICK");
        let Some(mounted) = plugged_in(stick, &image, &disk, "000") else { continue };
        set(&above, (USER, 0o750));
        assert!(bench.runs(&disk, false), "the user");
        // Others have access and could rename files, and root cannot make a directory private.
        assert!(!bench.runs(&disk, true), "root");
        set(&above, (0, 0o700));
        assert!(bench.runs(&disk, true), "root, where nobody else gets");
        drop(mounted);
        // Everything belongs only to the user.
        let Some(mounted) = plugged_in(stick, &image, &disk, "077") else { continue };
        set(&above, (USER, 0o750));
        assert!(bench.runs(&disk, false), "the user alone");
        assert!(!bench.runs(&disk, true), "root in what is the user's");
        drop(mounted);
    }
}
