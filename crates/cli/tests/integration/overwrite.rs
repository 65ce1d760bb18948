//! Commands that write headers refuse targets that do not belong to the volume, and change nothing.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sha2::{Digest as _, Sha256};

use crate::sandbox::{Sandbox, skipped, text};

const MIB: usize = 1 << 20;

/// Size of every volume and of all other contents in bytes: a LUKS2 header takes 16 MiB.
const SIZE: usize = 20 * MIB;

/// A sandbox with files that contain the passphrases.
struct Bench {
    sandbox: Sandbox,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { sandbox: Sandbox::new() };
        fs::write(bench.path("old"), "old secret").unwrap();
        fs::write(bench.path("new"), "new secret").unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    fn volume(&self, args: &[&str]) -> Output {
        self.sandbox.run(&[&["volume"], args].concat())
    }

    fn ok(&self, args: &[&str]) -> Output {
        let output = self.volume(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        output
    }

    /// Runs the command and expects that it refuses the target and changes nothing. Returns its output.
    fn refused(&self, args: &[&str]) -> String {
        let before = fs::read(self.path("v")).unwrap();
        let output = self.volume(args);
        let said = self.sandbox.without_place(&text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{args:?}: {said}");
        assert!(fs::read(self.path("v")).unwrap() == before, "{args:?}");
        said
    }

    /// The bytes of a new volume of this format, with the old passphrase.
    fn made(&self, format: &str) -> Vec<u8> {
        let made = self.path("made");
        let _ = fs::remove_file(&made);
        self.ok(&[&["create", "made", "--size", "20MiB", "--format", format], &cheap(format)[..]]
            .concat());
        fs::read(made).unwrap()
    }

    fn mkfs(&self, program: &str, args: &[&str], size: usize) -> Option<Vec<u8>> {
        let file = self.path("fs");
        fs::write(&file, vec![0; size]).unwrap();
        let done = Command::new(program).args(args).arg(&file).output().ok()?;
        done.status.success().then(|| fs::read(&file).unwrap())
    }
}

/// The options for a format's cheapest key derivation.
fn cheap(format: &str) -> Vec<&'static str> {
    let cost: &[&str] = match format {
        "veracrypt" => &["--pim", "1"],
        "bitlocker" => &[],
        _ => &["--unlock-time", "1ms"],
    };
    [&["--passphrase-file", "old"], cost].concat()
}

/// Random bytes that are the same in every run (splitmix64).
fn noise(len: usize) -> Vec<u8> {
    let mut seed = 7_u64;
    let mut words = Vec::new();
    for _ in 0..len / 8 {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        words.extend((z ^ (z >> 31)).to_le_bytes());
    }
    words
}

fn with(mut bytes: Vec<u8>, parts: &[(usize, &[u8])]) -> Vec<u8> {
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

/// A LUKS2 volume with this label in both copies of its metadata.
fn labelled(mut luks2: Vec<u8>, label: &[u8]) -> Vec<u8> {
    const COPY: usize = 16 << 10;
    for copy in luks2[..2 * COPY].chunks_mut(COPY) {
        copy[24..72].fill(0);
        copy[24..][..label.len()].copy_from_slice(label);
        copy[448..512].fill(0);
        let digest = Sha256::digest(&*copy);
        copy[448..][..digest.len()].copy_from_slice(&digest);
    }
    luks2
}

/// A single Linux partition, which starts at 1 MiB.
const MBR_ENTRY: [u8; 16] = [0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x98, 0, 0];

/// The commands, with short names. `X` is replaced by the options that open a VeraCrypt volume, `Y` by those that
/// open the existing volume.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("restore LUKS2", &["header-restore", "v", "luks2.saved"]),
    ("restore LUKS1", &["header-restore", "v", "luks1.saved"]),
    ("restore VeraCrypt", &["header-restore", "v", "veracrypt.saved", "X"]),
    ("restore from within", &["header-restore", "v", "X"]),
    (
        "key change",
        &["key", "change", "v", "--new-passphrase-file", "new", "--unlock-time", "1ms", "Y"],
    ),
    (
        "create",
        &["create", "v", "--format", "luks1", "--unlock-time", "1ms", "--passphrase-file", "old"],
    ),
    (
        "create --hidden",
        &[
            "create",
            "v",
            "--hidden",
            "--size",
            "512KiB",
            "--destroy",
            "v",
            "--pim",
            "1",
            "--passphrase-file",
            "new",
            "--outer-passphrase-file",
            "old",
            "--outer-pim",
            "1",
        ],
    ),
];

/// The exit codes of [`COMMANDS`] for each content; a `c` after a code means that the file must change.
const EXPECTED: [(&str, [&str; 7]); 15] = [
    ("zeros", ["0c", "0c", "0c", "7", "7", "3", "7"]),
    ("random bytes", ["3", "3", "3", "7", "7", "3", "7"]),
    ("random bytes, the first 32 KiB wiped", ["3", "3", "3", "7", "7", "3", "7"]),
    ("VeraCrypt", ["3", "3", "3", "0c", "0c", "3", "0c"]),
    ("LUKS1, other UUID", ["3", "3", "3", "2", "0c", "3", "3"]),
    ("LUKS2, other UUID", ["3", "3", "3", "0", "0c", "3", "3"]),
    ("LUKS2, label not text", ["3", "3", "3", "0", "0c", "3", "3"]),
    ("LUKS of version 9", ["3", "3", "3", "5", "5", "3", "3"]),
    ("BitLocker", ["3", "3", "3", "5", "5", "3", "3"]),
    ("ext4", ["3", "3", "3", "3", "3", "3", "3"]),
    ("MBR, ext4, LUKS2's second header", ["3", "3", "3", "3", "3", "3", "3"]),
    ("GPT", ["3", "3", "3", "3", "3", "3", "3"]),
    ("GPT, only the backup", ["3", "3", "3", "3", "7", "3", "7"]),
    ("swap", ["3", "3", "3", "3", "3", "3", "3"]),
    ("RAID superblock 1.0 at the end", ["3", "3", "3", "3", "7", "3", "7"]),
];

/// The contents, in the order of [`EXPECTED`], and the saved headers of other volumes.
fn contents(bench: &Bench) -> Vec<Vec<u8>> {
    for format in ["luks1", "luks2", "veracrypt"] {
        let own = bench.made(format);
        let saved = format!("{format}.saved");
        bench.ok(&[&["header-backup", "made", &saved], &opened(format)[..]].concat());
        fs::write(bench.path(format), own).unwrap();
    }
    let zeros = || vec![0; SIZE];
    let ext4 = bench.mkfs("mkfs.ext4", &["-q", "-F"], SIZE).unwrap_or_else(|| {
        let superblock: &[(usize, &[u8])] = &[(1080, b"\x53\xef"), (1100, &[1])];
        with(zeros(), superblock)
    });
    let small = bench.mkfs("mkfs.ext4", &["-q", "-F"], 8 * MIB).unwrap_or_else(|| vec![1; 8 * MIB]);
    let swap =
        bench.mkfs("mkswap", &[], SIZE).unwrap_or_else(|| with(zeros(), &[(4086, b"SWAPSPACE2")]));
    // A disk that first was the LUKS2 volume whose header is saved, and was partitioned later.
    let reused = with(
        fs::read(bench.path("luks2")).unwrap(),
        &[(0, &[0; 16 << 10]), (446, &MBR_ENTRY), (510, &[0x55, 0xaa]), (MIB, &small)],
    );
    let protective = [0, 0, 0, 0, 0xee, 0, 0, 0, 1, 0, 0, 0, 0xff, 0x9f, 0, 0];
    let backup: (usize, &[u8]) = (SIZE - 512, b"EFI PART\0\0\x01\0");
    let gpt = with(
        zeros(),
        &[(446, &protective), (510, &[0x55, 0xaa]), (512, b"EFI PART\0\0\x01\0"), backup],
    );
    let luks2 = bench.made("luks2");
    vec![
        zeros(),
        noise(SIZE),
        with(noise(SIZE), &[(0, &[0; 32 << 10])]),
        bench.made("veracrypt"),
        bench.made("luks1"),
        luks2.clone(),
        labelled(luks2.clone(), b"Schl\xfcssel"),
        with(luks2, &[(6, &[0, 9])]),
        bench.made("bitlocker"),
        ext4,
        reused,
        gpt,
        with(zeros(), &[backup]),
        swap,
        with(zeros(), &[(SIZE - 8192, b"\xfc\x4e\x2b\xa9\x01\0\0\0")]),
    ]
}

fn opened(format: &str) -> Vec<&'static str> {
    match format {
        "veracrypt" => vec!["--passphrase-file", "old", "--pim", "1", "--prf", "sha-512"],
        _ => vec!["--passphrase-file", "old"],
    }
}

#[test]
fn what_is_not_the_volume_of_a_header_is_refused_and_stays_as_it_is() {
    let bench = Bench::new();
    let mut table = format!("{:<34}", "");
    for (command, _) in COMMANDS {
        table += &format!("{command:>20}");
    }
    let mut wrong = Vec::new();
    for ((content, expected), before) in EXPECTED.into_iter().zip(contents(&bench)) {
        table += &format!("\n{content:<34}");
        for ((command, words), expected) in COMMANDS.into_iter().zip(expected) {
            fs::write(bench.path("v"), &before).unwrap();
            let is_luks = content.starts_with("LUKS");
            let args: Vec<&str> = words
                .iter()
                .flat_map(|word| match *word {
                    "X" => opened("veracrypt"),
                    "Y" if is_luks => opened("luks"),
                    "Y" => opened("veracrypt"),
                    word => vec![word],
                })
                .collect();
            let output = bench.volume(&args);
            let said = text(&output.stderr);
            let changed = fs::read(bench.path("v")).unwrap() != before;
            let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
            let got = code + if changed { "c" } else { "" };
            let names = got != "3" || said.contains("--force") || said.contains("--destroy");
            let mark = if got == expected && names { "" } else { " !" };
            table += &format!("{:>20}", got.clone() + mark);
            if !mark.is_empty() {
                wrong.push(format!("{content}, {command}: {got}, not {expected}: {said}"));
            }
        }
    }
    eprintln!("Exit codes; c: the file has changed; !: wrong\n{table}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A header-restore of `saved` with VeraCrypt's options, in case it needs a key.
fn restore<'a>(saved: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["header-restore", "v", saved], &opened("veracrypt")[..], more].concat()
}

#[test]
fn a_header_goes_back_onto_its_own_volume_wherever_that_shows() {
    let bench = Bench::new();
    let mut said = String::new();
    for format in ["luks1", "luks2", "veracrypt"] {
        let own = bench.made(format);
        let _ = fs::remove_file(bench.path("saved"));
        bench.ok(&[&["header-backup", "made", "saved"], &opened(format)[..]].concat());
        let put = |bytes: &[u8]| fs::write(bench.path("v"), bytes).unwrap();
        let opens = || bench.ok(&[&["info", "v", "--open"], &opened(format)[..]].concat());
        // Overwritten with zeros, up to the end of LUKS2's two headers.
        put(&with(own.clone(), &[(0, &[0; 32 << 10])]));
        bench.ok(&restore("saved", &[]));
        opens();
        // Overwritten with random bytes: as long as the second header of VeraCrypt or LUKS2 is intact, it
        // identifies the volume.
        let junk = with(own.clone(), &[(0, &noise(16 << 10))]);
        put(&junk);
        match format {
            "luks1" => said += &bench.refused(&restore("saved", &[])),
            _ => drop(bench.ok(&restore("saved", &[]))),
        }
        put(&with(junk, &[(16 << 10, &noise(16 << 10)), (SIZE - (128 << 10), &noise(128 << 10))]));
        said += &bench.refused(&restore("saved", &[]));
        bench.ok(&restore("saved", &["--force"]));
        opens();
    }
    insta::assert_snapshot!(said, @"
        cryptbench: v: it contains data that cannot be identified as the volume of this header; it could be another encrypted volume, which looks like random data; nothing was written (--force overwrites it)
        cryptbench: v: it contains data that cannot be identified as the volume of this header; it could be another encrypted volume, which looks like random data; nothing was written (--force overwrites it)
        cryptbench: v: it contains data that cannot be identified as the volume of this header; it could be another encrypted volume, which looks like random data; nothing was written (--force overwrites it)
        cryptbench: v: it contains data that cannot be identified as the volume of this header; it could be another encrypted volume, which looks like random data; nothing was written (--force overwrites it)
        ");
}

#[test]
fn an_older_header_of_veracrypt_goes_back_where_its_keys_decrypt_something() {
    let bench = Bench::new();
    let own = bench.made("veracrypt");
    bench.ok(&[&["header-backup", "made", "saved"], &opened("veracrypt")[..]].concat());
    let change = |name| {
        let words = ["key", "change", name, "--new-passphrase-file", "new", "--new-pim", "1"];
        bench.ok(&[&words[..], &opened("veracrypt")].concat());
    };
    // The passphrase has been changed since, and the volume still contains only random bytes, so nothing identifies
    // it.
    fs::write(bench.path("v"), own).unwrap();
    change("v");
    insta::assert_snapshot!(bench.refused(&restore("saved", &[])), @"cryptbench: v: it contains data that cannot be identified as the volume of this header; it could be another encrypted volume, which looks like random data; nothing was written (--force overwrites it)");
    bench.ok(&restore("saved", &["--force"]));
    // If the volume contains a file system, its data identifies it.
    let Some(bytes) = with_file_system(&bench) else {
        return skipped("no mkfs.ext4, or no FUSE, to make a file system in a volume");
    };
    fs::write(bench.path("v"), bytes).unwrap();
    let _ = fs::remove_file(bench.path("saved"));
    bench.ok(&[&["header-backup", "v", "saved"], &opened("veracrypt")[..]].concat());
    change("v");
    bench.ok(&restore("saved", &[]));
    bench.ok(&[&["info", "v", "--open"], &opened("veracrypt")[..]].concat());
}

/// A VeraCrypt volume that contains ext4.
fn with_file_system(bench: &Bench) -> Option<Vec<u8>> {
    let made = bench.path("made");
    let _ = fs::remove_file(&made);
    let words = ["create", "made", "--size", "20MiB", "--mkfs", "ext4"];
    let output = bench.volume(&[&words[..], &cheap("veracrypt")].concat());
    output.status.success().then(|| fs::read(made).unwrap())
}

/// Unpacks the files of a reported case into the sandbox. The cases are in a directory next to the repository.
fn reported(bench: &Bench, case: &str, files: &[&str]) -> bool {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/reports/formats")
        .join(case);
    if !place.exists() {
        skipped("no ../shared/data/reports beside the repository");
        return false;
    }
    for name in files {
        let packed = place.join(format!("{name}.xz"));
        let Ok(done) = Command::new("xz").arg("-dc").arg(&packed).output() else {
            skipped("no xz to unpack what was reported");
            return false;
        };
        assert!(done.status.success(), "{}", packed.display());
        fs::write(bench.path(name), done.stdout).unwrap();
    }
    true
}

#[test]
fn a_reported_partition_table_with_a_live_file_system_survives() {
    let bench = Bench::new();
    if !reported(&bench, "01-restore-over-partition-table", &["disk.img", "disk.hdr"]) {
        return;
    }
    fs::rename(bench.path("disk.img"), bench.path("v")).unwrap();
    let said = bench.refused(&["header-restore", "v", "disk.hdr"]);
    insta::assert_snapshot!(said + &bench.refused(&["header-restore", "v"]), @"
        cryptbench: v: it contains a partition table (MBR); nothing was written (--force overwrites it)
        cryptbench: v: it contains a partition table (MBR); nothing was written (--force overwrites it)
        ");
    bench.ok(&["header-restore", "v", "disk.hdr", "--force"]);
}

#[test]
fn a_reported_header_with_a_label_in_latin_1_is_opened_and_not_overwritten() {
    let bench = Bench::new();
    let files = ["base.img", "latin1.img", "other.hdr"];
    if !reported(&bench, "02-restore-over-header-not-understood", &files) {
        return;
    }
    let said = ["base.img", "latin1.img"].map(|image| {
        fs::copy(bench.path(image), bench.path("v")).unwrap();
        bench.refused(&["header-restore", "v", "other.hdr"])
    });
    insta::assert_snapshot!(said.concat(), @"
        cryptbench: v: it contains the header of another volume (LUKS, UUID e31e435d-9ae0-4be6-b139-05a3963a0cdd); nothing was written (--force overwrites it)
        cryptbench: v: it contains the header of another volume (LUKS, UUID e31e435d-9ae0-4be6-b139-05a3963a0cdd); nothing was written (--force overwrites it)
        ");
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/reports/formats/03-label-not-utf8/pw");
    fs::copy(place, bench.path("pw")).unwrap();
    let dumped = bench.ok(&["dump", "latin1.img", "-", "--passphrase-file", "pw"]).stdout;
    let digest: String = Sha256::digest(&dumped).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "7778c7fe087e1e65f252ed077471e1bf70b3c03325e38bbe5652dc338ec8a8c8");
    let said = text(&bench.ok(&["info", "latin1.img"]).stdout);
    assert!(said.contains(r"Schl\xfcssel"), "{said}");
}

#[test]
fn a_header_without_data_is_called_that() {
    let bench = Bench::new();
    let mut told = String::new();
    for format in ["luks1", "luks2"] {
        let _ = fs::remove_file(bench.path("saved"));
        bench.made(format);
        bench.ok(&["header-backup", "made", "saved"]);
        let output = bench.volume(&["info", "saved", "--open", "--passphrase-file", "old"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{said}");
        told += &said;
        let header = ["--header", "saved", "--passphrase-file", "old"];
        bench.ok(&[&["info", "made", "--open"], &header[..]].concat());
    }
    insta::assert_snapshot!(told, @"
        cryptbench: saved: this luks1 volume, a header without data, cannot be opened: its data is elsewhere; specify the data as the volume, and this file with --header
        cryptbench: saved: this luks2 volume, a header without data, cannot be opened: its data is elsewhere; specify the data as the volume, and this file with --header
        ");
}

/// Holds a lock of fcntl(2) on some bytes of a file, which the first argument selects, until its standard input
/// ends.
const HOLDER: &str = r#"
import fcntl, struct, sys
file = open(sys.argv[2], "r+b")
F_OFD_SETLK = 37
command, kind = {
    "ofd": (F_OFD_SETLK, fcntl.F_WRLCK),
    "posix": (fcntl.F_SETLK, fcntl.F_WRLCK),
    "qemu": (F_OFD_SETLK, fcntl.F_RDLCK),
}[sys.argv[1]]
fcntl.fcntl(file, command, struct.pack("hhqqixxxx", kind, 0, 100, 1, 0))
print("held", flush=True)
sys.stdin.read()
"#;

#[test]
fn what_a_virtual_machine_holds_is_not_written() {
    let bench = Bench::new();
    fs::write(bench.path("v"), bench.made("luks1")).unwrap();
    bench.ok(&["header-backup", "v", "saved"]);
    let new = ["--new-passphrase-file", "new", "--unlock-time", "1ms", "--passphrase-file", "old"];
    let commands: [&[&str]; 4] = [
        &["create", "v", "--destroy", "v", "--passphrase-file", "old", "--pim", "1"],
        &["header-restore", "v", "saved", "--force"],
        &[&["key", "add", "v"], &new[..]].concat(),
        &[&["key", "change", "v"], &new[..]].concat(),
    ];
    for how in ["ofd", "posix", "qemu"] {
        let mut python = Command::new("python3");
        let holder = python.args(["-c", HOLDER, how]).arg(bench.path("v")).stdin(Stdio::piped());
        let Ok(mut holder) = holder.stdout(Stdio::piped()).spawn() else {
            return skipped("no python3 to hold a lock");
        };
        holder.stdout.as_mut().unwrap().read_exact(&mut [0; 4]).unwrap();
        let before = fs::read(bench.path("v")).unwrap();
        for command in commands {
            let output = bench.volume(command);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{how}: {command:?}: {said}");
            assert!(said.contains("virtual machine"), "{how}: {command:?}: {said}");
            assert!(fs::read(bench.path("v")).unwrap() == before, "{how}: {command:?}");
        }
        // Reading is not affected.
        bench.ok(&["info", "v", "--open", "--passphrase-file", "old"]);
        drop(holder.stdin.take());
        holder.wait().unwrap();
    }
    bench.ok(commands[1]);
}
