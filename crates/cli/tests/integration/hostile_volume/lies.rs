//! A confined process that an untrusted header has taken over may send anything, and its keeper has root
//! privileges.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{compiled, mounts};
use crate::sandbox::disk::{Loop, did};
use crate::sandbox::waiting::wait_until;
use crate::sandbox::{Sandbox, skipped, text};

/// More than any honest mount takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A volume whose server lies, and the target of the lie.
struct Bench {
    sandbox: Sandbox,
    liar: PathBuf,
}

impl Bench {
    fn new() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !["/dev/fuse", "/dev/loop-control"].iter().all(|p| fs::exists(p).unwrap()) {
            skipped("mounting needs root, /dev/fuse and loop devices");
            return None;
        }
        let sandbox = Sandbox::new();
        let liar = compiled(sandbox.out().as_path(), include_str!("liar.rs"), "liar", &[])?;
        let bench = Self { sandbox, liar };
        fs::write(bench.path("v"), vec![0; 8 << 20]).unwrap();
        fs::write(bench.path("secret"), "secret").unwrap();
        fs::create_dir(bench.path("mnt")).unwrap();
        for (image, mark) in [("image", "shown"), ("victim", "roots")] {
            let tree = bench.path("tree");
            fs::create_dir_all(&tree).unwrap();
            fs::write(tree.join(mark), mark).unwrap();
            fs::write(bench.path(image), vec![0; 8 << 20]).unwrap();
            let [tree_path, file] = [&tree, &bench.path(image)].map(|p| p.display().to_string());
            if !did("mkfs.ext4", &["-q", "-F", "-d", &tree_path, &file]) {
                return None;
            }
            fs::remove_dir_all(tree).unwrap();
            fs::set_permissions(bench.path(image), Permissions::from_mode(0o600)).unwrap();
        }
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    fn start(&self, lie: &str, victim: &str, more: &[&str]) -> Child {
        let args = ["volume", "mount", "v", "mnt", "--format", "luks", "--foreground"];
        let secret = ["--passphrase-file", "secret", "--transport", "device"];
        let mut command = self.sandbox.command(&[&args[..], &secret, more].concat());
        command
            .env("CRYPTBENCH_TEST_CHILD", &self.liar)
            .env("CRYPTBENCH_TEST_LIE", lie)
            .env("CRYPTBENCH_TEST_IMAGE", self.path("image"))
            .env("CRYPTBENCH_TEST_VICTIM", victim)
            .stdout(Stdio::null())
            // A file instead of a pipe, because nobody reads a pipe in the meantime.
            .stderr(fs::File::create(self.path("said")).unwrap());
        command.spawn().unwrap()
    }

    fn is_mounted(&self) -> bool {
        mounts().contains(&self.path("mnt").display().to_string())
    }

    /// Whether an entry is visible at the mount point.
    fn shows(&self, name: &str) -> bool {
        self.path("mnt").join(name).exists()
    }

    /// Checks that nothing is left of the mount, and that the victim is unchanged.
    fn check_clean(&self, lie: &str, before: &[u8]) {
        let place = self.sandbox.target().display().to_string();
        wait_until(lie, || {
            let journals = self.sandbox.left_behind();
            !mounts().contains(&place)
                && !journals.iter().any(|path| path.extension().is_some_and(|e| e == "jsonl"))
        });
        let attached =
            Command::new("losetup").arg("-a").output().map(|o| text(&o.stdout).to_string());
        assert!(!attached.unwrap_or_default().contains(&place), "{lie}");
        assert!(fs::read(self.path("victim")).unwrap() == before, "{lie}: the victim was changed");
    }
}

fn ended_within(child: &mut Child, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

fn terminate(child: &Child) {
    kill_process(Pid::from_child(child), Signal::TERM).unwrap();
}

#[test]
fn what_it_serves_honestly_is_mounted() {
    let Some(bench) = Bench::new() else { return };
    let victim = bench.path("victim").display().to_string();
    let before = fs::read(&victim).unwrap();
    for lie in ["none", "another"] {
        let mut keeper = bench.start(lie, &victim, &[]);
        wait_until("it is mounted", || bench.is_mounted() || keeper.try_wait().unwrap().is_some());
        assert!(bench.shows("shown"), "{lie}");
        terminate(&keeper);
        assert!(ended_within(&mut keeper, PATIENCE), "{lie}");
        bench.check_clean(lie, &before);
    }
}

const LIES: &[&str] = &[
    "symlink",
    "pipe",
    "directory",
    "larger",
    "smaller",
    "claim",
    "sector",
    "early",
    "long",
    "end",
    "babble",
    "deaf",
    "hollow",
    "asks-odd",
    "asks-long",
    "asks-nothing",
];

#[test]
fn a_lie_is_an_error_and_mounts_nothing() {
    let Some(bench) = Bench::new() else { return };
    let victim = bench.path("victim").display().to_string();
    let before = fs::read(&victim).unwrap();
    let mut survived = 0;
    for seed in cryptbench_prove::seeds(LIES.len() as u64) {
        let lie = LIES[seed as usize % LIES.len()];
        let mut keeper = bench.start(lie, &victim, &[]);
        let ended = ended_within(&mut keeper, PATIENCE);
        let reached = bench.shows("roots");
        if !ended {
            terminate(&keeper);
            let _ = ended_within(&mut keeper, PATIENCE);
        }
        assert!(!reached, "{lie}: root's file is mounted");
        assert!(ended, "{lie}: it goes on");
        let status = keeper.wait().unwrap();
        let said = fs::read_to_string(bench.path("said")).unwrap();
        assert!(!status.success() && status.code() != Some(101), "{lie}: {said}");
        assert!(!said.contains(['\x1b', '\x07', '\r']) && said.len() < 500_000, "{lie}: {said}");
        bench.check_clean(lie, &before);
        survived += 1;
    }
    cryptbench_prove::count(survived, "attacks: lies of a confined process");
}

#[test]
fn a_device_of_roots_is_not_reached() {
    let Some(bench) = Bench::new() else { return };
    let before = fs::read(bench.path("victim")).unwrap();
    let Some(device) = Loop::over(&bench.path("victim").display().to_string(), &[]) else { return };
    let mut keeper = bench.start("device", &device.device, &[]);
    assert!(ended_within(&mut keeper, PATIENCE));
    assert!(!keeper.wait().unwrap().success() && !bench.shows("roots"));
    drop(device);
    bench.check_clean("device", &before);
}

#[test]
fn what_shall_be_read_only_is_whatever_the_server_says() {
    let Some(bench) = Bench::new() else { return };
    let before = fs::read(bench.path("victim")).unwrap();
    let mut keeper = bench.start("none", &bench.path("victim").display().to_string(), &["-r"]);
    wait_until("it is mounted", || bench.is_mounted() || keeper.try_wait().unwrap().is_some());
    let place = bench.path("mnt").display().to_string();
    let mounts = mounts();
    let line = mounts.lines().find(|line| line.contains(&place)).expect("it is mounted");
    assert!(line.contains(&format!("{place} ro,")), "{line}");
    let device = line.split_whitespace().rev().nth(1).unwrap().trim_start_matches("/dev/");
    let read_only = fs::read_to_string(format!("/sys/block/{device}/ro")).unwrap();
    assert_eq!(read_only.trim(), "1", "{line}");
    terminate(&keeper);
    assert!(ended_within(&mut keeper, PATIENCE));
    bench.check_clean("read-only", &before);
}

#[test]
fn silence_ends_with_a_signal() {
    let Some(bench) = Bench::new() else { return };
    let victim = bench.path("victim").display().to_string();
    let before = fs::read(&victim).unwrap();
    for lie in ["mute", "silent", "silent-reads"] {
        let mut keeper = bench.start(lie, &victim, &[]);
        std::thread::sleep(Duration::from_millis(500));
        assert!(!bench.is_mounted(), "{lie}");
        terminate(&keeper);
        let ended = ended_within(&mut keeper, PATIENCE);
        if !ended {
            // The kernel lets the keeper exit after all holders of the connection are gone.
            let _ = Command::new("pkill").args(["-KILL", "-f"]).arg(&bench.liar).status();
            keeper.wait().unwrap();
        }
        assert!(ended, "{lie}: it hangs");
        assert_ne!(keeper.wait().unwrap().code(), Some(0), "{lie}");
        bench.check_clean(lie, &before);
    }
}

/// Lies about an eCryptfs directory: nothing outside the new directory is created or changed, and nothing in it is
/// written twice.
#[test]
fn what_it_says_of_a_directory_leads_nowhere_else() {
    let sandbox = Sandbox::new();
    let Some(liar) = compiled(sandbox.out().as_path(), include_str!("liar.rs"), "liar", &[]) else {
        return;
    };
    let path = |name: &str| sandbox.target().join(name);
    fs::create_dir(path("lower")).unwrap();
    for name in ["lower/a", "lower/b", "victim", "secret"] {
        fs::write(path(name), name).unwrap();
    }
    std::os::unix::fs::symlink("a", path("lower/link")).unwrap();
    let lies =
        ["not-ready", "absolute", "above", "dots", "long", "another-kind", "name-as-content"];
    for (lie, code) in lies.map(|lie| (lie, 1)).into_iter().chain([("same", 5), ("none", 0)]) {
        let mut command =
            sandbox.command(&["volume", "dump", "lower", "out", "--passphrase-file", "secret"]);
        let done = command
            .env("CRYPTBENCH_TEST_CHILD", &liar)
            .env("CRYPTBENCH_TEST_LIE", lie)
            .env("CRYPTBENCH_TEST_IMAGE", path("victim"))
            .env("CRYPTBENCH_TEST_VICTIM", path("victim"))
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(code), "{lie}: {}", text(&done.stderr));
        assert_eq!(fs::read_to_string(path("victim")).unwrap(), "victim", "{lie}");
        let all = fs::read_dir(sandbox.target()).unwrap().flatten().map(|entry| entry.file_name());
        let known = ["lower", "victim", "secret", "out", "out.partial"];
        assert!(all.into_iter().all(|name| known.iter().any(|known| name == *known)), "{lie}");
        for made in ["out", "out.partial"] {
            let _ = fs::remove_dir_all(path(made));
        }
    }
}
