//! Parquet files contain the same data as CSV files, according to the reader of Apache Arrow's polars.

use std::fs;
use std::path::Path;
use std::process::Command;

use cryptbench_answer::Labelled;
use cryptbench_record::Record;
use cryptbench_view::table::{Rows, csv, parquet};
use serde_json::Value;

use crate::fixture::Fixture;

/// One row per line, as JSON; the types of the columns come first.
const READ: &str = "
import json, sys, polars
table = polars.read_parquet(sys.argv[1])
print(json.dumps({name: str(kind) for name, kind in table.schema.items()}))
for row in table.iter_rows():
    print(json.dumps(row))
";

fn read_back(record: &Record, python: &Path) {
    let labelled = Labelled::of(record);
    let report = labelled.report();
    for (name, rows) in [("trials", Rows::Trials), ("cells", Rows::Cells)] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{}.parquet", record.trials.len()));
        fs::write(&path, parquet::render(&report, rows)).unwrap();
        let done = Command::new(python).args(["-c", READ]).arg(&path).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let found = String::from_utf8(done.stdout).unwrap();
        let (types, found) = found.split_once('\n').unwrap();
        let types: serde_json::Map<String, Value> = serde_json::from_str(types).unwrap();
        let text = csv::render(&report, rows);
        let (names, lines) = text.split_once('\n').unwrap();
        assert_eq!(types.len(), names.split(',').count());
        assert!(names.split(',').all(|name| types.contains_key(name)), "{names}");
        let known = ["String", "UInt64", "Float64", "Boolean"];
        assert!(types.values().all(|kind| known.contains(&kind.as_str().unwrap())), "{types:?}");
        let rows: Vec<String> = found.lines().map(as_csv).collect();
        assert_eq!(rows, lines.lines().collect::<Vec<_>>(), "{name}");
    }
}

fn as_csv(row: &str) -> String {
    let fields: Vec<Value> = serde_json::from_str(row).unwrap();
    let field = |field: &Value| match field {
        Value::Null => String::new(),
        // RFC 4180.
        Value::String(text) if text.contains(',') => format!("\"{text}\""),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap().to_string(),
        other => other.to_string(),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(",")
}

#[test]
fn parquet_holds_the_rows_of_csv() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = cryptbench_prove::python("polars", "polars", place) else {
        eprintln!("SKIPPED: no polars for python3, and pip cannot install it");
        return;
    };
    let mut fixture = Fixture { blocks: 6, accounted: true, ..Fixture::default() };
    read_back(&fixture.record(), &python);
    fixture.workloads.truncate(2);
    let mut record = fixture.record();
    read_back(&record, &python);
    // A file without rows is also valid.
    record.trials.clear();
    read_back(&record, &python);
}
