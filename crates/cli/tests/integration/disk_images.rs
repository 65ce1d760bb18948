//! Disks with several kinds of partition tables, disk images of other programs, truncated containers, and saved
//! headers.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::sandbox::{Sandbox, skipped, text};

const OPENED: &str = "--passphrase-file pw";
const VERACRYPT: &str = "--passphrase-file pw --pim 1 --prf sha-512";

struct Bench(Sandbox);

impl Bench {
    fn new() -> Self {
        let bench = Self(Sandbox::new());
        fs::write(bench.path("pw"), "secret").unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.target().join(name)
    }

    fn volume(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        self.0.run(&[&["volume"], &words[..]].concat())
    }

    fn ok(&self, line: &str) -> Output {
        let output = self.volume(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        output
    }

    fn refused(&self, line: &str, code: i32, words: &[&str]) {
        let output = self.volume(line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        for word in words {
            assert!(said.contains(word), "{line}: no {word:?} in {said}");
        }
    }

    /// A LUKS1 volume of 3 MiB, and its plaintext.
    fn luks(&self) -> (Vec<u8>, Vec<u8>) {
        self.ok(&format!("create v --format luks1 --size 3MiB --unlock-time 1ms --fill {OPENED}"));
        (fs::read(self.path("v")).unwrap(), self.ok(&format!("dump v - {OPENED}")).stdout)
    }

    /// A disk of 32 MiB that `program` partitions according to `input`. If the program is missing, prints that and
    /// returns `None`.
    fn partitioned(&self, program: &str, args: &[&str], input: &str) -> Option<()> {
        fs::File::create(self.path("disk")).unwrap().set_len(32 << 20).unwrap();
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.target()).stdin(Stdio::piped());
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(mut child) = started else {
            skipped(&format!("no {program}"));
            return None;
        };
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{program}: {}", text(&done.stderr));
        Some(())
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        let mut disk = fs::read(self.path("disk")).unwrap();
        disk[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(self.path("disk"), disk).unwrap();
    }
}

#[test]
fn apples_map_as_parted_writes_it() {
    let bench = Bench::new();
    let (volume, plain) = bench.luks();
    let args = "-s disk mklabel mac mkpart one 1MiB 2MiB mkpart two 8MiB 20MiB";
    let args: Vec<&str> = args.split(' ').collect();
    let Some(()) = bench.partitioned("parted", &args, "") else { return };
    bench.write(8 << 20, &volume);
    let info = text(&bench.ok("info disk").stdout);
    assert!(info.contains("Apple partition table"), "{info}");
    let listed = format!("LUKS1; {} bytes at offset {}", 12 << 20, 8 << 20);
    let line = info.lines().find(|line| line.contains(&listed));
    let line = line.unwrap_or_else(|| panic!("no {listed:?} in {info}"));
    let number = line.split_whitespace().nth(1).unwrap();
    let dump = format!("dump disk - {OPENED} --partition {number}");
    // The volume occupies the rest of its partition.
    assert!(bench.ok(&dump).stdout.starts_with(&plain));
    bench.refused(&format!("dump disk - {OPENED}"), 5, &["(Apple)", "--partition"]);
    bench.refused(&format!("dump disk - {OPENED} --partition 9"), 2, &["no partition 9, only 1"]);
    let json = bench.ok("info disk --json").stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let partitions = json["partitions"].as_array().unwrap();
    assert!(partitions.iter().any(|one| one["kind"]["kind"] == "luks"), "{json}");
}

#[test]
fn a_record_of_a_disk_with_sectors_of_4096_bytes() {
    let bench = Bench::new();
    let (volume, plain) = bench.luks();
    for sector in [512_usize, 4096] {
        let (size, first, count) = (sector.to_string(), 4096, (4 << 20) / sector);
        let script = format!("o\nn\np\n1\n{first}\n+{}\nw\n", count - 1);
        let args = ["-b", &size, "disk"];
        let Some(()) = bench.partitioned("fdisk", &args, &script) else { return };
        bench.write(first * sector, &volume);
        let info = text(&bench.ok("info disk").stdout);
        let listed = format!("LUKS1; {} bytes at offset {}", 4 << 20, first * sector);
        assert!(info.contains(&listed), "{sector}: no {listed:?} in {info}");
        let dumped = bench.ok(&format!("dump disk - {OPENED} --partition 1")).stdout;
        assert!(dumped.starts_with(&plain), "{sector}");
    }
}

/// Noise from a fixed seed: no part of it resembles a known format.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

#[test]
fn images_of_other_programs_say_how_they_are_converted() {
    let bench = Bench::new();
    fs::create_dir(bench.path("dir")).unwrap();
    for (name, at_end, magic, words) in [
        ("a.dmg", true, &b"koly\0\0\0\x04\0\0\x02\0"[..], ["UDIF", "qemu-img convert -f dmg"]),
        ("b.dmg", false, b"encrcdsa\0\0\0\x02", ["encrcdsa, version 2", "hdiutil convert"]),
        ("c.dmg", true, b"cdsaencr", ["encrcdsa, version 1", "hdiutil attach"]),
        ("d.sparseimage", false, b"sprs\0\0\0\x03", ["Apple sparse", "hdiutil convert"]),
        ("e-sesparse.vmdk", false, b"\xbe\xba\xfe\xca\0\0\0\0", ["SESparse", "-f vmdk"]),
        ("f.qcow2", false, b"QFI\xfb\0\0\0\x03", ["QCOW", "qemu-img convert -f qcow2"]),
    ] {
        // The length is not a multiple of any sector size.
        let mut bytes = noise(300_100);
        let len = bytes.len();
        let at = match (at_end, magic.len()) {
            (false, _) => 0,
            (true, 8) => len - 8,
            (true, _) => len - 512,
        };
        bytes[at..at + magic.len()].copy_from_slice(magic);
        fs::write(bench.path(name), &bytes).unwrap();
        // The last two commands read the file directly.
        for command in ["dump NAME -", "export NAME --nbd socket", "mount NAME dir"] {
            let line = format!("{} {OPENED}", command.replace("NAME", name));
            bench.refused(&line, 5, &words);
        }
        let info = text(&bench.ok(&format!("info {name}")).stdout);
        assert!(info.contains("cannot be opened") && info.contains(words[0]), "{info}");
        let json = bench.ok(&format!("info {name} --json")).stdout;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert!(json["cannot_be_opened"].as_str().unwrap().contains(words[1]), "{json}");
    }
    fs::create_dir_all(bench.path("g.sparsebundle/bands")).unwrap();
    fs::write(bench.path("g.sparsebundle/Info.plist"), "").unwrap();
    let words = ["Apple sparse bundle", "hdiutil convert", "sparsebundlefs"];
    bench.refused(&format!("dump g.sparsebundle out {OPENED}"), 5, &words);
    assert!(text(&bench.ok("info g.sparsebundle").stdout).contains("cannot be opened"));
}

#[test]
fn a_container_without_its_start_opens_by_its_backup_header() {
    let bench = Bench::new();
    bench.ok(&format!("create v --size 2MiB {VERACRYPT}"));
    let whole = fs::read(bench.path("v")).unwrap();
    let plain = bench.ok(&format!("dump v - {VERACRYPT}")).stdout;
    let dump = format!("dump cut - --backup-header {VERACRYPT}");
    for lost in [100 << 10, 1 << 20] {
        fs::write(bench.path("cut"), &whole[lost..]).unwrap();
        let dumped = bench.ok(&dump);
        let mut expected = plain.clone();
        expected[..lost.saturating_sub(128 << 10)].fill(0);
        assert!(dumped.stdout == expected, "{lost}");
        let said = text(&dumped.stderr);
        assert!(said.contains(&format!("first {lost} of {} bytes are missing", 2 << 20)), "{said}");
        let restore = format!("header-restore cut {VERACRYPT}");
        bench.refused(&restore, 5, &["cannot be opened", "missing"]);
        assert!(fs::read(bench.path("cut")).unwrap() == whole[lost..], "{lost}");
    }
    let export = format!("export cut --nbd socket --backup-header {VERACRYPT}");
    bench.refused(&export, 5, &["missing", "--read-only"]);
    bench.refused(&format!("{export} --read-only"), 5, &["volume dump"]);
    fs::write(bench.path("cut"), [&[0; 4096], &whole[..]].concat()).unwrap();
    let dumped = bench.ok(&dump);
    assert!(dumped.stdout == plain && text(&dumped.stderr).contains("4096 bytes precede"));
    bench.ok(&format!("dump cut - --offset 4096 {VERACRYPT}"));
}

#[test]
fn what_a_saved_header_would_lack_is_refused() {
    let bench = Bench::new();
    bench.ok(&format!("create v --size 1MiB --quick {VERACRYPT}"));
    for (option, words) in [
        ("--hidden", ["--with-hidden", "outer"]),
        ("--system", ["sector 62", "dd "]),
        ("--backup-header", ["header-restore", "damaged"]),
        ("--key-slot 0", ["all keyslots", "--key-slot"]),
    ] {
        bench.refused(&format!("header-backup v saved {option} {VERACRYPT}"), 2, &words);
    }
    fs::remove_file(bench.path("v")).unwrap();
    bench.luks();
    bench.refused("header-backup v saved --with-hidden", 2, &["which has no hidden volumes"]);
    bench.refused("header-backup v saved --format freeotfe --passphrase-file pw", 5, &["FreeOTFE"]);
    let change = "key change v --format freeotfe --passphrase-file pw --new-passphrase-file pw";
    bench.refused(change, 5, &["FreeOTFE", "LibreCrypt"]);
    assert!(!bench.path("saved").exists());
}

/// An unanswered prompt leaves nothing behind, even after SIGKILL: the new file is only created after the
/// passphrase is entered.
#[test]
fn nothing_is_there_while_a_passphrase_is_awaited() {
    let bench = Bench::new();
    bench.luks();
    fs::remove_file(bench.path("pw")).unwrap();
    let fifo = Command::new("mkfifo").arg(bench.path("pw")).status().unwrap();
    assert!(fifo.success());
    for line in ["dump v out", "dump v out --resume"] {
        let before = names(&bench);
        let words: Vec<&str> = line.split(' ').chain(OPENED.split(' ')).collect();
        let mut command = bench.0.command(&[&["volume"], &words[..]].concat());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        assert!(child.try_wait().unwrap().is_none(), "{line}: it waits for the passphrase");
        assert_eq!(names(&bench), before, "{line}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(names(&bench), before, "{line}");
    }
}

fn names(bench: &Bench) -> Vec<String> {
    let files = fs::read_dir(bench.0.target()).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
