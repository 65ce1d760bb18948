//! A directory in which scripts run, with programs in the place of a cluster's that write down how they are called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Writes its own name and its arguments, each followed by NUL, into a file of its own.
pub const WRITE: &str = r#"printf '%s\0' "${0##*/}" "$@" > "$CALLED/$$""#;

/// Runs the last argument as the shell of another machine would.
pub const SSH: &str = r#"for node do command=$node; done; sh -c "$command""#;

pub struct Programs {
    dir: tempfile::TempDir,
}

impl Programs {
    pub fn new(programs: &[(&str, &str)]) -> Self {
        let made = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["bin", "called"] {
            fs::create_dir(made.path().join(name)).unwrap();
        }
        for (name, text) in programs {
            made.add(name, text);
        }
        made
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Adds a program by its name, or by its path.
    pub fn add(&self, name: &str, text: &str) {
        let path = self.path().join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A command that finds these programs first.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.path().join("bin").display()))
            .env("CALLED", self.path().join("called"))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a script, having checked that it is one.
    pub fn run(&self, shell: &str, script: &str, args: &[&str]) -> Output {
        let file = self.script(script);
        let checked = Command::new(shell).arg("-n").arg(&file).output().unwrap();
        assert!(checked.status.success(), "{}: {script}", String::from_utf8_lossy(&checked.stderr));
        self.command(shell).arg(&file).args(args).output().unwrap()
    }

    fn script(&self, text: &str) -> PathBuf {
        let file = self.path().join("script");
        fs::write(&file, text).unwrap();
        file
    }

    /// How the programs were called since this was asked before, sorted.
    pub fn called(&self) -> Vec<Vec<String>> {
        let files = fs::read_dir(self.path().join("called")).unwrap().map(|e| e.unwrap().path());
        let read = |file: PathBuf| {
            let text = fs::read_to_string(&file).unwrap();
            fs::remove_file(&file).unwrap();
            text.split_terminator('\0').map(str::to_owned).collect()
        };
        let mut found: Vec<Vec<String>> = files.map(read).collect();
        found.sort();
        found
    }

    /// Whether a file of this name is anywhere in the directory.
    pub fn holds(&self, name: &str) -> bool {
        fn below(directory: &Path, name: &str) -> bool {
            fs::read_dir(directory).unwrap().flatten().any(|entry| {
                entry.file_name() == name
                    || entry.file_type().unwrap().is_dir() && below(&entry.path(), name)
            })
        }
        below(self.path(), name)
    }
}
