//! The tables of CSV as Apache Parquet: one row group, every column optional, compressed with Snappy.

use std::sync::Arc;

use cryptbench_record::{Record, Results};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::tidy::{Kind, Rows, Table, Value, table};

/// A table of the record as the bytes of a file. It is written to memory, so that an error is a defect.
pub fn render(record: &Record, results: &Results, rows: Rows) -> Result<Vec<u8>, ParquetError> {
    file(&table(record, results, rows), rows, &record.program_version)
}

/// Rows of many records, for one file: those of [`render`], behind columns of text that say whose they are.
pub struct Gathered {
    rows: Rows,
    table: Table,
}

impl Gathered {
    /// The rows of one record, each with `lead` before its own columns.
    #[must_use]
    pub fn of(
        record: &Record,
        results: &Results,
        rows: Rows,
        lead: &[(&'static str, &str)],
    ) -> Self {
        let own = table(record, results, rows);
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

    /// Adds the rows of another record, gathered with the same columns.
    ///
    /// # Panics
    /// If the columns differ.
    pub fn append(&mut self, mut other: Self) {
        assert_eq!(self.table.columns, other.table.columns, "the same columns");
        self.table.rows.append(&mut other.table.rows);
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.rows.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.rows.is_empty()
    }

    /// The bytes of a file, whose writer is `version` of this program. It is written to memory, so that an error is a
    /// defect.
    pub fn file(&self, version: &str) -> Result<Vec<u8>, ParquetError> {
        file(&self.table, self.rows, version)
    }
}

fn file(table: &Table, rows: Rows, version: &str) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(|(name, kind)| field(name, *kind));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let name = match rows {
        Rows::Trials => "trials",
        Rows::Cells => "cells",
    };
    let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("cryptbench {version}"))
        .build();
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (i, (_, kind)) in table.columns.iter().enumerate() {
        match kind {
            Kind::Text => write::<ByteArrayType>(&mut group, table, i, |v| match v {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            })?,
            // The bits of an unsigned number, as its annotation says.
            Kind::Integer => write::<Int64Type>(&mut group, table, i, |v| match v {
                Value::Integer(n) => Some(n.cast_signed()),
                _ => None,
            })?,
            Kind::Real => write::<DoubleType>(&mut group, table, i, |v| match v {
                Value::Real(x) => Some(*x),
                _ => None,
            })?,
            Kind::Truth => write::<BoolType>(&mut group, table, i, |v| match v {
                Value::Truth(b) => Some(*b),
                _ => None,
            })?,
        }
    }
    group.close()?;
    writer.close()?;
    Ok(out)
}

fn field(name: &str, kind: Kind) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        Kind::Integer => (Physical::INT64, ConvertedType::UINT_64),
        Kind::Real => (Physical::DOUBLE, ConvertedType::NONE),
        Kind::Truth => (Physical::BOOLEAN, ConvertedType::NONE),
    };
    let builder = Type::primitive_type_builder(name, physical).with_converted_type(converted);
    Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).build()?))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    table: &Table,
    column: usize,
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let found: Vec<Option<T::T>> = table.rows.iter().map(|row| of(&row[column])).collect();
    let levels: Vec<i16> = found.iter().map(|v| i16::from(v.is_some())).collect();
    let values: Vec<T::T> = found.into_iter().flatten().collect();
    let mut writer = group.next_column()?.expect("as many columns as the schema has");
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    writer.close()
}
