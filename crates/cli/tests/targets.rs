//! Files and devices as targets: refused for each reason there is, with everything on them left as it was, and
//! overwritten only as far as was said.

mod sandbox;

use std::fs;
use std::path::Path;
use std::process::Command;

use cryptbench_record::Record;
use sandbox::disk::{Loop, Mount, did, hash, images};
use sandbox::{Sandbox, skipped, text};

/// The run is refused with these words and this exit code, and the device is what it was.
fn refused(s: &Sandbox, disk: &Loop, more: &[&str], code: i32, words: &[&str]) {
    let before = disk.hash();
    let mut args = s.tiny(&[&disk.device]);
    args.extend(more);
    let done = s.run(&args);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(code), "{more:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{more:?}: no {word:?} in: {said}");
    }
    assert_eq!(disk.hash(), before, "{more:?} has changed the device: {said}");
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

fn measured(s: &Sandbox, args: &[&str]) -> Record {
    let mut args = s.tiny(args);
    args.push("--json");
    let done = s.run(&args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn a_device_must_be_named_twice() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let Some(other) = Loop::new(dir.path(), "other", 16) else { return };
    refused(&s, &disk, &[], 3, &["nothing that exists is overwritten", "--destroy", "64 MiB"]);
    refused(&s, &disk, &["--destroy", &other.device], 3, &["named again", "--destroy"]);
    refused(&s, &disk, &["--destroy", "/dev/null"], 3, &["--destroy"]);
    let both = ["--destroy", &disk.device, "--destroy", &other.device];
    refused(&s, &disk, &both, 3, &["is not what this run would overwrite"]);
    // A directory is not overwritten: the word was meant for something else.
    let done = s.run(&s.tiny(&[".", "--destroy", &disk.device]));
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("not what this run"), "{}", text(&done.stderr));
}

#[test]
fn what_a_device_holds_must_be_named() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    if !disk.has_ext4() {
        return;
    }
    let destroy = ["--destroy", &disk.device];
    refused(&s, &disk, &[], 3, &["ext4", "--yes-erase ext4"]);
    refused(&s, &disk, &destroy, 3, &["holds ext4", "--yes-erase ext4"]);
    let with = |name| [&destroy[..], &["--yes-erase", name]].concat();
    refused(&s, &disk, &with("xfs"), 3, &["holds ext4"]);
    refused(&s, &disk, &with("ext4,xfs"), 3, &["no signature \"xfs\""]);
    // Nothing is done in a dry run, which refuses as the run does.
    refused(&s, &disk, &[&destroy[..], &["--dry-run"]].concat(), 3, &["holds ext4"]);
    let before = disk.hash();
    let done = s.run(&s.tiny(&[&[disk.device.as_str(), "--dry-run"], &with("ext4")[..]].concat()));
    let said = text(&done.stdout);
    assert!(done.status.success() && said.contains("overwritten"), "{said}");
    assert_eq!(disk.hash(), before);
}

#[test]
fn a_device_in_use_is_refused_by_its_use() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let all = ["--destroy", &disk.device, "--yes-erase", "ext4"];
    if disk.has_ext4() {
        let point = dir.path().join("mounted here");
        // Read-only, so that mounting changes nothing.
        let Some(mount) = Mount::new(&["-o", "ro", &disk.device], &point) else { return };
        let at = format!("mounted at {}", point.display());
        refused(&s, &disk, &all, 3, &["in use", &at, "umount"]);
        drop(mount);
    }
    {
        let Some(upper) = Loop::over(&disk.device, &[]) else { return };
        let words = ["the loop device", &upper.device, "losetup --detach"];
        refused(&s, &disk, &all, 3, &words);
    }
    let swap = ["--destroy", &disk.device, "--yes-erase", "swap"];
    if did("mkswap", &[&disk.device]) && did("swapon", &[&disk.device]) {
        refused(&s, &disk, &swap, 3, &["swaps to", "swapoff"]);
        assert!(did("swapoff", &[&disk.device]));
    } else {
        skipped("no swap can be switched on here");
    }
}

#[test]
fn a_mounted_partition_keeps_its_disk_and_not_its_neighbour() {
    let (s, dir) = (Sandbox::new(), images());
    let image = dir.path().join("disk");
    // Two partitions of 24 MiB in a table as MS-DOS has it.
    let mut table = vec![0; 64 << 20];
    for (i, start) in [2048_u32, 2048 + 49152].into_iter().enumerate() {
        let entry = &mut table[446 + 16 * i..][..16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..].copy_from_slice(&49152_u32.to_le_bytes());
    }
    table[510..512].copy_from_slice(&[0x55, 0xaa]);
    fs::write(&image, table).unwrap();
    let Some(disk) = Loop::over(&image.display().to_string(), &["--partscan"]) else { return };
    let part = |number: u32| format!("{}p{number}", disk.device);
    for (number, start) in [(1, "2048"), (2, "51200")] {
        let name = part(number).replace("/dev/", "");
        if !Path::new("/sys/class/block").join(&name).exists() {
            // A kernel that reads no tables takes partitions by name.
            did("addpart", &[&disk.device, &number.to_string(), start, "49152"]);
        }
        let Ok(dev) = fs::read_to_string(format!("/sys/class/block/{name}/dev")) else {
            return skipped("loop devices take no partitions here");
        };
        if !Path::new(&part(number)).exists() {
            let (major, minor) = dev.trim().split_once(':').unwrap();
            did("mknod", &[&part(number), "b", major, minor]);
        }
    }
    if !did("mkfs.ext4", &["-q", "-F", &part(1)]) {
        return skipped("no mkfs.ext4 (apt install e2fsprogs)");
    }
    let Some(mount) = Mount::new(&["-o", "ro", &part(1)], &dir.path().join("part")) else { return };
    let whole = ["--destroy", &disk.device, "--yes-erase", "dos"];
    refused(&s, &disk, &whole, 3, &[&format!("{} is mounted at", part(1))]);
    let first = hash(&fs::read(part(1)).unwrap());
    let record = measured(&s, &[&part(2), "--destroy", &part(2), "--data-unit", "512"]);
    assert_eq!(record.target.kind.as_deref(), Some("partition"));
    assert_eq!(hash(&fs::read(part(1)).unwrap()), first, "the neighbour has changed");
    drop(mount);
    // The table is a signature too.
    refused(&s, &disk, &["--destroy", &disk.device], 3, &["holds dos", "--yes-erase dos"]);
}

#[test]
fn the_root_file_system_is_never_a_target() {
    let s = Sandbox::new();
    // Whatever is wrong, a dry run writes nothing.
    let found = Command::new("findmnt").args(["-no", "SOURCE", "/"]).output();
    let Ok(found) = found else { return skipped("no findmnt") };
    let source = text(&found.stdout).trim().to_owned();
    let is_device = fs::metadata(&source)
        .is_ok_and(|m| std::os::unix::fs::FileTypeExt::is_block_device(&m.file_type()));
    if !is_device || !rustix::process::geteuid().is_root() {
        return skipped("the root file system lies on no device that this user can see");
    }
    let done = s.run(&["run", &source, "--destroy", &source, "--dry-run"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("the root file system of this machine lies on"), "{said}");
}

#[test]
fn what_needs_a_file_system_is_refused_on_a_device() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let with = |more: &[&str]| {
        let all = [&["--destroy", disk.device.as_str()], more].concat();
        refused(&s, &disk, &all, 2, &["is a device, and"]);
    };
    with(&["--profile", "small-files"]);
    with(&["--profile", "mount"]);
    with(&["--system", "builtin-mounted"]);
    let all = ["--destroy", disk.device.as_str(), "--size", "65MiB"];
    let mut args = vec!["run", &disk.device];
    args.extend(all);
    let done = s.run(&args);
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("64 MiB and not 65 MiB"), "{}", text(&done.stderr));
}

#[test]
fn a_device_that_was_given_is_measured_and_overwritten_no_further_than_said() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    if !disk.has_ext4() {
        return;
    }
    let tail = |disk: &Loop| hash(&fs::read(disk.path()).unwrap()[16 << 20..]);
    let (before, rest) = (disk.hash(), tail(&disk));
    let out = s.out().join("record").display().to_string();
    let record = measured(
        &s,
        &[&disk.device, "--destroy", &disk.device, "--yes-erase", "ext4", "--output", &out],
    );
    let target = &record.target;
    assert_eq!(
        (target.kind.as_deref(), target.directory.as_str()),
        (Some("device"), &*disk.device)
    );
    assert_eq!(target.erased, ["ext4"]);
    let image = dir.path().join("disk").display().to_string();
    assert_eq!(target.backing_file.as_deref(), Some(&*image));
    assert_eq!(target.scratch.size_bytes, 16 << 20);
    assert!(target.engine.direct);
    assert!(record.notes.iter().any(|n| n.contains("overwritten") && n.contains(&image)));
    let ciphers = record.plan.arms.iter().filter(|a| a.cipher.is_some()).count();
    assert!(ciphers >= 2 && record.trials.len() > 8 * 5 * 6, "{}", record.trials.len());
    assert_ne!(disk.hash(), before);
    assert_eq!(tail(&disk), rest, "bytes behind the extent have changed");
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains("the first 16 MiB of the device"), "the page says what was measured");
    // It is random now, which is no signature; all of it, where that is less than the usual size.
    let args = ["run", &disk.device, "--destroy", &disk.device, "--dry-run"];
    let done = s.run(&args);
    assert!(text(&done.stdout).contains("64 MiB (all of it"), "{}", text(&done.stdout));
}

#[test]
fn a_file_that_exists_is_overwritten_only_when_named_again() {
    let s = Sandbox::new();
    let file = s.target().join("precious");
    let content: Vec<u8> = (0..24_u32 << 20).map(|i| (i / 7) as u8).collect();
    fs::write(&file, &content).unwrap();
    let done = s.run(&s.tiny(&["precious"]));
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("--destroy"), "{}", text(&done.stderr));
    assert_eq!(fs::read(&file).unwrap(), content);
    let mut args = s.tiny(&["precious", "--destroy", "../target/precious", "--json"]);
    args.extend(["--cipher", "aes-256-xts"]);
    let done = s.run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let record: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(record.target.kind.as_deref(), Some("file"));
    let after = fs::read(&file).unwrap();
    assert_eq!(after.len(), content.len(), "it is neither removed nor cut");
    assert_ne!(after[..16 << 20], content[..16 << 20]);
    assert_eq!(after[16 << 20..], content[16 << 20..]);
    assert_eq!(s.left_behind(), [file]);
}
