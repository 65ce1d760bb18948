//! Bad input and bad disks: a clear message, the documented exit code, nothing left behind.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::sandbox::waiting::wait_for_trials;
use crate::sandbox::{Sandbox, skipped, text};

/// Runs and expects this exit code and these words on standard error.
fn refused(s: &Sandbox, args: &[&str], code: i32, words: &[&str]) {
    let done = s.run(args);
    let stderr = text(&done.stderr);
    assert_eq!(done.status.code(), Some(code), "{args:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{args:?}: no {word:?} in: {stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert_eq!(text(&done.stdout), "");
}

#[test]
fn the_command_line() {
    let s = Sandbox::new();
    refused(&s, &["run", "--budget", "soon"], 2, &["--budget", "90s"]);
    refused(&s, &["run", "--size", "much"], 2, &["--size", "256MiB"]);
    refused(&s, &["run", "--precision", "0"], 2, &["above 0 %"]);
    refused(&s, &["run", "--system", "vera"], 2, &["\"vera\"", "plain, builtin"]);
    refused(&s, &["run", "--cipher", "rot13"], 2, &["rot13", "aes-256-xts"]);
    refused(&s, &["run", "--data-unit", "1000"], 2, &["1000", "512"]);
    refused(&s, &["run", "--budget", "1s"], 2, &["--budget", "--trial"]);
    refused(&s, &["nosuch"], 2, &["nosuch"]);
    assert!(s.left_behind().is_empty());
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
    let with = |target: &str, words: &[&str]| {
        refused(&s, &["run", target, "--output", &out], 3, words);
    };
    with("no/such/directory", &["no such directory"]);
    let file = s.target().join("precious");
    fs::write(&file, "data").unwrap();
    with("precious", &["nothing that exists is overwritten"]);
    assert_eq!(fs::read(&file).unwrap(), b"data");
    fs::remove_file(file).unwrap();
    refused(&s, &["run", "--size", "9000TiB", "--output", &out], 3, &["does not fit", "free"]);
    assert!(s.left_behind().is_empty());
}

#[test]
fn a_directory_that_cannot_be_written() {
    // Root may write anywhere but on a file system without files to create.
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
    refused(&s, &["run", "--output", &out], 3, &["record.json already"]);
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
    refused(&s, &["run", "--profile", "slow"], 5, &["slow", "quick"]);
    refused(&s, &["run", "--profile", "./none.toml"], 5, &["none.toml"]);
    let broken = file("broken.toml", "name = \n");
    refused(&s, &["run", "--profile", &broken], 5, &["broken.toml"]);
    refused(&s, &["report", &file("r1.json", "{}")], 5, &["r1.json", "not a cryptbench record"]);
    refused(&s, &["report", &file("r2.json", "\u{0}\u{1}")], 5, &["r2.json"]);
    let newer = file("r3.json", r#"{"schema":"cryptbench.record/9"}"#);
    refused(&s, &["report", &newer], 5, &["cryptbench.record/9", "newer"]);
    refused(&s, &["report", "/no/such/record"], 5, &["/no/such/record"]);
    assert!(s.left_behind().is_empty());
}

/// A mounted file system that goes away with the value.
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
    refused(&s, &["run", &m.path()], 3, &["too little room", "64 MiB are free", "--size"]);
    assert_eq!(fs::read_dir(m.path()).unwrap().count(), 0);
}

#[test]
fn a_read_only_file_system_is_refused() {
    let Some(m) = Mounted::new(&["-t", "tmpfs", "-o", "ro,size=1g", "none"]) else { return };
    let s = Sandbox::new();
    refused(&s, &["run", &m.path()], 3, &["Read-only file system"]);
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
    assert!(record.notes.iter().any(|n| n.contains("no direct I/O")), "{:?}", record.notes);
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
    // The disk's blocks are gone and there is no room for new ones: every further write is an I/O
    // error of the device.
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
