//! Files and devices as targets: they are refused for every documented reason without any change to them, and only
//! the stated part is overwritten.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sandbox::disk::{Loop, Mount, did, hash, images};
use crate::sandbox::{Sandbox, skipped, text};
use cryptbench_record::Record;

/// Expects that the run is refused with these words and this exit code, and that the device is unchanged.
pub fn refused(s: &Sandbox, disk: &Loop, more: &[&str], code: i32, words: &[&str]) {
    refused_as_of(s, disk, more, (code, words), &|| disk.hash());
}

/// The same; `state` returns the state of the device.
fn refused_as_of(
    s: &Sandbox,
    disk: &Loop,
    more: &[&str],
    (code, words): (i32, &[&str]),
    state: &dyn Fn() -> u64,
) {
    let before = state();
    let done = s.run(&s.tiny(&[&[disk.device.as_str()], more].concat()));
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(code), "{more:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{more:?}: no {word:?} in: {said}");
    }
    assert_eq!(state(), before, "{more:?} has changed the device: {said}");
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn a_device_must_be_named_twice() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let Some(other) = Loop::new(dir.path(), "other", 16) else { return };
    refused(&s, &disk, &[], 3, &["existing data is overwritten only if", "--destroy", "64 MiB"]);
    refused(&s, &disk, &["--destroy", &other.device], 3, &["specify the path again", "--destroy"]);
    refused(&s, &disk, &["--destroy", "/dev/null"], 3, &["--destroy"]);
    let both = ["--destroy", &disk.device, "--destroy", &other.device];
    refused(&s, &disk, &both, 3, &["is not a target that this run would overwrite"]);
    // A directory is not overwritten, so the option must have been meant for something else.
    let done = s.run(&s.tiny(&[".", "--destroy", &disk.device]));
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("not a target that this run"), "{}", text(&done.stderr));
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
    refused(&s, &disk, &destroy, 3, &["contains ext4", "--yes-erase ext4"]);
    let with = |name| [&destroy[..], &["--yes-erase", name]].concat();
    refused(&s, &disk, &with("xfs"), 3, &["contains ext4"]);
    refused(&s, &disk, &with("ext4,xfs"), 3, &["does not have the signature \"xfs\""]);
    // A dry run writes nothing, and refuses like the run.
    refused(&s, &disk, &[&destroy[..], &["--dry-run"]].concat(), 3, &["contains ext4"]);
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
        let words = ["loop device", &upper.device, "losetup --detach"];
        refused(&s, &disk, &all, 3, &words);
    }
}

/// Active swap; dropping it switches it off.
struct Swap<'a>(&'a Loop);

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        let off = did("swapoff", &[&self.0.device]);
        assert!(off || std::thread::panicking(), "{} is still swapped to", self.0.device);
    }
}

#[test]
fn a_device_that_is_swapped_to_is_refused() {
    // Not in memory, because the kernel cannot free memory by swapping to memory.
    let (s, dir) = (Sandbox::new(), tempfile::tempdir().unwrap());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let all = ["--destroy", &disk.device, "--yes-erase", "swap"];
    // The smallest possible size, in KiB.
    if !did("mkswap", &[&disk.device, "40"]) || !did("swapon", &[&disk.device]) {
        return skipped("no swap can be switched on here");
    }
    let _swap = Swap(&disk);
    // The kernel may write to the swap area at any time, so only the rest is compared.
    let state = || {
        let bytes = fs::read(disk.path()).unwrap();
        hash(&[&bytes[..4096], &bytes[40 << 10..]].concat())
    };
    refused_as_of(&s, &disk, &all, (3, &["is used as swap space", "swapoff"]), &state);
}

#[test]
fn a_mounted_partition_keeps_its_disk_and_not_its_neighbour() {
    let (s, dir) = (Sandbox::new(), images());
    let image = dir.path().join("disk");
    // Two partitions of 24 MiB in an MS-DOS partition table.
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
            // If the kernel does not read partition tables, adds each partition explicitly.
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
    let record = s.measured(&[&part(2), "--destroy", &part(2), "--data-unit", "512"]);
    assert_eq!(record.target.kind.as_deref(), Some("partition"));
    assert_eq!(hash(&fs::read(part(1)).unwrap()), first, "the neighbour has changed");
    drop(mount);
    // The table is also a signature, and overwriting it destroys the contents of its partitions as well.
    refused(&s, &disk, &["--destroy", &disk.device], 3, &["contains dos", "--yes-erase dos"]);
    let first = format!("{}: ext4", part(1));
    refused(&s, &disk, &whole, 3, &[&first, "--yes-erase ext4"]);
    refused(&s, &disk, &[], 3, &[&first, "--yes-erase dos --yes-erase ext4"]);
}

/// Expects that the dry run and the run refuse with the same words, and that nothing changes.
fn refused_in_both(s: &Sandbox, disk: &Loop, more: &[&str], words: &[&str]) {
    refused(s, disk, more, 3, words);
    refused(s, disk, &[more, &["--dry-run"]].concat(), 3, words);
}

#[test]
fn what_a_loop_device_stands_on_is_guarded_too() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(first) = Loop::new(dir.path(), "disk", 64) else { return };
    if !first.has_ext4() {
        return;
    }
    let image = dir.path().join("disk").display().to_string();
    let Some(beside) = Loop::over(&image, &[]) else { return };
    let Some(upper) = Loop::over(&first.device, &["--offset", "1048576"]) else { return };
    let destroy = |disk: &Loop| ["--destroy".to_owned(), disk.device.clone()];
    let erase = ["--yes-erase", "ext4"];
    let all = |disk: &Loop, words: &[&str]| {
        let destroy = destroy(disk);
        let more = [&destroy.each_ref().map(String::as_str)[..], &erase].concat();
        refused_in_both(&s, disk, &more, words);
    };
    all(&beside, &["loop device", &first.device]);
    all(&upper, &["loop device", &beside.device]);
    drop(beside);
    let point = dir.path().join("mounted");
    let Some(mount) = Mount::new(&["-o", "ro", &first.device], &point) else { return };
    all(&upper, &[&format!("{} is mounted at", first.device)]);
    drop(mount);
    // The root file system's disk.
    let found = Command::new("findmnt").args(["-no", "SOURCE", "/"]).output();
    let source = found.map(|found| text(&found.stdout).trim().to_owned()).unwrap_or_default();
    let words = ["--read-only", "--offset", "1048576", "--sizelimit", "67108864"];
    let is_device = fs::metadata(&source)
        .is_ok_and(|m| std::os::unix::fs::FileTypeExt::is_block_device(&m.file_type()));
    if !is_device {
        return skipped("the root file system lies on no device that this user can see");
    }
    // In a container, the control group may prevent even root from opening it.
    if let Err(e) = fs::File::open(&source) {
        return skipped(&format!("the root file system's disk cannot be opened: {e}"));
    }
    let Some(window) = Loop::over(&source, &words) else { return };
    let args = ["run", &window.device, "--destroy", &window.device, "--dry-run"];
    let said = text(&s.run(&args).stderr);
    assert!(said.contains("the root file system of this machine is on"), "{said}");
}

#[test]
fn a_signature_at_the_end_is_not_left_to_survive() {
    let (s, dir) = (Sandbox::new(), images());
    let image = dir.path().join("disk");
    let mut bytes = vec![0; 64 << 20];
    // md(4), version 0.90: 64 KiB before the end.
    bytes[(64 << 20) - (64 << 10)..][..12]
        .copy_from_slice(&[0xfc, 0x4e, 0x2b, 0xa9, 0, 0, 0, 0, 90, 0, 0, 0]);
    fs::write(&image, &bytes).unwrap();
    let Some(disk) = Loop::over(&image.display().to_string(), &[]) else { return };
    let all = ["--destroy", &disk.device, "--yes-erase", "linux_raid_member"];
    refused_in_both(&s, &disk, &all, &["would survive", "wipefs --all --types linux_raid_member"]);
}

#[test]
fn a_device_that_a_program_has_locked_or_claimed_is_refused() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let destroy = ["--destroy", &disk.device];
    // Locked in the same way as by `cryptbench volume mount --read-only`.
    let file = fs::File::open(disk.path()).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockShared).unwrap();
    refused_in_both(&s, &disk, &destroy, &["locked by another program"]);
    drop(file);
    let exclusive = rustix::fs::OFlags::EXCL.bits().cast_signed();
    let mut options = fs::File::options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true), exclusive);
    let claimed = options.open(disk.path()).unwrap();
    refused_in_both(&s, &disk, &destroy, &["already claimed in the kernel"]);
    drop(claimed);
}

#[test]
fn a_signal_before_the_first_byte_leaves_all_as_it_was() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let before = disk.hash();
    let mut command = s.command(&s.tiny(&[&disk.device, "--destroy", &disk.device]));
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Waits until the program watches for the signal, which is before it looks at anything.
    let status = format!("/proc/{}/status", run.id());
    let watched = || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
    };
    while !watched() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let pid = rustix::process::Pid::from_raw(run.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let done = run.wait_with_output().unwrap();
    assert_eq!(disk.hash(), before, "{}", text(&done.stderr));
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn a_file_whose_holes_do_not_fit_is_refused() {
    let (s, dir) = (Sandbox::new(), images());
    let point = dir.path().join("small");
    if !rustix::process::geteuid().is_root() {
        return skipped("mounting needs root");
    }
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "none"], &point) else {
        return;
    };
    let file = point.join("holes");
    fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
    let at = file.display().to_string();
    for more in [&[][..], &["--dry-run"]] {
        let done = s.run(&s.tiny(&[&[at.as_str(), "--destroy", &at], more].concat()));
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{said}");
        assert!(said.contains("holes"), "{said}");
    }
    let found = fs::metadata(&file).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::blocks(&found), 0, "it was written to");
}

#[test]
fn the_root_file_system_is_never_a_target() {
    let s = Sandbox::new();
    // A dry run writes nothing, whatever is wrong.
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
    assert!(said.contains("the root file system of this machine is on"), "{said}");
}

#[test]
fn what_needs_a_file_system_is_refused_on_a_device() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 64) else { return };
    let with = |more: &[&str]| {
        let all = [&["--destroy", disk.device.as_str()], more].concat();
        refused(&s, &disk, &all, 2, &["is a device, but"]);
    };
    with(&["--profile", "small-files"]);
    with(&["--profile", "mount"]);
    with(&["--system", "builtin-mounted"]);
    let all = ["--destroy", disk.device.as_str(), "--size", "65MiB"];
    let mut args = vec!["run", &disk.device];
    args.extend(all);
    let done = s.run(&args);
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("only 64 MiB, not 65 MiB"), "{}", text(&done.stderr));
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
    let record = s.measured(&[
        &disk.device,
        "--destroy",
        &disk.device,
        "--yes-erase",
        "ext4",
        "--output",
        &out,
    ]);
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
    assert!(ciphers >= 2 && record.trials.len() > 2 * 5 * 6, "{}", record.trials.len());
    assert_ne!(disk.hash(), before);
    assert_eq!(tail(&disk), rest, "bytes behind the extent have changed");
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains("the first 16 MiB of the device"), "the page says what was measured");
    // The device now contains random data, which is not a signature. All of it is used, because it is smaller than
    // the usual size.
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

#[test]
fn the_whole_surface_is_read_and_nothing_is_written() {
    let (s, dir) = (Sandbox::new(), images());
    let image = dir.path().join("disk");
    // The size is neither a multiple of 1 MiB nor of HD Tune's blocks.
    let size = (24 << 20) + (64 << 10) + 4096;
    let bytes: Vec<u8> = (0..size as u32).map(|i| (i / 7) as u8).collect();
    fs::write(&image, bytes).unwrap();
    let Some(disk) = Loop::over(&image.display().to_string(), &[]) else { return };
    // Other programs may use the device at the same time.
    let _mount = disk
        .has_ext4()
        .then(|| Mount::new(&["-o", "ro", &disk.device], &dir.path().join("mounted")));
    let before = disk.hash();
    let args = |more: &[&'static str]| -> Vec<String> {
        let own = ["run", &disk.device, "--read-only", "--trials", "1", "--trial", "10ms"];
        own.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    let run =
        |more: &[&'static str]| s.run(&args(more).iter().map(String::as_str).collect::<Vec<_>>());
    let done = run(&["--profile", "hdtune-whole", "--json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let record: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(disk.hash(), before, "something was written");
    assert!(record.target.only_read);
    assert!(record.notes.iter().any(|note| note.contains("was only read")), "{:?}", record.notes);
    let whole = size as u64 / 65536 * 65536;
    let surface = record.plan.workloads.iter().find(|w| w.id == "surface").unwrap();
    assert_eq!(surface.trial_bytes, Some(whole));
    assert!(record.plan.arms.iter().any(|arm| arm.system == "builtin"));
    for arm in &record.plan.arms {
        let (_, trial) = record.trials_of("surface", &arm.id)[0];
        assert_eq!(
            (trial.measured.bytes, trial.measured.ios),
            (whole, whole / 65536),
            "{}",
            arm.id
        );
        let samples = trial.measured.samples.as_ref().unwrap();
        let mut places = samples.offset.clone();
        places.sort_unstable();
        let blocks: Vec<u64> = (0..whole / 65536).map(|block| block * 65536).collect();
        assert_eq!(places, blocks, "{}: each block once", arm.id);
    }
    for (more, code, words) in [
        (&["--profile", "fsync"][..], 2, "--read-only reads only existing data"),
        (&["--profile", "hdtune-whole", "--system", "bindfs"], 2, "writes: omit this system"),
        (&["--verify"], 2, "cannot be used with"),
        (&["--profile", "hdtune"], 3, "only 24 MiB in total is available"),
    ] {
        let done = run(more);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{more:?}: {said}");
        assert!(said.contains(words), "{more:?}: {said}");
    }
    let done = s.run(&["run", ".", "--read-only", "--profile", "hdtune-whole"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(text(&done.stderr).contains("is not a block device"), "{}", text(&done.stderr));
    assert_eq!(disk.hash(), before);
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn study_a_reads_the_whole_surface_of_a_device() {
    let (s, dir) = (Sandbox::new(), images());
    let Some(disk) = Loop::new(dir.path(), "disk", 4096) else { return };
    for how in [&["--read-only"][..], &["--destroy", &disk.device]] {
        let done = s.run(&[&["run", "--study", "A", "--dry-run", &disk.device], how].concat());
        assert!(done.status.success(), "{how:?}: {}", text(&done.stderr));
        let said = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "Study A on this machine: atto, then hdtune-whole",
            "builtin is used instead (it needs a file system for its container, but the target is a device)",
            "4 GiB (the whole target",
        ] {
            assert!(said.contains(words), "{how:?}: {words} is not in {said}");
        }
    }
}
