//! `cryptbench volume` through the binary: every format is created, opened, changed, mounted and refused.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::sandbox::{Sandbox, skipped, text};

/// A sandbox with passphrases in files. The tests use the same names in each.
struct Bench {
    sandbox: Sandbox,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { sandbox: Sandbox::new() };
        // These contain bytes that a shell or a terminal would change.
        fs::write(bench.path("old"), b"old \xc3\xa4 secret\n").unwrap();
        fs::write(bench.path("new"), b"new secret").unwrap();
        fs::write(bench.path("key"), [7; 100]).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    fn volume(&self, args: &[&str]) -> Output {
        let mut all = vec!["volume"];
        all.extend(args);
        self.sandbox.run(&all)
    }

    /// Runs and expects success.
    fn ok(&self, args: &[&str]) -> Output {
        let output = self.volume(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        output
    }

    /// Runs the command, expects this exit code, and returns the messages.
    fn refused(&self, args: &[&str], code: i32) -> String {
        let output = self.volume(args);
        let said = self.sandbox.without_place(&text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        said
    }

    fn create(&self, format: &str) {
        self.ok(&create(format));
    }

    fn plaintext(&self, more: &[&str]) -> Vec<u8> {
        let mut args = vec!["dump", "v", "-", "--passphrase-file", "old"];
        args.extend(more);
        self.ok(&args).stdout
    }
}

/// A failed test leaves no mount behind.
impl Drop for Bench {
    fn drop(&mut self) {
        if self.path("mnt").exists() {
            let _ = self.volume(&["umount", "mnt"]);
        }
    }
}

/// Arguments that create the cheapest volume of a format, with the old passphrase.
fn create(format: &str) -> Vec<&str> {
    let mut args = vec!["create", "v", "--format", format, "--passphrase-file", "old"];
    args.extend(match format {
        "veracrypt" => ["--size", "2MiB", "--pim", "1"],
        "truecrypt" => ["--size", "2MiB", "--prf", "ripemd-160"],
        "luks1" => ["--size", "4MiB", "--unlock-time", "1ms"],
        _ => ["--size", "20MiB", "--unlock-time", "1ms"],
    });
    args
}

/// Options that make opening it fast.
fn hint(format: &str) -> &'static [&'static str] {
    match format {
        "veracrypt" => &["--pim", "1", "--prf", "sha-512"],
        "truecrypt" => &["--prf", "ripemd-160"],
        _ => &[],
    }
}

const FORMATS: [&str; 4] = ["veracrypt", "truecrypt", "luks1", "luks2"];

#[test]
fn every_format_is_created_dumped_and_described() {
    for format in FORMATS {
        let bench = Bench::new();
        bench.create(format);
        let plain = bench.plaintext(hint(format));
        assert!(!plain.is_empty() && plain.len().is_multiple_of(512), "{format}");
        let mut args = vec!["info", "v", "--open", "--passphrase-file", "old"];
        args.extend(hint(format));
        let said = text(&bench.ok(&args).stdout);
        assert!(
            said.contains(format) && said.contains("aes-256-xts")
                || said.contains("AES")
                || said.contains("aes-xts"),
            "{said}"
        );
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        args.push("--json");
        let json: serde_json::Value = serde_json::from_slice(&bench.ok(&args).stdout).unwrap();
        assert_eq!(json["opened"]["format"], *format);
    }
}

#[test]
fn without_a_key_a_veracrypt_volume_is_random_bytes_and_luks_is_not() {
    let bench = Bench::new();
    bench.create("veracrypt");
    let said = text(&bench.ok(&["info", "v"]).stdout);
    assert!(said.contains("VeraCrypt") && said.contains("cannot be distinguished"), "{said}");
    fs::remove_file(bench.path("v")).unwrap();
    bench.create("luks2");
    let said = text(&bench.ok(&["info", "v"]).stdout);
    assert!(said.contains("LUKS2") && said.contains("argon2id"), "{said}");
}

#[test]
fn a_wrong_passphrase_is_told_from_a_damaged_header() {
    let mut said = String::new();
    for format in FORMATS {
        let bench = Bench::new();
        bench.create(format);
        let mut args = vec!["dump", "v", "out", "--passphrase-file", "new"];
        args.extend(hint(format));
        said += &bench.refused(&args, 7);
        assert!(!bench.path("out").exists());
    }
    let bench = Bench::new();
    bench.create("luks2");
    let mut bytes = fs::read(bench.path("v")).unwrap();
    bytes[4096..4104].fill(0xff);
    bytes[16384 + 4096..16384 + 4104].fill(0xff);
    fs::write(bench.path("v"), bytes).unwrap();
    said += &bench.refused(&["dump", "v", "out", "--passphrase-file", "old"], 5);
    insta::assert_snapshot!(said, @"
        cryptbench: v: no key fits: wrong passphrase, key files or PIM (--pim), not sha-512, or not a TrueCrypt or VeraCrypt volume; for a hidden volume add --hidden, for a damaged header --backup-header
        cryptbench: v: no key fits: wrong passphrase, key files or PIM (--pim), not ripemd-160, or not a TrueCrypt or VeraCrypt volume; for a hidden volume add --hidden, for a damaged header --backup-header
        cryptbench: v: no key fits: no keyslot can be unlocked with this passphrase or key file
        cryptbench: v: no key fits: no keyslot can be unlocked with this passphrase or key file
        cryptbench: v: damaged luks2 header: primary: its checksum is wrong; secondary: at 16384: its checksum is wrong
        ");
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let bench = Bench::new();
    fs::write(bench.path("v"), "precious").unwrap();
    let mut said = bench.refused(&create("luks1"), 3);
    let mut args = create("veracrypt");
    args.extend(["--destroy", "old"]);
    said += &bench.refused(&args, 3);
    assert_eq!(fs::read(bench.path("v")).unwrap(), b"precious");
    fs::remove_file(bench.path("v")).unwrap();
    bench.create("luks1");
    said += &bench.refused(&["dump", "v", "new", "--passphrase-file", "old"], 3);
    said += &bench.refused(&["header-backup", "v", "new"], 3);
    insta::assert_snapshot!(said, @"
        cryptbench: v: already exists, and all data on it would be lost; to overwrite it, repeat its path with --destroy
        cryptbench: v: the path given with --destroy is a different file or device
        cryptbench: new: already exists and will not be overwritten
        cryptbench: new: already exists and will not be overwritten
        ");
    assert_eq!(fs::read(bench.path("new")).unwrap(), b"new secret");
}

#[test]
fn a_volume_that_cannot_be_made_leaves_no_file() {
    let bench = Bench::new();
    let mut args = create("veracrypt");
    args.extend(["--cipher", "rot13"]);
    let mut said = bench.refused(&args, 2);
    said += &bench.refused(&["create", "v", "--passphrase-file", "old"], 3);
    let small = ["create", "v", "--size", "1MiB", "--format", "luks2", "--unlock-time", "1ms"];
    said += &bench.refused(&[&small[..], &["--passphrase-file", "old"]].concat(), 2);
    said += &bench.refused(&[&create("luks1")[..], &["--hidden"]].concat(), 2);
    assert!(!bench.path("v").exists());
    // Without a terminal and without a passphrase.
    let asks = bench.refused(&["create", "v", "--size", "2MiB", "--pim", "1"], 1);
    assert!(asks.contains("--passphrase-file"), "{asks}");
    assert!(!bench.path("v").exists());
    insta::assert_snapshot!(said, @"
        cryptbench: v: VeraCrypt has no cipher `rot13` (known: aes-256-xts, serpent-256-xts, twofish-256-xts, aes-twofish-xts, aes-twofish-serpent-xts, serpent-aes-xts, serpent-twofish-aes-xts, twofish-serpent-xts, camellia-256-xts, kuznyechik-xts, camellia-kuznyechik-xts, camellia-serpent-xts, kuznyechik-aes-xts, kuznyechik-serpent-camellia-xts, kuznyechik-twofish-xts)
        cryptbench: v: no such file or device; to create a file, specify its --size
        cryptbench: v: 1048576 bytes is too little: the header and one sector need 16781312
        error: the following required arguments were not provided:
          --destroy <VOLUME>

        Usage: cryptbench volume create --size <SIZE> --destroy <VOLUME> --format <FORMAT> --passphrase-file <FILE> --unlock-time <TIME> --hidden <VOLUME>

        For more information, try '--help'.
        ");
}

#[test]
fn keys_are_changed_added_and_removed() {
    for format in FORMATS {
        let bench = Bench::new();
        bench.create(format);
        let before = bench.plaintext(hint(format));
        let mut args = vec!["key", "change", "v", "--passphrase-file", "old"];
        args.extend(hint(format));
        args.extend(["--new-passphrase-file", "new", "--unlock-time", "1ms"]);
        if format == "veracrypt" {
            args.extend(["--new-pim", "1"]);
        }
        bench.ok(&args);
        let mut dump = vec!["dump", "v", "-", "--passphrase-file", "new"];
        dump.extend(hint(format));
        assert!(bench.ok(&dump).stdout == before, "{format}");
        dump[4] = "old";
        bench.refused(&dump, 7);
    }
    let bench = Bench::new();
    bench.create("luks2");
    let add = ["key", "add", "v", "--passphrase-file", "old", "--new-keyfile", "key"];
    bench.ok(&[&add[..], &["--unlock-time", "1ms", "--new-prf", "sha-256"]].concat());
    bench.ok(&["dump", "v", "-", "--keyfile", "key"]);
    // The named keyslot is tried, but is not removed without its key.
    bench.refused(&["key", "remove", "v", "--keyfile", "key", "--key-slot", "0"], 7);
    bench.ok(&["dump", "v", "-", "--passphrase-file", "old"]);
    bench.ok(&["key", "remove", "v", "--passphrase-file", "old", "--key-slot", "0"]);
    bench.refused(&["dump", "v", "-", "--passphrase-file", "old"], 7);
    insta::assert_snapshot!(bench.refused(&["key", "remove", "v", "--keyfile", "key"], 2), @"cryptbench: v: keyslot 1 is the last one: without it, the data would be lost forever");
    bench.ok(&["dump", "v", "-", "--keyfile", "key"]);
}

#[test]
fn a_header_is_saved_and_restored() {
    for format in FORMATS {
        let bench = Bench::new();
        bench.create(format);
        let before = bench.plaintext(hint(format));
        let mut args = vec!["header-backup", "v", "saved", "--passphrase-file", "old"];
        args.extend(hint(format));
        bench.ok(&args);
        let mut bytes = fs::read(bench.path("v")).unwrap();
        // The part with both LUKS2 headers, or with the header of TrueCrypt and VeraCrypt.
        bytes[..32 << 10].fill(0);
        fs::write(bench.path("v"), &bytes).unwrap();
        let mut args = vec!["header-restore", "v", "saved", "--passphrase-file", "old"];
        args.extend(hint(format));
        bench.ok(&args);
        assert!(bench.plaintext(hint(format)) == before, "{format}");
    }
}

#[test]
fn a_hidden_volume_is_made_and_opened() {
    let bench = Bench::new();
    bench.create("veracrypt");
    let hidden =
        ["create", "v", "--hidden", "--size", "512KiB", "--pim", "1", "--passphrase-file", "new"];
    let outer = ["--outer-passphrase-file", "old", "--outer-pim", "1"];
    insta::assert_snapshot!(bench.refused(&[&hidden[..], &outer].concat(), 2), @"
        error: the following required arguments were not provided:
          --destroy <VOLUME>

        Usage: cryptbench volume create --size <SIZE> --destroy <VOLUME> --hidden --pim <N> --passphrase-file <FILE> --outer-passphrase-file <FILE> --outer-pim <N> <VOLUME>

        For more information, try '--help'.
        ");
    let outer = [&outer[..], &["--destroy", "v"]].concat();
    bench.ok(&[&hidden[..], &outer].concat());
    let dump =
        ["dump", "v", "-", "--pim", "1", "--prf", "sha-512", "--hidden", "--passphrase-file"];
    assert_eq!(bench.ok(&[&dump[..], &["new"]].concat()).stdout.len(), (512 << 10) - 4096);
    bench.refused(&[&dump[..], &["old"]].concat(), 7);
}

fn can_mount() -> bool {
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        skipped("mounting needs root and /dev/fuse");
        return false;
    }
    true
}

/// Mounts, loop devices and directories that mention the sandbox.
fn left(bench: &Bench) -> Vec<String> {
    let place = bench.sandbox.target().display().to_string();
    let mut found: Vec<_> = fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .filter(|line| line.contains(&place))
        .map(ToOwned::to_owned)
        .collect();
    let journals = bench.sandbox.left_behind();
    let journals = journals.iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl"));
    found.extend(journals.map(|path| path.display().to_string()));
    found
}

#[test]
fn a_person_creates_mounts_uses_unmounts_and_opens_again() {
    if !can_mount() {
        return;
    }
    let mut said = String::new();
    for format in ["veracrypt", "luks2"] {
        let bench = Bench::new();
        fs::create_dir(bench.path("mnt")).unwrap();
        let mut args = create(format);
        args.extend(["--mkfs", "ext4"]);
        bench.ok(&args);
        let mut mount = vec!["mount", "v", "mnt", "--passphrase-file", "old"];
        mount.extend(hint(format));
        fs::write(bench.path("mnt/other"), "somebody's").unwrap();
        said += &bench.refused(&mount, 3);
        fs::remove_file(bench.path("mnt/other")).unwrap();
        bench.ok(&mount);
        fs::write(bench.path("mnt/file"), "written through the mount").unwrap();
        said += &bench.refused(&mount, 3);
        // As long as a program uses it, it is not unmounted.
        let open = fs::File::open(bench.path("mnt/file")).unwrap();
        said += &bench.refused(&["umount", "mnt"], 6);
        assert!(bench.path("mnt/file").exists());
        drop(open);
        bench.ok(&["umount", "mnt"]);
        assert!(!bench.path("mnt/file").exists());
        assert_eq!(left(&bench), [""; 0]);
        let stored = fs::read(bench.path("v")).unwrap();
        let plain = bench.plaintext(hint(format));
        let needle = b"written through the mount";
        assert!(plain.windows(needle.len()).any(|w| w == needle));
        assert!(!stored.windows(needle.len()).any(|w| w == needle));
        mount.push("--read-only");
        bench.ok(&mount);
        assert_eq!(fs::read(bench.path("mnt/file")).unwrap(), needle);
        assert!(fs::write(bench.path("mnt/file"), "no").is_err());
        bench.ok(&["umount", "v"]);
        assert_eq!(left(&bench), [""; 0]);
    }
    insta::assert_snapshot!(said, @"
        cryptbench: SANDBOX/target/mnt: the mount point is not empty, or something is mounted there
        cryptbench: v: in use by another cryptbench process, or by another program such as a virtual machine; unmount it or stop that program first
        cryptbench: SANDBOX/target/mnt is in use; close the files open there and try again
        cryptbench: SANDBOX/target/mnt: the mount point is not empty, or something is mounted there
        cryptbench: v: in use by another cryptbench process, or by another program such as a virtual machine; unmount it or stop that program first
        cryptbench: SANDBOX/target/mnt is in use; close the files open there and try again
        ");
}

#[test]
fn what_one_transport_wrote_the_other_reads() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("mnt")).unwrap();
    bench.ok(&create("luks2"));
    let mount = |more: &[&str]| {
        bench.volume(&[&["mount", "v", "mnt", "--raw", "--passphrase-file", "old"], more].concat())
    };
    let has_rings = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", server_of(&bench.path("v")))).unwrap();
        let name = |task: std::io::Result<fs::DirEntry>| {
            fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
        };
        tasks.map(name).any(|name| name.starts_with("fuse-ring"))
    };
    let data: Vec<u8> = (0..700_001u32).map(|i| ((i * 31) >> 3) as u8).collect();
    let file = bench.path("mnt/volume");
    let uring = mount(&["--transport", "io-uring"]);
    if !uring.status.success() {
        let said = text(&uring.stderr);
        assert!(said.contains("FUSE over io_uring needs"), "{said}");
        skipped("this kernel has no FUSE over io_uring");
        return;
    }
    assert!(has_rings());
    let open = fs::File::options().write(true).open(&file).unwrap();
    open.write_all_at(&data, 12_345).unwrap();
    drop(open);
    bench.ok(&["umount", "mnt"]);
    for (way, rings) in [("device", false), ("auto", true)] {
        let mounted = mount(&["--transport", way]);
        assert!(mounted.status.success(), "{}", text(&mounted.stderr));
        assert_eq!(has_rings(), rings, "{way}");
        let stored = fs::read(&file).unwrap();
        assert!(stored[12_345..][..data.len()] == data, "{way}");
        bench.ok(&["umount", "mnt"]);
    }
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn a_killed_server_leaves_nothing_that_cleanup_does_not_remove_and_no_secret_shows() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("mnt")).unwrap();
    bench.ok(&[&create("luks1")[..], &["--mkfs", "ext4"]].concat());
    bench.ok(&["mount", "v", "mnt", "--passphrase-file", "old"]);
    let server = server_of(&bench.path("v"));
    for what in ["cmdline", "environ"] {
        let shown = fs::read(format!("/proc/{server}/{what}")).unwrap();
        assert!(!shown.windows(7).any(|w| w == b" secret"), "{what}");
    }
    let number = |process: &str, name: &str, radix: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        u64::from_str_radix(line.trim_end_matches(" kB"), radix).unwrap()
    };
    // CAP_IPC_LOCK (14): a process with this capability protects its keys from being swapped out.
    if number("self", "CapEff:", 16) >> 14 & 1 == 1 {
        assert!(number(&server.to_string(), "VmLck:", 10) > 0);
    }
    kill(keeper_of(server));
    let said = text(&bench.sandbox.run(&["cleanup"]).stdout);
    assert!(said.contains("mnt"), "{said}");
    assert_eq!(left(&bench), [""; 0]);
    // It can be mounted again. The remains of a killed server are also removed by the next mount, or by umount.
    bench.ok(&["mount", "v", "mnt", "--passphrase-file", "old"]);
    kill(keeper_of(server_of(&bench.path("v"))));
    bench.ok(&["mount", "v", "mnt", "--raw", "--passphrase-file", "old"]);
    kill(keeper_of(server_of(&bench.path("v"))));
    bench.ok(&["umount", "v"]);
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn a_file_that_was_not_finished_goes_with_cleanup() {
    let bench = Bench::new();
    let begun = || {
        let entries = fs::read_dir(bench.sandbox.target()).unwrap().flatten();
        let part = |path: &PathBuf| path.extension().is_some_and(|e| e == "part");
        entries.map(|entry| entry.path()).find(part)
    };
    // A key derivation of half a minute, which the test does not wait for.
    let args =
        ["volume", "create", "v", "--size", "2MiB", "--pim", "60000", "--passphrase-file", "old"];
    let mut child = bench.sandbox.command(&args).spawn().unwrap();
    while begun().is_none_or(|path| fs::metadata(path).map_or(0, |m| m.len()) == 0) {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::yield_now();
    }
    // The file of a running process is kept.
    bench.sandbox.run(&["cleanup"]);
    assert!(begun().is_some());
    kill(child.id() as i32);
    child.wait().unwrap();
    bench.sandbox.run(&["cleanup"]);
    assert_eq!((begun(), left(&bench)), (None, vec![]));
}

/// Kills a process, and waits until its files are closed.
fn kill(process: i32) {
    let pid = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // The last thread closes the files, and releases the locks, before it disappears from this list.
    let threads = || fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    let state = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let is_zombie =
        |stat: String| stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'));
    while threads() > 1 || !is_zombie(state()) {
        std::thread::yield_now();
    }
}

/// The keeper, which unmounts what `server` serves.
fn keeper_of(server: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{server}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

/// The background process that has this volume open.
fn server_of(volume: &Path) -> i32 {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid: &i32| {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            files.flatten_links().any(|link| link == volume)
        })
        .expect("a server")
}

trait Links {
    fn flatten_links(self) -> impl Iterator<Item = PathBuf>;
}

impl<I: Iterator<Item = fs::DirEntry>> Links for I {
    fn flatten_links(self) -> impl Iterator<Item = PathBuf> {
        self.filter_map(|entry| fs::read_link(entry.path()).ok())
    }
}

#[test]
fn raw_gives_the_plaintext_as_a_file() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("mnt")).unwrap();
    bench.create("luks1");
    bench.ok(&["mount", "v", "mnt", "--raw", "--passphrase-file", "old"]);
    let plain = fs::read(bench.path("mnt/volume")).unwrap();
    fs::write(bench.path("piece"), [9; 5000]).unwrap();
    let mut file = fs::File::options().write(true).open(bench.path("mnt/volume")).unwrap();
    std::io::Write::write_all(&mut file, &[9; 5000]).unwrap();
    file.sync_all().unwrap();
    // As long as it is open, it stays mounted, and can still be written.
    bench.refused(&["umount", "mnt"], 6);
    std::io::Write::write_all(&mut file, &[8; 100]).unwrap();
    drop(file);
    bench.ok(&["umount", "mnt"]);
    let after = bench.plaintext(&[]);
    assert_eq!(after.len(), plain.len());
    assert!(after[..5000] == [9; 5000] && after[5000..5100] == [8; 100]);
    assert!(after[5100..] == plain[5100..]);
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn bitlocker_is_created_opened_by_each_protector_and_described() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let create = ["create", "v", "--format", "bitlocker", "--size", "4MiB"];
    let secrets = ["--passphrase-file", "old", "--recovery-password-file", "recovery"];
    bench.ok(&[&create[..], &secrets].concat());
    let digits = fs::read_to_string(bench.path("recovery")).unwrap();
    assert_eq!(digits.trim().split('-').filter(|group| group.len() == 6).count(), 8, "{digits}");
    let mode = fs::metadata(bench.path("recovery")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let plain = bench.plaintext(&[]);
    assert_eq!(plain.len(), 4 << 20);
    let by_recovery = bench.ok(&["dump", "v", "-", "--recovery-password-file", "recovery"]).stdout;
    assert!(by_recovery == plain);
    let said = text(&bench.ok(&["info", "v", "--open", "--passphrase-file", "old"]).stdout);
    for word in ["BitLocker", "AES-XTS 128", "recovery password", "1048576 times SHA-256", "valid"]
    {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    let json = bench.ok(&["info", "v", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["bitlocker"]["method"], "aes-128-xts");
    assert_eq!(json["detection"]["kind"]["kind"], "bit-locker");

    let opened =
        |key: &[&'static str], code| bench.refused(&[&["dump", "v", "out"], key].concat(), code);
    let mut said = opened(&["--passphrase-file", "new"], 7);
    said += &opened(&["--startup-key", "key"], 2);
    said += &opened(&["--recovery-password-file", "old"], 2);
    said += &opened(&["--passphrase-file", "old", "--hidden"], 2);
    let change = ["key", "change", "v", "--passphrase-file", "old", "--new-passphrase-file", "new"];
    said += &bench.refused(&change, 5);
    said += &bench.refused(&["header-backup", "v", "out"], 5);
    insta::assert_snapshot!(said, @"
        cryptbench: v: no key fits: tried: password; the volume is protected by: password, recovery password
        cryptbench: v: the startup key file is not valid: it has no startup key header
        cryptbench: old: a recovery password has eight groups of six digits; this one contains other \
            characters; the file must be the one that Windows saved, or contain only the 48 digits
        cryptbench: v: BitLocker has no hidden volumes
        cryptbench: changing a BitLocker volume's keys or metadata is not supported; use `manage-bde` on Windows
        cryptbench: v: backing up the header of a BitLocker volume is not supported; its metadata is stored on the volume three times; on Windows, \
            `manage-bde -KeyPackage` saves the key package that repair-bde needs if all copies are lost
        ");
    assert!(!bench.path("out").exists());
}

#[test]
fn what_is_not_filled_is_said_and_fill_leaves_nothing_of_what_was_there() {
    let earlier = b"earlier data, sixteen times in a sector, and 12345678901234567890".repeat(8);
    let mut told = String::new();
    for (format, size) in [("luks1", 4), ("luks2", 20), ("bitlocker", 4), ("veracrypt", 2)] {
        let bench = Bench::new();
        let cost: &[&str] = match format {
            "veracrypt" => &["--pim", "1"],
            "bitlocker" => &[],
            _ => &["--unlock-time", "1ms"],
        };
        let before: Vec<u8> = earlier.iter().copied().cycle().take(size << 20).collect();
        let make = |more: &[&str]| {
            fs::write(bench.path("v"), &before).unwrap();
            let words = ["create", "v", "--destroy", "v", "--format", format];
            let opened = ["--passphrase-file", "old"];
            let said = text(&bench.ok(&[&words, cost, &opened, more].concat()).stderr);
            format!("{format} {}\n{said}", more.join(" "))
        };
        let left = || {
            let after = fs::read(bench.path("v")).unwrap();
            let sectors = after.chunks(512).zip(before.chunks(512));
            sectors.filter(|(after, before)| after == before).count()
        };
        if format == "veracrypt" {
            told += &make(&[]);
            assert_eq!(left(), 0);
            told += &make(&["--quick"]);
            assert!(left() > 1000);
            told += &bench.refused(&[&create(format)[..], &["--fill"]].concat(), 2);
            continue;
        }
        told += &make(&[]);
        assert!(left() > 1000, "{format}");
        told += &make(&["--fill"]);
        // The area after BitLocker's metadata is not part of the file system.
        let most = if format == "bitlocker" { 4096 } else { 0 };
        assert!(left() <= most, "{format}: {}", left());
        let plain = bench.plaintext(&[]);
        let zeros = plain.iter().filter(|&&byte| byte == 0).count();
        assert!(zeros > plain.len() / 2, "{format}: {zeros} of {}", plain.len());
        // A new file has no earlier data, but shows which parts are written.
        fs::remove_file(bench.path("v")).unwrap();
        let size = format!("{size}MiB");
        let words = ["create", "v", "--size", &size, "--format", format];
        let opened = ["--passphrase-file", "old"];
        told += &text(&bench.ok(&[&words, cost, &opened].concat()).stderr);
    }
    insta::assert_snapshot!(told, @"
        luks1 
        cryptbench: created v; it is not filled: earlier data stays readable until it is overwritten, and anyone can see how much of it has been written (to avoid this: use --fill)
        luks1 --fill
        cryptbench: created v
        cryptbench: created v; it is not filled: anyone can see how much of it has been written (to avoid this: use --fill)
        luks2 
        cryptbench: created v; it is not filled: earlier data stays readable until it is overwritten, and anyone can see how much of it has been written (to avoid this: use --fill)
        luks2 --fill
        cryptbench: created v
        cryptbench: created v; it is not filled: anyone can see how much of it has been written (to avoid this: use --fill)
        bitlocker 
        cryptbench: created v; it is not filled: earlier data stays readable until it is overwritten, and anyone can see how much of it has been written (to avoid this: use --fill)
        bitlocker --fill
        cryptbench: created v
        cryptbench: created v; it is not filled: anyone can see how much of it has been written (to avoid this: use --fill)
        veracrypt 
        cryptbench: created v
        veracrypt --quick
        cryptbench: created v; it is not filled: earlier data stays readable until it is overwritten, and anyone can see how much of it has been written (to avoid this: leave out --quick)
        cryptbench: --fill is not needed: VeraCrypt and TrueCrypt volumes are filled unless --quick is given
        ");
}

#[test]
fn a_suspended_bitlocker_volume_opens_with_a_warning() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/volumes/bitlk-images.tar.xz");
    if !images.exists() {
        skipped("no ../shared/data/volumes beside the repository");
        return;
    }
    let bench = Bench::new();
    let unpacked = std::process::Command::new("tar")
        .arg("-xJf")
        .args([&images, Path::new("-C")])
        .arg(bench.path("."))
        .status();
    assert!(unpacked.unwrap().success());
    let find = |place: PathBuf| {
        let mut entries = fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
        entries.find(|path| path.to_string_lossy().contains("clearkey-only"))
    };
    let image = find(bench.path(".")).or_else(|| find(bench.path("bitlk-images"))).unwrap();
    let image = image.display().to_string();
    for command in [&["info", &image, "--open"][..], &["dump", &image, "-"]] {
        let output = bench.ok(&[command, &["--passphrase-file", "old"]].concat());
        let said = text(&output.stderr);
        assert!(said.contains("warning") && said.contains("anyone can open it"), "{said}");
        let output = bench.ok(command);
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn bitlocker_volumes_that_cannot_be_made_leave_nothing() {
    let bench = Bench::new();
    fs::write(bench.path("short"), "short").unwrap();
    let create = ["create", "v", "--format", "bitlocker", "--size", "4MiB"];
    let with = |more: &[&'static str]| [&create[..], more].concat();
    let recovery = ["--recovery-password-file", "recovery"];
    let mut said = String::new();
    for more in [
        &["--passphrase-file", "short"][..],
        &["--passphrase-file", "old", "--cipher", "serpent-256-xts"],
        &["--passphrase-file", "old", "--prf", "sha-512"],
        &["--passphrase-file", "old", "--sector-size", "1024"],
        &["--passphrase-file", "old", "--hidden", "--destroy", "v"],
        &["--passphrase-file", "old", "--keyfile", "key"],
    ] {
        said += &bench.refused(&with(&[more, &recovery].concat()), 2);
        assert!(!bench.path("v").exists() && !bench.path("recovery").exists(), "{said}");
    }
    // An existing recovery password is used and not changed.
    let digits = "471207-278498-422125-177177-561902-537405-468006-693451\n";
    fs::write(bench.path("recovery"), digits).unwrap();
    bench.ok(&with(&recovery));
    assert_eq!(fs::read_to_string(bench.path("recovery")).unwrap(), digits);
    bench.ok(&["info", "v", "--open", "--recovery-password-file", "recovery"]);
    let luks = ["create", "w", "--format", "luks1", "--size", "4MiB", "--passphrase-file", "old"];
    said += &bench.refused(&[&luks[..], &recovery].concat(), 2);
    insta::assert_snapshot!(said, @"
        cryptbench: v: a BitLocker password must have 8 to 256 characters
        cryptbench: BitLocker has no cipher `serpent-256-xts` (known: aes-128-cbc-elephant, aes-256-cbc-elephant, aes-128-cbc, aes-256-cbc, aes-128-xts, aes-256-xts)
        cryptbench: --prf cannot be used with BitLocker, which has only one key derivation function
        cryptbench: v: cannot use 1024-byte sectors on a device with 512-byte sectors
        cryptbench: BitLocker has no hidden volumes
        cryptbench: v: BitLocker supports neither key files nor a PIM
        cryptbench: --recovery-password-file needs --format bitlocker
        ");
}

#[test]
fn file_systems_of_windows_fit_in_front_of_bitlockers_metadata() {
    for (kind, program, magic) in [
        ("ntfs", "/usr/sbin/mkfs.ntfs", b"NTFS    "),
        ("exfat", "/usr/sbin/mkfs.exfat", b"EXFAT   "),
    ] {
        if !Path::new(program).exists() {
            skipped(&format!("no {program}"));
            continue;
        }
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            skipped("making a file system needs root and /dev/fuse");
            return;
        }
        let bench = Bench::new();
        bench.ok(&[
            "create",
            "v",
            "--format",
            "bitlocker",
            "--size",
            "16MiB",
            "--passphrase-file",
            "old",
            "--mkfs",
            kind,
        ]);
        let plain = bench.plaintext(&[]);
        assert_eq!(&plain[3..11], magic, "{kind}");
        // The file system ends before the metadata, which is intact.
        let json = bench.ok(&["info", "v", "--json"]).stdout;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let usable = json["bitlocker"]["copies"][0][0].as_u64().unwrap();
        let at = if kind == "ntfs" { 40 } else { 72 };
        let sectors = u64::from_le_bytes(plain[at..at + 8].try_into().unwrap());
        assert!(
            sectors * 512 <= usable && sectors * 512 > usable - (64 << 10),
            "{kind}: {sectors}"
        );
        for copy in json["bitlocker"]["copies"].as_array().unwrap() {
            assert!(copy[1].is_null(), "{kind}: {copy}");
        }
    }
}

#[test]
fn a_luks_header_that_lies_elsewhere_is_named() {
    let bench = Bench::new();
    bench.create("luks1");
    let plain = bench.plaintext(&[]);
    // The header of 2 MiB is saved separately, and the rest of the volume is not changed.
    let whole = fs::read(bench.path("v")).unwrap();
    bench.ok(&["header-backup", "v", "header"]);
    let mut torn = whole;
    torn[..1 << 20].fill(0);
    fs::write(bench.path("v"), torn).unwrap();
    let by_header = ["dump", "v", "-", "--passphrase-file", "old", "--header", "header"];
    assert!(bench.ok(&by_header).stdout == plain);
    let said = text(&bench.ok(&["info", "v", "--header", "header"]).stdout);
    assert!(said.contains("keyslot 0"), "{said}");
    for ignored in ["--hidden", "--backup-header", "--key-slot=1", "--format=veracrypt"] {
        let said = bench.refused(&[&by_header[..], &["--system", ignored]].concat(), 2);
        assert!(
            said.contains("--system with --header cannot be combined with"),
            "{ignored}: {said}"
        );
    }
    let with = |key, header| ["dump", "v", "-", "--passphrase-file", key, "--header", header];
    let mut said = bench.refused(&[&by_header[..], &["--format", "veracrypt"]].concat(), 2);
    said += &bench.refused(&with("new", "header"), 7);
    said += &bench.refused(&["header-backup", "v", "out", "--header", "header"], 2);
    said += &bench.refused(&with("old", "none"), 3);
    insta::assert_snapshot!(said, @"
        cryptbench: --header without --system is only for LUKS; it cannot be combined with --hidden, --prf or another --format
        cryptbench: v with the header header: no key fits: no keyslot can be unlocked with this passphrase or key file
        cryptbench: --header cannot be used here: specify the detached header file as the volume instead
        cryptbench: none: No such file or directory
        ");
}
