//! Every command of this program in README.md and docs/ runs as printed: runs only up to their plan, everything
//! else completely.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cryptbench_system::Availability;

use crate::sandbox::disk::{Loop, did, images};
use crate::sandbox::{Sandbox, text};
use crate::transcripts::root;

/// Runs are only planned, and measurements in RAM that take seconds are shortened.
const SHIM: &str = r#"#!/bin/sh
case "$1" in
run) case " $* " in *" --dry-run "*) ;; *) set -- "$@" --dry-run ;; esac ;;
ciphers) exec "$CRYPTBENCH" "$@" --list ;;
kdf) exec "$CRYPTBENCH" "$@" --prf sha-512 --seconds 0.1 ;;
esac
exec "$CRYPTBENCH" "$@"
"#;

/// Commands that ask for a passphrase, never end or need a fleet. They have their own tests.
const ELSEWHERE: [&str; 3] = ["volume ", "serve", "fleet "];

/// Names that are different for each reader, and their replacements here. Longer names come first.
const STAND_INS: &[(&str, &str)] = &[
    ("\"/media/$USER/NAME\"", "one"),
    ("/media/me/backup", "one"),
    ("/mnt/on/that/drive", "one"),
    ("/mnt/disk/plain", "one"),
    ("=/home/you/vault", "=two"),
    ("/mnt/plain-partition", "one"),
    ("/mnt/luks-partition", "two"),
    ("/mnt/plain", "one"),
    ("/mnt/encrypted", "two"),
    ("/mnt/enc", "two"),
    ("/tank/plain", "one"),
    ("/tank/secret", "two"),
    ("=/mnt/a", "=two"),
    ("=/mnt/s", "=three"),
    ("=/mnt/b", "=four"),
    ("run /srv", "run one"),
    ("doctor /srv", "doctor one"),
    ("/dev/sdX1", "disk-one"),
    ("/dev/mapper/secret", "disk-two"),
    ("/dev/sdx", "disk-one"),
    ("8GiB", "8MiB"),
    ("OLD NEW", "record.json record.json"),
    ("compare A B", "compare record.json record.json"),
    ("RUN1 RUN2 RUN3 RUN4 RUN5", "record.json"),
    ("RECORD", "record.json"),
    ("history show 3", "history show 1"),
    ("history remove 3", "history remove 1"),
];

/// Files that readers are assumed to have, and the fixtures used instead.
const FILES: [(&str, &str); 7] = [
    ("record.json", "crates/cli/tests/fixtures/builtin-only.json"),
    ("plain.txt", "crates/foreign/tests/fixtures/diskmark/cdm7.txt"),
    ("encrypted.txt", "crates/foreign/tests/fixtures/diskmark/cdm7.txt"),
    ("plain.log", "crates/foreign/tests/fixtures/dd/plain.log"),
    ("enc.log", "crates/foreign/tests/fixtures/dd/layered.log"),
    ("plain/1.log", "crates/foreign/tests/fixtures/dd/plain.log"),
    ("encrypted/1.log", "crates/foreign/tests/fixtures/dd/layered.log"),
];

const JOB: &str = "[reads]\nrw=randread\nbs=4k\nsize=16m\n";

/// The devices of commands that do not accept files, because only devices are measured read-only or checked for
/// contents.
const READ: &str = "/dev/sdX --read-only";
const ERASED: &str = "/dev/sdx --destroy /dev/sdx --yes-erase";

/// The commands of a page without comments, but with variable assignments and redirections.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(kind) };
            continue;
        }
        let command = match fence {
            Some("sh") => Some(line),
            Some("console") => line.strip_prefix("$ "),
            _ => None,
        };
        let words = command.and_then(|c| c.split(" #").next()).unwrap_or_default().trim();
        let program = words.split_whitespace().find(|word| *word != "sudo" && !word.contains('='));
        // The directories are needed for later output.
        if program == Some("cryptbench") || words.starts_with("mkdir -p ") {
            found.push(words.to_owned());
        }
    }
    found
}

/// The systems that a command names and that cannot run here.
fn missing(command: &str) -> BTreeSet<String> {
    let mut words = command.split_whitespace();
    let named = words
        .find(|word| matches!(*word, "--system" | "--systems"))
        .and_then(|_| words.next())
        .unwrap_or_default();
    let is_here = |name: &str| {
        let available = |s: Availability| matches!(s, Availability::Available(_));
        cryptbench_system::systems().iter().any(|s| s.name() == name && available(s.availability()))
    };
    let lacks_ublk = command.contains("transport=ublk") && !Path::new("/dev/ublk-control").exists();
    named
        .split(',')
        .filter(|n| !n.is_empty() && *n != "all" && !is_here(n))
        .map(str::to_owned)
        .chain(lacks_ublk.then(|| "builtin-mounted with transport=ublk".to_owned()))
        .collect()
}

fn reader() -> Sandbox {
    let sandbox = Sandbox::new();
    for directory in ["one", "two", "three", "four", "plain", "encrypted"] {
        fs::create_dir(sandbox.target().join(directory)).unwrap();
    }
    for (name, fixture) in FILES {
        fs::copy(root().join(fixture), sandbox.target().join(name)).unwrap();
    }
    for disk in ["disk-one", "disk-two"] {
        fs::File::create(sandbox.target().join(disk)).unwrap().set_len(64 << 20).unwrap();
    }
    fs::write(sandbox.target().join("job.fio"), JOB).unwrap();
    fs::write(sandbox.target().join("fio.json"), fio()).unwrap();
    sandbox.keep_run(&root().join("crates/cli/tests/fixtures/readme.json"));
    sandbox
}

/// A result of fio that matches a workload of `quick`.
fn fio() -> String {
    let all = root().join("crates/foreign/tests/fixtures/fio/plain");
    let mut files: Vec<_> = fs::read_dir(all).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let text = fs::read_to_string(&files[0]).unwrap();
    let text =
        text.replace("\"128k\"", "\"1m\"").replace("\"iodepth\" : \"4\"", "\"iodepth\" : \"1\"");
    // The size of a request is determined from the transferred data, not from the job's options.
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    for job in result["jobs"].as_array_mut().unwrap() {
        for direction in ["read", "write"] {
            let requests = job[direction]["io_bytes"].as_u64().unwrap() >> 20;
            job[direction]["total_ios"] = requests.into();
        }
    }
    result.to_string()
}

/// The reason why the command does not work as printed.
fn fault(sandbox: &Sandbox, disk: Option<&Loop>, command: &str) -> Option<String> {
    // Commands after a pipe look for figures, which a plan does not have.
    let command = command.split(" | ").next().unwrap_or_default();
    let mut line = command.to_owned();
    if line.contains(READ) || line.contains(ERASED) {
        // `Loop::new` has printed why there is no device.
        line = line.replace("/dev/sdX", &disk?.device).replace("/dev/sdx", &disk?.device);
    }
    let line = STAND_INS.iter().fold(line, |line, (theirs, ours)| line.replace(theirs, ours));
    let done = sandbox.shell(SHIM, &line);
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    let missing = missing(command);
    if command.contains("--existing") && done.status.code() == Some(3) {
        let why = ["dm-crypt", "device mapper", "root"];
        return (!why.iter().any(|word| said.contains(word))).then(|| format!("{command}\n{said}"));
    }
    let fine = match missing.is_empty() {
        true => done.status.success(),
        // It cannot be planned, and the message names the missing system.
        false => missing.iter().any(|name| said.contains(&format!("{name} is not available here"))),
    };
    (!fine).then(|| format!("{command}: {:?}, lacking {missing:?}\n{said}", done.status.code()))
}

fn pages(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
}

#[test]
fn each_command_in_the_documents_runs() {
    let mut documents = vec![root().join("README.md")];
    pages(&root().join("docs"), &mut documents);
    documents.sort();
    let images = images();
    let disk = Loop::new(images.path(), "disk", 64);
    // `--yes-erase` names the contents of the disk.
    assert!(disk.as_ref().is_none_or(|disk| did("mkfs.ext4", &["-q", "-F", &disk.device])));
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for document in documents {
        let page = fs::read_to_string(&document).unwrap();
        let sandbox = reader();
        for command in commands(&page) {
            let words = command.split("cryptbench ").nth(1).unwrap_or_default();
            if ELSEWHERE.iter().any(|own| words.starts_with(own)) || !seen.insert(command.clone()) {
                continue;
            }
            let name = document.file_name().unwrap().to_string_lossy().into_owned();
            faults.extend(fault(&sandbox, disk.as_ref(), &command).map(|f| format!("{name}: {f}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen.len() > 90, "only {} commands were found", seen.len());
}

#[test]
fn commands_are_found_without_their_comments() {
    let page = "```sh\nsudo cryptbench run a   # b\nX=1 cryptbench kdf\napt x\n```\n```console\n$ cryptbench c\nd\n```\n";
    assert_eq!(commands(page), ["sudo cryptbench run a", "X=1 cryptbench kdf", "cryptbench c"]);
}
