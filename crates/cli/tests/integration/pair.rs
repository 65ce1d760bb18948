//! Compares two locations that the user has prepared, as they are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::disk::{Loop, Mount, did, images};
use crate::sandbox::{Sandbox, skipped, text};
use cryptbench_record::ArmRole;

/// Every file and directory below `path`.
fn all_below(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(all_below(&entry.path()));
        }
    }
    found.sort();
    found
}

/// A separate mounted disk.
fn disk(dir: &Path, name: &str) -> Option<(Mount, Loop, PathBuf)> {
    let disk = Loop::new(dir, &format!("{name}.img"), 160)?;
    if !disk.has_ext4() {
        return None;
    }
    let point = dir.join(name);
    let mount = Mount::new(&[&disk.device], &point)?;
    Some((mount, disk, point))
}

#[test]
fn plain_and_gocryptfs_on_disks_of_their_own() {
    let (s, dir) = (Sandbox::new(), images());
    let Some((_a, first, plain)) = disk(dir.path(), "plain") else { return };
    let Some((_b, second, below)) = disk(dir.path(), "below") else { return };
    let (store, shown, secret) =
        (below.join("store"), dir.path().join("shown"), dir.path().join("secret"));
    fs::create_dir_all(&store).unwrap();
    fs::create_dir_all(&shown).unwrap();
    fs::write(&secret, "not a secret\n").unwrap();
    let [store_at, shown_at, secret_at] =
        [&store, &shown, &secret].map(|p| p.display().to_string());
    let made =
        did("gocryptfs", &["-q", "-init", "-scryptn", "10", "-passfile", &secret_at, &store_at])
            && did("gocryptfs", &["-q", "-passfile", &secret_at, &store_at, &shown_at]);
    if !made {
        return skipped("gocryptfs does not work here (apt install gocryptfs)");
    }
    let mounted = Mount::at(&shown);
    fs::write(shown.join("mine"), "kept").unwrap();
    let before = (all_below(&plain), all_below(&store));
    let plain_at = plain.display().to_string();
    let record = s.measured(&["--pair", &plain_at, &shown_at, "--pair-name", "my gocryptfs"]);

    let arms: Vec<_> = record.plan.arms.iter().map(|a| (a.label.as_str(), a.role)).collect();
    assert_eq!(
        arms,
        [
            ("plain", ArmRole::Plain),
            ("plain again", ArmRole::PlainAgain),
            ("my gocryptfs", ArmRole::Encrypted)
        ]
    );
    let paired = record.target.paired.as_ref().unwrap();
    assert_eq!((paired.filesystem.as_str(), paired.kind.as_str()), ("fuse.gocryptfs", "directory"));
    assert_eq!(paired.source, store_at);
    // Each arm's own device was counted: gocryptfs wrote nothing to the disk of plain storage.
    let name = |disk: &Loop| disk.device.replace("/dev/", "");
    let device_of = |d: &Option<cryptbench_record::Device>| d.as_ref().map(|d| d.name.clone());
    let counted = record.trials.iter().all(|t| t.block.is_none() || t.measured.device.is_some());
    if counted && device_of(&record.target.device) == Some(name(&first)) {
        assert_eq!(device_of(&paired.device), Some(name(&second)));
        for arm in &record.plan.arms {
            let written: u64 = record
                .trials
                .iter()
                .filter(|t| t.arm == arm.id && t.workload.contains("write"))
                .map(|t| t.measured.device.unwrap().written_bytes)
                .sum();
            assert!(written > 1 << 20, "{}: {written} bytes", arm.label);
        }
    } else {
        skipped(
            "images lie in memory, which counts nothing, or on a disk, whose counters both share",
        );
    }
    assert!(record.notes.iter().any(|n| n.contains("a difference between these devices")));
    let rounds =
        |arm: &str| record.trials.iter().filter(|t| t.arm == arm && t.block.is_some()).count();
    assert!(rounds("plain") > 0 && rounds("plain") == rounds("paired"));
    assert_eq!((all_below(&plain), all_below(&store)), before, "all that was made is gone");
    assert_eq!(fs::read(shown.join("mine")).unwrap(), b"kept");
    drop(mounted);
}

#[test]
fn places_that_are_no_pair_are_refused_or_warned_of() {
    let s = Sandbox::new();
    let [one, two] = ["one", "two"].map(|name| {
        let path = s.target().join(name);
        fs::create_dir(&path).unwrap();
        path.display().to_string()
    });
    fs::write(s.target().join("file"), vec![0; 1 << 20]).unwrap();
    let said = [
        &["--pair", &one][..],
        &["--pair", &one, &two, "--pair", &two, &one],
        &["--pair", &one, &two, "two/../two"],
        &["--pair", &one, "a=two", "a=two"],
        &["--pair", &one, "=two"],
        &["--pair", &one, &two, ".", "--pair-name", "x"],
        &["--pair", &one, "mistyped"],
        &["--pair-name", "x"],
        &["--pair", &one, "two/../one"],
        &["--pair", &one, "file", "--destroy", "file"],
        &["--pair", &one, &two, "--profile", "mount"],
    ]
    .map(|args| s.refused(&[&["run", "--size", "16MiB"], args].concat()));
    insta::assert_snapshot!(said.concat());
    // Nothing distinguishes these two.
    let done = s.run(&s.tiny(&["--pair", &one, &two, "--dry-run"]));
    let said = text(&done.stdout).replace("\n            ", " ");
    assert!(said.contains("are on the same mount"), "{said}");
    assert!(said.contains("paired with "), "{said}");
    assert!(fs::read_dir(&one).unwrap().next().is_none());
}

#[test]
fn one_directory_under_two_names_and_a_file_beside_a_device_are_no_pairs() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 32) else { return };
    let refused = |args: &[&str], words: &str| {
        let done = s.run(&s.tiny(args));
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    fs::write(s.target().join("file"), vec![0; 24 << 20]).unwrap();
    let device = disk.device.as_str();
    let pair = ["--pair", "file", device, "--destroy", "file", "--destroy", device];
    refused(&pair, "cannot be paired with each other");
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    fs::create_dir(&one).unwrap();
    let one_at = one.display().to_string();
    let Some(_mount) = Mount::new(&["--bind", &one_at], &two) else { return };
    refused(
        &["--pair", &one_at, &two.display().to_string()],
        "is both the plain and the encrypted location",
    );
}

#[test]
fn a_place_without_direct_io_takes_the_page_cache_for_both() {
    let (s, dir) = (Sandbox::new(), images());
    let point = dir.path().join("ramfs");
    if !rustix::process::geteuid().is_root() {
        return skipped("mounting needs root");
    }
    let Some(_mount) = Mount::new(&["-t", "ramfs", "none"], &point) else { return };
    let at = point.display().to_string();
    let plain = s.target().display().to_string();
    let done = s.run(&s.tiny(&["--pair", &plain, &at]));
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("does not support direct I/O") && said.contains("--buffered"), "{said}");
    assert!(s.left_behind().is_empty() && fs::read_dir(&point).unwrap().next().is_none());
    let record = s.measured(&["--pair", &plain, &at, "--buffered"]);
    assert!(!record.target.engine.direct);
    assert_eq!(record.plan.arms[2].label, format!("ramfs {at}"));
    assert!(fs::read_dir(&point).unwrap().next().is_none());
}

#[test]
fn two_devices_are_overwritten_when_both_are_named_again() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(a) = Loop::new(dir.path(), "a", 32) else { return };
    let Some(b) = Loop::new(dir.path(), "b", 24) else { return };
    let pair = ["--pair", &a.device, &b.device, "--destroy", &a.device];
    let zeros = (a.hash(), b.hash());
    let done = s.run(&s.tiny(&pair));
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains(&format!("--destroy {}", b.device)));
    assert_eq!((a.hash(), b.hash()), zeros);
    let record = s.measured(&[&pair[..], &["--destroy", &b.device]].concat());
    assert_eq!(record.target.kind.as_deref(), Some("device"));
    assert_eq!(record.target.paired.unwrap().directory, b.device);
    assert_eq!(record.plan.arms[2].label, b.device);
    for disk in [&a, &b] {
        let bytes = fs::read(disk.path()).unwrap();
        assert!(bytes[..16 << 20].iter().any(|b| *b != 0), "{} was written", disk.device);
        assert!(bytes[16 << 20..].iter().all(|b| *b == 0), "{} behind its extent", disk.device);
    }
}

#[test]
fn without_an_open_device_there_is_nothing_in_use_to_measure() {
    let s = Sandbox::new();
    let refused = |args: &[&str], code: i32, words: &str| {
        let done = s.run(&s.tiny(args));
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    refused(&["--existing", "--system", "dm-crypt"], 2, "cannot be used with");
    refused(&["--existing", "--pair", ".", "."], 2, "cannot be used with");
    refused(&["--existing", "missing"], 3, "No such file");
    let open = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    if open.into_iter().any(|entry| entry.path().join("dm").exists()) {
        return skipped("devices of device mapper are open here");
    }
    refused(&["--existing"], 3, "no dm-crypt device is open");
    refused(&["--existing", "."], 3, "is not on one (none are open)");
    refused(&["--existing", "--profile", "mount"], 2, "--existing reads only existing data");
    assert!(s.left_behind().is_empty());
}

#[test]
fn several_places_are_arms_beside_each_other() {
    let s = Sandbox::new();
    let [plain, one, two] = ["plain", "one", "two"].map(|name| {
        let path = s.target().with_file_name(name);
        fs::create_dir(&path).unwrap();
        path.display().to_string()
    });
    let named = [format!("Best AES={one}"), format!("Best Serpent={two}")];
    let given = ["--pair", &plain, &named[0], &named[1]];
    let dry = s.run(&s.tiny(&[&given[..], &["--dry-run"]].concat()));
    let said = text(&dry.stdout);
    assert_eq!(said.lines().filter(|l| l.starts_with("paired with ")).count(), 2, "{said}");
    let record = s.measured(&given);
    let arms: Vec<_> = record.plan.arms.iter().map(|a| (a.id.as_str(), a.label.as_str())).collect();
    assert_eq!(
        arms[2..],
        [("paired/Best AES", "Best AES"), ("paired/Best Serpent", "Best Serpent")]
    );
    let places: Vec<_> =
        record.target.places().map(|p| (p.arm.as_str(), p.directory.as_str())).collect();
    assert_eq!(places, [("paired/Best AES", one.as_str()), ("paired/Best Serpent", two.as_str())]);
    for arm in &record.plan.arms {
        let rounds = record.trials.iter().filter(|t| t.arm == arm.id && t.block.is_some());
        assert!(rounds.count() > 0, "{}", arm.label);
    }
    for place in [&plain, &one, &two] {
        assert!(fs::read_dir(place).unwrap().next().is_none(), "{place} is as it was");
    }
    // A table with two records of it.
    fs::create_dir_all(s.out()).unwrap();
    let file = s.out().join("one.json");
    fs::write(&file, cryptbench_record::to_json(&record)).unwrap();
    let at = file.display().to_string();
    let done = s.run(&["compare", "--joint", &at, &at]);
    let said = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for part in ["Best AES", "Best: best cipher", "A  ", "B  "] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let tables = said.lines().filter(|line| !line.contains('/'));
    assert!(tables.into_iter().all(|line| line.chars().count() <= 80), "{said}");
    let csv = s.run(&["compare", "--joint", &at, &at, "--csv"]);
    assert!(text(&csv.stdout).lines().any(|l| l.starts_with("cipher,")), "{}", text(&csv.stdout));
    let json: serde_json::Value =
        serde_json::from_slice(&s.run(&["compare", "--joint", &at, &at, "--json"]).stdout).unwrap();
    assert_eq!(json["devices"].as_array().unwrap().len(), 2);
    assert_eq!(s.run(&["compare", "--joint", &at]).status.code(), Some(2));
    assert_eq!(s.run(&["compare", "--joint", &at, &at, "--arm", "plain"]).status.code(), Some(2));
}
