//! `cryptbench volume` with untrusted input: volumes that would give away root privileges, and files that are not
//! volumes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::waiting::{wait_for_open, wait_until};
use crate::sandbox::{Sandbox, skipped, text};
use rustix::process::{Pid, Signal};
use sha2::{Digest as _, Sha256};

/// Another user, who owns nothing. It is nobody, because fusermount3 requires a user with a name.
const STRANGER: u32 = 65_534;

/// A sandbox with a passphrase in a file, to which other users have read access.
struct Bench {
    sandbox: Sandbox,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { sandbox: Sandbox::new() };
        fs::write(bench.path("secret"), "a secret").unwrap();
        let place = bench.sandbox.target();
        fs::set_permissions(place.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    fn volume(&self, args: &[&str]) -> Output {
        self.sandbox.run(&[&["volume"], args].concat())
    }

    /// Runs and expects success.
    fn ok(&self, args: &[&str]) -> Output {
        let output = self.volume(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        output
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

const OPENED: [&str; 2] = ["--passphrase-file", "secret"];

/// Arguments that create the cheapest volume.
const CREATE: [&str; 10] = [
    "create",
    "v",
    "--format",
    "luks1",
    "--size",
    "8MiB",
    "--unlock-time",
    "1ms",
    "--passphrase-file",
    "secret",
];

fn can_mount() -> bool {
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        skipped("mounting needs root and /dev/fuse");
        return false;
    }
    true
}

/// Options of the mount at `place` (proc_pid_mountinfo(5)).
fn mount_options(place: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let entries = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut at = entries.filter(|fields| Path::new(fields[4]) == place);
    at.next_back().expect("a mount")[5].split(',').map(ToOwned::to_owned).collect()
}

#[test]
fn a_strangers_volume_hands_out_neither_root_nor_a_disk() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("mnt")).unwrap();
    bench.ok(&[&CREATE[..], &["--mkfs", "ext4"]].concat());
    let place = bench.path("mnt").canonicalize().unwrap();
    let mount = |more: &[&str]| {
        bench.ok(&[&["mount", "v", "mnt"], &OPENED[..], more].concat());
    };
    let who = || {
        let out = Command::new(place.join("id")).arg("-u").uid(STRANGER).gid(STRANGER).output();
        text(&out.unwrap().stdout).trim().to_owned()
    };
    let zero = || {
        let device = fs::File::open(place.join("zero"))?;
        device.read_exact_at(&mut [1; 16], 0)
    };
    let told =
        |wanted: [&str; 2]| wanted.map(|name| mount_options(&place).iter().any(|o| o == name));
    mount(&["-o", "suid,dev"]);
    assert_eq!(told(["nosuid", "nodev"]), [false, false]);
    // The copy keeps its name: if all of coreutils is a single program, the name selects what it does.
    fs::copy("/usr/bin/id", place.join("id")).unwrap();
    fs::set_permissions(place.join("id"), Permissions::from_mode(0o4755)).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.join("zero"),
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::RUSR,
        rustix::fs::makedev(1, 5),
    )
    .unwrap();
    // On request, both have their usual effect.
    assert_eq!(who(), "0");
    zero().unwrap();
    bench.ok(&["umount", "mnt"]);
    for more in [&[][..], &["-o", "noatime"], &["--read-only"]] {
        mount(more);
        assert_eq!(told(["nosuid", "nodev"]), [true, true], "{more:?}");
        assert_eq!(who(), STRANGER.to_string(), "{more:?}");
        assert_eq!(zero().unwrap_err().kind(), std::io::ErrorKind::PermissionDenied, "{more:?}");
        bench.ok(&["umount", "mnt"]);
    }
    mount(&["-o", "suid"]);
    assert_eq!(told(["nosuid", "nodev"]), [false, true]);
    bench.ok(&["umount", "mnt"]);
    mount(&["--raw"]);
    assert_eq!(told(["nosuid", "nodev"]), [true, true]);
    bench.ok(&["umount", "mnt"]);
}

/// Time that a refusal, or stopping after a signal, may take on a busy machine.
const SOON: Duration = Duration::from_secs(2);

/// The exit code and messages of a command that ends soon. Kills it if it does not.
fn soon(command: &mut Command) -> (Option<i32>, String) {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn what_can_hold_no_volume_is_refused_at_once_by_every_command() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mnt")).unwrap();
    fs::create_dir(bench.path("directory")).unwrap();
    let pipe = bench.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let _socket = UnixListener::bind(bench.path("socket")).unwrap();
    let key = ["--passphrase-file", "secret", "--new-passphrase-file", "secret"];
    let commands: [&[&str]; 15] = [
        &["create", "X", "--size", "8MiB"],
        &["create", "X", "--destroy", "X"],
        &["create", "X", "--destroy", "X", "--hidden", "--size", "1MiB"],
        &["info", "X"],
        &["info", "X", "--open"],
        &["dump", "X", "out"],
        &["mount", "X", "mnt"],
        &["mount", "X", "mnt", "--foreground", "--raw"],
        &["umount", "X"],
        &["key", "add", "X"],
        &["key", "change", "X"],
        &["key", "remove", "X"],
        &["header-backup", "X", "out"],
        &["header-restore", "X"],
        &["export", "X", "--nbd", "nbd"],
    ];
    for (what, called) in [
        ("pipe", "a pipe"),
        ("/dev/zero", "a character device"),
        ("directory", "a directory"),
        ("socket", "a socket"),
    ] {
        for command in commands {
            let mut args = vec!["volume"];
            args.extend(command.iter().map(|arg| if *arg == "X" { what } else { *arg }));
            match command[..] {
                ["umount", ..] => {}
                ["key", "add" | "change", ..] => args.extend(key),
                _ => args.extend(OPENED),
            }
            let (code, said) = soon(&mut bench.sandbox.command(&args));
            assert_eq!(code, Some(3), "{args:?}: {said}");
            let refused_for_what_it_is = said.contains(called);
            assert!(
                refused_for_what_it_is || command[0] == "umount" || said.contains("--destroy"),
                "{args:?}: {said}"
            );
        }
    }
    let left: Vec<_> = bench
        .sandbox
        .left_behind()
        .into_iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(["out", "nbd"].iter().all(|name| !left.iter().any(|left| left == name)), "{left:?}");
}

#[test]
fn a_pipe_gives_a_passphrase_when_it_comes_and_a_signal_ends_the_wait() {
    let bench = Bench::new();
    bench.ok(&CREATE);
    let pipe = bench.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let args = ["volume", "info", "v", "--open", "--passphrase-file", "pipe"];
    let mut waiting = bench.sandbox.command(&args);
    let mut child = waiting.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_open(&mut child, &pipe);
    fs::write(&pipe, "a secret\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    for option in ["--passphrase-file", "--keyfile"] {
        let args = ["volume", "info", "v", "--open", option, "pipe"];
        let waits = |child: &mut Child| wait_for_open(child, &pipe);
        let (code, said) = terminated(&mut bench.sandbox.command(&args), waits);
        assert_eq!(code, Some(143), "{option}: {said}");
    }
}

/// The exit code and messages of a command that gets SIGTERM as soon as `is_there` returns. Kills it if it takes
/// long.
fn terminated(command: &mut Command, is_there: impl Fn(&mut Child)) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    is_there(&mut child);
    assert!(child.try_wait().unwrap().is_none(), "it ended before the signal");
    let begun = Instant::now();
    rustix::process::kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

/// A LUKS2 volume whose header requires this much memory and this many passes of Argon2id.
fn costly(bench: &Bench, memory_kib: u32, passes: u32) {
    let size = ["--size", "20MiB", "--unlock-time", "1ms"];
    bench.ok(&[&["create", "v", "--format", "luks2"], &size[..], &OPENED].concat());
    let mut bytes = fs::read(bench.path("v")).unwrap();
    // Both copies consist of a binary header, JSON metadata padded with zeros, and a checksum over all of it.
    const COPY: usize = 16 << 10;
    for copy in bytes[..2 * COPY].chunks_mut(COPY) {
        let metadata = &mut copy[4096..];
        let end = metadata.iter().position(|byte| *byte == 0).unwrap();
        let mut root: serde_json::Value = serde_json::from_slice(&metadata[..end]).unwrap();
        let kdf = &mut root["keyslots"]["0"]["kdf"];
        (kdf["memory"], kdf["time"]) = (memory_kib.into(), passes.into());
        let text = root.to_string();
        metadata.fill(0);
        metadata[..text.len()].copy_from_slice(text.as_bytes());
        copy[448..512].fill(0);
        let digest = Sha256::digest(&*copy);
        copy[448..][..digest.len()].copy_from_slice(&digest);
    }
    fs::write(bench.path("v"), bytes).unwrap();
}

#[test]
fn a_signal_ends_a_key_derivation_that_a_header_makes_last_for_minutes() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path("mnt")).unwrap();
    costly(&bench, 1 << 20, 64);
    let commands: [&[&str]; 6] = [
        &["info", "v", "--open"],
        &["dump", "v", "out"],
        &["mount", "v", "mnt"],
        &["mount", "v", "mnt", "--foreground"],
        &["export", "v", "--nbd", "nbd"],
        &["key", "change", "v", "--new-passphrase-file", "secret"],
    ];
    for command in commands {
        let args = [&["volume"], command, &OPENED].concat();
        let derives = |child: &mut Child| {
            wait_until("a key is derived", || resident_kib(child.id()) > 100 << 10);
        };
        let (code, said) = terminated(&mut bench.sandbox.command(&args), derives);
        assert_eq!(code, Some(143), "{command:?}: {said}");
        assert!(said.contains("stopped"), "{command:?}: {said}");
    }
    assert!(mounts_below(&bench.path("mnt")).is_empty());
}

/// Memory of a process and its descendants in KiB.
fn resident_kib(process: u32) -> u64 {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
    let status = read("status").unwrap_or_default();
    let own =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    let children = read(&format!("task/{process}/children")).unwrap_or_default();
    let children = children.split_whitespace().flat_map(str::parse).map(resident_kib);
    own.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) + children.sum::<u64>()
}

/// Mount points at or below a path.
fn mounts_below(place: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = place.display().to_string();
    mounts.lines().filter(|line| line.contains(&place)).map(ToOwned::to_owned).collect()
}

#[test]
fn a_header_that_asks_for_more_memory_than_there_is_is_refused() {
    let bench = Bench::new();
    costly(&bench, 4 << 20, 4);
    let open = ["volume", "info", "v", "--open", "--passphrase-file", "secret"];
    let Some(cgroup) = Cgroup::of_64_mib() else {
        skipped("the memory limits of cgroups cannot be set here");
        return;
    };
    // A shell enters the group and then executes the program.
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", cgroup.0.display());
    let limited = |args: &[&str]| {
        let program = bench.sandbox.command(args);
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, "sh"]).arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(bench.sandbox.target()).stdin(Stdio::null());
        soon(&mut shell)
    };
    let (code, said) = limited(&open);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("needs 4096 MiB of memory"), "{said}");
    assert!(said.contains("this process can have"), "{said}");
    fs::remove_file(bench.path("v")).unwrap();
    // A volume created in the group can also be opened in it.
    let create = ["volume", "create", "v", "--format", "luks2", "--size", "20MiB"];
    let (code, said) = limited(&[&create[..], &["--unlock-time", "1ms"], &OPENED].concat());
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = limited(&open);
    assert_eq!(code, Some(0), "{said}");
}

/// A control group below that of this test, with little memory. Dropping it removes it.
struct Cgroup(PathBuf);

impl Cgroup {
    fn of_64_mib() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = |controller: &str| {
            let mut lines = own.lines().map(|line| line.splitn(3, ':').skip(1));
            lines.find_map(|mut line| (line.next()? == controller).then_some(line.next()?))
        };
        let name = format!("cryptbench-test-{}", std::process::id());
        for (top, path, limit) in [
            ("/sys/fs/cgroup/memory", path("memory"), "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", path(""), "memory.max"),
        ] {
            let Some(path) = path else { continue };
            let group = Self(Path::new(top).join(path.trim_start_matches('/')).join(&name));
            let made = fs::create_dir(&group.0).is_ok();
            if made && fs::write(group.0.join(limit), (64 << 20).to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A volume that belongs to an ordinary user, a mount point, and a copy of the program that this user can run.
fn give_to_stranger(bench: &Bench) {
    bench.ok(&CREATE);
    fs::copy(env!("CARGO_BIN_EXE_cryptbench"), bench.path("program")).unwrap();
    fs::set_permissions(bench.path("program"), Permissions::from_mode(0o755)).unwrap();
    for name in ["home", "mnt"] {
        fs::create_dir(bench.path(name)).unwrap();
    }
    for name in ["home", "mnt", "v", "secret", "."] {
        chown(bench.path(name), Some(STRANGER), Some(STRANGER)).unwrap();
    }
}

/// Runs `volume` as that user, who may lock `limit` bytes.
fn as_stranger(bench: &Bench, limit: u64, args: &[&str]) -> Command {
    let mut command = Command::new("prlimit");
    command
        .arg(format!("--memlock={limit}:{limit}"))
        .arg("setpriv")
        .args([format!("--reuid={STRANGER}"), format!("--regid={STRANGER}")])
        .arg("--clear-groups")
        .arg(bench.path("program"))
        .arg("volume")
        .args(args)
        .env("HOME", bench.path("home"))
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_RUNTIME_DIR")
        .current_dir(bench.sandbox.target())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Processes of the copied program that have a volume open.
fn processes(bench: &Bench) -> Vec<i32> {
    let program = bench.path("program").canonicalize().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_one =
        |pid: &i32| fs::read_link(format!("/proc/{pid}/exe")).ok().as_ref() == Some(&program);
    let serves = |pid: &i32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"confined")
    };
    pids.filter(is_one).filter(serves).collect()
}

/// Locked memory of a process in KiB.
fn locked_kib(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Limits on locked memory, and whether each is enough: the current default, that of older systems, and 0.
const LIMITS: [(u64, bool); 3] = [(8 << 20, true), (64 << 10, true), (0, false)];

/// Number of warnings that keys are not locked.
fn warnings(said: &str) -> usize {
    said.matches("locked in memory").count()
}

#[test]
fn an_ordinary_users_keys_are_locked_in_memory_or_a_warning_says_that_they_are_not() {
    if !can_mount() {
        return;
    }
    let bench = Bench::new();
    give_to_stranger(&bench);
    for (limit, locks) in LIMITS {
        for args in [&["info", "v", "--open"][..], &["dump", "v", "-"]] {
            let output = as_stranger(&bench, limit, &[args, &OPENED].concat()).output().unwrap();
            let said = text(&output.stderr);
            assert!(output.status.success(), "{args:?} {limit}: {said}");
            assert_eq!(warnings(&said), usize::from(!locks), "{args:?} {limit}: {said}");
        }
        let args = [&["export", "v", "--nbd", "nbd"], &OPENED[..]].concat();
        let mut server = as_stranger(&bench, limit, &args).spawn().unwrap();
        wait_until("it serves", || {
            assert!(server.try_wait().unwrap().is_none(), "it ended early");
            bench.path("nbd").exists()
        });
        let pid = Pid::from_child(&server);
        let keeper = pid.as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children"));
        let locked = locked_kib(children.unwrap().trim().parse().unwrap());
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        let said = text(&server.wait_with_output().unwrap().stderr);
        assert_eq!((locked > 0, warnings(&said)), (locks, usize::from(!locks)), "{limit}: {said}");
    }
    // A command that needs no secret has nothing to warn about.
    let output = as_stranger(&bench, 0, &["info", "v"]).output().unwrap();
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn an_ordinary_users_mount_keeps_its_keys_locked() {
    if !can_mount() {
        return;
    }
    if Command::new("fusermount3").arg("-V").output().is_err() {
        skipped("an ordinary user mounts with fusermount3 (package fuse3)");
        return;
    }
    // Distributions give everybody access to it with a udev rule, which is not applied in containers.
    if fs::metadata("/dev/fuse").is_ok_and(|m| m.permissions().mode() & 0o006 != 0o006) {
        skipped("/dev/fuse is for root alone here");
        return;
    }
    let bench = Bench::new();
    give_to_stranger(&bench);
    for (limit, locks) in LIMITS {
        let args = [&["mount", "v", "mnt", "--raw"], &OPENED[..]].concat();
        let output = as_stranger(&bench, limit, &args).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{limit}: {said}");
        let locked: Vec<_> = processes(&bench).into_iter().map(|pid| locked_kib(pid) > 0).collect();
        let done = as_stranger(&bench, limit, &["umount", "mnt"]).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert_eq!(
            (locked, warnings(&said)),
            (vec![locks], usize::from(!locks)),
            "{limit}: {said}"
        );
    }
}
