//! The tables of CSV as Apache Parquet (github.com/apache/parquet-format). Files have one row group; every
//! column is optional, has one page, and is compressed with Snappy.

mod column;
mod thrift;

use cryptbench_answer::Report;
use cryptbench_record::{Cell, Record};
use thrift::Struct;

use super::tidy::{Kind, Rows, Table, Value, table};

/// The first and last bytes of a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// A table of the record as the bytes of a file.
pub fn render(report: &Report<'_>, rows: Rows) -> Vec<u8> {
    let Report { stored, lookup, .. } = report;
    file(&table(stored, &lookup.cells, rows), rows, &stored.program_version)
}

/// Collects the rows of many records for one file: the columns of [`render`], preceded by text columns that
/// identify the record.
pub struct Gathered {
    rows: Rows,
    table: Table,
}

impl Gathered {
    /// The rows of one record, with the columns `lead` before its own.
    pub fn of(record: &Record, cells: &[Cell], rows: Rows, lead: &[(&'static str, &str)]) -> Self {
        let own = table(record, cells, rows);
        let names = lead.iter().map(|(name, _)| (*name, Kind::Text));
        let before = |row: Vec<Value>| {
            let lead = lead.iter().map(|(_, text)| Value::Text((*text).to_owned()));
            lead.chain(row).collect()
        };
        let table = Table {
            columns: names.chain(own.columns).collect(),
            rows: own.rows.into_iter().map(before).collect(),
        };
        Self { rows, table }
    }

    /// Adds the rows of another record, which must have the same columns.
    ///
    /// # Panics
    /// If the columns differ.
    pub fn append(&mut self, mut other: Self) {
        assert_eq!(self.table.columns, other.table.columns, "the same columns");
        self.table.rows.append(&mut other.table.rows);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.table.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.table.rows.is_empty()
    }

    /// The bytes of a file that states `version` of this program as its writer.
    pub fn file(&self, version: &str) -> Vec<u8> {
        file(&self.table, self.rows, version)
    }
}

fn file(table: &Table, rows: Rows, version: &str) -> Vec<u8> {
    let name = match rows {
        Rows::Trials => "trials",
        Rows::Cells => "cells",
    };
    let mut out = MAGIC.to_vec();
    let (mut columns, mut bytes) = (Vec::new(), [0, 0]);
    for (i, (name, kind)) in table.columns.iter().enumerate() {
        let values = table.rows.iter().map(|row| &row[i]);
        let (column, [plain, packed]) = column::write(&mut out, name, *kind, values);
        columns.push(column);
        bytes = [bytes[0] + plain, bytes[1] + packed];
    }
    let count = table.rows.len() as i64;
    let group = Struct::default()
        .structures(1, columns)
        .i64(2, bytes[0])
        .i64(3, count)
        .i64(5, MAGIC.len() as i64)
        .i64(6, bytes[1]);
    let root = Struct::default().text(4, name).i32(5, table.columns.len() as i32);
    let fields = table.columns.iter().map(|(name, kind)| field(name, *kind));
    let footer = Struct::default()
        .i32(1, 1)
        .structures(2, std::iter::once(root).chain(fields))
        .i64(3, count)
        .structures(4, [group])
        .text(6, &format!("cryptbench {version}"))
        .end();
    let length = (footer.len() as u32).to_le_bytes();
    [out, footer, length.into(), MAGIC.to_vec()].concat()
}

/// The `SchemaElement` of a column; every column is optional.
fn field(name: &str, kind: Kind) -> Struct {
    let (physical, converted) = column::types(kind);
    let element = Struct::default().i32(1, physical).i32(3, 1).text(4, name);
    match converted {
        Some(converted) => element.i32(6, converted),
        None => element,
    }
}
