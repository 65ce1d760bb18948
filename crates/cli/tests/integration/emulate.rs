//! Runs on emulated devices from start to end: their results are labelled, the devices are removed, also by cleanup
//! after a kill, and predictions follow from them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use cryptbench_record::Operation;

use crate::sandbox::waiting::{wait_for_trials, wait_until};
use crate::sandbox::{Sandbox, skipped, text};

/// Arguments of the shortest possible run on an emulated device.
const TINY: &[&str] = &[
    "run",
    "--emulate",
    "sata-ssd",
    "--system",
    "builtin",
    "--cipher",
    "aes-256-xts",
    "--data-unit",
    "4096",
    "--size",
    "16MiB",
    "--trials",
    "3",
    "--trial",
    "20ms",
    "--seed",
    "1",
];

/// Whether this machine can serve a device.
fn can_serve() -> bool {
    let there = std::fs::File::options().read(true).write(true).open("/dev/fuse").is_ok();
    if !there {
        skipped("no /dev/fuse");
    }
    let loops = std::path::Path::new("/dev/loop-control").exists();
    if there && rustix::process::geteuid().is_root() && !loops {
        skipped("root without loop devices");
        return false;
    }
    there
}

#[test]
fn a_run_on_an_emulated_device_says_so_everywhere_and_leaves_nothing() {
    if !can_serve() {
        return;
    }
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let done = s.run(&[TINY, &["--output", &out]].concat());
    let (said, table) = (text(&done.stderr), text(&done.stdout));
    assert!(done.status.success(), "{said}");
    // There may be a line break between the two words.
    let flat = |said: &str| said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&table).contains("EMULATED sata-ssd"), "{table}");
    assert!(table.lines().count() <= 24, "{table}");
    let full = s.full();
    assert!(full.contains("EMULATED sata-ssd, quick profile"), "{full}");
    assert!(full.contains("EMULATED: the disk is the model sata-ssd"), "{full}");
    for line in table.lines().chain(full.lines()).filter(|l| !l.ends_with(".html")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let record = cryptbench_record::read(&s.out()).unwrap();
    let emulated = record.target.emulated.as_ref().expect("the record says so");
    assert_eq!((emulated.model.as_str(), emulated.parameters.len()), ("sata-ssd", 16));
    assert!(emulated.transport_us > 0.0 && emulated.late_share.is_some());
    assert!(!record.trials.is_empty() && !record.partial);
    counts_are_those_of_the_device(&record);
    let page = std::fs::read_to_string(s.out().join("report.html")).unwrap();
    assert!(page.contains("EMULATED sata-ssd"));
    let again = s.run(&["report", &out]);
    assert!(flat(&text(&again.stdout)).contains("EMULATED sata-ssd"));
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    // The run can also be used for predictions.
    let validated = s.run(&["predict", "--validate", &out, "--cipher-rate", "3000"]);
    let table = text(&validated.stdout);
    assert!(
        table.contains("EMULATED sata-ssd") && table.contains("from the model only"),
        "{table}"
    );
}

/// Applies to reads of an arm that sends one request for each request of plain storage: the device did exactly what
/// was requested. The writes of a trial may include those of the file system.
fn counts_are_those_of_the_device(record: &cryptbench_record::Record) {
    assert_eq!(record.target.uncounted, None);
    assert!(record.target.idle_disk.is_some_and(|idle| idle.span_s >= 0.4));
    let mut seen = 0;
    for workload in record.plan.workloads.iter().filter(|w| w.operation == Operation::Read) {
        for trial in record.trials.iter().filter(|t| t.workload == workload.id) {
            let disk = trial.measured.disk.expect("an emulated device counts itself");
            let case = format!("{} on {}: {disk:?}", workload.id, trial.arm);
            // FUSE splits larger requests, and the kernel merges adjacent ones.
            let pieces = disk.reads + disk.merged_reads.unwrap();
            let cut = workload.block_size.div_ceil(256 << 10).max(1);
            assert_eq!(disk.read_bytes, disk.asked_bytes, "{case}");
            assert!((disk.asked * cut * 9 / 10..=disk.asked * cut).contains(&pieces), "{case}");
            let in_flight = disk.in_flight().unwrap();
            assert!(
                in_flight > 0.0 && in_flight < f64::from(workload.in_flight()) * cut as f64 + 0.5,
                "{case}"
            );
            assert!(disk.busy_s > 0.0 && disk.span_s >= trial.measured.elapsed_s, "{case}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_dry_run_serves_nothing() {
    let s = Sandbox::new();
    let done = s.run(&["run", "--emulate", "usb-flash", "--size", "64MiB", "--dry-run"]);
    let said = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(said.contains("EMULATED usb-flash") && said.contains("Nothing was written"), "{said}");
    assert!(s.left_behind().is_empty());
}

/// A model in `place` of a memory card that writes 1 MB/s and reads 4 MB/s.
fn slow_card(place: &std::path::Path) -> String {
    let mut model = include_str!("../../../devices/models/sd-card.toml").to_owned();
    for (was, is) in [
        ("name = \"sd-card\"", "name = \"slow-card\""),
        ("\nread_mib_s = 90.0", "\nread_mib_s = 3.8"),
        ("\nwrite_mib_s = 90.0", "\nwrite_mib_s = 0.95"),
    ] {
        assert!(model.contains(was), "{was}");
        model = model.replace(was, is);
    }
    let file = place.join("slow-card.toml");
    std::fs::write(&file, model).unwrap();
    file.display().to_string()
}

/// Such a run once took 243 s although its budget was 30 s, and had no result.
#[test]
fn a_run_on_a_slow_card_keeps_its_budget() {
    const MOST: Duration = Duration::from_millis(34_500);
    if !can_serve() {
        return;
    }
    let s = Sandbox::new();
    let (out, model) = (s.out().display().to_string(), slow_card(&s.target()));
    let run = ["run", "--emulate", &model, "--builtin-only", "--size", "64MiB", "--budget", "30s"];
    let began = Instant::now();
    let done = s.run(&[&run[..], &["--output", &out]].concat());
    let (took, said) = (began.elapsed(), text(&done.stderr));
    assert!(took <= MOST, "{took:?}: {said}");
    match done.status.code() {
        Some(0) => {
            let record = cryptbench_record::read(&s.out()).unwrap();
            let counts =
                |t: &cryptbench_record::Trial| t.arm.starts_with("builtin/") && t.block.is_some();
            assert!(record.trials.iter().any(counts), "{said}");
            // The file was made smaller; filling it would have taken a minute.
            assert!(record.target.scratch.size_bytes < 32 << 20, "{:?}", record.target.scratch);
        }
        // The run ended as soon as that was known, and stated a sufficient budget.
        Some(10) => assert!(said.lines().last().unwrap().contains("--budget "), "{said}"),
        code => panic!("{code:?}: {said}"),
    }
    assert_eq!(s.left_behind(), [s.target().join("slow-card.toml")]);
}

#[test]
fn what_cannot_be_emulated_is_refused() {
    let s = Sandbox::new();
    let refused = |more: &[&str], word: &str| {
        let done = s.run(&[&["run", "--emulate"], more].concat());
        assert_eq!(done.status.code(), Some(2), "{more:?}");
        assert!(text(&done.stderr).contains(word), "{more:?}: {}", text(&done.stderr));
    };
    refused(&["floppy"], "hdd-7200");
    refused(&["./no-such.toml"], "cannot read");
    refused(&["sata-ssd", "--size", "100TiB"], "needs");
    refused(&["sata-ssd", "/tmp"], "cannot be used with");
}

#[test]
fn a_killed_run_is_cleaned_up_at_once() {
    if !can_serve() {
        return;
    }
    // Killed at the start, when something is set up, and while it measures.
    for (trials, engine) in [
        (None, "auto"),
        (Some(0), "auto"),
        (Some(1), "auto"),
        (Some(20), "auto"),
        (Some(1), "threads"),
        (Some(20), "threads"),
    ] {
        let s = Sandbox::new();
        let out = s.out().display().to_string();
        let arguments = [TINY, &["--engine", engine, "--output", &out]].concat();
        let mut child =
            s.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        match trials {
            None => std::thread::sleep(Duration::from_millis(50)),
            Some(0) => wait_until("something is set up", || !s.left_behind().is_empty()),
            Some(trials) => wait_for_trials(&mut child, &s.out(), trials),
        }
        // A thread that waits for a device of the killed run prevents the process from exiting until cleanup
        // releases it.
        child.kill().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        // A loop device releases its file shortly after its last user has closed it.
        let mut cleaned = s.run(&["cleanup"]);
        while !s.left_behind().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(200));
            cleaned = s.run(&["cleanup"]);
        }
        assert!(cleaned.status.success(), "{trials:?}: {}", text(&cleaned.stderr));
        assert!(s.left_behind().is_empty(), "{trials:?}: {:?}", s.left_behind());
        child.wait().unwrap();
    }
}

#[test]
fn a_prediction_follows_from_rates_that_are_given() {
    let s = Sandbox::new();
    let args = ["--device", "sata-ssd", "--cipher-rate", "1000", "--per-request", "10"];
    let done = s.run(&[&["predict", "--json"], &args[..]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["emulated"], true);
    for cell in json["cells"].as_array().unwrap() {
        let bytes = cell["block_size"].as_f64().unwrap();
        let extra = cell["extra_us"].as_f64().unwrap();
        assert!((extra - 10.0 - bytes / 1000.0).abs() < 1e-6 * extra, "{cell}");
        let plain_us = bytes / 1_048_576.0 / cell["plain_mib_s"].as_f64().unwrap() * 1e6;
        // With one request at a time the times add up, except for the device's work in between. Random positions
        // vary.
        let least = 100.0 * plain_us / (plain_us + extra);
        let keeps = cell["keeps_percent"].as_f64().unwrap();
        assert!(keeps > least * 0.97 && keeps < 103.0, "{least}: {cell}");
    }
    let table = text(&s.run(&[&["predict"], &args[..]].concat()).stdout);
    assert!(table.contains("EMULATED, PREDICTED"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_serial_driver_costs_what_it_adds_to_each_piece_and_the_others_that_wait() {
    let s = Sandbox::new();
    let predicted = |more: &[&str]| -> serde_json::Value {
        let usual = ["predict", "--json", "--device", "sata-ssd", "--cipher-rate", "1000"];
        let done = s.run(&[&usual, more].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let [serial, pieces, parallel] = [
        predicted(&["--serial", "--queue-depth", "4"]),
        predicted(&["--serial=64KiB", "--queue-depth", "4"]),
        predicted(&["--per-request", "16", "--queue-depth", "4"]),
    ];
    assert_eq!(
        (&serial["serial_piece"], &serial["per_request_us"]),
        (&262_144.into(), &16.0.into())
    );
    assert!(parallel["serial_piece"].is_null());
    for (at, cell) in serial["cells"].as_array().unwrap().iter().enumerate() {
        let bytes = cell["block_size"].as_f64().unwrap();
        let added = |pieces: f64| 16.0 * pieces + bytes / 1000.0;
        let extra = |found: &serde_json::Value| found["cells"][at]["extra_us"].as_f64().unwrap();
        assert!((extra(&serial) - added((bytes / 262_144.0).ceil())).abs() < 1e-6, "{cell}");
        assert!((extra(&pieces) - added((bytes / 65_536.0).ceil())).abs() < 1e-6, "{cell}");
        let keeps =
            |found: &serde_json::Value| found["cells"][at]["keeps_percent"].as_f64().unwrap();
        assert!(keeps(&serial) < keeps(&parallel) * 1.03, "{cell}");
    }
    // Encryption never makes anything faster, whatever the state of a model's caches.
    let nvme = [
        "predict",
        "--json",
        "--device",
        "nvme",
        "--cipher-rate",
        "15000",
        "--cipher",
        "AES-256-XTS",
    ];
    let done = s.run(&nvme);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        assert!(cell["keeps_percent"].as_f64().unwrap() <= 100.0, "{cell}");
    }
    let refused = s.run(&["predict", "--serial=1000"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("the piece size must be a multiple of 4KiB"));
    let table = text(&s.run(&["predict", "--serial", "--cipher-rate", "1000"]).stdout);
    assert!(table.contains("one request at a time, in pieces of 256 KiB"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn predictions_of_published_sweeps_hold_for_the_ssd_and_fail_where_they_are_said_to() {
    let s = Sandbox::new();
    let done = s.run(&["predict", "--validate", "--json"]);
    let groups: Vec<serde_json::Value> = serde_json::from_slice(&done.stdout).unwrap();
    let errors = |name: &str, operation: &str| -> Vec<f64> {
        let group = groups.iter().find(|g| g["name"] == name).unwrap();
        let cells = group["cells"].as_array().unwrap().iter();
        let mut found: Vec<f64> = cells
            .filter(|c| c["label"] == operation)
            .map(|c| (c["predicted"].as_f64().unwrap() / c["found"].as_f64().unwrap() - 1.0).abs())
            .collect();
        found.sort_unstable_by(f64::total_cmp);
        found
    };
    let median = |errors: &[f64]| errors[errors.len() / 2];
    for operation in ["read", "write"] {
        let ssd = errors("study A, ssd", operation);
        assert_eq!(ssd.len(), 21);
        let within = ssd.iter().filter(|e| **e <= 0.11).count();
        assert!(within >= 18 && median(&ssd) < 0.05, "{operation}: {ssd:?}");
        assert!(median(&errors("study A, hdd", operation)) > 0.2);
    }
    assert!(errors("study A, flash", "read").last().unwrap() > &0.5);
}
