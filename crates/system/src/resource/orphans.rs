//! Programs of a killed run that are still working: waits for them, so that what they create is
//! found.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::loop_device;
use crate::provision::mountinfo::mount_at;

const POLL: Duration = Duration::from_millis(10);

/// Longest time for the programs of a killed run to end.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until no program has `word`, which is unique to a run, in its arguments any more.
///
/// The cryptsetup of a killed run lives on and finishes its work: recovery that starts too early
/// finds nothing.
pub(crate) fn await_programs(word: &str) {
    let until = Instant::now() + LIMIT;
    while Instant::now() < until && somebody_works_with(word) {
        sleep(POLL);
    }
}

/// Waits while a program is about to mount something at `path`, which is unique to a run.
///
/// The program of a killed run lives on. A recovery that does not wait for it finds no mount, and cannot remove what is
/// mounted a moment later.
pub(super) fn await_mount(path: &Path) {
    let word = path.display().to_string();
    let until = Instant::now() + LIMIT;
    while Instant::now() < until && mount_at(path).is_none() && somebody_works_with(&word) {
        sleep(POLL);
    }
}

fn somebody_works_with(word: &str) -> bool {
    !processes_with(word).is_empty()
}

/// The processes except this one that have `word` in their arguments.
pub(super) fn processes_with(word: &str) -> Vec<u32> {
    let own = std::process::id();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |id: &u32| {
        *id != own
            && fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| contains(&line, word))
    };
    ids.filter(has).collect()
}

/// In both, bytes that are not UTF-8 are replaced.
fn contains(line: &[u8], word: &str) -> bool {
    String::from_utf8_lossy(line).contains(word)
}

/// Waits until the loop device `device` has released `file`. A detached device does that when its
/// last user ends, for example udev or a program of a killed run.
pub(super) fn await_detached(file: &Path, device: &Path) {
    let until = Instant::now() + LIMIT;
    let number = loop_device::number(device);
    while Instant::now() < until && loop_device::of_file(file, number).is_some() {
        sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_arguments_and_awaited() {
        let word = format!("cryptbench-test-{}-orphan", std::process::id());
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read -r line", &word])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The arguments appear a moment after spawn(2) has returned: vfork(2) returns within exec.
        let until = Instant::now() + LIMIT;
        while !somebody_works_with(&word) {
            assert!(Instant::now() < until, "it never showed");
            sleep(POLL);
        }
        drop(child.stdin.take());
        // A zombie has no arguments left.
        await_programs(&word);
        assert!(!somebody_works_with(&word));
        child.wait().unwrap();
    }

    #[test]
    fn a_program_that_is_about_to_mount_is_awaited_until_it_has_or_ended() {
        let place = tempfile::tempdir().unwrap();
        let run = |does: &str| {
            let path = place.path().as_os_str();
            let words = ["-c".as_ref(), does.as_ref(), "sh".as_ref(), path];
            let child = std::process::Command::new("sh").args(words).spawn().unwrap();
            while !somebody_works_with(&place.path().display().to_string()) {
                sleep(POLL);
            }
            child
        };
        let mut gives_up = run("sleep 0.2; exit 1");
        await_mount(place.path());
        assert!(gives_up.wait().unwrap().code() == Some(1) && mount_at(place.path()).is_none());
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let mut mounts = run("sleep 0.2; mount -t tmpfs none \"$1\"; read -r _");
        await_mount(place.path());
        let there = mount_at(place.path()).is_some();
        mounts.kill().unwrap();
        mounts.wait().unwrap();
        let _ = crate::provision::filesystem::unmount(place.path());
        assert!(there);
    }
}
