//! Programs of a killed run that are still working. Recovery waits for them, so that it finds the resources
//! that they create.
#![expect(clippy::disallowed_methods, reason = "files of a run, and of /proc and /sys; for now")]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::loop_device;
use crate::provision::mountinfo::mount_at;

const POLL: Duration = Duration::from_millis(10);

/// Maximum time for the programs of a killed run to exit.
const LIMIT: Duration = Duration::from_secs(60);

/// Maximum time for a program that mounts, because its disk may hang.
const MOUNT_LIMIT: Duration = Duration::from_secs(10);

/// Waits until no program has `word`, which is unique to a run, in its arguments.
///
/// The cryptsetup process of a killed run continues until its work is done. Recovery that starts earlier finds
/// nothing to remove.
pub(crate) fn await_programs(word: &str) {
    let until = Instant::now() + LIMIT;
    while Instant::now() < until && somebody_works_with(word) {
        sleep(POLL);
    }
}

/// Waits while mount(8) is about to mount a file system at `path`, which is unique to a run.
///
/// The program can still be running although its run was killed. Without this wait, recovery would not find the mount,
/// which appears a moment later.
pub(super) fn await_mount(path: &Path) {
    let until = Instant::now() + MOUNT_LIMIT;
    while Instant::now() < until && mount_at(path).is_none() && is_being_mounted(path) {
        sleep(POLL);
    }
}

/// Whether a mount(8) process of this user, or a helper such as mount.ntfs, has `path` as an argument.
fn is_being_mounted(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    processes(|process, line| {
        let is = |argument: &[u8]| argument == path.as_os_str().as_bytes();
        line.split(|byte| *byte == 0).any(is)
            && fs::metadata(process).is_ok_and(|found| found.uid() == own)
            && fs::read(process.join("comm")).is_ok_and(|name| name.starts_with(b"mount"))
    })
    .next()
    .is_some()
}

fn somebody_works_with(word: &str) -> bool {
    !processes_with(word).is_empty()
}

/// The processes other than this one that have `word` in their arguments. Bytes that are not UTF-8 are replaced
/// in both.
pub(super) fn processes_with(word: &str) -> Vec<u32> {
    processes(|_, line| String::from_utf8_lossy(line).contains(word)).collect()
}

/// The processes, except this one, for which `is` returns true, given their directory in /proc and their
/// arguments.
fn processes(is: impl Fn(&Path, &[u8]) -> bool) -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(move |id: &u32| {
        let process = Path::new("/proc").join(id.to_string());
        *id != own && fs::read(process.join("cmdline")).is_ok_and(|line| is(&process, &line))
    })
}

/// Waits until the loop device `device` has released `file`. A detached device releases its file when its last user
/// closes it, for example udev or a program of a killed run.
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
        // A zombie no longer has arguments.
        await_programs(&word);
        assert!(!somebody_works_with(&word));
        child.wait().unwrap();
    }

    /// A program called `name` that runs the script `does`, with `argument` as its argument.
    fn start(place: &Path, (name, does): (&str, &str), argument: &Path) -> std::process::Child {
        use std::os::unix::process::CommandExt as _;
        let program = place.join(name);
        let _ = std::os::unix::fs::symlink("/bin/sh", &program);
        let words = ["-c".as_ref(), does.as_ref(), "sh".as_ref(), argument.as_os_str()];
        let mut command = std::process::Command::new(program);
        let input = std::process::Stdio::piped();
        let child = command.arg0("sh").args(words).stdin(input).spawn().unwrap();
        while !somebody_works_with(&argument.display().to_string()) {
            sleep(POLL);
        }
        child
    }

    #[test]
    fn a_program_that_is_about_to_mount_is_awaited_until_it_has_or_ended() {
        let place = tempfile::tempdir().unwrap();
        let [programs, at] = ["programs", "at"].map(|name| place.path().join(name));
        [&programs, &at].into_iter().for_each(|directory| fs::create_dir(directory).unwrap());
        let run = |does| start(&programs, ("mount", does), &at);
        let mut gives_up = run("sleep 0.2; : >\"$1/gave up\"; exit 1");
        await_mount(&at);
        assert!(at.join("gave up").exists() && mount_at(&at).is_none());
        gives_up.wait().unwrap();
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: mounting requires root");
            return;
        }
        let mut mounts = run("sleep 0.2; mount -t tmpfs none \"$1\"; read -r _");
        await_mount(&at);
        let there = mount_at(&at).is_some();
        mounts.kill().unwrap();
        mounts.wait().unwrap();
        let _ = crate::provision::filesystem::unmount(&at);
        assert!(there);
    }

    #[test]
    fn only_a_mount_at_that_very_path_is_awaited() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().join("at");
        for (name, argument, is) in [
            ("mount", at.clone(), true),
            ("mount.ntfs", at.clone(), true),
            ("mount", place.path().join("at-another"), false),
            ("less", at.clone(), false),
        ] {
            let mut child = start(place.path(), (name, "read -r _"), &argument);
            assert_eq!(is_being_mounted(&at), is, "{name} {}", argument.display());
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
