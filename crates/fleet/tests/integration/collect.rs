//! The dataset: every row once, in directories that say what rows have in common.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cryptbench_fleet::{Files, collect};
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::made::{FAST, Kind, Normal, damage, leave, record};

fn below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

fn rows(path: &Path) -> i64 {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    assert_eq!(schema.get_fields()[0].name(), "node");
    reader.metadata().file_metadata().num_rows()
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
    let counts: Vec<i64> = parts.iter().map(|path| rows(path)).collect();
    assert_eq!(counts, [18, 6, 90, 30]);
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
