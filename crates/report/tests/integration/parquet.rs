//! What is written as Parquet reads back as what is written as CSV.
#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::path::Path;

use crate::fixture::Fixture;
use cryptbench_report::{Rows, analyse, csv, parquet as format};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

#[test]
fn parquet_holds_the_rows_of_csv() {
    let mut fixture = Fixture { blocks: 6, accounted: true, ..Fixture::default() };
    fixture.workloads.truncate(2);
    let record = fixture.record();
    let results = analyse(&record);
    for (name, rows) in [("trials", Rows::Trials), ("cells", Rows::Cells)] {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.parquet"));
        fs::write(&path, format::render(&record, &results, rows).unwrap()).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let text = csv::render(&record, &results, rows);
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let mut found = reader.get_row_iter(None).unwrap();
        for line in lines {
            let row = found.next().unwrap().unwrap();
            let fields: Vec<&str> = line.split(',').collect();
            for (i, (column, field)) in row.get_column_iter().enumerate() {
                assert_eq!(column, names[i]);
                let written = match field {
                    Field::Null => String::new(),
                    Field::Str(text) => text.clone(),
                    Field::ULong(n) => n.to_string(),
                    Field::Double(x) => x.to_string(),
                    Field::Bool(b) => b.to_string(),
                    other => panic!("{column} is {other:?}"),
                };
                assert_eq!(written, fields[i], "{column}");
            }
        }
        assert!(found.next().is_none(), "more rows than CSV has");
    }
}
