//! The rows of all records as a dataset: Parquet files in directories named after the common properties of
//! their rows.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cryptbench_estimate::cells::cells;
use cryptbench_os::write_whole;
use cryptbench_record::Record;
use cryptbench_text::shown;
use cryptbench_view::table::Rows;
use cryptbench_view::table::parquet::Gathered;

use crate::node::hex;
use crate::{Damaged, Files, FleetError, Found, Observed, stream};

/// Number of buffered rows of a table at which the table's largest partition is written to a file: about 100 MB of
/// trials.
const WAITING: usize = 50_000;

/// The tables, each in a directory with its name.
const TABLES: [(Rows, &str); 2] = [(Rows::Cells, "cells"), (Rows::Trials, "trials")];

/// The result of collecting.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Number of records whose rows are in the dataset.
    pub records: usize,
    /// Number of rows in `cells`, and number of rows in `trials`.
    pub rows: [usize; 2],
    /// Files of the dataset.
    pub files: usize,
    /// Files that are not valid records; they are omitted.
    pub damaged: Vec<Damaged>,
    /// Machines that could not measure.
    pub failures: usize,
}

/// Writes the rows of the records in `files` into the new directory `output` with `threads` threads, and calls `done`
/// after each file that has been read.
///
/// The directories are `cells` and `trials`; in each, partitions are named `cpu_model=...` and `disk_model=...`, like
/// Hive partitions.
///
/// # Errors
/// [`FleetError`] if `output` is not empty, or cannot be written.
pub fn collect(
    files: &Files,
    threads: usize,
    output: &Path,
    mut done: impl FnMut(),
) -> Result<Collected, FleetError> {
    fs::create_dir_all(output).map_err(FleetError::io("create", output))?;
    let mut entries = fs::read_dir(output).map_err(FleetError::io("list", output))?;
    if entries.next().is_some() {
        let problem = format!("{} already contains files; specify a new directory", shown(output));
        return Err(FleetError::Unfit(problem));
    }
    let mut collected = Collected::default();
    let mut tables = TABLES.map(|(_, name)| Partitions::new(output.join(name)));
    let rows_of = |path: &Path| match files.read(path) {
        Found::Record(record) => Ok(Parts::of(path, &record)),
        other => Err((path.to_owned(), other)),
    };
    let failed = stream(files.paths(), threads, rows_of, |found| {
        done();
        match found {
            Ok(parts) => {
                collected.records += 1;
                for ((table, part), rows) in
                    tables.iter_mut().zip(parts.tables).zip(&mut collected.rows)
                {
                    *rows += part.len();
                    if let Err(error) = table.add(&parts.directory, part) {
                        return ControlFlow::Break(error);
                    }
                }
            }
            Err((_, Found::Failure(_))) => collected.failures += 1,
            Err((path, Found::Damaged(why))) => collected.damaged.push(Damaged { path, why }),
            Err((_, Found::Record(_))) => unreachable!("it has rows"),
        }
        ControlFlow::Continue(())
    });
    if let Some(error) = failed {
        return Err(error);
    }
    for mut table in tables {
        while table.write_largest()? {}
        collected.files += table.files;
    }
    Ok(collected)
}

/// The rows of one record.
struct Parts {
    directory: PathBuf,
    tables: [Gathered; 2],
}

impl Parts {
    fn of(path: &Path, record: &Record) -> Self {
        let derived;
        let cells = match &record.results {
            Some(results) => &results.cells,
            None => {
                derived = cells(record);
                &derived
            }
        };
        let Observed { node, facts, .. } = Observed::without_cells(path, record);
        let lead = [
            ("node", node.name.as_str()),
            ("machine", &node.machine),
            ("started", &record.started),
            ("kernel", &facts.kernel),
        ];
        Self {
            directory: Path::new(&partition("cpu_model", &facts.cpu_model))
                .join(partition("disk_model", &facts.disk_model)),
            tables: TABLES.map(|(rows, _)| Gathered::of(record, cells, rows, &lead)),
        }
    }
}

/// Maximum length of a file name in bytes that every common file system supports.
const LONGEST_NAME: usize = 255;

/// The directory of a partition. A value that is too long for a file name is replaced by a prefix of the value and a
/// part of its SHA-256.
fn partition(name: &str, value: &str) -> String {
    let whole = format!("{name}={}", encoded(value));
    if whole.len() <= LONGEST_NAME {
        return whole;
    }
    let hash = hex(value);
    let kept = &whole[..LONGEST_NAME - hash.len() - 1];
    // A percent-encoded byte must not be split.
    let end = kept.rfind('%').filter(|at| at + 3 > kept.len()).unwrap_or(kept.len());
    format!("{}-{hash}", &kept[..end])
}

/// The value of a partition in a path: special characters are percent-encoded, and decoded by readers.
fn encoded(value: &str) -> String {
    if value.is_empty() {
        return "__HIVE_DEFAULT_PARTITION__".to_owned();
    }
    value.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte.into()),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

/// One table's buffered rows, by destination directory.
struct Partitions {
    root: PathBuf,
    waiting: BTreeMap<PathBuf, Gathered>,
    rows: usize,
    files: usize,
}

impl Partitions {
    fn new(root: PathBuf) -> Self {
        Self { root, waiting: BTreeMap::new(), rows: 0, files: 0 }
    }

    fn add(&mut self, directory: &Path, part: Gathered) -> Result<(), FleetError> {
        self.rows += part.len();
        match self.waiting.get_mut(directory) {
            Some(there) => there.append(part),
            None => {
                self.waiting.insert(directory.to_owned(), part);
            }
        }
        while self.rows > WAITING && self.write_largest()? {}
        Ok(())
    }

    /// Writes the partition with the most rows to a new file; returns false if no rows are buffered.
    fn write_largest(&mut self) -> Result<bool, FleetError> {
        let largest = self.waiting.iter().max_by_key(|(_, part)| part.len());
        let Some(directory) = largest.map(|(directory, _)| directory.clone()) else {
            return Ok(false);
        };
        let part = self.waiting.remove(&directory).expect("it was just found");
        self.rows -= part.len();
        if part.is_empty() {
            return Ok(true);
        }
        let bytes = part.file(env!("CARGO_PKG_VERSION"));
        let directory = self.root.join(directory);
        fs::create_dir_all(&directory).map_err(FleetError::io("create", &directory))?;
        let path = directory.join(OsStr::new(&format!("part-{:05}.parquet", self.files)));
        write_whole(&path, &bytes).map_err(FleetError::io("write", &path))?;
        self.files += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, encoded, partition};

    #[test]
    fn a_long_value_is_cut_where_it_can_be_decoded_and_stays_distinct() {
        for unit in ["x", "ü", " ", "ab/"] {
            let [a, b] = ["1", "2"].map(|end| partition("cpu_model", &(unit.repeat(4000) + end)));
            assert!(a.len() <= LONGEST_NAME && a.len() > LONGEST_NAME - 4 && a != b, "{a}");
            for (at, _) in a.match_indices('%') {
                assert!(a[at + 1..at + 3].bytes().all(|b| b.is_ascii_hexdigit()), "{a}");
            }
        }
        assert_eq!(partition("cpu_model", "a b"), "cpu_model=a%20b");
    }

    #[test]
    fn no_value_leaves_its_directory() {
        assert_eq!(encoded("Intel(R) Xeon/4"), "Intel%28R%29%20Xeon%2F4");
        assert_eq!(encoded(".."), "..");
        assert_eq!(encoded(""), "__HIVE_DEFAULT_PARTITION__");
    }
}
