//! The process that reads an untrusted header inherits only what it needs from its caller.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{SOMEBODY, compiled};
use crate::sandbox::waiting::wait_until;
use crate::sandbox::{Sandbox, skipped, text};

const OPENED: [&str; 2] = ["--passphrase-file", "secret"];

/// A volume of another user, mounted by a shell command line. The line starts with `exec` and contains the program
/// as `"$@"`.
struct Bench {
    sandbox: Sandbox,
}

impl Bench {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            skipped("mounting needs root and /dev/fuse");
            return None;
        }
        let bench = Self { sandbox: Sandbox::new() };
        fs::write(bench.path("secret"), "secret").unwrap();
        fs::create_dir(bench.path("mnt")).unwrap();
        let create = ["create", "v", "--format", "luks1", "--size", "4MiB", "--unlock-time", "1ms"];
        let made = bench.sandbox.run(&[&["volume"], &create[..], &OPENED].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        chown(bench.path("v"), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    /// Runs `cryptbench volume mount` from a shell.
    fn by_shell(&self, line: &str, more: &[&str]) -> Command {
        let args = [&["volume", "mount", "v", "mnt", "--raw"], &OPENED[..], more].concat();
        let program = self.sandbox.command(&args);
        let mut shell = Command::new("sh");
        shell.args(["-c", line, "sh"]).arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(self.sandbox.target()).stdin(Stdio::null());
        shell
    }

    fn umount(&self) {
        let done = self.sandbox.run(&["volume", "umount", "mnt"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
    }

    /// The processes of this mount, and whether each is confined: its keeper, which has this sandbox in its
    /// environment, and the keeper's child process.
    fn processes(&self) -> Vec<(PathBuf, bool)> {
        let here = self.sandbox.target().parent().unwrap().display().to_string();
        let contains = |process: &Path, file: &str, what: &str| {
            String::from_utf8_lossy(&fs::read(process.join(file)).unwrap_or_default())
                .contains(what)
        };
        let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let keeper = all.filter(|path| {
            contains(path, "cmdline", "\0volume\0keep\0")
                && !contains(path, "cmdline", "\0confined\0")
                && contains(path, "environ", &here)
        });
        let keeper: PathBuf = keeper.last().expect("a keeper");
        let number = keeper.file_name().unwrap().to_str().unwrap();
        let children = fs::read_to_string(keeper.join(format!("task/{number}/children"))).unwrap();
        let child = children.split_whitespace().next().expect("a server");
        let server = Path::new("/proc").join(child);
        let is_confined = contains(&server, "cmdline", "\0confined\0");
        vec![(keeper, false), (server, is_confined)]
    }
}

/// The open files of a process, by descriptor.
fn open_files(process: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(|entry| Some((number(&entry)?, fs::read_link(entry.path()).ok()?))).collect()
}

#[test]
fn no_file_of_the_caller_and_no_terminal_is_passed_on() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.path("roots"), "root's alone").unwrap();
    let terminal = bench.path("terminal");
    File::create(&terminal).unwrap();
    let line = format!("exec 7<roots 8<>roots 2>>{}; exec \"$@\"", terminal.display());
    let mut command = bench.by_shell(&line, &[]);
    command.env("AWS_SECRET_ACCESS_KEY", "root's secret");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", fs::read_to_string(&terminal).unwrap());
    let processes = bench.processes();
    let seen: Vec<_> = processes.iter().map(|(process, _)| open_files(process)).collect();
    let secret = processes.iter().filter(|(_, confined)| *confined).map(|(process, _)| {
        String::from_utf8_lossy(&fs::read(process.join("environ")).unwrap())
            .contains("root's secret")
    });
    let secrets: Vec<bool> = secret.collect();
    bench.umount();
    for ((process, confined), files) in processes.iter().zip(&seen) {
        let roots = files.iter().any(|(_, file)| file.ends_with("roots"));
        assert!(!roots, "{}: {files:?}", process.display());
        let terminal = files.iter().any(|(_, file)| file.ends_with("terminal"));
        assert!(!confined || !terminal, "{}: {files:?}", process.display());
    }
    assert_eq!(secrets, [false], "its variables");
}

#[test]
fn its_owner_can_neither_stop_nor_end_the_process_that_serves() {
    let Some(bench) = Bench::new() else { return };
    assert!(bench.by_shell("exec \"$@\"", &[]).status().unwrap().success());
    let processes = bench.processes();
    let (server, _) = processes.iter().find(|(_, confined)| *confined).expect("a server");
    let number = server.file_name().unwrap();
    let status = fs::read_to_string(server.join("status")).unwrap();
    let signals = ["-STOP", "-KILL"].map(|signal| {
        let mut kill = Command::new("kill");
        let done = kill.arg(signal).arg(number).uid(SOMEBODY).gid(SOMEBODY).output().unwrap();
        done.status.success()
    });
    let _ = Command::new("kill").arg("-CONT").arg(number).status();
    bench.umount();
    assert_eq!(signals, [false; 2], "{status}");
    let real = status.lines().find_map(|line| line.strip_prefix("Uid:\t")).unwrap();
    let real: u32 = real.split_whitespace().next().unwrap().parse().unwrap();
    assert!(![0, SOMEBODY, 65_534].contains(&real), "{real}");
}

#[test]
fn without_the_right_to_change_its_user_it_has_no_other_either() {
    let Some(bench) = Bench::new() else { return };
    if Command::new("setpriv").arg("--version").output().is_err() {
        skipped("there is no program setpriv");
        return;
    }
    let drop = "setpriv --bounding-set=-setuid,-setgid --inh-caps=-setuid,-setgid -- \"$@\"";
    let done = bench.by_shell(&format!("exec {drop}"), &[]).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let processes = bench.processes();
    let (server, _) = processes.iter().find(|(_, confined)| *confined).expect("a server");
    let status = fs::read_to_string(server.join("status")).unwrap();
    bench.umount();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim_start_matches(':').trim().to_owned()
    };
    // CAP_IPC_LOCK is 14.
    for set in ["CapEff", "CapPrm", "CapInh"] {
        let has = u64::from_str_radix(&field(set), 16).unwrap();
        assert_eq!(has & !(1 << 14), 0, "{set}: {status}");
    }
    assert_eq!((field("Seccomp").as_str(), field("NoNewPrivs").as_str()), ("2", "1"));
}

#[test]
fn where_it_cannot_be_confined_the_user_has_to_say_so() {
    let Some(bench) = Bench::new() else { return };
    let place = bench.sandbox.out();
    let options = ["--crate-type=cdylib"];
    let Some(library) = compiled(&place, include_str!("unfiltered.rs"), "unfiltered", &options)
    else {
        return;
    };
    let commands: [&[&str]; 4] = [
        &["info", "v"],
        &["dump", "v", "-", "--passphrase-file", "secret"],
        &["key", "remove", "v", "--keyslot", "5"],
        &["header-backup", "v", "saved"],
    ];
    let mut told = String::new();
    for command in commands {
        let run = |more: &[&str]| {
            let args = [&["volume"], command, more].concat();
            bench.sandbox.command(&args).env("LD_PRELOAD", &library).output().unwrap()
        };
        let refused = run(&[]);
        told += &text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{command:?}: {told}");
        assert!(refused.stdout.is_empty() && !bench.path("saved").exists(), "{command:?}");
        told += &text(&run(&["--unconfined"]).stderr);
    }
    insta::assert_snapshot!(bench.sandbox.without_place(&told), @"
        cryptbench: v: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument; if you trust the origin of the volume, use --unconfined
        cryptbench: warning: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument
        cryptbench: v: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument; if you trust the origin of the volume, use --unconfined
        cryptbench: warning: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument
        cryptbench: warning: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument
        cryptbench: v: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument; if you trust the origin of the volume, use --unconfined
        cryptbench: warning: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument
        cryptbench: v: there is no keyslot 5
        cryptbench: v: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument; if you trust the origin of the volume, use --unconfined
        cryptbench: warning: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument
        cryptbench: warning: the process that reads the header cannot be confined here: its system calls are not filtered: Error calling `seccomp`: Invalid argument
        cryptbench: saved to saved; anyone with this backup and a passphrase that is valid now can open the volume
        ");
    assert!(bench.path("saved").exists());
    wait_until("nothing is left", || {
        let journals = bench.sandbox.left_behind();
        !journals.iter().any(|path| path.extension().is_some_and(|e| e == "jsonl"))
    });
}

#[test]
fn plaintext_is_not_written_to_a_terminal() {
    let Some(bench) = Bench::new() else { return };
    let program = bench.sandbox.command(&[]);
    let line = "exec \"$PROGRAM\" volume dump v - --passphrase-file secret";
    let done = Command::new("script")
        .args(["--quiet", "--return", "--command", line, "/dev/null"])
        .env("PROGRAM", program.get_program())
        .current_dir(bench.sandbox.target())
        .stdin(Stdio::null())
        .output();
    let Ok(done) = done else { return skipped("there is no program script") };
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output is a terminal"), "{said}");
}

#[test]
fn names_behind_the_end_of_options_are_names() {
    let Some(bench) = Bench::new() else { return };
    let run = |args: &[&str]| bench.sandbox.run(&[&["volume"], args].concat());
    for args in [
        &["info", "--", "v"][..],
        &["header-backup", "--", "v", "saved"],
        &["header-restore", "--", "v", "saved"],
        &["dump", "--passphrase-file", "secret", "--", "v", "plain"],
        &["mount", "--raw", "--passphrase-file", "secret", "--", "v", "mnt"],
    ] {
        let done = run(args);
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    }
    bench.umount();
}
