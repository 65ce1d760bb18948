//! Invalid input and failing disks: a clear message, the documented exit code, and nothing left behind.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::sandbox::waiting::wait_for_trials;
use crate::sandbox::{Sandbox, skipped, text};

#[test]
fn the_command_line() {
    let s = Sandbox::new();
    let said = [
        &["run", "--budget", "soon"][..],
        &["run", "--size", "much"],
        &["run", "--precision", "0"],
        &["run", "--system", "luks"],
        &["run", "--cipher", "rot13"],
        &["run", "--data-unit", "1000"],
        &["run", "--builtin-only", "--budget", "1s"],
        &["nosuch"],
    ]
    .map(|args| s.refused(args));
    insta::assert_snapshot!(said.concat());
    assert!(s.left_behind().is_empty());
}

#[test]
fn without_proc_is_said_before_anything_is_made() {
    let s = Sandbox::new();
    let inside = "mount --make-rprivate / && umount --lazy /proc || exit 99
                  cryptbench run . --builtin-only --budget 16s --size 64MiB --output out";
    let line = format!("unshare --mount sh -c '{inside}'");
    let done = s.shell("#!/bin/sh\nexec \"$CRYPTBENCH\" \"$@\"\n", &line);
    if matches!(done.status.code(), Some(1 | 99 | 127)) {
        return skipped("/proc cannot be unmounted here, not even in a namespace of its own");
    }
    assert_eq!((done.status.code(), text(&done.stdout).as_str()), (Some(3), ""));
    insta::assert_snapshot!(text(&done.stderr), @"cryptbench: /proc: is not mounted, but cryptbench needs it to find \
    and remove the devices and mounts that it sets up: mount -t proc proc /proc");
    assert!(s.left_behind().is_empty() && !s.target().join("out").exists());
}

#[test]
fn a_wrong_cpu_tier_is_named() {
    let s = Sandbox::new();
    let done = s.command(&["run"]).env("CRYPTBENCH_CPU", "fast").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let stderr = text(&done.stderr);
    assert!(stderr.contains("CRYPTBENCH_CPU") && stderr.contains("soft"), "{stderr}");
}

#[test]
fn the_target() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let file = s.target().join("precious");
    fs::write(&file, "data").unwrap();
    let with = |target| s.refused(&["run", target, "--output", &out]);
    insta::assert_snapshot!(with("no/such/directory") + &with("precious"), @"
        $ cryptbench run no/such/directory --output SANDBOX/out
        [3] cryptbench: no/such/directory: no such directory: no/such
        $ cryptbench run precious --output SANDBOX/out
        [3] cryptbench: precious: is a file of 4 B, too small to be measured, and will not be overwritten: specify a directory
        ");
    assert_eq!(fs::read(&file).unwrap(), b"data");
    fs::remove_file(file).unwrap();
    let large = s.refused(&["run", "--size", "9000TiB", "--output", &out]);
    assert!(large.contains("[3] ") && large.contains("does not fit"), "{large}");
    assert!(s.left_behind().is_empty());
}

#[test]
fn a_directory_that_cannot_be_written() {
    // Root may write everywhere except on a file system in which no files can be created.
    let s = Sandbox::new();
    let done = s.run(&["run", "/proc", "--size", "16MiB"]);
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("/proc"), "{}", text(&done.stderr));
}

#[test]
fn an_output_directory_that_holds_a_record_is_kept() {
    let s = Sandbox::new();
    fs::write(s.out().join("record.json"), "old").unwrap();
    let out = s.out().display().to_string();
    insta::assert_snapshot!(s.refused(&["run", "--output", &out]), @"
        $ cryptbench run --output SANDBOX/out
        [3] cryptbench: SANDBOX/out: already contains a record.json; specify another directory with --output
        ");
    assert_eq!(fs::read(s.out().join("record.json")).unwrap(), b"old");
}

#[test]
fn profiles_and_records() {
    let s = Sandbox::new();
    let file = |name: &str, content: &str| {
        let path = s.out().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let broken = file("broken.toml", "name = \n");
    let newer = file("r3.json", r#"{"schema":"cryptbench.record/9"}"#);
    let said = [
        &["run", "--profile", "slow"][..],
        &["run", "--profile", "./none.toml"],
        &["run", "--profile", &broken],
        &["report", &file("r1.json", "{}")],
        &["report", &file("r2.json", "\u{0}\u{1}")],
        &["report", &newer],
        &["report", "/no/such/record"],
    ]
    .map(|args| s.refused(args));
    insta::assert_snapshot!(said.concat());
    assert!(s.left_behind().is_empty());
}

/// A mounted file system; dropping it unmounts it.
struct Mounted {
    point: tempfile::TempDir,
}

impl Mounted {
    fn new(args: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("mounting a file system of a special kind needs root");
            return None;
        }
        let point = tempfile::tempdir().unwrap();
        let ok = Command::new("mount").args(args).arg(point.path()).status();
        if !ok.is_ok_and(|s| s.success()) {
            skipped(&format!("mount {args:?} does not work here"));
            return None;
        }
        Some(Self { point })
    }

    fn path(&self) -> String {
        self.point.path().display().to_string()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.point.path()).status();
    }
}

#[test]
fn a_small_file_system_says_how_much_room_is_needed() {
    let Some(m) = Mounted::new(&["-t", "tmpfs", "-o", "size=64m", "none"]) else { return };
    let s = Sandbox::new();
    let said = s.refused(&["run", &m.path()]).replace(&m.path(), "MOUNT");
    insta::assert_snapshot!(said, @"
        $ cryptbench run MOUNT
        [3] cryptbench: MOUNT: not enough space: only 64 MiB is free, and a scratch file of 64 MiB may use at most a quarter of the free space; free 192 MiB more, choose another directory, or set --size
        ");
    assert_eq!(fs::read_dir(m.path()).unwrap().count(), 0);
}

#[test]
fn a_read_only_file_system_is_refused() {
    let Some(m) = Mounted::new(&["-t", "tmpfs", "-o", "ro,size=1g", "none"]) else { return };
    let s = Sandbox::new();
    let said = s.refused(&["run", &m.path()]);
    assert!(said.contains("[3] ") && said.contains("Read-only file system"), "{said}");
}

#[test]
fn a_file_system_without_direct_io_is_measured_through_the_page_cache() {
    let Some(m) = Mounted::new(&["-t", "ramfs", "none"]) else { return };
    let s = Sandbox::new();
    let target = m.path();
    let done = s.run(&s.tiny(&[&target, "--json"]));
    let stderr = text(&done.stderr);
    assert!(done.status.success(), "{stderr}");
    let record: cryptbench_record::Record = serde_json::from_slice(&done.stdout).unwrap();
    assert!(!record.target.engine.direct);
    assert!(
        record.notes.iter().any(|n| n.contains("not support direct I/O")),
        "{:?}",
        record.notes
    );
    assert_eq!(fs::read_dir(m.path()).unwrap().count(), 0);
}

#[test]
fn a_disk_that_vanishes_ends_the_run_with_what_was_measured() {
    if !Path::new("/usr/sbin/mkfs.ext4").exists() {
        return skipped("no mkfs.ext4 (apt install e2fsprogs)");
    }
    let Some(ram) = Mounted::new(&["-t", "tmpfs", "-o", "size=300m", "none"]) else { return };
    let s = Sandbox::new();
    let image = Path::new(&ram.path()).join("disk.img");
    fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
    let made = Command::new("mkfs.ext4").arg("-q").arg(&image).status().unwrap();
    assert!(made.success());
    let image_text = image.display().to_string();
    let Some(m) = Mounted::new(&["-o", "loop", &image_text]) else { return };
    let record_dir = s.out().join("record");
    let args = [
        "run",
        "--builtin-only",
        &m.path(),
        "--size",
        "64MiB",
        "--trial",
        "20ms",
        "--budget",
        "60s",
        "--precision",
        "0.01%",
        "--output",
        &record_dir.display().to_string(),
    ]
    .map(str::to_owned);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut child = s
        .command(&args)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_trials(&mut child, &record_dir, 60);
    // The disk's blocks are lost and there is no space for new ones, so every further write is an I/O error of the
    // device.
    fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(0).unwrap();
    let mut junk = fs::File::create(Path::new(&ram.path()).join("junk")).unwrap();
    while junk.write_all(&[1; 1 << 16]).is_ok() {}
    let done = child.wait_with_output().unwrap();
    let stderr = text(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("offset") || stderr.contains("flush"), "{stderr}");
    let record = cryptbench_record::read(&record_dir).unwrap();
    assert!(record.partial);
    assert!(record.trials.len() > 40, "{} trials", record.trials.len());
}
