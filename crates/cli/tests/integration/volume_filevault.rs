//! `cryptbench volume` through the binary, on FileVault 2 volumes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

#[path = "../../../volume/tests/integration/filevault/maker.rs"]
#[expect(dead_code, reason = "the tests of `volume` use the rest")]
mod maker;

use self::maker::{Maker, PASSWORD, RECOVERY, Stored, volume_key};
use crate::sandbox::waiting::wait_until;
use crate::sandbox::{Sandbox, skipped, text};

struct Bench(Sandbox);

impl Bench {
    /// The volume `v`, and files with the secrets that open it.
    fn new(maker: &Maker) -> Self {
        let bench = Self(Sandbox::new());
        let (image, file) = maker.make();
        for (name, contents) in [
            ("v", &image[..]),
            ("plist", &file),
            ("password", PASSWORD.as_bytes()),
            ("recovery", RECOVERY.as_bytes()),
            ("key", &volume_key()),
            ("wrong", b"wrong"),
            ("none", b""),
        ] {
            fs::write(bench.path(name), contents).unwrap();
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.target().join(name)
    }

    fn volume(&self, args: &str) -> Output {
        let args: Vec<&str> = ["volume"].into_iter().chain(args.split(' ')).collect();
        self.0.run(&args)
    }

    fn ok(&self, args: &str) -> Vec<u8> {
        let output = self.volume(args);
        assert!(output.status.success(), "{args}: {}", text(&output.stderr));
        output.stdout
    }

    /// Expects this exit code, and returns the messages.
    fn refused(&self, args: &str, code: i32) -> String {
        let output = self.volume(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args}: {said}");
        said
    }
}

#[test]
fn every_credential_opens_it() {
    let maker = Maker::default();
    let bench = Bench::new(&maker);
    for with in [
        "--passphrase-file password",
        "--passphrase-file recovery",
        "--recovery-password-file recovery",
        "--passphrase-file none --keyfile key",
        "--format filevault2 --passphrase-file password",
    ] {
        assert!(bench.ok(&format!("dump v - {with}")) == maker.plaintext(), "{with}");
    }
    bench.refused("dump v - --passphrase-file wrong", 7);
    let said = bench.refused("dump v - --passphrase-file password --pim 3", 2);
    insta::assert_snapshot!(said.trim(), @"cryptbench: v: FileVault has no PIM");
}

#[test]
fn info_says_what_is_there() {
    let bench = Bench::new(&Maker::default());
    let told = text(&bench.ok("info v"));
    for words in
        ["FileVault 2 (CoreStorage)", "Ünbenannt", "TestLVG", "pbkdf2 sha-256, 20", "Apple_HFS"]
    {
        assert!(told.contains(words), "no {words:?} in {told}");
    }
    let told = bench.ok("info v --json --open --passphrase-file password");
    let json: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(json["filevault"]["users"][1]["opens_with"], "recovery password");
    assert_eq!(json["filevault"]["family"], "33a76caa-1481-4bc5-8d04-1ac1707c19c0");
    assert_eq!(
        (&json["opened"]["format"], &json["opened"]["size"]),
        (&"filevault2".into(), &131_072.into())
    );
    assert!(json["cannot_be_opened"].is_null(), "{json}");
}

#[test]
fn a_system_needs_the_file_with_its_keys() {
    let maker = Maker { stored: Stored::Wiped, ..Maker::default() };
    let bench = Bench::new(&maker);
    let plain = bench.ok("dump v - --passphrase-file password --keyfile plist");
    assert!(plain == maker.plaintext());
    let said = bench.refused("dump v - --passphrase-file password", 5);
    insta::assert_snapshot!(said.trim(), @r#"cryptbench: v: the CoreStorage volume "Ünbenannt" cannot be opened: its keys are in the file EncryptedRoot.plist.wipekey on the Recovery HD partition of its Mac; specify a copy of that file: --keyfile FILE"#);
    let told = text(&bench.ok("info v"));
    assert!(told.contains("cannot be opened"), "{told}");
}

#[test]
fn what_cannot_be_opened_or_changed_says_so() {
    let maker = Maker { state: "Converting", ..Maker::default() };
    let mut said = Bench::new(&maker).refused("dump v - --passphrase-file password", 5);
    let bench = Bench::new(&Maker::default());
    for command in [
        "key change v --passphrase-file password --new-passphrase-file wrong",
        "header-backup v saved",
        "header-restore v",
    ] {
        let output = bench.volume(command);
        said += &text(&output.stderr);
        assert!(!output.status.success(), "{command}");
    }
    said += &bench.refused("dump v - --passphrase-file password --startup-key key", 2);
    said += &bench.refused("dump v - --passphrase-file password --hidden", 2);
    insta::assert_snapshot!(said.trim(), @r#"
        cryptbench: v: the CoreStorage volume "Ünbenannt" cannot be opened: it is being encrypted or decrypted (state "Converting"); let macOS finish (diskutil coreStorage list shows the progress)
        cryptbench: changing a FileVault volume's keys or metadata is not supported; use `diskutil coreStorage` on macOS
        cryptbench: v: backing up the header of a FileVault volume is not supported; its metadata is spread over the disk; copy the whole disk instead
        cryptbench: v: changing a FileVault volume's keys or metadata is not supported; use `diskutil coreStorage` on macOS
        cryptbench: v: FileVault has no startup keys
        cryptbench: v: FileVault has no hidden volumes
        "#);
}

/// Everything mounted from the sandbox, and loop devices over its files.
fn left(bench: &Bench) -> Vec<String> {
    let place = bench.0.target().display().to_string();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts = mounts.lines().map(ToOwned::to_owned);
    let loops = fs::read_dir("/sys/block").unwrap().flatten();
    let loops = loops.flat_map(|disk| fs::read_to_string(disk.path().join("loop/backing_file")));
    mounts.chain(loops).filter(|line| line.contains(&place)).collect()
}

#[test]
fn what_is_mounted_and_exported_is_what_is_dumped_and_nothing_stays() {
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        return skipped("mounting needs root and /dev/fuse");
    }
    let maker = Maker::default();
    let bench = Bench::new(&maker);
    fs::create_dir(bench.path("mnt")).unwrap();
    bench.ok("mount v mnt --raw --read-only --passphrase-file password");
    assert!(fs::read(bench.path("mnt/volume")).unwrap() == maker.plaintext());
    bench.ok("umount mnt");
    // It contains only a part of a file system.
    bench.refused("mount v mnt --passphrase-file password", 3);
    assert_eq!(left(&bench), [""; 0]);
    if Command::new("nbdcopy").arg("--version").output().is_err() {
        return skipped("nbdcopy (package libnbd-bin) is needed");
    }
    let export = ["volume", "export", "v", "--nbd", "nbd", "--passphrase-file", "password"];
    let mut keeper = bench.0.command(&export).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it serves", || bench.path("nbd").exists());
    let from = format!("nbd+unix:///?socket={}", bench.path("nbd").display());
    let copied = Command::new("nbdcopy").arg(from).arg(bench.path("copied")).output().unwrap();
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    kill_process(Pid::from_child(&keeper), Signal::TERM).unwrap();
    assert!(keeper.wait().unwrap().success());
    assert!(fs::read(bench.path("copied")).unwrap() == maker.plaintext());
    assert!(!bench.path("nbd").exists());
    assert_eq!(left(&bench), [""; 0]);
    assert!(fs::read(bench.path("v")).unwrap() == maker.image());
}
