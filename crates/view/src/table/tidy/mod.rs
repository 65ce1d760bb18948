//! A record as flat tables for other programs: one row per measured trial or per cell.
//!
//! Rows are built field by field, each with a name and a type, and every tabular format writes the same
//! columns.

mod cells;
mod key;
mod trials;

use cryptbench_record::{Cell, Record};

/// The rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row for each measured trial, in the order in which they ran; discarded trials are omitted.
    Trials,
    /// One row for each workload and arm: medians, estimate with its interval, verdict.
    Cells,
}

/// The type of a column's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8.
    Text,
    /// Not negative, below 2^64.
    Integer,
    /// A finite number.
    Real,
    /// True or false.
    Truth,
}

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Nothing is known, or nothing applies.
    None,
    Text(String),
    Integer(u64),
    Real(f64),
    Truth(bool),
}

/// The name of a column, in lower case and with its unit, if any, at the end.
type Name = &'static str;

/// A table: its columns, and the fields of each row in the same order.
pub(crate) struct Table {
    pub(crate) columns: Vec<(Name, Kind)>,
    pub(crate) rows: Vec<Vec<Value>>,
}

/// The table of a record and its cells, with rows of the kind `rows`.
pub(crate) fn table(record: &Record, cells: &[Cell], rows: Rows) -> Table {
    match rows {
        Rows::Trials => trials::table(record),
        Rows::Cells => cells::table(record, cells),
    }
}

/// A row under construction.
#[derive(Default)]
struct Fields {
    columns: Vec<(Name, Kind)>,
    values: Vec<Value>,
}

impl Fields {
    fn text(&mut self, name: Name, value: Option<&str>) {
        self.push(name, Kind::Text, value.map(|v| Value::Text(v.to_owned())));
    }

    fn integer(&mut self, name: Name, value: Option<impl Into<u64>>) {
        self.push(name, Kind::Integer, value.map(|v| Value::Integer(v.into())));
    }

    /// Values that are not finite are left empty, because other programs may not accept them.
    fn real(&mut self, name: Name, value: Option<f64>) {
        self.push(name, Kind::Real, value.filter(|v| v.is_finite()).map(Value::Real));
    }

    fn truth(&mut self, name: Name, value: bool) {
        self.push(name, Kind::Truth, Some(Value::Truth(value)));
    }

    fn push(&mut self, name: Name, kind: Kind, value: Option<Value>) {
        self.columns.push((name, kind));
        self.values.push(value.unwrap_or(Value::None));
    }
}

/// A table of rows with the same columns. If there are no rows, `blank` provides the columns.
fn collect(blank: Fields, rows: impl Iterator<Item = Fields>) -> Table {
    Table { columns: blank.columns, rows: rows.map(|row| row.values).collect() }
}
