//! A hostile machine leaves nothing where its records are fetched but regular files in its own directory.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cryptbench_fleet::{For, Plan};

use crate::programs::Programs;

const PLAN: &str = r#"
    nodes = ["node1", "node1-1"]
    systems = ["builtin"]
    budget = "1m"
    target = "/var/tmp"
    fleet = "/shared/fleet"
    fetch_to = "records"
"#;

/// Names that a machine may give its files; only the first of them is one of its records'.
const NAMES: [&str; 16] = [
    "node1-0a-1b-2c.json",
    "../node1-0a-1b-2c.json",
    "/node1-0a-1b-2c.json",
    "node1-/../../../x-1b-2c.json",
    "node2-0a-1b-2c.json",
    "node1-1-0a-1b-2c.json",
    "record.json",
    "node1-record.json",
    "node1-0a-$(touch canary)-2c.json",
    "node1-0a-1b-2c;touch canary;.json",
    "node1-0a-1b-2c.json\u{1b}[2J",
    ".node1-0a-1b-2c.json",
    "-rf",
    "node1-0a-1b-2c.sh",
    "node1-0a 1b-2c.json",
    "",
];

/// In the place of ssh: what a machine answers that may send whatever it likes. It sends an archive whatever is asked of tar.
const HOSTILE: &str = r#"
for word do command=$word; done
case $command in
exec*) ;;
cd*) cat "$PLACE/names" ;;
*endless*) cat /dev/zero ;;
cat*) echo record ;;
*tar*) cat "$PLACE/archive" ;;
esac
"#;

/// A member of a tar archive (POSIX, "ustar Interchange Format").
fn member(name: &str, mode: u32, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 512];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000\x000000000");
    put(124, format!("{:011o}", content.len()).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000root");
    put(297, b"root");
    put(329, b"0000001\x000000003");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    head.extend(content);
    head.resize(head.len().next_multiple_of(512), 0);
    head
}

fn archive() -> Vec<u8> {
    let members = [
        member("./node2-0a-1b-2c.json", 0o644, b'0', "", b"forged"),
        member("./setuid", 0o4755, b'0', "", b"#!/bin/sh"),
        member("./device", 0o666, b'3', "", b""),
        member("./link", 0o777, b'2', "/etc", b""),
        member("./pipe", 0o666, b'6', "", b""),
    ];
    [members.concat(), vec![0; 1024]].concat()
}

fn below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() { below(&path, found) } else { found.push(path) }
    }
}

/// Runs the script as `user`, or as who tests; what it said.
fn fetched(place: &Programs, names: &[&str], user: Option<u32>, most: &str) -> (bool, String) {
    fs::write(place.path().join("names"), names.join("\n") + "\n").unwrap();
    fs::write(place.path().join("archive"), archive()).unwrap();
    let plan = Plan::parse(PLAN, Path::new("fleet.toml")).unwrap();
    let script = plan.render(For::Ssh, Duration::from_secs(60)).unwrap().replace("268435456", most);
    let file = place.path().join("fetching");
    fs::write(&file, script).unwrap();
    let mut sh = place.command("sh");
    sh.arg(&file).env("PLACE", place.path());
    if let Some(user) = user {
        sh.uid(user).gid(user);
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let done = sh.output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// This user, and somebody else where this one is root.
fn users() -> Vec<Option<u32>> {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if is_root { vec![None, Some(65534)] } else { vec![None] }
}

#[test]
fn names_and_kinds_of_files_are_not_the_machines_to_choose() {
    for user in users() {
        let place = Programs::new(&[("ssh", HOSTILE)]);
        let (_, said) = fetched(&place, &NAMES, user, "268435456");
        let mut found = Vec::new();
        below(&place.path().join("records"), &mut found);
        found.sort();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(place.path()).unwrap()).collect();
        let own = ["records/node1/node1-0a-1b-2c.json", "records/node1-1/node1-1-0a-1b-2c.json"];
        assert_eq!(names, own.map(Path::new), "{said}");
        for path in &found {
            let meta = fs::symlink_metadata(path).unwrap();
            assert!(meta.file_type().is_file() && !meta.file_type().is_char_device());
            assert_eq!(meta.permissions().mode() & 0o7111, 0, "{path:?}");
            assert_eq!(fs::read_to_string(path).unwrap(), "record\n");
        }
        assert!(!place.holds("canary"));
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn a_machine_that_sends_without_end_is_cut_off_and_named() {
    let names = ["node1-0a-1b-2c.json", "node1-endless-1b-2c.json", "node1-later-1b-2c.json"];
    let place = Programs::new(&[("ssh", HOSTILE)]);
    let (is_well, said) = fetched(&place, &names, None, "1000000");
    assert!(!is_well && said.contains("node1: its records have more than 1000000 bytes"), "{said}");
    let mut found = Vec::new();
    below(&place.path().join("records/node1"), &mut found);
    assert_eq!(found.len(), 1, "{found:?}");
    // As is one whose list has no end.
    let place = Programs::new(&[(
        "ssh",
        &HOSTILE.replace("cd*) cat \"$PLACE/names\"", "cd*) cat /dev/zero"),
    )]);
    let (is_well, said) = fetched(&place, &[], None, "1000000");
    assert!(!is_well && said.contains("node1 failed"), "{said}");
    let mut found = Vec::new();
    below(&place.path().join("records/node1"), &mut found);
    let bytes: u64 = found.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(bytes <= 1_000_000, "{bytes}");
}
