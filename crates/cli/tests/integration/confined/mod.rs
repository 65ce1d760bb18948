//! The process that serves a volume: from inside it, tries everything that it must not be able to do, and checks
//! what is left when it or its keeper is killed.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::hostile_volume::compiled;
use crate::sandbox::waiting::wait_until;
use crate::sandbox::{Sandbox, skipped, text};

const OPENED: [&str; 2] = ["--passphrase-file", "secret"];
const OWNER: u32 = 4711;

/// A volume that belongs to an ordinary user, and a mount point for it.
struct Bench {
    sandbox: Sandbox,
}

impl Bench {
    /// `None` where nothing can be mounted.
    fn new() -> Option<Self> {
        if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
            skipped("mounting needs root and /dev/fuse");
            return None;
        }
        let bench = Self { sandbox: Sandbox::new() };
        fs::write(bench.path("secret"), "secret").unwrap();
        fs::create_dir(bench.path("mnt")).unwrap();
        let size = ["create", "v", "--format", "luks1", "--size", "4MiB", "--unlock-time", "1ms"];
        bench.ok(&[&size[..], &OPENED].concat());
        chown(bench.path("v"), Some(OWNER), Some(OWNER)).unwrap();
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        self.sandbox.command(&[&["volume"], args].concat())
    }

    fn ok(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        output
    }

    /// Mounts the plaintext as a file.
    fn mount(&self) {
        self.ok(&[&["mount", "v", "mnt", "--raw"], &OPENED[..]].concat());
    }

    /// The mount's keeper and server.
    fn processes(&self) -> (Pid, Pid) {
        let journals = self.sandbox.left_behind();
        let journal = journals.iter().find(|path| path.extension().is_some_and(|e| e == "jsonl"));
        let journal = fs::read_to_string(journal.expect("a journal")).unwrap();
        let owner: serde_json::Value =
            serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        let keeper = Pid::from_raw(owner["owner"]["process"].as_i64().unwrap() as i32).unwrap();
        (keeper, child_of(keeper))
    }

    fn write_and_sync(&self) {
        let mut file = fs::File::options().write(true).open(self.path("mnt/volume")).unwrap();
        std::io::Write::write_all(&mut file, &[9; 5000]).unwrap();
        file.sync_all().unwrap();
    }

    /// Waits until nothing is left of the mount.
    fn is_gone(&self) {
        let place = self.sandbox.target().display().to_string();
        let left = || {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
            let journals = self.sandbox.left_behind();
            mounts.contains(&place)
                || journals.iter().any(|path| path.extension().is_some_and(|e| e == "jsonl"))
        };
        wait_until("nothing is left", || !left());
    }
}

/// A failed test leaves no mount behind.
impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.command(&["umount", "mnt"]).output();
    }
}

fn child_of(process: Pid) -> Pid {
    let process = process.as_raw_nonzero();
    let list = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(&list).unwrap_or_default();
    let mut children = children.split_whitespace().map(|pid| pid.parse().unwrap());
    Pid::from_raw(children.next().expect("a server")).unwrap()
}

fn has_ended(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.ok().is_none_or(|s| s.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z')))
}

/// The status of each thread of a process, from `/proc`.
fn threads(process: Pid) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).unwrap();
    tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap()).collect()
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim()
}

/// The library that tries everything.
fn library(place: &Path) -> Option<PathBuf> {
    compiled(place, include_str!("tries.rs"), "tries", &["--crate-type=cdylib"])
}

/// The attempts, each with its error number.
fn answers(file: &Path) -> Vec<(String, i32)> {
    wait_until("everything was tried", || {
        fs::read_to_string(file).is_ok_and(|answers| answers.ends_with("done\n"))
    });
    let answers = fs::read_to_string(file).unwrap();
    let line = |line: &str| {
        let (call, error) = line.split_once(": ")?;
        Some((call.to_owned(), error.parse().unwrap()))
    };
    answers.lines().filter_map(line).collect()
}

const REFUSED: i32 = 1;

/// At least one process tried everything, and every attempt was refused. A process that has completed its task may
/// be killed halfway.
fn assert_refused(answers: &[(String, i32)]) {
    for last in ["open", "io_uring"] {
        assert!(answers.iter().any(|(call, _)| call == last), "{answers:?}");
    }
    assert!(answers.iter().all(|(_, error)| *error == REFUSED), "{answers:?}");
}

#[test]
fn what_serves_a_volume_can_do_nothing_else() {
    let Some(bench) = Bench::new() else { return };
    let place = tempfile::tempdir().unwrap();
    let Some(library) = library(place.path()) else { return };
    // In an unconfined process, every attempt succeeds.
    let file = place.path().join("free");
    let done = Command::new("dd")
        .args(["if=/dev/zero", "bs=512", "count=1", "conv=fdatasync", "status=none"])
        .arg(format!("of={}", place.path().join("written").display()))
        .env("LD_PRELOAD", &library)
        .env("CRYPTBENCH_TEST_ANSWERS", &file)
        .env("CRYPTBENCH_TEST_ANYWHERE", "1")
        .status()
        .unwrap();
    assert!(done.success());
    let _ = fs::remove_dir("/tmp/cryptbench-must-not-be");
    let free = answers(&file);
    assert_eq!(free.len(), 11, "{free:?}");
    let refused: Vec<_> = free.iter().filter(|(_, error)| *error == REFUSED).collect();
    assert!(refused.iter().all(|(call, _)| call == "io_uring" || call == "ptrace"), "{refused:?}");

    for transport in ["device", "io-uring"] {
        let file = place.path().join(transport);
        let mut command = bench.command(
            &[&["mount", "v", "mnt", "--raw", "--transport", transport], &OPENED[..]].concat(),
        );
        command.env("LD_PRELOAD", &library).env("CRYPTBENCH_TEST_ANSWERS", &file);
        let done = command.output().unwrap();
        let said = text(&done.stderr);
        if said.contains("FUSE over io_uring needs") {
            skipped(&said);
            continue;
        }
        assert!(done.status.success(), "{said}");
        bench.write_and_sync();
        let (keeper, server) = bench.processes();
        assert_eq!(field(&threads(keeper)[0], "Uid").split_whitespace().next(), Some("0"));
        let limits =
            fs::read_to_string(format!("/proc/{}/limits", server.as_raw_nonzero())).unwrap();
        let locked = limits.lines().find(|line| line.starts_with("Max locked memory")).unwrap();
        // CAP_IPC_LOCK (14), if root may not raise that limit.
        let kept = if locked.contains("unlimited") { 0 } else { 1 << 14 };
        let threads = threads(server);
        assert!(threads.len() > 4, "it serves with several threads");
        for status in threads {
            let ids = |name: &str| field(&status, name).split_whitespace().collect::<Vec<_>>();
            let user: u32 = ids("Uid")[0].parse().unwrap();
            assert!(![0, OWNER, 65_534].contains(&user), "{status}");
            assert_eq!((ids("Uid"), ids("Gid")), (vec![ids("Uid")[0]; 4], vec!["65534"; 4]));
            let (groups, gains, filter) = ("Groups", "NoNewPrivs", "Seccomp");
            let is = (field(&status, groups), field(&status, gains), field(&status, filter));
            assert_eq!(is, ("", "1", "2"), "{status}");
            for (rights, kept) in [("CapEff", kept), ("CapPrm", kept), ("CapInh", 0), ("CapAmb", 0)]
            {
                let has = u64::from_str_radix(field(&status, rights), 16).unwrap();
                assert_eq!(has & !kept, 0, "{rights}: {status}");
            }
        }
        // Other processes of the user cannot read its memory.
        let memory = fs::metadata(format!("/proc/{}/mem", server.as_raw_nonzero())).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&memory), 0);
        bench.ok(&["umount", "mnt"]);
        bench.is_gone();
        // If rings serve the requests, the process itself flushes at the end.
        let confined = answers(&file);
        assert_refused(&confined);
        assert!(!Path::new("/tmp/cryptbench-must-not-be").exists());
    }
    let plain = bench.ok(&[&["dump", "v", "-"], &OPENED[..]].concat()).stdout;
    assert!(plain[..5000] == [9; 5000]);
}

#[test]
fn what_reads_a_header_can_do_nothing_else() {
    let Some(bench) = Bench::new() else { return };
    let place = tempfile::tempdir().unwrap();
    let Some(library) = library(place.path()) else { return };
    let commands: [&[&str]; 8] = [
        &["info", "v"],
        &["info", "v", "--open", "--passphrase-file", "secret"],
        &["dump", "v", "plain", "--passphrase-file", "secret"],
        &["key", "add", "v", "--passphrase-file", "secret", "--new-passphrase-file", "other"],
        &["key", "change", "v", "--passphrase-file", "other", "--new-passphrase-file", "third"],
        &["key", "remove", "v", "--passphrase-file", "third"],
        &["header-backup", "v", "saved"],
        &["header-restore", "v", "saved"],
    ];
    for (name, passphrase) in [("other", "other"), ("third", "third")] {
        fs::write(bench.path(name), passphrase).unwrap();
    }
    for (i, args) in commands.into_iter().enumerate() {
        let file = place.path().join(i.to_string());
        let mut command = bench.command(args);
        command.env("LD_PRELOAD", &library).env("CRYPTBENCH_TEST_ANSWERS", &file);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
        assert_refused(&answers(&file));
    }
}

#[test]
fn what_serves_over_nbd_can_do_nothing_else() {
    let Some(bench) = Bench::new() else { return };
    if Command::new("nbdcopy").arg("--version").output().is_err() {
        skipped("nbdcopy (package libnbd-bin) is needed");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let Some(library) = library(place.path()) else { return };
    let dump = [&["dump", "v", "-"], &OPENED[..]].concat();
    let data = vec![7; bench.ok(&dump).stdout.len()];
    let file = place.path().join("confined");
    let mut command = bench.command(&[&["export", "v", "--nbd", "nbd"], &OPENED[..]].concat());
    command.env("LD_PRELOAD", &library).env("CRYPTBENCH_TEST_ANSWERS", &file);
    let mut keeper = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("it serves", || bench.path("nbd").exists());
    fs::write(place.path().join("data"), &data).unwrap();
    let socket = format!("nbd+unix:///?socket={}", bench.path("nbd").display());
    let copied = Command::new("nbdcopy")
        .args(["--flush".as_ref(), place.path().join("data").as_os_str(), socket.as_ref()])
        .output()
        .unwrap();
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    assert_refused(&answers(&file));
    kill_process(Pid::from_child(&keeper), Signal::TERM).unwrap();
    assert!(keeper.wait().unwrap().success());
    assert!(!bench.path("nbd").exists());
    assert!(bench.ok(&dump).stdout == data);
}

#[test]
fn a_killed_server_is_taken_down_by_its_keeper() {
    let Some(bench) = Bench::new() else { return };
    bench.mount();
    bench.write_and_sync();
    let (keeper, server) = bench.processes();
    kill_process(server, Signal::KILL).unwrap();
    wait_until("the keeper ends", || has_ended(keeper));
    bench.is_gone();
    bench.mount();
    bench.ok(&["umount", "mnt"]);
    bench.is_gone();
}

#[test]
fn a_server_ends_with_its_killed_keeper_and_the_next_mount_sweeps_up() {
    let Some(bench) = Bench::new() else { return };
    bench.mount();
    let (keeper, server) = bench.processes();
    kill_process(keeper, Signal::KILL).unwrap();
    wait_until("the server ends", || has_ended(server));
    bench.mount();
    let (_, other) = bench.processes();
    assert_ne!(other, server);
    bench.ok(&["umount", "v"]);
    bench.is_gone();
}

#[test]
fn ctrl_c_takes_down_what_is_in_the_foreground() {
    use std::os::unix::process::CommandExt as _;
    let Some(bench) = Bench::new() else { return };
    let args = ["mount", "v", "mnt", "--raw", "--foreground"];
    let mut command = bench.command(&[&args[..], &OPENED].concat());
    let mut keeper = command.process_group(0).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it is mounted", || bench.path("mnt/volume").exists());
    bench.write_and_sync();
    kill_process_group(Pid::from_child(&keeper), Signal::INT).unwrap();
    assert_eq!(keeper.wait().unwrap().code(), Some(0));
    bench.is_gone();
    let plain = bench.ok(&[&["dump", "v", "-"], &OPENED[..]].concat()).stdout;
    assert!(plain[..5000] == [9; 5000]);
}
