//! `cryptbench volume` on FileVault 2 volumes, through the program.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

#[path = "../../../volume/tests/integration/filevault/maker.rs"]
#[expect(dead_code, reason = "the tests of `volume` use the rest")]
mod maker;

use self::maker::{Maker, PASSWORD, RECOVERY, Stored, volume_key};
use crate::sandbox::{Sandbox, text};

struct Bench(Sandbox);

impl Bench {
    /// The volume `v`, and files with what opens it.
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

    /// Expects this exit code, and returns what is said.
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
    insta::assert_snapshot!(said.trim(), @r#"cryptbench: v: the CoreStorage volume "Ünbenannt" cannot be opened: its keys are in the file EncryptedRoot.plist.wipekey on its Mac's partition Recovery HD; name a copy of that file: --keyfile FILE"#);
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
        cryptbench: v: the CoreStorage volume "Ünbenannt" cannot be opened: it is being encrypted or decrypted (state "Converting"); macOS finishes that (diskutil coreStorage list shows how far it is)
        cryptbench: changing a FileVault volume's keys or metadata is not supported; `diskutil coreStorage` on macOS does that
        cryptbench: changing a FileVault volume's keys or metadata is not supported; `diskutil coreStorage` on macOS does that
        cryptbench: v: changing a FileVault volume's keys or metadata is not supported; `diskutil coreStorage` on macOS does that
        cryptbench: v: FileVault has no startup keys
        cryptbench: v: FileVault has no hidden volumes
        "#);
}
