//! The dataset: every row once, in directories that say what rows have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cryptbench_fleet::{Files, collect};

use crate::made::{FAST, Kind, Normal, damage, leave, record};

fn below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

/// The rows of each file, if polars can be had to read it.
fn rows(parts: &[PathBuf]) -> Option<Vec<u64>> {
    const COUNT: &str = "
import json, sys, polars
tables = [polars.read_parquet(path, hive_partitioning=False) for path in sys.argv[1:]]
assert all(table.columns[0] == 'node' for table in tables)
print(json.dumps([table.height for table in tables]))
";
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = cryptbench_prove::python("polars", "polars", place) else {
        eprintln!("SKIPPED: no polars for python3, and pip cannot install it");
        return None;
    };
    let done = Command::new(python).args(["-c", COUNT]).args(parts).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

#[test]
fn every_trial_of_every_record_is_in_the_dataset() {
    let dir = tempfile::tempdir().unwrap();
    let (fleet, dataset) = (dir.path().join("fleet"), dir.path().join("dataset"));
    let mut normal = Normal::new(13);
    let other = Kind { cpu: "Other/CPU", ..FAST };
    for i in 0..4 {
        let kind = if i == 3 { other } else { FAST };
        let mut record = record(&mut normal, &format!("node{i}"), &kind, (5, 0.02));
        record.results = None;
        leave(&fleet, &record);
    }
    damage(&fleet, "bad.json", "{}");
    let found = collect(&Files::in_directory(&fleet).unwrap(), 2, &dataset, || ()).unwrap();
    // Two workloads on three arms, five blocks of each.
    assert_eq!((found.records, found.rows, found.damaged.len()), (4, [24, 120], 1));
    let mut parts = Vec::new();
    below(&dataset, &mut parts);
    parts.sort();
    let names: Vec<_> =
        parts.iter().map(|p| p.strip_prefix(&dataset).unwrap().display().to_string()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(
        names[0].starts_with("cells/cpu_model=Fast%20CPU%209000/disk_model=NVMe%20One/part-"),
        "{names:?}"
    );
    assert!(names[1].starts_with("cells/cpu_model=Other%2FCPU/"), "{names:?}");
    if let Some(counts) = rows(&parts) {
        assert_eq!(counts, [18, 6, 90, 30]);
    }
    // What is there is not mixed with more.
    assert!(collect(&Files::in_directory(&fleet).unwrap(), 2, &dataset, || ()).is_err());
}

#[test]
fn a_model_may_be_longer_than_a_name_of_a_file() {
    const LONG: &str = concat!(
        "CPU/0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 ",
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 ",
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 ",
    );
    let dir = tempfile::tempdir().unwrap();
    let (fleet, dataset) = (dir.path().join("fleet"), dir.path().join("dataset"));
    let kind = Kind { cpu: LONG, disk: LONG, ..FAST };
    let mut record = record(&mut Normal::new(13), "node1", &kind, (5, 0.02));
    record.results = None;
    leave(&fleet, &record);
    let found = collect(&Files::in_directory(&fleet).unwrap(), 2, &dataset, || ()).unwrap();
    assert_eq!((found.records, found.files), (1, 2));
}
