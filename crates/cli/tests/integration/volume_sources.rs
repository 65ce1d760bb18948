//! Sources and destinations of keys, volumes and dumps: parts of key files, directories of key files, partitions of
//! disks, and dumps that are continued.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::sandbox::{Sandbox, skipped, text};

struct Bench(Sandbox);

impl Bench {
    fn new() -> Self {
        let bench = Self(Sandbox::new());
        fs::write(bench.path("old"), "old secret").unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.target().join(name)
    }

    fn volume(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        self.0.run(&[&["volume"], &words[..]].concat())
    }

    /// A file to which only this user has access.
    fn private(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
        fs::set_permissions(self.path(name), Permissions::from_mode(0o600)).unwrap();
    }

    fn ok(&self, line: &str) -> Vec<u8> {
        let output = self.volume(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        output.stdout
    }

    /// The messages of a command that succeeds.
    fn told(&self, line: &str) -> String {
        let output = self.volume(line);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        said
    }

    fn refused(&self, line: &str, code: i32, word: &str) {
        let output = self.volume(line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(said.contains(word), "{line}: no {word:?} in {said}");
    }
}

#[test]
fn a_part_of_a_key_file_and_a_directory_of_them() {
    let bench = Bench::new();
    let noise: Vec<u8> = (0..3000_u32).map(|i| (i * i / 7) as u8).collect();
    fs::write(bench.path("long"), &noise).unwrap();
    fs::write(bench.path("part"), &noise[100..164]).unwrap();
    bench.ok("create v --format luks1 --size 3MiB --unlock-time 1ms --keyfile part");
    let part = "--keyfile long --keyfile-offset 100 --keyfile-size 64";
    bench.ok(&format!("info v --open {part}"));
    bench.refused("info v --open --keyfile long --keyfile-offset 100", 7, "no key");
    let beyond = "info v --open --keyfile long --keyfile-offset 2990 --keyfile-size 64";
    bench.refused(beyond, 5, "only 10 bytes");
    let change = "key change v --unlock-time 1ms --new-passphrase-file old";
    bench.ok(&format!("{change} {part}"));

    fs::create_dir_all(bench.path("keys/deeper")).unwrap();
    for name in ["keys/one", "keys/two", "keys/.hidden", "keys/deeper/three"] {
        fs::write(bench.path(name), name).unwrap();
    }
    let cheap = "--quick --prf sha-512 --pim 1 --passphrase-file old";
    bench.ok(&format!("create t --size 1MiB {cheap} --keyfile keys"));
    let opened = "info t --open --prf sha-512 --pim 1 --passphrase-file old";
    bench.ok(&format!("{opened} --keyfile keys/one --keyfile keys/two"));
    bench.refused(&format!("{opened} --keyfile keys/one"), 7, "no key");
    fs::create_dir(bench.path("none")).unwrap();
    bench.refused(&format!("{opened} --keyfile none"), 5, "no key files");
    bench.refused(
        &format!("{opened} --keyfile keys/one --keyfile-offset 1"),
        2,
        "can be specified only for LUKS",
    );
    bench.refused("info v --open --keyfile keys", 5, "irectory");
}

#[test]
fn a_dump_goes_on_where_it_was_interrupted() {
    let bench = Bench::new();
    bench.ok("create v --format luks1 --size 16MiB --unlock-time 1ms --passphrase-file old");
    let whole = bench.ok("dump v - --passphrase-file old");
    let dump = "dump v out --resume --passphrase-file old";
    // Nothing yet; then a beginning that ends in the middle of a piece, at the end of a piece, in the first piece,
    // and so on.
    for kept in [None, Some(9_000_001), Some(8 << 20), Some(100), Some(0), Some(whole.len())] {
        let _ = fs::remove_file(bench.path("out"));
        if let Some(kept) = kept {
            bench.private("out.partial", &whole[..kept]);
        }
        bench.ok(dump);
        assert!(fs::read(bench.path("out")).unwrap() == whole, "{kept:?}");
        assert!(!bench.path("out.partial").exists());
    }
    bench.refused(dump, 3, "exists");
    fs::remove_file(bench.path("out")).unwrap();
    let left_alone = |kept: &[u8], word: &str| {
        bench.private("out.partial", kept);
        bench.refused(dump, 3, word);
        assert!(fs::read(bench.path("out.partial")).unwrap() == kept, "it is left as it was");
        fs::remove_file(bench.path("out.partial")).unwrap();
    };
    // Different bytes at the end of the last complete piece, in the first piece, in the incomplete rest, and in a
    // file without a complete piece.
    for (kept, wrong) in [(9 << 20, (8 << 20) - 1), (9 << 20, 512), (9_000_001, 9_000_000), (7, 6)]
    {
        let mut other = whole[..kept].to_vec();
        other[wrong] ^= 1;
        left_alone(&other, "does not match the start of this volume");
    }
    left_alone(&[&whole[..], b"x"].concat(), "longer than this volume");
    bench.refused("dump v - --resume --passphrase-file old", 2, "--resume");

    // An error before anything is written leaves nothing behind.
    fs::write(bench.path("wrong"), "wrong").unwrap();
    let output = bench.volume("dump v out --resume --passphrase-file wrong");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("kept"), "{}", text(&output.stderr));
    assert!(!bench.path("out.partial").exists());
}

#[test]
fn a_dump_does_not_go_on_in_a_file_that_a_stranger_prepared() {
    let bench = Bench::new();
    bench.ok("create v --format luks1 --size 3MiB --unlock-time 1ms --passphrase-file old");
    let dump = "dump v out --resume --passphrase-file old";
    bench.private("out.partial", b"");
    fs::set_permissions(bench.path("out.partial"), Permissions::from_mode(0o666)).unwrap();
    bench.refused(dump, 3, "other users may read it");
    fs::set_permissions(bench.path("out.partial"), Permissions::from_mode(0o600)).unwrap();
    if chown(bench.path("out.partial"), Some(65534), None).is_ok() {
        bench.refused(dump, 3, "it belongs to another user");
    }
    fs::remove_file(bench.path("out.partial")).unwrap();
    bench.private("victim", b"");
    fs::hard_link(bench.path("victim"), bench.path("out.partial")).unwrap();
    bench.refused(dump, 3, "it has another name");
    assert_eq!(fs::read(bench.path("victim")).unwrap(), b"");
    assert!(!bench.path("out").exists());
}

#[test]
fn info_says_what_partitions_hold() {
    let bench = Bench::new();
    bench.ok("create v --format luks2 --size 18MiB --unlock-time 1ms --passphrase-file old");
    let mut disk = vec![0; 1 << 20];
    disk[446 + 4] = 0x83;
    disk[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    disk[446 + 12..446 + 16].copy_from_slice(&(18_u32 << 11).to_le_bytes());
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk.extend(fs::read(bench.path("v")).unwrap());
    fs::write(bench.path("disk"), disk).unwrap();
    let said = text(&bench.ok("info disk"));
    assert!(said.contains("partition 1") && said.contains("LUKS2"), "{said}");
    let told: serde_json::Value = serde_json::from_slice(&bench.ok("info disk --json")).unwrap();
    assert_eq!(told["partitions"][0]["kind"]["kind"], "luks");
    assert_eq!(told["partitions"][0]["offset"], 1 << 20);
    // A key is changed in the partition, and nothing else is.
    let place = "--partition 1 --passphrase-file old";
    bench
        .ok(&format!("key add disk {place} --new-keyfile old --unlock-time 1ms --new-prf sha-256"));
    bench.ok(&format!("info disk --open {place}"));
    assert!(text(&bench.ok("info disk --partition 1")).contains("keyslot 1"));
}

#[test]
fn a_disk_of_large_sectors_is_named_in_the_header_as_veracrypt_wants_it() {
    let bench = Bench::new();
    fs::write(bench.path("image"), vec![0; 2 << 20]).unwrap();
    let image = bench.path("image");
    let made = Command::new("losetup").args(["-f", "--show", "-b", "4096"]).arg(&image).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        return skipped("no loop device with sectors of 4096 bytes");
    };
    let disk = text(&made.stdout).trim().to_owned();
    let detached = Detached(&disk);
    let cheap = "--prf sha-512 --pim 1 --passphrase-file old";
    for format in ["veracrypt", "truecrypt"] {
        let cheap =
            if format == "veracrypt" { cheap } else { "--prf sha-512 --passphrase-file old" };
        // The requested size takes precedence.
        for (asked, sector) in [("", " 4096"), (" --sector-size 512", " 512")] {
            let create = format!("create {disk} --quick --format {format} {cheap}{asked}");
            bench.ok(&format!("{create} --destroy {disk}"));
            let said = text(&bench.ok(&format!("info {disk} --open {cheap}")));
            assert!(
                said.lines().any(|line| line.starts_with("sector size") && line.ends_with(sector)),
                "{said}"
            );
        }
    }
    drop(detached);
}

#[test]
fn a_changed_passphrase_keeps_the_pim_and_says_what_opens_the_volume() {
    let bench = Bench::new();
    for (name, content) in [("new", "a new secret"), ("key", "a key file")] {
        fs::write(bench.path(name), content).unwrap();
    }
    let pim = "--prf sha-512 --pim 1";
    bench.ok(&format!("create v --size 2MiB --quick {pim} --passphrase-file old --keyfile key"));
    let change = "key change v --passphrase-file old --keyfile key --new-passphrase-file new";
    let said = bench.told(&format!("{change} {pim}"));
    assert!(said.contains("without a key file") && said.contains("PIM is unchanged"), "{said}");
    bench.ok(&format!("info v --open {pim} --passphrase-file new"));
    // A new PIM is taken.
    let change = "key change v --passphrase-file new --new-passphrase-file old --new-pim 2";
    let said = bench.told(&format!("{change} {pim}"));
    assert!(!said.contains("unchanged"), "{said}");
    bench.ok("info v --open --prf sha-512 --pim 2 --passphrase-file old");
}

/// A loop device that is detached when dropped.
struct Detached<'a>(&'a str);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", self.0]).status();
    }
}
