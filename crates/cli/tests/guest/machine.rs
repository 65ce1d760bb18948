//! A Linux with dm-crypt in a process of an ordinary user: user-mode Linux, booted with a script.
//!
//! The root file system is that of the host, read-only. The work directory is shared and writable, and files in it
//! are the guest's disks. Nothing outside the work directory changes. Dropping [`Running`] kills the whole process
//! group, which is a power cut for the guest.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};

use crate::sandbox::{Sandbox, nightly, skipped, text};

/// A boot takes about 3 s and the longest script a minute; both take longer on a busy machine.
const LIMIT: Duration = Duration::from_secs(900);
const POLL: Duration = Duration::from_millis(10);

/// The message of user-mode Linux if the host does not accept the registers of a process.
const REGISTERS: &str = "ptrace set fp regs failed";

const KERNEL: &str = "/usr/bin/linux.uml";
const MODULES: &str = "/usr/lib/uml/modules";

/// Debian's `nobody` and `nogroup`.
const NOBODY: u32 = 65534;

/// Programs that every guest needs, with their packages.
const PROGRAMS: &[(&str, &str)] = &[
    (KERNEL, "user-mode-linux"),
    ("/sbin/modprobe", "kmod"),
    ("/sbin/cryptsetup", "cryptsetup-bin"),
    ("/bin/bash", "bash"),
];

/// A work directory, and everything needed to boot with it.
pub struct Guest {
    sandbox: Sandbox,
}

impl Guest {
    /// If no guest can be booted, prints the reason and returns `None`. `programs` are files that the script needs
    /// in addition to those that every guest has, with their packages.
    pub fn new(programs: &[(&str, &str)]) -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            skipped("user-mode Linux is for x86 only");
            return None;
        }
        for (file, package) in PROGRAMS.iter().chain(programs) {
            if !Path::new(file).exists() {
                skipped(&format!("no {file}; apt install {package}"));
                return None;
            }
        }
        let guest = Self { sandbox: Sandbox::new() };
        if let Err(why) = guest.furnish() {
            skipped(&why);
            return None;
        }
        Some(guest)
    }

    fn furnish(&self) -> Result<(), String> {
        // The ordinary user must have access to the work directory.
        let open = |mode| fs::Permissions::from_mode(mode);
        fs::set_permissions(self.work().parent().unwrap(), open(0o755)).unwrap();
        self.write("init.sh", include_str!("init.sh"));
        let links = self.work().join("modules/lib/modules");
        fs::create_dir_all(&links).unwrap();
        let modules = fs::read_dir(MODULES).map_err(|_| format!("no {MODULES}"))?;
        for version in modules.flatten() {
            std::os::unix::fs::symlink(version.path(), links.join(version.file_name())).unwrap();
        }
        let base = self.work().join("modules");
        let modprobe = format!("#!/bin/sh\nexec /sbin/modprobe -d {} \"$@\"\n", base.display());
        self.write("modprobe", modprobe);
        for program in ["init.sh", "modprobe"] {
            fs::set_permissions(self.path(program), open(0o755)).unwrap();
        }
        self.preloaded()
    }

    /// The library that user-mode Linux needs on CPUs with large registers; compiled once for all guests.
    /// `xstate.rs` explains why.
    fn preloaded(&self) -> Result<(), String> {
        static LIBRARY: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
        match LIBRARY.get_or_init(compiled) {
            Ok(library) => self.write("xstate.so", library),
            Err(why) => return Err(why.clone()),
        }
        Ok(())
    }

    /// The directory shared by host and guest, at the same path in both.
    pub fn work(&self) -> PathBuf {
        self.sandbox.target()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// An empty disk.
    pub fn disk(&self, name: &str, bytes: u64) {
        fs::File::create_new(self.path(name)).unwrap().set_len(bytes).unwrap();
    }

    /// Runs `cryptbench volume` with these arguments on the host, in the work directory. Returns its output.
    pub fn volume(&self, words: &str) -> Vec<u8> {
        let args: Vec<_> = ["volume"].into_iter().chain(words.split_whitespace()).collect();
        self.succeeds(self.sandbox.command(&args))
    }

    /// The same, but may fail.
    pub fn tried(&self, words: &str) -> Output {
        let args: Vec<_> = ["volume"].into_iter().chain(words.split_whitespace()).collect();
        self.sandbox.run(&args)
    }

    fn succeeds(&self, mut command: Command) -> Vec<u8> {
        let Output { status, stdout, stderr } = command.output().unwrap();
        assert!(status.success(), "{command:?}: {status}: {}", text(&stderr));
        stdout
    }

    /// Lets the guest run `cryptbench` as ./cryptbench, because the guest may have no access to the build
    /// directory.
    pub fn bring_cryptbench(&self) {
        fs::copy(env!("CARGO_BIN_EXE_cryptbench"), self.path("cryptbench")).unwrap();
    }

    /// Boots with these files of the work directory as /dev/ubda, /dev/ubdb and so on, runs the script in bash in
    /// the work directory with `set -eu`, and powers off. Panics with the guest's output if the script did not run
    /// to its end.
    pub fn boot(&self, disks: &[&str], script: &str) -> String {
        let pass = self.path("PASS");
        match self.start(disks, script).finish(&pass) {
            // The host rejected the registers of a process with EAGAIN, so the guest killed the process. This is
            // rare and unrelated to what is tested here.
            Err(said) if said.contains(REGISTERS) => {
                eprintln!("the guest lost a process ({REGISTERS}), and is booted once more");
                self.start(disks, script).finish(&pass)
            }
            done => done,
        }
        .unwrap_or_else(|said| panic!("the guest failed{said}"))
    }

    /// The same without waiting for the end.
    pub fn start(&self, disks: &[&str], script: &str) -> Running {
        assert!(disks.len() <= 16, "user-mode Linux has 16 disks");
        self.write("script", script);
        let _ = fs::remove_file(self.path("PASS"));
        let work = self.work();
        let mut command = Command::new(KERNEL);
        command
            .args(["mem=256M", "rootfstype=hostfs", "root=/dev/root", "ro", "quiet"])
            .args(["con0=fd:0,fd:1", "con=null"])
            .arg(format!("init={}", self.path("init.sh").display()))
            .arg(format!("work={}", work.display()))
            .args(
                disks
                    .iter()
                    .enumerate()
                    .map(|(i, disk)| format!("ubd{i}={}", self.path(disk).display())),
            )
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &work)
            .env("LD_PRELOAD", self.path("xstate.so"))
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if geteuid().is_root() {
            give_away(&work);
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let console = [collect(stdout), collect(stderr)];
        Running { child, console: Some(console), until: Instant::now() + LIMIT }
    }
}

fn compiled() -> Result<Vec<u8>, String> {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("xstate.rs"), include_str!("xstate.rs")).unwrap();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", "-Cstrip=symbols"])
        .args(["-O", "-o", "xstate.so", "xstate.rs"])
        .current_dir(place.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(fs::read(place.path().join("xstate.so")).unwrap())
        }
        Ok(output) => panic!("xstate.rs: {}", text(&output.stderr)),
        Err(e) => Err(format!("rustc cannot be run: {e}")),
    }
}

/// Makes the ordinary user the owner of everything in the work directory.
fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

fn collect(mut from: impl std::io::Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        text(&bytes)
    })
}

/// A guest that is running or booting.
pub struct Running {
    child: Child,
    console: Option<[JoinHandle<String>; 2]>,
    until: Instant,
}

impl Running {
    /// Waits until the guest has powered off. Returns its output, or an error if the script did not run to its end.
    fn finish(mut self, pass: &Path) -> Result<String, String> {
        while self.is_up() {
            std::thread::sleep(POLL);
        }
        let in_time = Instant::now() < self.until;
        let said = self.cut_power();
        let when = if in_time { "" } else { ", out of time" };
        if pass.exists() { Ok(said) } else { Err(format!("{when}:\n{said}")) }
    }

    /// Whether it is still running and has time left.
    pub fn is_up(&mut self) -> bool {
        Instant::now() < self.until && self.child.try_wait().unwrap().is_none()
    }

    /// Kills it immediately. Returns its output so far.
    pub fn cut_power(mut self) -> String {
        self.kill();
        let console = self.console.take().into_iter().flatten();
        console.map(|thread| thread.join().unwrap()).collect()
    }

    fn kill(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // The guest's processes survive their kernel unless they are killed as well.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The items with the names `quick`; in the nightly tier, all items.
pub fn of_tier<T>(all: Vec<T>, name: impl Fn(&T) -> &str, quick: &[&str]) -> Vec<T> {
    assert!(quick.iter().all(|wanted| all.iter().any(|one| name(one) == *wanted)), "{quick:?}");
    all.into_iter().filter(|one| nightly() || quick.contains(&name(one))).collect()
}

/// Bytes that occur nowhere else by chance; always the same for a seed.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// The first position at which two byte strings differ. If one is a prefix of the other, its length. `None` if they
/// are equal.
pub fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let differ = a.iter().zip(b).position(|(a, b)| a != b);
    differ.or((a.len() != b.len()).then_some(a.len().min(b.len())))
}
