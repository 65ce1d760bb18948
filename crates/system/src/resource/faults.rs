//! Makes every program of every system fail, hang, die or be missing at each step. The error must name the
//! program. Afterwards nothing may be mounted, attached, running or left on disk, and the user's file must be
//! unchanged.

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

use super::{Journal, Reserve, Scratch, WorkDirectory, cleanup};
use crate::ServedVolume;
use crate::machine::Machine;
use crate::provision::mountinfo::mounts;
use crate::provision::{filesystem, state_directories};
use crate::{ArmContext, Availability, PreparedArm, Role, Selection, SystemError, find};

/// Programs that systems run.
const PROGRAMS: [&str; 20] = [
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
    "rclone",
    "fusermount",
    "fusermount3",
    "veracrypt",
    "partx",
    "dmsetup",
];

/// A user's file in the measured directory.
const USERS: &str = "what the user had written before";

/// The ways to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Fails,
    Hangs,
    Dies,
    Missing,
}

use Fault::{Dies, Fails, Hangs, Missing};

/// A step of the set-up: its program, and the arguments as a shell pattern.
type Step = (&'static str, &'static str);

/// All failures of a system's own programs.
const ANY: [Fault; 4] = [Fails, Hangs, Dies, Missing];

/// Failures of programs that many systems share.
const SOME: [Fault; 3] = [Fails, Hangs, Missing];

const LOOP: Step = ("losetup", "--find*");
const DETACH: Step = ("losetup", "--detach*");
const MKFS: Step = ("mkfs.ext4", "*");
const MOUNT: Step = ("mount", "*");

/// A separate environment: a file system in memory to measure, programs, and mount points.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::Builder::new().prefix("faults-").tempdir().unwrap() };
        for directory in ["target", "programs", "mounts"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        // Small, because containers use a fraction of the free space.
        let options = c"size=400m,mode=700";
        mount("faults", place.at("target"), "tmpfs", MountFlags::empty(), Some(options)).unwrap();
        fs::write(place.at("target/user"), USERS).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A machine on which one program misbehaves at that step.
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
            // nbdfuse waits for the nbdkit process that it starts.
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
            reserve: &Reserve::default(),
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

/// The path of a program.
fn real(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_root = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(of_root)
        .map(|directory| directory.join(program))
        .find(|path| path.exists())
}

/// A script that misbehaves as `fault` at `step`, and otherwise runs the real program.
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

/// Whether the faults of `system` can be tested here.
fn runs_here(system: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: {system}: a separate file system requires root");
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

/// Breaks each step of the set-up in each way. A missing program is missing at all of its steps.
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
            // nbdfuse starts nbdkit and reports its errors.
            let named =
                error.contains(program) || (program == "nbdkit" && error.contains("nbdfuse"));
            assert!(named, "{what}: {error}");
            place.assert_nothing_left(&run_id, &what);
        }
    }
}

/// Held from the time at which something is left behind until it is cleaned up.
static CLEANUP: Mutex<()> = Mutex::new(());

/// Breaks a program that removes a resource: the resource must stay in the journal, and be removed when the
/// program works again.
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
            // The cleanup of another test would otherwise remove what this test leaves behind.
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

/// Kills the server of a system while it is in use, then removes the system.
fn dies_midway(system: &str) {
    if !runs_here(system) {
        return;
    }
    let (place, run_id) = (Place::new(), run_id(system) + "-midway");
    Machine::pretend(Some(place.machine(None)));
    // CryFS takes a long time to start.
    let ways: &[bool] = if system == "cryfs" { &[true] } else { &[false, true] };
    for &rests in ways {
        let mut prepared = place.provision(system, &run_id).unwrap();
        assert!(!prepared.daemons.is_empty(), "{system}");
        for daemon in &prepared.daemons {
            kill_process(Pid::from_raw(*daemon as i32).unwrap(), Signal::KILL).unwrap();
        }
        if rests {
            // Closing may succeed or fail then.
            let _ = prepared.close();
        }
        prepared.destroy().unwrap_or_else(|e| panic!("{system}: {e}"));
        place.assert_nothing_left(&run_id, system);
    }
}

/// Serves a volume as for a user. What could not be removed must be removed once the program works again. (The
/// server exits with this process; other tests cover the remains of a killed one.)
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
        let disk = mounted.attach(false).unwrap();
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
    each_step("rclone", &[("rclone", "mount*")], &ANY);
    for system in ["bindfs", "gocryptfs", "encfs", "cryfs", "securefs", "rclone"] {
        dies_midway(system);
    }
}

/// With VeraCrypt's own program. If it dies while it serves, it no longer lists anything.
#[test]
fn veracrypt() {
    let own = [("veracrypt", "*--create*"), ("veracrypt", "*--protect-hidden*")];
    each_step("veracrypt", &own, &ANY);
    each_step("veracrypt", &[MKFS, MOUNT], &SOME);
    each_step_down("veracrypt", &[("veracrypt", "*--dismount*")], &[Fails]);
    dies_midway("veracrypt");
}

#[test]
fn builtin_mounted() {
    each_step("builtin-mounted", &[MKFS, MOUNT], &SOME);
}

#[test]
fn qemu_luks() {
    let own = [("qemu-img", "create*"), ("qemu-storage-daemon", "--blockdev*")];
    // Every run of qemu-img measures its key derivation for some seconds.
    let nightly = std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly");
    let (any, some): (&[Fault], &[Fault]) =
        if nightly { (&ANY, &SOME) } else { (&[Dies], &[Fails]) };
    each_step("qemu-luks", &own, any);
    each_step("qemu-luks", &[LOOP, ("losetup", "--direct-io=off*"), MKFS, MOUNT], some);
    // The remaining daemon gets some seconds to exit.
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
