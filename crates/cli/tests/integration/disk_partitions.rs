//! Partitions that a run makes on a disk to be overwritten: removed after it, and after kill -9 by cleanup.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::sandbox::disk::{Loop, Mount, did, images};
use crate::sandbox::waiting::wait_for_trials;
use crate::sandbox::{Sandbox, skipped, text};
use crate::targets::refused;

const MIB: usize = 1 << 20;

/// A disk for two systems, with something at its end.
fn disk(directory: &Path) -> Option<Loop> {
    let disk = Loop::new(directory, "disk", 320)?;
    let file = fs::File::options().write(true).open(disk.path()).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; MIB], 319 * MIB as u64).unwrap();
    file.sync_all().unwrap();
    Some(disk)
}

fn partitions(disk: &Loop) -> Vec<String> {
    let name = disk.device.replace("/dev/", "");
    let entries = fs::read_dir(format!("/sys/block/{name}")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|other| other.starts_with(&format!("{name}p"))).collect()
}

/// Neither partitions nor their table, and no mount of one; the end of the disk is untouched.
fn is_as_before(disk: &Loop) {
    assert_eq!(partitions(disk), [""; 0]);
    let bytes = fs::read(disk.path()).unwrap();
    assert!(bytes[..MIB].iter().all(|byte| *byte == 0), "a table is left");
    assert!(bytes[319 * MIB..].iter().all(|byte| *byte == 7), "the end was written to");
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(&format!("{}p", disk.device)), "{mounts}");
}

const MOUNTED: [&str; 4] = ["--system", "builtin-mounted", "--set", "on=partition"];

#[test]
fn a_disk_gets_partitions_for_a_run_and_loses_them() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = disk(dir.path()) else { return };
    let destroy = [disk.device.as_str(), "--destroy", &disk.device, "--data-unit", "512"];
    let dry = s.run(&s.tiny(&[&destroy[..], &MOUNTED, &["--dry-run"]].concat()));
    let said = text(&dry.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(dry.status.success() && said.contains("3 partitions are made there"), "{said}");
    is_as_before(&disk);
    let record = s.measured(&[&destroy[..], &MOUNTED].concat());
    is_as_before(&disk);
    let ids: Vec<_> = record.plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    for id in ["builtin-mounted/null/on=partition", "builtin-mounted/aes-256-xts/512/on=partition"]
    {
        assert!(ids.contains(&id), "{ids:?}");
        assert!(record.trials.iter().any(|trial| trial.arm == id), "{id} was not measured");
    }
    assert!(record.target.engine.direct);
    assert!(record.notes.iter().any(|note| note.contains("3 partitions are made there")));
    let all = record.notes.join("\n");
    assert!(all.contains("Stored in a different region from plain storage"), "{all}");
    assert!(!all.contains("could not be removed"), "{all}");
    // A file system on the partition, and a container in it.
    let inside = ["--system", "builtin-mounted", "--set", "on=container-in-partition"];
    let large = Loop::new(dir.path(), "large", 512).unwrap();
    let destroy = [large.device.as_str(), "--destroy", &large.device, "--data-unit", "512"];
    let record = s.measured(&[&destroy[..], &inside].concat());
    assert!(record.trials.iter().any(|trial| trial.arm.ends_with("on=container-in-partition")));
    assert_eq!(partitions(&large), [""; 0]);
}

#[test]
fn kill_9_leaves_partitions_that_cleanup_removes() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = disk(dir.path()) else { return };
    let out = s.out().display().to_string();
    let long = ["--size", "16MiB", "--trial", "20ms", "--budget", "90s", "--precision", "0.01%"];
    let start = || {
        let own = ["run", &disk.device, "--destroy", &disk.device, "--output", &out];
        let args = [&own[..], &MOUNTED, &["--data-unit", "512"], &long].concat();
        s.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut run = start();
    wait_for_trials(&mut run, &s.out(), 20);
    assert!(partitions(&disk).len() >= 3, "{:?}", partitions(&disk));
    // Nobody else may use the disk meanwhile.
    let other = s.run(&["run", &disk.device, "--destroy", &disk.device, "--dry-run"]);
    assert_eq!(other.status.code(), Some(3), "{}", text(&other.stderr));
    run.kill().unwrap();
    run.wait().unwrap();
    let cleaned = s.run(&["cleanup"]);
    let said = text(&cleaned.stdout) + &text(&cleaned.stderr);
    assert!(cleaned.status.success() && said.contains(&disk.device), "{said}");
    is_as_before(&disk);
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    // Moments of the set-up.
    for i in 0..12_u64 {
        let _ = fs::remove_dir_all(s.out());
        let mut run = start();
        std::thread::sleep(std::time::Duration::from_millis(i * i * 12));
        run.kill().unwrap();
        run.wait().unwrap();
        let cleaned = s.run(&["cleanup"]);
        assert!(cleaned.status.success(), "{i}: {}", text(&cleaned.stderr));
        is_as_before(&disk);
        assert!(s.left_behind().is_empty(), "{i}: {:?}", s.left_behind());
    }
}

#[test]
fn a_disk_that_must_not_be_partitioned_is_refused() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = disk(dir.path()) else { return };
    refused(&s, &disk, &MOUNTED, 3, &["overwritten only if you specify the path again"]);
    let named = ["--destroy", disk.device.as_str()];
    let destroy = [&named[..], &MOUNTED].concat();
    {
        let Some(upper) = Loop::over(&disk.device, &[]) else { return };
        refused(&s, &disk, &destroy, 3, &["in use", &upper.device]);
    }
    let larger = ["run", &disk.device, "--size", "200MiB", "--dry-run"];
    let done = s.run(&[&larger[..], &destroy].concat());
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("has 320 MiB") && said.contains("partitions for these"), "{said}");
    let file = dir.path().join("a file");
    fs::File::create(&file).unwrap().set_len(320 << 20).unwrap();
    let at = file.display().to_string();
    let named = [at.as_str(), "--destroy", &at];
    let done = s.run(&s.tiny(&[&named[..], &MOUNTED].concat()));
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("only a disk can have one"), "{said}");
    fs::remove_file(file).unwrap();
    // A partition that the kernel knows, without any table.
    if !did("addpart", &[&disk.device, "1", "204800", "65536"]) {
        return skipped("loop devices take no partitions here");
    }
    refused(&s, &disk, &destroy, 3, &["has partitions", "wipefs --all"]);
    let first = format!("{}p1", disk.device);
    if did("mkfs.ext4", &["-q", "-F", &first])
        && let Some(mount) = Mount::new(&["-o", "ro", &first], &dir.path().join("mounted"))
    {
        refused(&s, &disk, &destroy, 3, &["is mounted at"]);
        drop(mount);
    }
    assert!(did("delpart", &[&disk.device, "1"]));
}
