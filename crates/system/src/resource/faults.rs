//! Every program of every system made to fail, to hang, to die and to be missing at each step: the error names it, and
//! afterwards nothing is mounted, attached or running, nothing lies there, and the user's file is what it was.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cryptbench_blockdev::{FileDevice, IoMode, IoTarget};
use cryptbench_export::fuse::FuseOptions;
use rustix::mount::{MountFlags, mount, unmount};
use rustix::process::{Pid, Signal, kill_process};

use super::{Journal, Scratch, WorkDirectory, cleanup};
use crate::ServedVolume;
use crate::machine::Machine;
use crate::provision::mountinfo::mounts;
use crate::provision::{filesystem, state_directories};
use crate::{ArmContext, Availability, PreparedArm, Role, Selection, SystemError, find};

/// Programs that systems call.
const PROGRAMS: [&str; 15] = [
    "losetup",
    "mount",
    "umount",
    "mkfs.ext4",
    "xfs_io",
    "qemu-img",
    "qemu-storage-daemon",
    "nbdkit",
    "nbdfuse",
    "bindfs",
    "gocryptfs",
    "encfs",
    "cryfs",
    "securefs",
    "fusermount3",
];

/// What a user has in the directory that is measured.
const USERS: &str = "what the user had written before";

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Fails,
    Hangs,
    Dies,
    Missing,
}

use Fault::{Dies, Fails, Hangs, Missing};

/// A step of setting up: the program that takes it, and its arguments as a pattern of the shell.
type Step = (&'static str, &'static str);

/// All that can go wrong with a system's own programs.
const ANY: [Fault; 4] = [Fails, Hangs, Dies, Missing];

/// What can go wrong with a program that is the same for many systems.
const SOME: [Fault; 3] = [Fails, Hangs, Missing];

const LOOP: Step = ("losetup", "--find*");
const DETACH: Step = ("losetup", "--detach*");
const MKFS: Step = ("mkfs.ext4", "*");
const MOUNT: Step = ("mount", "*");

/// A place of its own: a file system in memory that is measured, programs, and mount points.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::Builder::new().prefix("faults-").tempdir().unwrap() };
        for directory in ["target", "programs", "mounts"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        // Small, so that containers are: their room is a part of what is free.
        let options = c"size=400m,mode=700";
        mount("faults", place.at("target"), "tmpfs", MountFlags::empty(), Some(options)).unwrap();
        fs::write(place.at("target/user"), USERS).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Programs of which one does not do what it should at that step.
    fn machine(&self, broken: Option<(Step, Fault)>) -> Machine {
        let programs = self.at("programs");
        for program in PROGRAMS {
            let (link, real) = (programs.join(program), real(program));
            let _ = fs::remove_file(&link);
            let fault = broken.filter(|((name, _), _)| *name == program);
            match (real, fault) {
                (_, Some((_, Missing))) | (None, _) => {}
                (Some(real), None) => std::os::unix::fs::symlink(real, link).unwrap(),
                (Some(real), Some(((_, step), fault))) => script(&link, &real, step, fault),
            }
        }
        Machine::pretend(None);
        let mut machine = Machine::this();
        machine.path = programs.into();
        machine.mount_points = Some(self.at("mounts"));
        machine.fills = false;
        if let Some(((program, _), Hangs)) = broken {
            // nbdfuse waits for the nbdkit that it starts.
            let waits = if program == "nbdkit" { "nbdfuse" } else { program };
            machine.hurried = Some((waits, Duration::from_millis(300)));
        }
        machine
    }

    fn provision(&self, system: &str, run_id: &str) -> Result<PreparedArm, SystemError> {
        let journal = Journal::create(run_id).unwrap();
        let target = self.at("target");
        let scratch = Scratch::create(&target.join("plain"), 1 << 20, &journal).unwrap();
        let work = WorkDirectory::create(&target.join("work"), &journal).unwrap();
        let system = find(system).unwrap();
        let arms = system.arms(&Selection::default()).unwrap();
        let arm = arms.iter().find(|a| a.role == Role::Encrypted).unwrap_or(&arms[0]);
        let mut context = ArmContext {
            journal: &journal,
            scratch: &scratch.io_target(),
            directory: &target,
            work: work.path(),
            room: 0,
            run_id,
            tier: cryptbench_cipher::tier().unwrap(),
            fill: &mut |_: &IoTarget| Ok(()),
            stop: &AtomicBool::new(false),
        };
        system.prepare(arm, &mut context)
    }

    fn assert_nothing_left(&self, run_id: &str, what: &str) {
        let root = self.root.path().to_str().unwrap();
        let listed = |directory: &str| -> Vec<_> {
            fs::read_dir(self.at(directory)).unwrap().flatten().map(|e| e.file_name()).collect()
        };
        assert_eq!(listed("target"), ["user"], "{what}");
        assert_eq!(fs::read_to_string(self.at("target/user")).unwrap(), USERS, "{what}");
        assert!(listed("mounts").is_empty(), "{what}: {:?}", listed("mounts"));
        let below = self.at("mounts");
        let mounted: Vec<_> =
            mounts().unwrap().into_iter().filter(|m| m.mountpoint.starts_with(&below)).collect();
        assert!(mounted.is_empty(), "{what}: {mounted:?}");
        let attached = fs::read_dir("/sys/block").unwrap().flatten().any(|e| {
            fs::read_to_string(e.path().join("loop/backing_file")).is_ok_and(|f| f.contains(root))
        });
        assert!(!attached, "{what}: a loop device");
        let running: Vec<_> = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|e| fs::read(e.path().join("cmdline")).ok())
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(root))
            .collect();
        assert!(running.is_empty(), "{what}: {running:?}");
        let journals =
            state_directories().into_iter().filter_map(|d| fs::read_dir(d.join("ledgers")).ok());
        let ours = |path: &PathBuf| {
            path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(run_id))
        };
        let ours: Vec<_> =
            journals.flat_map(Iterator::flatten).map(|e| e.path()).filter(ours).collect();
        assert!(ours.is_empty(), "{what}: {ours:?}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        Machine::pretend(None);
        let _ = unmount(self.at("target"), rustix::mount::UnmountFlags::DETACH);
    }
}

/// Where a program is.
fn real(program: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .into_iter()
        .map(|directory| Path::new(directory).join(program))
        .find(|path| path.exists())
}

/// A program that does at `step` what `fault` says, and else what the real one does.
fn script(path: &Path, real: &Path, step: &str, fault: Fault) {
    let does = match fault {
        Fails => "echo 'the disk is haunted' >&2; exit 1",
        Hangs => "exec /bin/sleep 1000",
        Dies => "kill -9 $$",
        Missing => unreachable!("there is none"),
    };
    let real = real.display();
    let text =
        format!("#!/bin/sh\ncase \"$*\" in\n{step}) {does} ;;\n*) exec {real} \"$@\" ;;\nesac\n");
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

/// Whether the faults of `system` can be tried here.
fn runs_here(system: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: {system}: a file system of one's own takes root");
        return false;
    }
    match find(system).unwrap().availability() {
        Availability::Available(_) => true,
        Availability::Unavailable { reason, .. } => {
            eprintln!("SKIPPED: {system}: {reason}");
            false
        }
    }
}

fn run_id(system: &str) -> String {
    format!("test-{}-faults-{system}", std::process::id())
}

/// Breaks each step of setting up in each way; a program that is missing is so at all of its steps.
fn each_step(system: &str, steps: &[Step], faults: &[Fault]) {
    if !runs_here(system) {
        return;
    }
    let (place, run_id) = (Place::new(), run_id(system));
    let mut missing = Vec::new();
    for step in steps {
        for &fault in faults {
            let program = step.0;
            if fault == Missing {
                if missing.contains(&program) {
                    continue;
                }
                missing.push(program);
            }
            let what = format!("{system}: {} {} {fault:?}", step.0, step.1);
            Machine::pretend(Some(place.machine(Some((*step, fault)))));
            let error = match place.provision(system, &run_id) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{what}: it was set up all the same"),
            };
            // nbdfuse starts nbdkit, and tells of it.
            let named =
                error.contains(program) || (program == "nbdkit" && error.contains("nbdfuse"));
            assert!(named, "{what}: {error}");
            place.assert_nothing_left(&run_id, &what);
        }
    }
}

/// Held from what is left behind until it is cleaned up.
static CLEANUP: Mutex<()> = Mutex::new(());

/// Breaks a program that takes down what was set up: it stays in the journal, and goes when the program works again.
fn each_step_down(system: &str, steps: &[Step], faults: &[Fault]) {
    if !runs_here(system) {
        return;
    }
    let (place, run_id) = (Place::new(), run_id(system) + "-down");
    for step in steps {
        for &fault in faults {
            let what = format!("{system}: {} {} {fault:?}", step.0, step.1);
            Machine::pretend(Some(place.machine(None)));
            let prepared = place.provision(system, &run_id).unwrap();
            // Another test's cleanup would find what this one leaves.
            let _alone = CLEANUP.lock().unwrap_or_else(PoisonError::into_inner);
            Machine::pretend(Some(place.machine(Some((*step, fault)))));
            let error = prepared.destroy().expect_err(&what).to_string();
            assert!(error.contains(step.0), "{what}: {error}");
            Machine::pretend(Some(place.machine(None)));
            let cleaned = cleanup();
            assert!(!cleaned.is_empty(), "{what}");
            place.assert_nothing_left(&run_id, &what);
        }
    }
}

/// Kills what serves a system while it is in use, then takes it down.
fn dies_midway(system: &str) {
    if !runs_here(system) {
        return;
    }
    let (place, run_id) = (Place::new(), run_id(system) + "-midway");
    Machine::pretend(Some(place.machine(None)));
    // CryFS takes long to start.
    let ways: &[bool] = if system == "cryfs" { &[true] } else { &[false, true] };
    for &rests in ways {
        let mut prepared = place.provision(system, &run_id).unwrap();
        assert!(!prepared.daemons.is_empty(), "{system}");
        for daemon in &prepared.daemons {
            kill_process(Pid::from_raw(*daemon as i32).unwrap(), Signal::KILL).unwrap();
        }
        if rests {
            // Whether it can rest so is its own affair.
            let _ = prepared.close();
        }
        prepared.destroy().unwrap_or_else(|e| panic!("{system}: {e}"));
        place.assert_nothing_left(&run_id, system);
    }
}

/// As a volume of the user's is served: what could not be taken down is, once the program works again. (Its server ends
/// with this process; what is left of a killed one is found by others' tests.)
#[test]
fn what_cannot_be_unmounted_is_served_on_until_it_can() {
    if !runs_here("builtin-mounted") {
        return;
    }
    let (place, run_id) = (Place::new(), run_id("mounted"));
    let container = place.at("container");
    fs::File::create(&container).unwrap().set_len(64 << 20).unwrap();
    for (step, fault) in [("umount", "*"), DETACH].into_iter().flat_map(|s| SOME.map(|f| (s, f))) {
        let what = format!("{} {} {fault:?}", step.0, step.1);
        Machine::pretend(Some(place.machine(None)));
        let device = FileDevice::open(&container, IoMode::Buffered, false).unwrap();
        let journal = Journal::create(&run_id).unwrap();
        let mut mounted =
            ServedVolume::serve(Arc::new(device), None, &FuseOptions::default(), &journal).unwrap();
        let disk = mounted.attach_loop(false).unwrap();
        filesystem::make_settled(&disk).unwrap();
        let directory = mounted.mount_in_own_directory(&disk).unwrap();
        Machine::pretend(Some(place.machine(Some((step, fault)))));
        let error = mounted.destroy().expect_err(&what).to_string();
        assert!(error.contains(step.0), "{what}: {error}");
        if step.0 == "umount" {
            fs::write(directory.join("file"), "still served").unwrap();
        }
        Machine::pretend(Some(place.machine(None)));
        mounted.destroy().unwrap();
        drop((mounted, journal));
        place.assert_nothing_left(&run_id, &what);
    }
}

#[test]
fn directories_over_fuse() {
    each_step("bindfs", &[("bindfs", "*")], &ANY);
    each_step("gocryptfs", &[("gocryptfs", "-init*"), ("gocryptfs", "-fg*")], &ANY);
    each_step("encfs", &[("encfs", "*")], &ANY);
    each_step("cryfs", &[("cryfs", "*")], &ANY);
    each_step("securefs", &[("securefs", "create*"), ("securefs", "mount*")], &ANY);
    for system in ["bindfs", "gocryptfs", "encfs", "cryfs", "securefs"] {
        dies_midway(system);
    }
}

#[test]
fn builtin_mounted() {
    each_step("builtin-mounted", &[LOOP, MKFS, MOUNT], &SOME);
}

#[test]
fn qemu_luks() {
    let own = [("qemu-img", "create*"), ("qemu-storage-daemon", "--blockdev*")];
    // Each time qemu-img measures its key derivation for seconds.
    let nightly = std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly");
    let (any, some): (&[Fault], &[Fault]) =
        if nightly { (&ANY, &SOME) } else { (&[Dies], &[Fails]) };
    each_step("qemu-luks", &own, any);
    each_step("qemu-luks", &[LOOP, ("losetup", "--direct-io=off*"), MKFS, MOUNT], some);
    // The daemon that is left is given some seconds to end by itself.
    each_step_down("qemu-luks", &[DETACH], &[Hangs]);
    dies_midway("qemu-luks");
}

#[test]
fn nbdkit_luks() {
    each_step("nbdkit-luks", &[("nbdfuse", "*"), ("nbdkit", "*")], &ANY);
    each_step("nbdkit-luks", &[LOOP, MKFS, MOUNT], &[Fails]);
    each_step_down("nbdkit-luks", &[DETACH], &[Fails]);
    dies_midway("nbdkit-luks");
}

#[test]
fn fscrypt() {
    let keys = [("xfs_io", "*add_enckey*"), ("xfs_io", "*set_encpolicy*")];
    each_step("fscrypt", &[LOOP, MKFS, MOUNT], &SOME);
    each_step("fscrypt", &keys, &ANY);
    each_step_down("fscrypt", &[("xfs_io", "*rm_enckey*"), DETACH], &SOME);
}
