//! Adds, lists, reads and removes records.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cryptbench_record::RecordError;
use cryptbench_text::printable;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::canonical;
use crate::cell::{self, Cell, Run};
use crate::error::HistoryError;
use crate::schema::{open, told};

/// A history database.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    connection: Connection,
}

/// The result of adding a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Added {
    /// The record's number.
    pub id: i64,
    /// Whether the record is new; false if it was already in the history.
    pub new: bool,
}

/// A record in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The record's number.
    pub id: i64,
    /// The record's own run identifier.
    pub run_id: String,
    /// The user's title for the run; empty if there is no title.
    pub title: String,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Version of the program that made the measurement.
    pub program_version: String,
    /// The workload profile.
    pub profile: String,
    /// As in [`Cell::machine`].
    pub machine: String,
    /// As in [`Cell::target`].
    pub target: String,
    /// Whether the run was interrupted.
    pub partial: bool,
    /// Time at which the record was added, RFC 3339 in UTC.
    pub added: String,
    /// Path of the record's file at the time when it was added.
    pub source: String,
    /// Number of cells, one per workload and arm.
    pub cells: u32,
}

impl History {
    /// Opens the history in `path`.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self { connection: open(path, false)?, path: path.to_owned() })
    }

    /// Opens the history in `path`, or creates it.
    pub fn create(path: &Path) -> Result<Self, HistoryError> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent)
                .map_err(|source| HistoryError::Io { path: parent.to_owned(), source })?;
        }
        Ok(Self { connection: open(path, true)?, path: path.to_owned() })
    }

    /// Path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a record (its file, or its run's directory) unless the record is already present. Two records are the same
    /// if their content is the same, apart from derived results and white space. If the record is already present, its
    /// title is replaced by the run's title.
    pub fn add(&mut self, path: &Path) -> Result<Added, HistoryError> {
        let (file, text) = cryptbench_record::read_document(path)?;
        let record = cryptbench_record::parse(&file, &text)?;
        // Stores the document unchanged, including fields of later versions.
        let fields = canonical::fields(&text)
            .map_err(|source| RecordError::Malformed { path: file.clone(), source })?;
        drop(text);
        let run = Run::of(&record);
        if run.cells.is_empty() {
            return Err(HistoryError::Empty { path: file });
        }
        let whole = canonical::object(&fields, None);
        let digest = digest(&canonical::object(&fields, Some("results")));
        drop(fields);
        let error = |e| told(&self.path, &e);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(error)?;
        let there = transaction
            .query_row("SELECT id FROM records WHERE digest = ?1", [&digest], |row| row.get(0))
            .optional()
            .map_err(error)?;
        let title = cryptbench_record::title_beside(path).unwrap_or_default();
        if let Some(id) = there {
            if !title.is_empty() {
                let change = "UPDATE records SET title = ?2 WHERE id = ?1";
                transaction.execute(change, params![id, title]).map_err(error)?;
                transaction.commit().map_err(error)?;
            }
            return Ok(Added { id, new: false });
        }
        let source = fs::canonicalize(&file).unwrap_or(file);
        transaction
            .execute(
                "INSERT INTO records (digest, run_id, started, program_version, profile, machine, target, partial, added,
                 source, document, title) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?9, ?10,
                 ?11)",
                params![
                    digest,
                    record.run_id,
                    record.started,
                    record.program_version,
                    record.plan.profile,
                    cell::machine(&record),
                    cell::target(&record),
                    record.partial,
                    source.display().to_string(),
                    whole,
                    title,
                ],
            )
            .map_err(error)?;
        let id = transaction.last_insert_rowid();
        for c in &run.cells {
            transaction
                .execute(
                    "INSERT INTO cells VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                    params![
                        id,
                        c.machine,
                        c.target,
                        c.workload,
                        c.workload_label,
                        c.arm,
                        c.arm_label,
                        c.has_plain,
                        c.trials,
                        c.ln_speed,
                        c.ln_kept,
                        c.cached,
                        c.arm_set,
                    ],
                )
                .map_err(error)?;
        }
        transaction.commit().map_err(error)?;
        Ok(Added { id, new: true })
    }

    /// All records, in chronological order of measurement.
    pub fn list(&self) -> Result<Vec<Entry>, HistoryError> {
        let error = |e| told(&self.path, &e);
        let mut statement = self
            .connection
            .prepare(
                "SELECT id, run_id, started, program_version, profile, machine, target, partial, added, source,
                 (SELECT count(*) FROM cells WHERE record = id), title FROM records ORDER BY started, id",
            )
            .map_err(error)?;
        let entry = |row: &Row<'_>| {
            Ok(Entry {
                id: row.get(0)?,
                run_id: text(row, 1)?,
                started: text(row, 2)?,
                program_version: text(row, 3)?,
                profile: text(row, 4)?,
                machine: text(row, 5)?,
                target: text(row, 6)?,
                partial: row.get(7)?,
                added: text(row, 8)?,
                source: text(row, 9)?,
                cells: row.get(10)?,
                title: text(row, 11)?,
            })
        };
        let rows = statement.query_map([], entry).map_err(error)?;
        rows.collect::<Result<_, _>>().map_err(error)
    }

    /// A record's JSON with printable strings.
    pub fn document(&self, id: i64) -> Result<String, HistoryError> {
        let document: String = self
            .connection
            .query_row("SELECT document FROM records WHERE id = ?1", [id], |row| row.get(0))
            .optional()
            .map_err(|e| told(&self.path, &e))?
            .ok_or_else(|| HistoryError::NoSuchRecord { path: self.path.clone(), id })?;
        Ok(cryptbench_record::printable_document(&document).into_owned())
    }

    /// The cells of all records with the records' numbers, in chronological order of measurement.
    pub fn runs(&self) -> Result<Vec<(i64, Run)>, HistoryError> {
        let error = |e| told(&self.path, &e);
        let mut statement = self
            .connection
            .prepare(
                "SELECT id, run_id, started, c.machine, c.target, workload, workload_label, arm, arm_label, has_plain,
                 trials, ln_speed, ln_kept, cached, arm_set FROM records JOIN cells c ON c.record = id ORDER BY started, id, c.rowid",
            )
            .map_err(error)?;
        let mut rows = statement.query([]).map_err(error)?;
        let mut runs: Vec<(i64, Run)> = Vec::new();
        while let Some(row) = rows.next().map_err(error)? {
            let read = || -> rusqlite::Result<(i64, String, String, Cell)> {
                Ok((row.get(0)?, text(row, 1)?, text(row, 2)?, read_cell(row)?))
            };
            let (id, run_id, started, cell) = read().map_err(error)?;
            match runs.last_mut().filter(|(last, _)| *last == id) {
                Some((_, run)) => run.cells.push(cell),
                None => runs.push((id, Run { run_id, started, cells: vec![cell] })),
            }
        }
        Ok(runs)
    }

    /// Removes a record.
    pub fn remove(&mut self, id: i64) -> Result<(), HistoryError> {
        let removed = self
            .connection
            .execute("DELETE FROM records WHERE id = ?1", [id])
            .map_err(|e| told(&self.path, &e))?;
        match removed {
            0 => Err(HistoryError::NoSuchRecord { path: self.path.clone(), id }),
            _ => Ok(()),
        }
    }
}

/// Reads a text column and makes its text printable, because another program may have written it.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let text: String = row.get(column)?;
    Ok(printable(&text).into_owned())
}

fn read_cell(row: &Row<'_>) -> rusqlite::Result<Cell> {
    Ok(Cell {
        machine: text(row, 3)?,
        target: text(row, 4)?,
        workload: text(row, 5)?,
        workload_label: text(row, 6)?,
        arm: text(row, 7)?,
        arm_label: text(row, 8)?,
        has_plain: row.get(9)?,
        trials: row.get(10)?,
        ln_speed: row.get(11)?,
        ln_kept: row.get(12)?,
        cached: row.get(13)?,
        arm_set: text(row, 14)?,
    })
}

fn digest(text: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
