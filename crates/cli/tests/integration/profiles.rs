//! Every built-in profile through the binary, on a small scale: it runs to its end, every workload has trials on
//! every arm that supports it, the output looks as usual, and nothing is left behind.

use std::path::PathBuf;

use crate::sandbox::disk::images;
use crate::sandbox::{Sandbox, nightly, skipped, text};
use cryptbench_record::{ArmRole, Operation, Pattern, Record};

/// Runs `profile` with one trial per workload and arm, as small as the arguments allow.
fn run(profile: &str, more: &[&str]) -> Option<(String, Record, usize)> {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let mut args = vec!["run", "--profile", profile, "--trials", "1", "--trial", "10ms"];
    args.extend(["--seed", "1", "--pause", "0", "--output", &out]);
    if !more.contains(&"--data-unit") {
        args.push("--builtin-only");
    }
    args.extend(more);
    let done = s.run(&args);
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    if !done.status.success() && stderr.contains("is not available here") {
        skipped(stderr.lines().last().unwrap_or_default());
        return None;
    }
    assert!(done.status.success(), "{profile}: {stderr}");
    assert_eq!(s.left_behind(), Vec::<PathBuf>::new(), "{profile}");
    for line in stdout.lines().filter(|l| !l.contains(&out)) {
        assert!(line.chars().count() <= 80, "{profile}: wider than 80 columns: {line}");
    }
    let page = std::fs::metadata(s.out().join("report.html")).unwrap().len() as usize;
    let record = cryptbench_record::read(&s.out()).unwrap();
    assert!(!record.partial, "{profile}");
    for workload in &record.plan.workloads {
        for arm in &record.plan.arms {
            let trials = record.trials_of(&workload.id, &arm.id);
            let expected = usize::from(record.plan.includes(workload, arm));
            assert_eq!(trials.len(), expected, "{profile}: {} on {}", workload.id, arm.id);
            for (_, trial) in trials {
                assert!(trial.measured.elapsed_s > 0.0, "{profile}: {} on {}", workload.id, arm.id);
            }
        }
    }
    assert!(stdout.lines().count() <= 24, "{profile}: more than a screen:\n{stdout}");
    let full = s.full();
    for line in full.lines().filter(|l| !l.starts_with("report  ")) {
        assert!(line.chars().count() <= 80, "{profile}: wider than 80 columns: {line}");
    }
    Some((full, record, page))
}

/// Like [`run`]. If there is little time, a profile that takes minutes is shortened by replacing some of its text:
/// `(from, to)`.
fn run_smaller(
    profile: &str,
    whole: &str,
    (from, to): (&str, &str),
    more: &[&str],
) -> Option<(String, Record, usize)> {
    if nightly() {
        return run(profile, more);
    }
    assert!(whole.contains(from), "{profile} has no {from}");
    let place = tempfile::tempdir().unwrap();
    let smaller = place.path().join(format!("{profile}.toml"));
    std::fs::write(&smaller, whole.replace(from, to)).unwrap();
    run(smaller.to_str().unwrap(), more)
}

#[test]
fn atto_has_its_21_sizes_in_both_directions_and_draws_bars() {
    // In memory if possible, because 42 workloads flush often.
    let memory = images();
    let (stdout, record, _) = run("atto", &[memory.path().to_str().unwrap()]).unwrap();
    assert_eq!(record.plan.workloads.len(), 42);
    assert_eq!(record.target.scratch.size_bytes, 256 << 20);
    assert!(stdout.contains('█'), "{stdout}");
    assert!(record.plan.workloads.iter().all(|w| w.queue_depth == 4));
    // An arm is left out for requests smaller than its data unit.
    let small = record.plan.workloads.iter().find(|w| w.block_size == 512).unwrap();
    let of = |arm: &str| record.trials_of(&small.id, arm).len();
    assert_eq!((of("builtin/aes-256-xts/512"), of("builtin/aes-256-xts/4096")), (1, 0));
}

#[test]
fn anvil_and_crystaldiskmark_run_their_grids() {
    for (profile, workloads) in [("crystaldiskmark", 8), ("crystaldiskmark-nvme", 8)] {
        let size = ["--size", "256MiB", "--data-unit", "4096"];
        let (_, record, _) = run(profile, &size).unwrap();
        assert_eq!(record.plan.workloads.len(), workloads, "{profile}");
    }
    let (_, record, _) = run("anvil", &["--size", "256MiB", "--data-unit", "4096"]).unwrap();
    assert!(record.plan.workloads.iter().any(|w| w.block_size == 4 << 20));
}

#[test]
fn hdtune_records_its_curve_and_its_access_times() {
    let (_, record, _) = run("hdtune", &["--size", "256MiB", "--data-unit", "512"]).unwrap();
    let curve = record.plan.workloads.iter().find(|w| w.pattern == Pattern::Sampled).unwrap();
    let (_, trial) = record.trials_of(&curve.id, "plain")[0];
    let samples = trial.measured.samples.as_ref().unwrap();
    assert_eq!(samples.offset.len(), samples.latency_us.len());
    let end = samples.offset.iter().max().unwrap();
    assert!(*end > (256 << 20) * 9 / 10, "the curve ends at {end}");
    assert!(record.plan.workloads.iter().filter(|w| w.headline == "latency").count() >= 4);
}

#[test]
fn dd_writes_new_files_with_and_without_a_flush() {
    let more = ["--size", "64MiB", "--data-unit", "512"];
    for (profile, whole, smaller) in [
        (
            "dd-removable",
            include_str!("../../../load/profiles/dd-removable.toml"),
            ("\"128MiB\"", "\"16MiB\""),
        ),
        (
            "dd-copy",
            include_str!("../../../load/profiles/dd-copy.toml"),
            ("\"512000KiB\"", "\"16000KiB\""),
        ),
    ] {
        let (_, record, _) = run_smaller(profile, whole, smaller, &more).unwrap();
        assert!(record.plan.workloads.iter().all(|w| w.fresh_file), "{profile}");
        assert!(!record.target.engine.direct, "{profile}");
    }
}

#[test]
fn fsync_makes_each_write_durable_and_tells_its_p99() {
    let (stdout, record, _) = run("fsync", &["--size", "64MiB", "--data-unit", "512"]).unwrap();
    assert_eq!(record.plan.workloads.len(), 4);
    for workload in &record.plan.workloads {
        assert_eq!(workload.flush.as_deref(), Some("each-write"), "{}", workload.id);
        for arm in &record.plan.arms {
            for (_, trial) in record.trials_of(&workload.id, &arm.id) {
                let latency = &trial.measured.latency;
                let is_above = latency.p99_us.is_none_or(|p99| p99 >= latency.p50_us);
                assert!(latency.p50_us > 0.0 && is_above, "{}", workload.id);
            }
        }
    }
    assert!(stdout.lines().filter(|line| line.trim().starts_with("p99 ")).count() >= 4, "{stdout}");
}

#[test]
fn iozone_runs_thirteen_operations_over_small_files() {
    let (stdout, record, page) =
        run("iozone", &["--max-file", "256KiB", "--size", "64MiB", "--data-unit", "512"]).unwrap();
    // Files of 64, 128 and 256 KiB, each with records from 4 KiB to the size of the file: 5 + 6 + 7 pairs.
    assert_eq!(record.plan.workloads.len(), 13 * 18);
    assert!(page < 1 << 20, "{page} bytes");
    assert!(stdout.lines().count() < 400, "{} lines", stdout.lines().count());
}

#[test]
fn small_files_compare_a_mounted_system_with_the_plain_file_system() {
    let whole = include_str!("../../../load/profiles/small-files.toml");
    let fewer = ("count = 10_000", "count = 400");
    let more = ["--size", "64MiB", "--data-unit", "512"];
    let Some((_, record, _)) = run_smaller("small-files", whole, fewer, &more) else { return };
    let mounted = record.plan.arms.iter().filter(|a| a.attachment.as_deref() == Some("mounted"));
    assert!(mounted.count() >= 2);
    assert!(record.plan.workloads.iter().any(|w| w.operation == Operation::Create));
}

#[test]
fn mount_times_the_opening_of_volumes_and_splits_it() {
    let whole: (usize, &[&str]) =
        (3, &["--volume-format", "veracrypt,luks2", "--prf", "sha-512,sha-256"]);
    // A hundredth of VeraCrypt's cost without a PIM. LUKS has no PIM, and takes two seconds each time.
    let cheaper: (usize, &[&str]) =
        (2, &["--volume-format", "veracrypt", "--prf", "sha-512,sha-256", "--pim", "1"]);
    let (arms, more) = if nightly() { whole } else { cheaper };
    let (_, record, _) = run("mount", more).unwrap();
    let encrypted = record.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted);
    assert!(encrypted.count() >= arms);
    let opened =
        record.trials.iter().find(|t| t.measured.parts.contains_key("derivation")).unwrap();
    assert!(opened.measured.parts["derivation"] <= opened.measured.elapsed_s);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    for profile in ["quick", "iozone", "small-files", "mount"] {
        let s = Sandbox::new();
        let done = s.run(&["run", "--profile", profile, "--dry-run"]);
        let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "{profile}: {stderr}");
        for expected in ["would write", "would take"] {
            assert!(stdout.contains(expected), "{profile}: no {expected:?} in:\n{stdout}");
        }
        assert_eq!(s.left_behind(), Vec::<PathBuf>::new(), "{profile}");
        let home = s.target().parent().unwrap().join("home/.local/share/cryptbench/runs");
        assert!(std::fs::read_dir(home).map_or(0, Iterator::count) == 0, "{profile}");
    }
}

#[test]
fn a_fio_job_file_is_a_profile_and_an_unknown_option_is_not_ignored() {
    let s = Sandbox::new();
    let job = s.target().join("job.fio");
    std::fs::write(
        &job,
        "[global]\nbs=4k\nioengine=io_uring\niodepth=4\n[one]\nrw=randread\nsize=16m\n",
    )
    .unwrap();
    let args = s.tiny(&["--json", "--quiet", "--profile", "./job.fio", "--data-unit", "512"]);
    let done = s.run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let record: Record = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (record.plan.workloads[0].block_size, record.plan.workloads[0].queue_depth),
        (4096, 4)
    );

    std::fs::write(&job, "[one]\nrw=randread\nbs=4k\nsize=16m\nzonemode=zbd\n").unwrap();
    let done = s.run(&args);
    assert_eq!(done.status.code(), Some(5));
    assert!(text(&done.stderr).contains("zonemode"), "{}", text(&done.stderr));
}
