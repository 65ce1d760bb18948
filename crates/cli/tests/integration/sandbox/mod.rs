//! A separate environment for each test: a target directory, and a home directory that no other test uses.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod disk;
pub mod waiting;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cryptbench_record::Record;

pub struct Sandbox {
    /// Unmounted before the directory in which it is mounted is removed.
    small: Option<disk::Mount>,
    dir: tempfile::TempDir,
    profile: String,
}

/// One workload per direction. The eight workloads of the profile quick take four times as long and test little
/// more.
const PROFILE: &str = r#"
name = "tiny"
description = "One workload each way."

[[workload]]
id = "write"
label = "random write"
operation = "write"
pattern = "random"
block_size = "4KiB"
queue_depth = 2
headline = "iops"

[[workload]]
id = "read"
label = "random read"
operation = "read"
pattern = "random"
block_size = "4KiB"
queue_depth = 2
headline = "iops"
"#;

impl Sandbox {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for sub in ["target", "home", "out"] {
            fs::create_dir(dir.path().join(sub)).unwrap();
        }
        let profile = dir.path().join("tiny.toml");
        fs::write(&profile, PROFILE).unwrap();
        Self { small: None, dir, profile: profile.display().to_string() }
    }

    /// For systems that create containers and fill a part of the free space, up to half a gigabyte. If this user
    /// may mount, the target is a separate, small ext4.
    pub fn with_little_room() -> Self {
        let mut sandbox = Self::new();
        let image = sandbox.dir.path().join("image");
        fs::File::create(&image).unwrap().set_len(800 << 20).unwrap();
        let (image, target) = (image.display().to_string(), sandbox.target());
        let mkfs = ["-q", "-F", "-b", "4096", "-m", "0", "-O", "encrypt", &image];
        if disk::did("mkfs.ext4", &mkfs)
            && disk::did("mount", &["-o", "loop", &image, &target.display().to_string()])
        {
            sandbox.small = Some(disk::Mount::at(&target));
            fs::remove_dir(target.join("lost+found")).unwrap();
        }
        sandbox
    }

    /// The directory in which runs measure.
    pub fn target(&self) -> PathBuf {
        self.dir.path().join("target")
    }

    /// The file of a profile with one workload per direction.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    /// `cryptbench` with these arguments. Its journals and records stay in the sandbox.
    pub fn command(&self, args: &[&str]) -> Command {
        let home = self.dir.path().join("home");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptbench"));
        command
            .args(args)
            .env("HOME", &home)
            .env("TMPDIR", &home)
            // Set explicitly, because root's default is not in its home directory.
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env_remove("XDG_DATA_HOME")
            .env_remove("CRYPTBENCH_CPU")
            .env_remove("COLUMNS")
            .env_remove("SUDO_UID")
            .current_dir(self.target())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// For a snapshot of a refused command: its arguments, exit code and message.
    pub fn refused(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(text(&done.stdout), "", "{args:?}");
        let code = done.status.code().expect("an exit code");
        let said = format!("$ cryptbench {}\n[{code}] {}", args.join(" "), text(&done.stderr));
        self.without_place(&said)
    }

    /// For a snapshot: the output without the path of the sandbox.
    pub fn without_place(&self, said: &str) -> String {
        said.replace(&self.dir.path().display().to_string(), "SANDBOX")
    }

    /// Copies `record` to the user's runs.
    pub fn keep_run(&self, record: &Path) {
        let run = cryptbench_record::read(record).unwrap().run_id;
        let place = self.dir.path().join("home/.local/share/cryptbench/runs").join(run);
        fs::create_dir_all(&place).unwrap();
        fs::copy(record, place.join("record.json")).unwrap();
    }

    /// Runs a line as it is typed in a terminal of 80 columns. `cryptbench` is the script `shim`, which finds the
    /// program in `$CRYPTBENCH`; `sudo` has no effect.
    pub fn shell(&self, shim: &str, line: &str) -> Output {
        use std::os::unix::fs::PermissionsExt as _;
        let programs = self.dir.path().join("programs");
        fs::create_dir_all(&programs).unwrap();
        for (name, script) in [("cryptbench", shim), ("sudo", "#!/bin/sh\nexec \"$@\"\n")] {
            fs::write(programs.join(name), script).unwrap();
            fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let like = self.command(&[]);
        let mut shell = Command::new("bash");
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let path = std::env::var("PATH").unwrap_or_default();
        shell
            .args(["-o", "pipefail", "-c", line])
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("CRYPTBENCH", env!("CARGO_BIN_EXE_cryptbench"))
            .env("COLUMNS", "80")
            .current_dir(self.target())
            .stdin(Stdio::null());
        shell.output().unwrap()
    }

    /// All figures of the run in [`out`](Self::out), as `report --full` prints them.
    pub fn full(&self) -> String {
        let (out, page) = (self.out(), self.dir.path().join("home/page.html"));
        let done = self
            .command(&["report"])
            .arg(out)
            .args(["--full", "--output"])
            .arg(&page)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    }

    /// The shortest possible run: two workloads unless another profile is named, and tiny trials.
    pub fn tiny<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        // The budget is far larger than necessary, to allow for a busy machine. The run ends because of the number
        // of pairs.
        let mut args = vec!["run", "--size", "16MiB", "--trial", "10ms", "--budget", "90s"];
        args.extend(["--max-pairs", "6", "--seed", "1"]);
        if !more.contains(&"--profile") {
            args.extend(["--profile", &self.profile]);
        }
        // Everything else that is chosen by default depends on the machine.
        let chosen = [
            "--system",
            "--systems",
            "--pair",
            "--existing",
            "--builtin-only",
            "--study",
            "--cipher",
        ];
        if !more.iter().any(|word| chosen.contains(word)) {
            args.push("--builtin-only");
        }
        args.extend(more);
        args
    }

    /// The record of a [`tiny`](Self::tiny) run, which must succeed and leave nothing behind.
    pub fn measured(&self, args: &[&str]) -> Record {
        let mut args = self.tiny(args);
        args.push("--json");
        let done = self.run(&args);
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
        assert!(self.left_behind().is_empty(), "{:?}", self.left_behind());
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// Everything in the target directory and every journal. A run must leave none of these behind.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        let mut found = files(self.target());
        let home = self.dir.path().join("home");
        found.extend(files(home.join(".local/state/cryptbench/ledgers")));
        found
    }
}

fn files(dir: PathBuf) -> Vec<PathBuf> {
    fs::read_dir(dir).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether there is time for all tests (CONTRIBUTING.md, "Tiers").
pub fn nightly() -> bool {
    std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly")
}

/// Prints why a test did nothing; `cargo xtask test` lists these lines.
pub fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}
