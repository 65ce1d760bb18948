//! A pipe without a writer and an endless device are refused immediately wherever a file is read.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, text};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Enough for a busy machine, but much less than the time to read `/dev/zero` until memory is full.
const SOON: Duration = Duration::from_secs(20);

fn ends_at_once(s: &Sandbox, args: &[&str], code: i32) {
    let mut command = s.command(args);
    // A program that never stops reading must not fill the memory of this machine.
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let limit = rustix::process::Rlimit { current: Some(4 << 30), maximum: Some(4 << 30) };
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::prlimit(Some(process), rustix::process::Resource::As, limit).unwrap();
    let began = Instant::now();
    while run.try_wait().unwrap().is_none() {
        if began.elapsed() > SOON {
            let _ = run.kill();
            let _ = run.wait();
            panic!("{args:?} still goes on after {SOON:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let done = run.wait_with_output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(code), "{args:?}: {said}");
    let clear = ["not a regular file", "not a file of at most 64 MiB"];
    assert!(clear.iter().any(|words| said.contains(words)), "{args:?}: {said}");
}

#[test]
fn no_reader_waits_for_ever() {
    let s = Sandbox::new();
    let path = s.out().join("pipe.json");
    mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let pipe = path.to_str().unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/readme.json");
    let directory = s.out().join("run");
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink("/dev/zero", directory.join("record.json")).unwrap();
    for endless in [pipe, "/dev/zero"] {
        ends_at_once(&s, &["report", endless], 5);
        ends_at_once(&s, &["compare", endless, fixture, "--arm", "plain"], 5);
        ends_at_once(&s, &["compare", fixture, endless, "--arm", "plain"], 5);
        ends_at_once(&s, &["run", "--profile", endless], 5);
        ends_at_once(&s, &["run", "--emulate", endless], 2);
        ends_at_once(&s, &["predict", "--ciphers-from", endless], 5);
        ends_at_once(&s, &["predict", "--record", endless], 5);
        ends_at_once(&s, &["predict", "--device", endless], 5);
        ends_at_once(&s, &["studies", "A", "--beside", endless], 5);
        ends_at_once(&s, &["history", "add", endless], 5);
        ends_at_once(&s, &["history", "--database", endless, "list"], 5);
    }
    ends_at_once(&s, &["report", directory.to_str().unwrap()], 5);
}
