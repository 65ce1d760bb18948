//! Volumes from users' reports, and the expected behaviour of the program for each: all folders of
//! ../shared/data/reports/formats that `overwrite.rs` does not test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, skipped, text};

/// SHA-256 of 65536, 32768 and 16384 bytes. Block i of 32 bytes is the SHA-256 of "cryptbench formats" followed by
/// i as 32 bits, big-endian.
const WHOLE: &str = "7778c7fe087e1e65f252ed077471e1bf70b3c03325e38bbe5652dc338ec8a8c8";
const HALF: &str = "b48563c587cb2932d1a28991d709a51b19c0aa23d021893ce39b65cf999e94fe";
const QUARTER: &str = "9a8fbd52479e528c492c6f1b5e4d4d70037e0cccb7a4ee3b6f44b478eb172f39";
/// The same for the two copies of a BitLocker volume.
const BITLOCKER: &str = "c0d0d9a3ab1bc330a15de604a9fea2dacec317497e4e4bd69dd8e1a92d3185a2";
/// The same for the encrypted system.
const SYSTEM: &str = "adb061076347dd8cd9355ab24df16b056f20bd119f474a25f189b719b188b660";

const OPENED: [&str; 2] = ["--passphrase-file", "pw"];

/// A sandbox with the files of a case.
struct Case(Sandbox);

impl Case {
    /// If the directory next to the repository is missing, prints that and returns `None`.
    fn new(folder: &str) -> Option<Self> {
        let place =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/reports/formats");
        let Ok(files) = fs::read_dir(place.join(folder)) else {
            skipped("no ../shared/data/reports beside the repository");
            return None;
        };
        let case = Self(Sandbox::new());
        for file in files {
            let from = file.unwrap().path();
            let name = from.file_name().unwrap().to_str().unwrap();
            let Some(name) = name.strip_suffix(".xz") else {
                fs::copy(&from, case.path(name)).unwrap();
                continue;
            };
            let Ok(done) = Command::new("xz").arg("-dc").arg(&from).output() else {
                skipped("no xz to unpack what was reported");
                return None;
            };
            assert!(done.status.success(), "{}", from.display());
            fs::write(case.path(name), done.stdout).unwrap();
        }
        Some(case)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.target().join(name)
    }

    fn volume(&self, args: &[&str]) -> Output {
        self.0.run(&[&["volume"], args].concat())
    }

    fn ok(&self, args: &[&str]) -> String {
        let output = self.volume(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout) + &text(&output.stderr)
    }

    /// Expects this exit code and a message that contains these words.
    fn refused(&self, args: &[&str], code: i32, words: &[&str]) {
        let output = self.volume(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: no {word:?} in {said}");
        }
    }

    /// Expects a plaintext of this length and digest, and returns the messages.
    fn dumped(&self, args: &[&str], bytes: usize, digest: &str) -> String {
        let output = self.volume(&[&["dump", args[0], "-"], &args[1..]].concat());
        let said = text(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        assert_eq!(output.stdout.len(), bytes, "{args:?}");
        let found: String =
            Sha256::digest(&output.stdout).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, digest, "{args:?}");
        said
    }
}

fn dump(image: &str) -> [&str; 5] {
    ["dump", image, "-", "--passphrase-file", "pw"]
}

/// The image with the passphrase.
fn with_passphrase(image: &str) -> Vec<&str> {
    [&[image], &OPENED[..]].concat()
}

#[test]
fn adiantum() {
    let Some(case) = Case::new("04-adiantum") else { return };
    case.dumped(&with_passphrase("adiantum-xchacha12.img"), 65536, WHOLE);
}

#[test]
fn an_iv_generator_with_an_option_that_it_does_not_take() {
    let Some(case) = Case::new("05-iv-option-after-colon") else { return };
    case.dumped(&with_passphrase("l1-xts-plain64-sha256.img"), 16384, QUARTER);
    assert!(case.ok(&["info", "l1-xts-plain64-sha256.img"]).contains("aes-xts-plain64:sha256"));
}

#[test]
fn benbi_with_xts() {
    let Some(case) = Case::new("06-iv-benbi-null") else { return };
    case.dumped(&with_passphrase("l1-xts-benbi.img"), 16384, QUARTER);
}

#[test]
fn hashes_of_luks() {
    let Some(case) = Case::new("07-hashes") else { return };
    case.dumped(&with_passphrase("l1-sha3-512.img"), 16384, QUARTER);
    case.dumped(&with_passphrase("blake2b.img"), 65536, WHOLE);
}

#[test]
fn a_keyslot_that_is_used_only_by_its_number() {
    let Some(case) = Case::new("08-priority-ignore") else { return };
    let words = ["priority is `ignore`", "--key-slot 0"];
    case.refused(&["dump", "ignore.img", "-", "--passphrase-file", "pw"], 5, &words);
    let named = [&["ignore.img", "--key-slot", "0"], &OPENED[..]].concat();
    case.dumped(&named, 65536, WHOLE);
    assert!(case.ok(&["info", "ignore.img"]).contains("priority ignore"));
    case.ok(&[&["info", "--open"], &named[..]].concat());
    fs::write(case.path("new"), "another").unwrap();
    let change = ["--new-passphrase-file", "new", "--unlock-time", "1ms"];
    let change = [&["key", "change"], &named[..], &change[..]].concat();
    case.refused(&change, 2, &["full", "--in-place"]);
    case.ok(&[&change[..], &["--in-place"]].concat());
    // The unusual properties of the volume are kept.
    let info = case.ok(&["info", "ignore.img"]);
    assert!(info.contains("keyslot 0") && info.contains("priority ignore"), "{info}");
    case.dumped(&["ignore.img", "--key-slot", "0", "--passphrase-file", "new"], 65536, WHOLE);
    let absent = ["dump", "ignore.img", "-", "--key-slot", "7", "--passphrase-file", "new"];
    case.refused(&absent, 2, &["no keyslot 7"]);
}

#[test]
fn a_cipher_that_no_program_has_without_its_hardware() {
    let Some(case) = Case::new("09-cipher-names-in-messages") else { return };
    let words = ["paes-xts-plain64", "IBM Z", "cryptsetup"];
    case.refused(&["dump", "paes.img", "-", "--passphrase-file", "pw"], 5, &words);
    let info = case.ok(&["info", "paes.img"]);
    assert!(info.contains("cannot be opened") && info.contains("paes-xts-plain64"), "{info}");
}

#[test]
fn a_partitioned_disk_and_a_packed_one() {
    let Some(case) = Case::new("10-partitioned-disk-and-disk-image-files") else { return };
    let disk = "disk-with-luks.img";
    case.refused(&dump(disk), 5, &["--partition", "--offset"]);
    for place in [["--partition", "1"], ["--offset", "1MiB"]] {
        case.dumped(&[&with_passphrase(disk)[..], &place[..]].concat(), 65536, WHOLE);
    }
    assert!(case.ok(&["info", disk]).contains("LUKS2"));
    case.refused(
        &[&dump(disk)[..], &["--partition", "2"]].concat(),
        2,
        &["no partition 2, only 1"],
    );
    let words = ["VHDX", "qemu-img convert -f vhdx -O raw"];
    case.refused(&dump("base.vhdx"), 5, &words);
    // The same, compressed by other programs.
    for (program, name, command) in [
        ("xz", "base.vhdx.xz", "xz -d"),
        ("gzip", "base.vhdx.gz", "gzip -d"),
        ("bzip2", "base.vhdx.bz2", "bzip2 -d"),
        ("zstd", "base.vhdx.zst", "zstd -d"),
    ] {
        let mut command_line = Command::new(program);
        let packed = command_line.args(["-k", "base.vhdx"]).current_dir(case.0.target()).output();
        match packed.is_ok_and(|done| done.status.success()) {
            true => case.refused(&dump(name), 5, &["compressed", command]),
            false => skipped(&format!("no {program}")),
        }
    }
    // The other kinds, if qemu-img exists and supports them.
    fs::write(case.path("raw"), vec![0; 1 << 20]).unwrap();
    for format in ["qcow2", "vpc", "vmdk", "vdi", "qed", "parallels"] {
        let name = format!("packed.{format}");
        let convert = ["convert", "-f", "raw", "-O", format, "raw", &name];
        let mut command = Command::new("qemu-img");
        match command.args(convert).current_dir(case.0.target()).output() {
            Ok(done) if done.status.success() => {
                case.refused(&dump(&name), 5, &[&format!("convert -f {format} -O raw")]);
            }
            _ => skipped("no qemu-img with every format"),
        }
    }
}

#[test]
fn a_container_whose_copy_ended_early() {
    let Some(case) = Case::new("11-veracrypt-cut-short") else { return };
    let opened = ["vt-cut.img", "--passphrase-file", "vpw", "--pim", "1", "--prf", "sha-512"];
    let said = case.dumped(&opened, 32768, HALF);
    assert!(said.contains("truncated: it has only 32768 of 65536 bytes"), "{said}");
    let export = ["export", "--nbd", "socket"];
    let words = ["truncated: it has only 32768 of 65536 bytes", "--read-only"];
    case.refused(&[&export[..], &opened[..]].concat(), 5, &words);
}

#[test]
fn the_text_that_windows_saves() {
    let Some(case) = Case::new("12-bitlocker-recovery-file") else { return };
    for file in ["Recovery Key.TXT", "digits"] {
        case.dumped(&["b.img", "--recovery-password-file", file], 2_097_152, BITLOCKER);
    }
    fs::write(case.path("wrong"), "no digits").unwrap();
    let dump = ["dump", "b.img", "-", "--recovery-password-file", "wrong"];
    case.refused(&dump, 2, &["wrong: ", "48 digits"]);
}

#[test]
fn bitlocker_without_its_boot_sector() {
    let Some(case) = Case::new("13-bitlocker-without-boot-sector") else { return };
    let opened = ["b-noboot.img", "--format", "bitlocker", "--passphrase-file", "blpw"];
    let said = case.dumped(&opened, 2_097_152, BITLOCKER);
    assert!(said.contains("boot sector is missing"), "{said}");
}

#[test]
fn a_header_without_its_data() {
    let Some(case) = Case::new("14-header-without-data") else { return };
    for (file, passphrase) in [("l1-nodata.img", "pw"), ("other.hdr", "pw-other")] {
        let dump = ["dump", file, "-", "--passphrase-file", passphrase];
        case.refused(&dump, 5, &["a header without data", "--header"]);
        assert!(case.ok(&["info", file]).contains("cannot be opened"), "{file}");
    }
    // A truncated header.
    let header = fs::read(case.path("other.hdr")).unwrap();
    fs::write(case.path("cut"), &header[..32 << 10]).unwrap();
    let dump = ["dump", "cut", "-", "--passphrase-file", "pw-other"];
    case.refused(&dump, 5, &["truncated", "keyslot"]);
}

#[test]
fn a_segment_that_does_not_say_how_it_counts() {
    let Some(case) = Case::new("16-mandatory-fields-missing") else { return };
    let dump = ["dump", "no-iv_tweak.img", "-", "--passphrase-file", "pw"];
    case.refused(&dump, 5, &["damaged", "iv_tweak"]);
}

#[test]
fn a_system_s_partition_without_its_disk() {
    let Some(case) = Case::new("19-encrypted-system-partition") else { return };
    let opened = ["--system", "--passphrase-file", "sp", "--pim", "1", "--prf", "sha-512"];
    case.dumped(&[&["sys.img"], &opened[..]].concat(), 131_072, SYSTEM);
    let disk = fs::read(case.path("sys.img")).unwrap();
    fs::write(case.path("part"), &disk[1 << 20..(1 << 20) + 131_072]).unwrap();
    fs::write(case.path("sector"), &disk[62 * 512..63 * 512]).unwrap();
    for header in ["sys.img", "sector"] {
        let named = ["part", "--header", header];
        case.dumped(&[&named[..], &opened[..]].concat(), 131_072, SYSTEM);
    }
    let alone = [&["dump", "part", "-"], &opened[..]].concat();
    case.refused(&alone, 7, &["--header", "sector 62"]);
}

/// The output of a case's script for this program. If the script cannot run, prints that and returns `None`.
fn checked(folder: &str, argument: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        skipped("it needs root");
        return None;
    }
    let case = Case::new(folder)?;
    let program = env!("CARGO_BIN_EXE_cryptbench");
    let mut script = Command::new("sh");
    script.arg(case.path("check.sh")).args([program, argument]);
    for (name, value) in case.0.command(&[]).get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let Output { stdout, stderr, .. } = script.output().unwrap();
    Some(text(&stdout) + &text(&stderr))
}

#[test]
fn veracrypt_on_sectors_of_4096_bytes() {
    let Some(said) = checked("17-veracrypt-4kn", "") else { return };
    if said.contains("losetup") {
        return skipped("no loop device with sectors of 4096 bytes");
    }
    let last = said.lines().find(|line| line.starts_with("sector size")).unwrap_or_default();
    assert!(last.ends_with(" 4096"), "{said}");
}

#[test]
fn a_mount_that_fails_says_why() {
    let Some(said) = checked("18-mount-says-too-little", "vfat") else { return };
    if said.contains("not installed") {
        skipped("no mkfs.vfat");
    } else if said.contains("exit 3") {
        assert!(said.contains("unknown filesystem type 'vfat'"), "{said}");
        assert!(!said.contains("dmesg"), "{said}");
    } else {
        skipped("this kernel has vfat, or no loop devices and FUSE");
    }
}
