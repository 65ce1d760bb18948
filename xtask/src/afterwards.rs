//! Actions that are undone when this process exits for any reason: a separate shell waits for that.

use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// A script that runs when this is dropped or the process exits.
pub struct Afterwards(Child);

impl Afterwards {
    /// Starts the shell that waits; `arguments` are `$1` and so on of `script`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(script: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        // Ctrl-C reaches every process of a terminal. The end of its input shows the shell that this process
        // has exited.
        let waits = format!("trap '' INT TERM HUP; read -r _\n{script}");
        let shell = Command::new("sh")
            .args(["-c", &waits, "sh"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Ok(Self(shell.context("sh")?))
    }
}

impl Drop for Afterwards {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_runs_when_it_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("undone");
        let afterwards = Afterwards::run("touch \"$1\"", &[file.to_str().unwrap()]).unwrap();
        assert!(!file.exists());
        drop(afterwards);
        assert!(file.exists());
    }

    #[test]
    fn a_script_runs_when_its_process_is_killed() {
        const PLACE: &str = "CRYPTBENCH_AFTERWARDS";
        if let Some(file) = std::env::var_os(PLACE) {
            let _afterwards = Afterwards::run("touch \"$1\"", &[file.to_str().unwrap()]).unwrap();
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .unwrap();
        }
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("undone");
        let killed = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "afterwards::tests::a_script_runs_when_its_process_is_killed"])
            .env(PLACE, &file)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(!killed.success());
        while !file.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
