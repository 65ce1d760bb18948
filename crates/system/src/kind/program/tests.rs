//! Programs that fail, hang or disappear at each step: the error must name the program, and nothing may be left
//! behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cryptbench_blockdev::IoTarget;

use super::*;
use crate::PreparedArm;
use crate::adapter::{
    bindfs::BINDFS, cryfs::CRYFS, encfs::ENCFS, gocryptfs::GOCRYPTFS, securefs::SECUREFS,
};
use crate::provision::mountinfo::mounts;
use crate::provision::state_directories;
use crate::resource::{Journal, Reserve, Scratch, WorkDirectory};

/// A machine on which `gocryptfs` is a script.
struct Faked {
    programs: tempfile::TempDir,
    machine: Machine,
    run_id: String,
}

impl Faked {
    fn new(name: &str, script: &str) -> Self {
        let programs = tempfile::tempdir().unwrap();
        let path = programs.path().join("gocryptfs");
        // Each script identifies itself, so that the test finds surviving processes.
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let mut machine = Machine::this();
        let mut search = programs.path().as_os_str().to_owned();
        search.push(":/usr/bin:/bin");
        machine.path = search;
        machine.ready_within = Duration::from_millis(300);
        Self { programs, machine, run_id: format!("test-{}-fake-{name}", std::process::id()) }
    }

    fn provision(&self, place: &Path) -> Result<PreparedArm, SystemError> {
        provision(&self.machine, &self.run_id, place)
    }

    /// The error that occurs when it is set up; checks that nothing is left behind.
    fn fails(&self) -> String {
        let place = tempfile::tempdir().unwrap();
        let error = self.provision(place.path()).err().expect("a program that fails").to_string();
        assert_nothing_left(place.path(), &self.run_id);
        let own = self.programs.path().to_str().unwrap();
        let lives_on = fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(own))
        });
        assert!(!lives_on, "{error}");
        error
    }
}

fn provision(machine: &Machine, run_id: &str, place: &Path) -> Result<PreparedArm, SystemError> {
    provision_until(&AtomicBool::new(false), machine, run_id, place)
}

fn provision_until(
    stop: &AtomicBool,
    machine: &Machine,
    run_id: &str,
    place: &Path,
) -> Result<PreparedArm, SystemError> {
    let journal = Journal::create(run_id).unwrap();
    let scratch = Scratch::create(&place.join("plain"), 1 << 20, &journal).unwrap();
    let work = WorkDirectory::create(&place.join("work"), &journal).unwrap();
    let arm = GOCRYPTFS.arms(&Selection::default()).unwrap().remove(0);
    let mut fill = |_: &IoTarget| Ok(());
    let mut context = ArmContext {
        journal: &journal,
        scratch: &scratch.io_target(),
        directory: place,
        work: work.path(),
        reserve: &Reserve::default(),
        room: 0,
        run_id,
        tier: cryptbench_cipher::tier().unwrap(),
        fill: &mut fill,
        stop,
    };
    Machine::pretend(Some(machine.clone()));
    let prepared = GOCRYPTFS.prepare(&arm, &mut context);
    Machine::pretend(None);
    prepared
}

fn assert_nothing_left(place: &Path, run_id: &str) {
    assert_eq!(fs::read_dir(place).unwrap().count(), 0);
    let place = place.to_str().unwrap();
    assert!(!mounts().unwrap().iter().any(|m| m.source.contains(place)));
    let begins =
        |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(run_id));
    let journals =
        state_directories().into_iter().filter_map(|d| fs::read_dir(d.join("ledgers")).ok());
    let ours: Vec<_> =
        journals.flat_map(Iterator::flatten).map(|e| e.path()).filter(begins).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn a_program_that_fails_to_create_is_quoted() {
    let error =
        Faked::new("create-fails", "echo chatter; echo 'disk is haunted' >&2; exit 1").fails();
    assert_eq!(error, "gocryptfs: disk is haunted");
}

#[test]
fn a_program_that_hangs_as_it_creates_is_ended() {
    let error = Faked::new("create-hangs", "sleep 1000 & wait").fails();
    insta::assert_snapshot!(error, @"gocryptfs: it did not finish within 0.3 s");
}

#[test]
fn a_program_that_ends_instead_of_serving_is_quoted() {
    let script = "[ \"$1\" = -init ] && exit 0; echo 'no such filesystem' >&2; exit 3";
    let error = Faked::new("serve-fails", script).fails();
    assert_eq!(error, "gocryptfs: it exited: no such filesystem");
    let silent = Faked::new("serve-silent", "[ \"$1\" = -init ] || exit 3").fails();
    insta::assert_snapshot!(silent, @"gocryptfs: it exited: exit status: 3");
}

#[test]
fn a_program_that_never_mounts_is_ended() {
    let script = "[ \"$1\" = -init ] && exit 0; echo 'thinking about it'; sleep 1000 & wait";
    let error = Faked::new("serve-hangs", script).fails();
    insta::assert_snapshot!(error, @"gocryptfs: it did not mount anything within 0.3 s; its output: thinking about it");
}

#[test]
fn a_program_that_takes_long_to_mount_is_ended_with_the_run() {
    let script = "[ \"$1\" = -init ] && exit 0; sleep 1000 & wait";
    let faked = Faked::new("serve-stopped", script);
    let machine = Machine { ready_within: Duration::from_secs(600), ..faked.machine.clone() };
    let (place, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let began = Instant::now();
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        provision_until(&stop, &machine, &faked.run_id, place.path())
    });
    assert!(matches!(stopped, Err(SystemError::Stopped)));
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_nothing_left(place.path(), &faked.run_id);
}

#[test]
fn a_program_that_does_not_read_its_passphrase_is_no_obstacle() {
    let error = Faked::new("deaf", "exec 0<&-; exit 7").fails();
    insta::assert_snapshot!(error, @"gocryptfs: exit status: 7");
}

#[test]
fn the_passphrase_is_on_standard_input_and_nowhere_else() {
    let script = "read -r secret; \
                  case \"$* $(env)\" in *\"$secret\"*) echo 'in the open' >&2; exit 1;; esac; \
                  echo \"length ${#secret}\" >&2; exit 1";
    assert_eq!(Faked::new("secret", script).fails(), "gocryptfs: length 64");
}

#[test]
fn a_daemon_that_vanishes_leaves_a_mount_that_is_taken_down() {
    let machine = Machine::this();
    if let Availability::Unavailable { reason, .. } = GOCRYPTFS.availability_on(&machine) {
        eprintln!("SKIPPED: {reason}");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let run_id = format!("test-{}-vanish", std::process::id());
    let prepared = provision(&machine, &run_id, place.path()).unwrap();
    let daemon = rustix::process::Pid::from_raw(prepared.daemons[0] as i32).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    prepared.destroy().unwrap();
    assert_nothing_left(place.path(), &run_id);
}

#[test]
fn availability_says_what_is_missing_and_how_to_get_it() {
    let all = [&BINDFS, &GOCRYPTFS, &ENCFS, &CRYFS, &SECUREFS];
    let nothing = tempfile::tempdir().unwrap();
    let mut machine = Machine { path: nothing.path().into(), ..Machine::this() };
    let said = |system: &System, m: &Machine| match system.availability_on(m) {
        Availability::Unavailable { reason, remedy } => format!("{reason}; {remedy}"),
        Availability::Available(version) => format!("version {version}"),
    };
    for system in all {
        let name = system.name;
        let expected = format!("{name} is not installed; apt install {name}");
        assert_eq!(said(system, &machine), expected);
    }
    let faked = Faked::new("version", "echo 'gocryptfs 2.3; go-fuse 2.1.0; 2023-04-09'");
    machine.path = faked.programs.path().into();
    machine.fuse = nothing.path().join("fuse");
    let none = said(&GOCRYPTFS, &machine);
    // Any user may open this file.
    fs::write(&machine.fuse, "").unwrap();
    machine.root = false;
    let user = said(&GOCRYPTFS, &machine);
    machine.root = true;
    machine.path = faked.machine.path.clone();
    assert_eq!(said(&GOCRYPTFS, &machine), "version 2.3");
    let broken = Faked::new("broken", "echo 'cannot load libcrypto' >&2; exit 127");
    let said = [none, user, said(&GOCRYPTFS, &broken.machine)].join("\n");
    insta::assert_snapshot!(said.replace(&nothing.path().display().to_string(), "DIR"), @"
        DIR/fuse does not exist; load the fuse module (modprobe fuse)
        mounting requires root or fusermount3, which is not installed; run as root, or apt install fuse3
        cannot get its version: gocryptfs: cannot load libcrypto; reinstall it: apt install gocryptfs
        ");
}

#[test]
fn versions_are_read_from_what_programs_print() {
    let read = |system: &System, said| (program_of(system).read_version)(said).unwrap();
    assert_eq!(read(&ENCFS, "encfs version 1.9.5"), "1.9.5");
    assert_eq!(read(&CRYFS, "CryFS Version 0.11.3"), "0.11.3");
    assert_eq!(read(&SECUREFS, "securefs GIT-NOTFOUND\nCrypto++ 8.7"), "of unknown version");
    assert_eq!(read(&SECUREFS, "securefs 0.13.1\nCrypto++ 8.7"), "0.13.1");
}
