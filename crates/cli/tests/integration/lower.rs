//! Lower directories of eCryptfs that the kernel created, as `volume info` and `volume dump` read them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::sandbox::{Sandbox, skipped, text};

const OPENED: [&str; 2] = ["--passphrase-file", "mount"];

/// A sandbox with all directories of the fixture, and with the passphrases.
fn unpacked() -> Sandbox {
    let sandbox = Sandbox::new();
    let archive = "../volume/tests/fixtures/ecryptfs/volumes.tar.gz";
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(archive);
    let done = Command::new("tar").arg("-xpf").arg(archive).current_dir(sandbox.target()).status();
    assert!(done.unwrap().success());
    fs::write(sandbox.target().join("mount"), "mount pass\n").unwrap();
    fs::write(sandbox.target().join("login"), "login pass").unwrap();
    sandbox
}

/// Everything below a directory that must be the same in two copies, sorted.
pub fn tree(root: &Path) -> Vec<(PathBuf, u32, i64, Vec<u8>)> {
    let mut all = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            let (mode, content) = if found.is_symlink() {
                (0, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else if found.is_dir() {
                directories.push(path.clone());
                (found.mode(), Vec::new())
            } else {
                (found.mode(), fs::read(&path).unwrap())
            };
            let time = if found.is_symlink() { 0 } else { found.mtime() };
            all.push((path.strip_prefix(root).unwrap().to_owned(), mode, time, content));
        }
    }
    all.sort();
    all
}

fn volume(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.run(&[&["volume"], args].concat())
}

fn ok(sandbox: &Sandbox, args: &[&str]) -> String {
    let done = volume(sandbox, args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    text(&done.stdout)
}

#[test]
fn every_directory_of_the_kernel_is_what_it_was_as_mounted() {
    let sandbox = unpacked();
    for name in ["aes-128", "aes-192", "aes-256", "plain-names"] {
        let lower = format!("{name}/lower");
        ok(&sandbox, &[&["dump", &lower, "out"], &OPENED[..]].concat());
        let upper = tree(&sandbox.target().join(name).join("upper"));
        assert_eq!(upper.len(), 7);
        assert_eq!(tree(&sandbox.target().join("out")), upper, "{name}");
        fs::remove_dir_all(sandbox.target().join("out")).unwrap();
    }
}

#[test]
fn a_login_passphrase_opens_the_wrapped_one() {
    let sandbox = unpacked();
    for wrapped in ["wrapped1", "wrapped2"] {
        let opened = ["--passphrase-file", "login", "--wrapped-passphrase", wrapped];
        let listed = ok(&sandbox, &[&["dump", "aes-256/lower", "--list"], &opened[..]].concat());
        assert!(listed.contains("söme dir/below/grown"), "{listed}");
        let wrong = ["--passphrase-file", "mount", "--wrapped-passphrase", wrapped];
        let done = volume(&sandbox, &[&["dump", "aes-256/lower", "out"], &wrong[..]].concat());
        assert_eq!(done.status.code(), Some(7), "{}", text(&done.stderr));
    }
}

#[test]
fn it_is_listed() {
    let sandbox = unpacked();
    let listed = ok(&sandbox, &[&["dump", "aes-128/lower", "--list"], &OPENED[..]].concat());
    insta::assert_snapshot!(listed);
    assert!(!sandbox.target().join("out").exists());
}

#[test]
fn it_is_known_without_a_key() {
    let sandbox = unpacked();
    let mut said = ok(&sandbox, &["info", "aes-128/lower"]);
    said += &ok(&sandbox, &[&["info", "plain-names/lower", "--open"], &OPENED[..]].concat());
    fs::create_dir(sandbox.target().join("g")).unwrap();
    fs::write(sandbox.target().join("g/gocryptfs.conf"), "{}").unwrap();
    said += &ok(&sandbox, &["info", "g"]);
    let one = "plain-names/lower/one";
    said += &ok(&sandbox, &["info", one]);
    insta::assert_snapshot!(said);
    let json: serde_json::Value =
        serde_json::from_str(&ok(&sandbox, &["info", "aes-128/lower", "--json"])).unwrap();
    assert_eq!(json["files"], 4, "{json}");
}

#[test]
fn what_is_refused() {
    let sandbox = unpacked();
    fs::write(sandbox.target().join("wrong"), "mount Pass").unwrap();
    fs::create_dir(sandbox.target().join("there")).unwrap();
    fs::create_dir(sandbox.target().join("new.partial")).unwrap();
    let open = |args: &[&'static str]| {
        let all = [&["volume"], args, &OPENED[..]].concat();
        sandbox.refused(&all)
    };
    let said = [
        sandbox.refused(&["volume", "dump", "aes-128/lower", "out", "--passphrase-file", "wrong"]),
        open(&["dump", "aes-128/lower", "there"]),
        open(&["dump", "aes-128/lower", "new"]),
        open(&["dump", "aes-128/lower", "-"]),
        open(&["dump", "aes-128/upper", "out"]),
        open(&["info", "aes-128/upper"]),
        open(&["dump", "aes-128/lower", "out", "--hidden"]),
        open(&["dump", "wrapped1", "out", "--wrapped-passphrase", "wrapped2"]),
        open(&["dump", "wrapped1", "--list"]),
        open(&["dump", "plain-names/lower/one", "out"]),
    ];
    insta::assert_snapshot!(said.join(""));
    assert!(
        !sandbox.target().join("out").exists() && !sandbox.target().join("out.partial").exists()
    );
}

/// The lower file of the name that users see, in the directory with plain names.
fn lower(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.target().join("plain-names/lower").join(name)
}

#[test]
fn what_is_damaged_never_passes_for_whole() {
    let sandbox = unpacked();
    let file = |name: &str| fs::File::options().write(true).open(lower(&sandbox, name)).unwrap();
    file("söme dir/4097").set_len(12288).unwrap();
    file("one").set_len(0).unwrap();
    file("empty").set_len(100).unwrap();
    fs::write(lower(&sandbox, "plain"), "never encrypted").unwrap();
    let grown = lower(&sandbox, "söme dir/below/grown");
    let mut bytes = fs::read(&grown).unwrap();
    bytes[12288..].fill(0);
    fs::write(&grown, bytes).unwrap();
    fs::write(lower(&sandbox, "ECRYPTFS_FNEK_ENCRYPTED.Fxx"), "").unwrap();
    let done = volume(&sandbox, &[&["dump", "plain-names/lower", "out"], &OPENED[..]].concat());
    assert_eq!(done.status.code(), Some(5));
    insta::assert_snapshot!(text(&done.stderr));
    let made = tree(&sandbox.target().join("out"));
    let names: Vec<_> = made.iter().map(|(path, ..)| path.to_str().unwrap()).collect();
    let there = "empty.partial|söme dir|söme dir/4097.partial|söme dir/below|söme dir/below/grown.partial|söme dir/link";
    assert_eq!(names.join("|"), there);
    let upper = sandbox.target().join("plain-names/upper/söme dir");
    assert_eq!(made[2].3, fs::read(upper.join("4097")).unwrap()[..4096]);
    let mut grown = fs::read(upper.join("below/grown")).unwrap();
    grown[4096..].fill(0);
    assert_eq!(made[4].3, grown);
}

#[test]
fn it_goes_on_where_it_was_interrupted() {
    let sandbox = unpacked();
    let resumed = [&["dump", "aes-128/lower", "out", "--resume"], &OPENED[..]].concat();
    let partial = sandbox.target().join("out.partial");
    fs::create_dir_all(partial.join("söme dir")).unwrap();
    fs::write(partial.join("one"), "y").unwrap();
    fs::write(partial.join("söme dir/.cryptbench.unfinished"), "half").unwrap();
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(volume(&sandbox, &resumed).status.code(), Some(3), "others can write in it");
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o700)).unwrap();
    ok(&sandbox, &resumed);
    // A file with its final name is complete, and is not written again.
    let read = |name: &str| fs::read(sandbox.target().join(name)).unwrap();
    assert_eq!(read("out/one"), b"y");
    assert_eq!(read("out/söme dir/4097"), read("aes-128/upper/söme dir/4097"));
    assert!(!sandbox.target().join("out/söme dir/.cryptbench.unfinished").exists());
}

/// Makes reads of a file fail for as long as it exists.
struct Unreadable(PathBuf);

impl Unreadable {
    /// If nothing can be mounted, prints that and returns `None`.
    fn at(path: PathBuf) -> Option<Self> {
        let args = ["--bind".as_ref(), "/proc/1/mem".as_ref(), path.as_os_str()];
        let done = Command::new("mount").args(args).output();
        if done.is_ok_and(|done| done.status.success()) && fs::read(&path).is_err() {
            return Some(Self(path));
        }
        skipped("no file can be mounted over another one");
        None
    }
}

impl Drop for Unreadable {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_file_that_cannot_be_read_loses_only_itself() {
    let sandbox = unpacked();
    let Some(_bad) = Unreadable::at(lower(&sandbox, "söme dir/4097")) else { return };
    let mut header = fs::read(lower(&sandbox, "one")).unwrap();
    header[8..4096].fill(0xff);
    fs::write(lower(&sandbox, "one"), header).unwrap();
    let told = told(&sandbox, &[]);
    // Root may or may not be able to open it.
    let why = ["4097: Input/output error", "4097: Permission denied", "Input/output error"];
    assert!(why.iter().any(|why| told.contains(why)), "{told}");
    assert!(told.contains("one: ") && told.contains("2 of the names and files"), "{told}");
}

#[test]
fn links_and_strange_files_of_a_lower_directory_are_not_followed() {
    let sandbox = unpacked();
    fs::write(sandbox.target().join("victim"), "kept").unwrap();
    std::os::unix::fs::symlink("../../victim", lower(&sandbox, "out-of-it")).unwrap();
    std::os::unix::fs::symlink("/etc", lower(&sandbox, "etc")).unwrap();
    assert!(Command::new("mkfifo").arg(lower(&sandbox, "pipe")).status().unwrap().success());
    let done = volume(&sandbox, &[&["dump", "plain-names/lower", "out"], &OPENED[..]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("pipe: left out"), "{}", text(&done.stderr));
    let read = |name: &str| fs::read_link(sandbox.target().join("out").join(name)).unwrap();
    assert_eq!([read("out-of-it"), read("etc")], ["../../victim", "/etc"].map(PathBuf::from));
    assert!(!sandbox.target().join("out/pipe").exists());
}

/// The name of [`one`](lower) in a directory with encrypted names.
const ONE: &str =
    "ECRYPTFS_FNEK_ENCRYPTED.FWbP.Jdrect.s-R3NquSj2AiMMgobyinZ3Lk8xhyd86Mr-HL.jHrndYSuU--";

/// Reports what cannot be read, and writes everything else: as a first attempt, or as a continued one.
fn told(sandbox: &Sandbox, args: &[&str]) -> String {
    let dump = ["dump", "plain-names/lower", "out"];
    let done = volume(sandbox, &[&dump[..], args, &OPENED[..]].concat());
    assert_eq!(done.status.code(), Some(5), "{}", text(&done.stderr));
    assert!(sandbox.target().join("out/söme dir/below/grown").exists());
    fs::remove_dir_all(sandbox.target().join("out")).unwrap();
    text(&done.stderr)
}

#[test]
fn names_that_are_the_same_when_decrypted_are_told() {
    let sandbox = unpacked();
    fs::copy(lower(&sandbox, "one"), lower(&sandbox, ONE)).unwrap();
    for args in [&[][..], &["--resume"]] {
        let told = told(&sandbox, args);
        assert!(told.contains("one: its name is already taken"), "{args:?}: {told}");
    }
}

#[test]
fn a_name_that_is_needed_here_is_told() {
    let sandbox = unpacked();
    std::os::unix::fs::symlink("one", lower(&sandbox, ".cryptbench.unfinished")).unwrap();
    for args in [&[][..], &["--resume"]] {
        let told = told(&sandbox, args);
        let expected = ".cryptbench.unfinished: its name is already taken";
        assert!(told.contains(expected), "{args:?}: {told}");
    }
}

#[test]
fn files_of_another_key_do_not_keep_others_from_being_opened() {
    let sandbox = unpacked();
    let mut other = fs::read(lower(&sandbox, "one")).unwrap();
    let signature = b"\xd9\xe0\xa7\xe3\x05\xf4\x5a\xfc";
    let at = other.windows(8).position(|part| part == signature).unwrap();
    other[at] ^= 1;
    fs::write(lower(&sandbox, "before"), &other).unwrap();
    let told = told(&sandbox, &[]);
    assert!(told.contains("before: it needs the key d8e0a7e305f45afc"), "{told}");
}

#[test]
fn what_was_not_whole_before_is_told_again_when_going_on() {
    let sandbox = unpacked();
    let file = fs::File::options().write(true).open(lower(&sandbox, "söme dir/4097")).unwrap();
    file.set_len(12288).unwrap();
    let partial = sandbox.target().join("out.partial/söme dir");
    fs::create_dir_all(&partial).unwrap();
    fs::set_permissions(partial.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(partial.join("4097.partial"), vec![0; 4096]).unwrap();
    let told = told(&sandbox, &["--resume"]);
    assert!(told.contains("4096 of 4097 bytes are present; the readable part is in"), "{told}");
}

#[test]
fn a_tree_that_is_too_deep_is_told_as_such() {
    let sandbox = unpacked();
    let deep = lower(&sandbox, &["d"; 500].join("/"));
    fs::create_dir_all(&deep).unwrap();
    fs::copy(lower(&sandbox, "one"), deep.join("one")).unwrap();
    let told = told(&sandbox, &[]);
    assert!(told.contains("nested in more than 400 directories"), "{told}");
    let json = ok(&sandbox, &["info", "plain-names/lower", "--json"]);
    assert!(json.contains("nested in more than 400 directories"), "{json}");
}

#[test]
fn a_strangers_directory_does_not_fill_the_screen() {
    let sandbox = unpacked();
    for number in 0..30 {
        fs::write(lower(&sandbox, &format!("plain {number}")), "never encrypted").unwrap();
    }
    let said = ok(&sandbox, &["info", "plain-names/lower"]);
    assert_eq!(said.matches("never encrypted").count(), 0);
    assert_eq!(said.matches("plain-names").count() + said.matches(": it is not").count(), 21);
    assert!(said.contains("10 more"), "{said}");
    let said = ok(&sandbox, &["info", "plain-names/lower", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["problems"].as_array().unwrap().len(), 20);
    assert_eq!(json["more_problems"], 10);
}
