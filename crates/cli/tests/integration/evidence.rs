//! After a run: every system returns the written data, the record describes the stored data, and the run fails if a
//! system only claims to encrypt or to keep its data.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, skipped, text};
use cryptbench_answer::names::Names as Called;
use cryptbench_record::{
    Arm, ArmRole, Entropy, Evidence, Names, Randomness, Record, Rest, Reveals, Sizes,
};
use rustix::process::{Pid, Signal, kill_process};

const PROFILE: &str = r#"
name = "tiny"
description = "One kind of request."
[[workload]]
id = "w"
label = "write 64 KiB"
operation = "write"
pattern = "sequential"
block_size = "64KiB"
queue_depth = 1
headline = "bandwidth"
"#;

/// The shortest possible run of these systems, with the programs in `programs` first in the search path.
fn run(s: &Sandbox, programs: Option<&Path>, more: &[&str]) -> Output {
    command(s, programs, more).output().unwrap()
}

fn command(s: &Sandbox, programs: Option<&Path>, more: &[&str]) -> Command {
    let profile = s.out().join("tiny.toml");
    fs::write(&profile, PROFILE).unwrap();
    let (profile, out) = (profile.display().to_string(), s.out().display().to_string());
    let mut args = vec!["run", "--profile", &profile, "--size", "4MiB", "--output", &out];
    args.extend(["--trial", "10ms", "--trials", "2", "--seed", "1"]);
    args.extend(more);
    let mut command = s.command(&args);
    if let Some(programs) = programs {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = [programs.to_owned()].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).unwrap());
    }
    command
}

/// Runs a system, and passes each inspected arm to `check`.
fn each_arm(system: &str, settings: &[&str], check: impl Fn(&Arm, &Evidence)) {
    let s = match system {
        "builtin-mounted" | "qemu-luks" | "nbdkit-luks" | "fscrypt" => Sandbox::with_little_room(),
        _ => Sandbox::new(),
    };
    let mut more = vec!["--system", system];
    more.extend(settings.iter().flat_map(|set| ["--set", set]));
    let done = run(&s, None, &more);
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    // A file system in RAM may lack direct I/O or encryption; other systems are not installed.
    if !done.status.success() && stderr.contains("not available here") {
        skipped(&format!("{system}: {stderr}"));
        return;
    }
    assert!(done.status.success(), "{system}: {stderr}\n{stdout}");
    assert!(s.left_behind().is_empty(), "{system}: {:?}", s.left_behind());
    let record = cryptbench_record::read(&s.out()).unwrap();
    assert_eq!(record.evidence.len(), record.plan.arms.len() - 1, "all but plain itself");
    for evidence in &record.evidence {
        let arm = record.plan.arms.iter().find(|a| a.id == evidence.arm).unwrap();
        assert!(evidence.is_verified(), "{}: {evidence:?}", arm.id);
        assert_eq!(evidence.failure, None, "{}", arm.id);
        let encrypted = arm.role == ArmRole::Encrypted;
        if let Some(scan) = &evidence.scan {
            assert_eq!(scan.markers == 0, encrypted, "{}: {scan:?}", arm.id);
            let judged =
                if arm.system == "fscrypt" { Randomness::Untold } else { Randomness::Random };
            let expected = if encrypted { judged } else { Randomness::Untold };
            assert_eq!(scan.randomness, expected, "{}: {scan:?}", arm.id);
            assert!(scan.scanned_bytes >= evidence.written_bytes.min(scan.stored_bytes));
        }
        check(arm, evidence);
    }
    shown(&s.full(), &record);
    let page = fs::read_to_string(s.out().join("report.html")).unwrap();
    assert!(page.contains("Data stored on the disk"), "{system}");
}

/// The report has the section, and no line is wider than 80 columns.
fn shown(stdout: &str, record: &Record) {
    let section = stdout.split("Data stored on the disk").nth(1).expect("the section");
    assert!(!section.contains("FOUND") && !section.contains("UNSEEN"), "{section}");
    let names = Called::of(&record.plan);
    assert!(record.plan.arms[1..].iter().all(|arm| section.contains(names.arm(arm))), "{section}");
    for line in stdout.lines().filter(|l| !l.starts_with("report  ")) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
}

fn entropy(evidence: &Evidence) -> Entropy {
    evidence.scan.as_ref().unwrap().entropy.unwrap()
}

/// No block differs from ciphertext, unless the arm does not encrypt.
fn random_throughout(arm: &Arm, evidence: &Evidence) {
    let found = entropy(evidence);
    assert_eq!(found.low_blocks == 0, arm.role == ArmRole::Encrypted, "{}: {found:?}", arm.id);
    let near = (found.mean - 7.9551).abs() < 0.01;
    assert_eq!(near, arm.role == ArmRole::Encrypted, "{}: {found:?}", arm.id);
}

fn of(evidence: &Evidence) -> Reveals {
    evidence.reveals.clone().unwrap()
}

#[test]
fn plain_storage_and_inline_systems() {
    each_arm("builtin", &[], |arm, evidence| {
        assert_eq!(evidence.rest, Rest::CacheDropped);
        random_throughout(arm, evidence);
        if arm.role == ArmRole::PlainAgain {
            let found = of(evidence);
            assert_eq!((found.names, found.sizes), (Some(Names::Plain), Some(Sizes::Exact)));
            assert_eq!(
                (found.count, found.tree, found.times),
                (Some(true), Some(true), Some(true))
            );
        }
    });
}

#[test]
fn containers_show_nothing() {
    each_arm("builtin-mounted", &[], |arm, evidence| {
        if arm.role == ArmRole::PlainAgain {
            return;
        }
        assert_eq!(evidence.rest, Rest::Unmounted);
        let found = of(evidence);
        if arm.role == ArmRole::Encrypted {
            random_throughout(arm, evidence);
            assert_eq!((found.names, found.sizes), (Some(Names::Hidden), Some(Sizes::Hidden)));
            assert!(found.signatures.is_empty(), "{found:?}");
        } else {
            assert_eq!(found.names, Some(Names::Plain), "in ext4's directories");
            assert!(found.signatures[0].contains("ext"), "{found:?}");
        }
    });
}

#[test]
fn a_pass_through_shows_everything() {
    each_arm("bindfs", &[], |_, evidence| {
        let found = of(evidence);
        assert_eq!((found.names, found.sizes), (Some(Names::Plain), Some(Sizes::Exact)));
        assert_eq!((found.count, found.tree, found.times), (Some(true), Some(true), Some(true)));
    });
}

/// What is visible in a directory with one encrypted file for each file.
fn file_by_file(system: &str, settings: &[&str], names: Names, signature: &str) {
    each_arm(system, settings, |arm, evidence| {
        if arm.role != ArmRole::Encrypted {
            return;
        }
        assert_eq!(evidence.rest, Rest::Unmounted);
        random_throughout(arm, evidence);
        let found = of(evidence);
        assert_eq!((found.names, found.sizes), (Some(names), Some(Sizes::Exact)), "{}", arm.id);
        assert_eq!((found.count, found.tree), (Some(true), Some(true)), "{}", arm.id);
        assert!(found.signatures.iter().any(|s| s.contains(signature)), "{found:?}");
    });
}

#[test]
fn gocryptfs_shows_sizes_and_rounded_names() {
    file_by_file("gocryptfs", &[], Names::RoundedLength, "gocryptfs.conf");
}

#[test]
fn gocryptfs_with_plain_names_shows_names() {
    file_by_file("gocryptfs", &["names=plain"], Names::Plain, "gocryptfs.conf");
}

#[test]
fn encfs_shows_sizes_and_rounded_names() {
    file_by_file("encfs", &["preset=paranoia"], Names::RoundedLength, ".encfs6.xml");
}

#[test]
fn securefs_shows_sizes_and_names_to_the_byte() {
    file_by_file("securefs", &[], Names::Length, ".securefs.json");
}

#[test]
fn cryfs_shows_what_it_is_and_nothing_of_the_files() {
    each_arm("cryfs", &[], |arm, evidence| {
        if arm.role != ArmRole::Encrypted {
            return;
        }
        let found = of(evidence);
        assert_eq!((found.names, found.sizes), (Some(Names::Hidden), Some(Sizes::Hidden)));
        assert_eq!((found.count, found.tree, found.times), (Some(false), Some(false), Some(false)));
        assert_eq!(found.signatures, ["cryfs.config"]);
    });
}

#[test]
fn rclone_leaves_plaintext_in_its_cache_and_the_run_says_so() {
    let s = Sandbox::new();
    let done = run(&s, None, &["--system", "rclone"]);
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    if stderr.contains("not available here") {
        skipped(&format!("rclone: {stderr}"));
        return;
    }
    assert_eq!(done.status.code(), Some(8), "{stderr}\n{stdout}");
    assert!(stderr.contains("leaves plaintext in its cache"), "{stderr}");
    assert!(stdout.contains("leaves readable text in its cache"), "{stdout}");
    for said in [&stderr, &stdout, &s.full()] {
        assert!(!said.contains("does not encrypt"), "{said}");
    }
    assert!(s.full().contains("IN CACHE"), "{}", s.full());
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn fscrypt_shows_all_but_content_and_names() {
    each_arm("fscrypt", &[], |arm, evidence| {
        if arm.role != ArmRole::Encrypted {
            return;
        }
        assert_eq!(evidence.rest, Rest::KeyRemoved);
        let found = of(evidence);
        assert_eq!((found.names, found.sizes), (Some(Names::RoundedLength), Some(Sizes::Exact)));
        assert_eq!((found.count, found.tree, found.times), (Some(true), Some(true), Some(true)));
        assert!(entropy(evidence).low_blocks > 0, "ext4's own blocks are not encrypted");
    });
}

#[test]
fn qemu_luks_shows_its_header() {
    each_arm("qemu-luks", &[], |arm, evidence| {
        if arm.role == ArmRole::Encrypted {
            let found = of(evidence);
            assert_eq!((found.names, found.sizes), (Some(Names::Hidden), Some(Sizes::Hidden)));
            assert_eq!(found.signatures, ["LUKS1 header"]);
        }
    });
}

#[test]
fn nbdkit_luks_shows_its_header() {
    each_arm("nbdkit-luks", &[], |arm, evidence| {
        if arm.role == ArmRole::Encrypted {
            assert_eq!(of(evidence).signatures, ["LUKS1 header"]);
        }
    });
}

/// A program with the name of one that encrypts.
fn impostor(s: &Sandbox, serve: &str) -> std::path::PathBuf {
    let programs = s.out().join("programs");
    fs::create_dir(&programs).unwrap();
    let program = programs.join("gocryptfs");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*-version*) echo 'gocryptfs 2.3; an impostor' ;;\n\
         *-init*) cat >/dev/null; for last; do :; done; echo '{{}}' >\"$last/gocryptfs.conf\" ;;\n\
         *) shift 3; {serve} ;;\nesac\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    programs
}

const PASS_THROUGH: &str = "exec bindfs -f --no-allow-other -o subtype=gocryptfs";

/// Whether the programs needed by the impostors exist.
fn has_bindfs() -> bool {
    let there = Path::new("/usr/bin/bindfs").exists() && Path::new("/dev/fuse").exists();
    if !there {
        skipped("no bindfs or no FUSE: nothing can pretend to encrypt");
    }
    there
}

#[test]
fn a_system_that_wrote_plaintext_fails_the_run_and_the_record_says_so() {
    if !has_bindfs() {
        return;
    }
    let s = Sandbox::new();
    let programs = impostor(&s, &format!("{PASS_THROUGH} \"$1\" \"$2\""));
    let done = run(&s, Some(&programs), &["--system", "gocryptfs"]);
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(8), "{stderr}\n{stdout}");
    assert!(stderr.contains("does not encrypt"), "{stderr}");
    assert!(stdout.contains("stored readable text on the disk"), "{stdout}");
    assert!(s.full().contains("FOUND"), "{}", s.full());
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    let record = cryptbench_record::read(&s.out()).unwrap();
    let evidence = record.evidence.last().unwrap();
    assert_eq!(evidence.shows_plaintext(), Some(true));
    assert!(evidence.scan.as_ref().unwrap().first_marker.is_some());
    assert!(record.notes.iter().any(|n| n.contains("does not encrypt")), "{:?}", record.notes);
    let sentences = &record.results.as_ref().unwrap().sentences;
    assert!(sentences[0].contains("does not encrypt"), "{sentences:?}");
    // The trials are in the record nevertheless.
    assert!(!record.trials.is_empty() && !record.partial);
}

#[test]
fn a_system_that_forgets_what_it_was_given_fails_the_run() {
    if !has_bindfs() {
        return;
    }
    let s = Sandbox::new();
    // Each time it is started, it serves a different empty directory.
    let serve = format!("fresh=$(mktemp -d -p \"$HOME\"); {PASS_THROUGH} \"$fresh\" \"$2\"");
    let programs = impostor(&s, &serve);
    let done = run(&s, Some(&programs), &["--system", "gocryptfs"]);
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(4), "{stderr}\n{stdout}");
    assert!(stderr.contains("lost data"), "{stderr}");
    assert!(stdout.contains("data was lost"), "{stdout}");
    assert!(s.full().contains("LOST"), "{}", s.full());
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    let record = cryptbench_record::read(&s.out()).unwrap();
    assert!(!record.evidence.last().unwrap().is_verified());
}

#[test]
fn a_system_that_does_not_come_up_again_could_not_be_checked_and_has_lost_nothing() {
    if !has_bindfs() {
        return;
    }
    let s = Sandbox::new();
    // It serves only once.
    let serve = format!(
        "[ -e \"$1/served\" ] && {{ echo 'out of order' >&2; exit 3; }}; : >\"$1/served\"; \
         {PASS_THROUGH} \"$1\" \"$2\""
    );
    let programs = impostor(&s, &serve);
    // The searched data is plaintext, and this is reported first.
    let done = run(&s, Some(&programs), &["--system", "gocryptfs"]);
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(8), "{stderr}\n{stdout}");
    let full = s.full();
    assert!(full.contains("not checked") && !full.contains("LOST"), "{full}");
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    let record = cryptbench_record::read(&s.out()).unwrap();
    let evidence = record.evidence.last().unwrap();
    assert!(evidence.failure.as_ref().unwrap().contains("out of order"), "{evidence:?}");
    let notes = record.notes.join("\n");
    assert!(
        notes.contains("could not be checked") && notes.contains("does not encrypt"),
        "{notes}"
    );
    assert!(!notes.contains("lost data"), "{notes}");
}

#[test]
fn an_interruption_is_heard_during_the_proof_and_leaves_nothing() {
    if !has_bindfs() {
        return;
    }
    let s = Sandbox::new();
    let programs = impostor(&s, &format!("{PASS_THROUGH} \"$1\" \"$2\""));
    let mut command = command(&s, Some(&programs), &["--system", "gocryptfs,builtin"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The directories of the pattern appear in the first mount that is inspected.
    let looked_at = || {
        let stores = fs::read_dir(s.target()).unwrap().flatten().map(|e| e.path());
        let mut stores = stores.filter(|path| path.extension().is_some_and(|e| e == "store"));
        stores.any(|store| {
            let stored = fs::read_dir(store.join("ciphertext")).into_iter().flatten().flatten();
            stored.into_iter().any(|e| e.file_name().to_string_lossy().ends_with("-outer"))
        })
    };
    let until = Instant::now() + Duration::from_secs(120);
    while !looked_at() {
        assert!(Instant::now() < until, "nothing was looked at");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{}", text(&done.stderr));
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounted.contains(s.target().to_str().unwrap()), "{mounted}");
    let record = cryptbench_record::read(&s.out()).unwrap();
    assert!(record.evidence.len() < record.plan.arms.len() - 1, "{:?}", record.evidence);
    assert!(!record.notes.iter().any(|n| n.contains("lost data")), "{:?}", record.notes);
}
