//! A record that cannot be saved at its destination is not lost, and no file of others is overwritten.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::sandbox::{Sandbox, text};
use cryptbench_record::Record;

/// Starts a run that does not end by itself, and waits until it has checked the destination of its record.
fn started(command: &mut Command, s: &Sandbox) -> Child {
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The scratch file is created after the check of the output directory.
    for _ in 0..600 {
        if fs::read_dir(s.target()).unwrap().next().is_some() {
            return run;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = run.kill();
    let said = text(&run.wait_with_output().unwrap().stderr);
    panic!("no scratch file within 30 s: {said}");
}

/// The arguments of a run whose record goes to `out`.
fn into<'a>(s: &'a Sandbox, out: &'a str) -> Vec<&'a str> {
    s.tiny(&["--output", out, "--cipher", "aes-256-xts", "--data-unit", "4096"])
}

#[test]
fn a_record_that_came_in_between_is_kept_and_ours_goes_to_the_data_directory() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let run = started(&mut s.command(&into(&s, &out)), &s);
    fs::write(s.out().join("record.json"), "theirs").unwrap();
    let done = run.wait_with_output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("already contains a record.json"), "{said}");
    assert_eq!(fs::read(s.out().join("record.json")).unwrap(), b"theirs");
    assert!(!s.out().join("report.html").exists());
    let said = text(&done.stdout);
    let page =
        said.lines().find(|l| l.ends_with("/report.html")).unwrap_or_else(|| panic!("{said}"));
    let page =
        page.trim().replacen('~', &s.target().with_file_name("home").display().to_string(), 1);
    assert!(page.contains("cryptbench/runs/"), "{page}");
    let record = cryptbench_record::read(page.trim_end_matches("/report.html").as_ref()).unwrap();
    assert!(!record.trials.is_empty());
}

#[test]
fn a_record_that_can_be_written_nowhere_is_printed() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let mut command = s.command(&into(&s, &out));
    // Not even root can create a directory in these.
    command.env("HOME", "/proc/none").env("TMPDIR", "/proc/none").env_remove("XDG_DATA_HOME");
    let run = started(&mut command, &s);
    // The log of trials may be created in it at the same moment.
    while s.out().exists() {
        let _ = fs::remove_dir_all(s.out());
    }
    fs::write(s.out(), "a file now").unwrap();
    let done = run.wait_with_output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("could not be written anywhere"), "{said}");
    let printed = text(&done.stdout);
    let json = &printed[printed.find("\n{\n").unwrap_or_else(|| panic!("{printed}"))..];
    let record: Record = serde_json::from_str(json).unwrap();
    assert!(!record.trials.is_empty());
}
