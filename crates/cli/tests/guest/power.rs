//! Data acknowledged before a power cut is still there afterwards.
//!
//! The disk is a file of the host and survives the guest. It contains everything that the guest's block layer
//! passed on and that was reported as complete. What was only in the guest's page cache is lost.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::machine::{Guest, first_difference, noise};
use crate::sandbox::{nightly, text};

const RECORD: usize = 4096;

/// What the file system needs on the host.
const E2FSPROGS: &[(&str, &str)] = &[
    ("/sbin/mkfs.ext4", "e2fsprogs"),
    ("/sbin/e2fsck", "e2fsprogs"),
    ("/sbin/debugfs", "e2fsprogs"),
];

/// A volume with ext4 on a disk of the guest. Numbered records are appended to a file in it; when fsync has
/// returned, the number is reported to the host, also bypassing the guest's cache. Meanwhile another file is
/// written without fsync, so that the power cut comes in the middle of writes.
const SCRIPT: &str = r#"
mkdir /run/disk /run/volume
if [ "$place" = file ]; then
    mkfs.ext4 -q -F /dev/ubda
    mount /dev/ubda /run/disk
    volume=/run/disk/v
    ./cryptbench volume create $volume $size $options --passphrase-file old --mkfs ext4
else
    volume=/dev/ubda
    ./cryptbench volume create $volume --destroy $volume $options --passphrase-file old --mkfs ext4
fi
./cryptbench volume mount $volume /run/volume $unlock --passphrase-file old
sync
(while dd if=/dev/urandom of=/run/volume/unsynced bs=60k count=40 status=none; do :; done) &
number=0
while :; do
    printf '%-4095s\n' "record $number" |
        dd of=/run/volume/records bs=4096 iflag=fullblock oflag=append conv=notrunc,fsync status=none
    echo $number | dd of=acknowledged oflag=append,sync conv=notrunc status=none
    number=$((number + 1))
done
"#;

/// A volume and its location.
struct Case {
    place: &'static str,
    options: &'static str,
    unlock: &'static str,
}

const CASES: &[Case] = &[
    // The volume is not filled, so blocks are allocated when they are written, and only a flush makes that
    // permanent.
    Case { place: "file", options: "--format luks2 --unlock-time 1ms", unlock: "" },
    Case {
        place: "file",
        options: "--format veracrypt --pim 1 --quick",
        unlock: "--pim 1 --prf sha-512",
    },
    Case { place: "device", options: "--format luks1 --unlock-time 1ms", unlock: "" },
    Case { place: "device", options: "--format luks2 --unlock-time 1ms", unlock: "" },
];

/// The cases of this run, each with its seed. In the quick tier the first one is in a file and the last one on a
/// device.
fn cases() -> Box<dyn Iterator<Item = (&'static Case, u64)>> {
    if cryptbench_prove::is_asked() {
        let case = |seed: u64| (&CASES[seed as usize % CASES.len()], seed);
        return Box::new(cryptbench_prove::seeds(1).map(case));
    }
    let every = if nightly() { 1 } else { CASES.len() - 1 };
    Box::new(CASES.iter().zip(1..).step_by(every))
}

#[test]
fn no_acknowledged_write_is_lost_in_a_power_cut() {
    for (case, seed) in cases() {
        let Some(guest) = Guest::new(E2FSPROGS) else { return };
        let random = noise(seed, 2);
        let (records, wait) = (5 + usize::from(random[0] % 40), u64::from(random[1] % 100));
        let Some(acknowledged) = cut(&guest, case, records, Duration::from_millis(wait)) else {
            panic!("seed {seed}: the guest ended before the power was cut")
        };
        check(&guest, case, seed, acknowledged);
        let what = case.options.split(' ').nth(1).unwrap_or_default();
        cryptbench_prove::count(1, &format!("cuts of a guest with {what} on a {}", case.place));
    }
}

/// Lets the guest write until this many records are acknowledged, and for `wait` longer. Returns the number of
/// acknowledged records at that time.
fn cut(guest: &Guest, case: &Case, records: usize, wait: Duration) -> Option<usize> {
    let Case { place, options, unlock } = case;
    guest.bring_cryptbench();
    guest.write("old", b"old secret");
    guest.write("acknowledged", "");
    guest.disk("disk", 64 << 20);
    let script = format!(
        "place={place} size='--size 40MiB' options='{options}' unlock='{unlock}'\n{SCRIPT}"
    );
    let mut running = guest.start(&["disk"], &script);
    let acknowledged = || {
        let lines = text(&guest.read("acknowledged"));
        // The last line may be incomplete.
        lines.split_inclusive('\n').filter(|line| line.ends_with('\n')).count()
    };
    while acknowledged() < records {
        if !running.is_up() {
            eprintln!("{}", running.cut_power());
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(wait);
    running.cut_power();
    Some(acknowledged())
}

/// Both file systems are intact after their journals are replayed, and the records are there.
fn check(guest: &Guest, case: &Case, seed: u64, acknowledged: usize) {
    let what = format!("seed {seed}: {} on a {}", case.options, case.place);
    let volume = match case.place {
        "file" => {
            sound(&guest.path("disk"), &what);
            take_out(guest, "disk", "/v", "v");
            "v"
        }
        _ => "disk",
    };
    guest.volume(&format!("dump {volume} plain {} --passphrase-file old", case.unlock));
    sound(&guest.path("plain"), &what);
    take_out(guest, "plain", "/records", "records");
    let records = guest.read("records");
    let expected: String =
        (0..acknowledged).map(|n| format!("{:<1$}\n", format!("record {n}"), RECORD - 1)).collect();
    let there = &records[..records.len().min(expected.len())];
    let differs = first_difference(there, expected.as_bytes()).map(|byte| byte / RECORD);
    assert_eq!(differs, None, "{what}: first lost record of {acknowledged}");
}

/// Replays the journal; afterwards there is nothing to repair.
fn sound(image: &Path, what: &str) {
    for options in ["-p", "-fn"] {
        let output = Command::new("/sbin/e2fsck").arg(options).arg(image).output().unwrap();
        // 1: the journal was replayed, or orphaned inodes were removed.
        let good = matches!((options, output.status.code()), (_, Some(0)) | ("-p", Some(1)));
        assert!(good, "{what}: e2fsck {options}: {}{}", text(&output.stdout), text(&output.stderr));
    }
}

/// Copies a file from an ext4 image.
fn take_out(guest: &Guest, image: &str, file: &str, to: &str) {
    let command = format!("dump {file} {}", guest.path(to).display());
    let output =
        Command::new("/sbin/debugfs").args(["-R", &command]).arg(guest.path(image)).output();
    let output = output.unwrap();
    assert!(fs::exists(guest.path(to)).unwrap(), "{file}: {}", text(&output.stderr));
}
