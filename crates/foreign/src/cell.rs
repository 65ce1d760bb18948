//! The common form of all results: named cells, each with the values of several runs.

use std::fmt;
use std::path::{Path, PathBuf};

use cryptbench_catalog::Pattern;
use cryptbench_text::shown;
use serde::{Serialize, Serializer};

cryptbench_catalog::named! {
    /// The program that wrote a result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Format {
        /// This program.
        Record = "cryptbench record",
        /// fio's JSON.
        Fio = "fio JSON",
        /// iozone's text report.
        Iozone = "iozone report",
        /// dd's closing lines.
        Dd = "dd log",
        /// CrystalDiskMark's or KDiskMark's text.
        DiskMark = "CrystalDiskMark or KDiskMark text",
        /// Text from HD Tune's benchmark.
        HdTune = "HD Tune text",
        /// Figures from Blackmagic Disk Speed Test or AJA System Test.
        Dials = "Blackmagic or AJA figures",
        /// ATTO Disk Benchmark's table.
        Atto = "ATTO table",
        /// A table from Anvil's Storage Utilities.
        Anvil = "Anvil table",
        /// A table with the columns of docs/compare.md.
        Table = "table",
    }
}

/// The measured work. Cells of two sets are compared if they have the same key; fields that a format does not record
/// are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// `sequential`, `random` and so on, as in a record; empty if unknown.
    pub pattern: String,
    /// `read`, `write`, `mixed`, `mixed read`, `copy`, iozone's `rewrite` and so on.
    pub operation: String,
    /// Size of the file in bytes, if results depend on it (iozone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// Bytes per request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<u64>,
    /// Requests in flight per thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Threads or processes that issue requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Percentage of reads in the mixed workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Anything else that distinguishes cells: the name of a fio job, or the arm of a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl fmt::Display for Key {
    /// Formats a key, such as `seq. read 1 MiB QD8`. Default values (QD1, one thread) and unknown values are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = match Pattern::of(&self.pattern) {
            Some(Pattern::Sequential) => "seq.",
            Some(Pattern::Random) => "rand.",
            _ => self.pattern.as_str(),
        };
        // iozone's `random-read` and `record-rewrite` already specify the pattern.
        let pattern = if self.operation.contains('-') { "" } else { pattern };
        let operation = self.operation.replace('-', " ");
        let mut parts: Vec<String> = [pattern.to_owned(), operation].into();
        parts.retain(|p| !p.is_empty());
        parts.extend(self.read_percent.map(|p| format!("{p} % reads")));
        match (self.file_size, self.block_size) {
            (Some(file), Some(block)) => parts.push(format!("{}/{}", size(file), size(block))),
            (Some(file), None) => parts.push(format!("of {}", size(file))),
            (None, Some(block)) => parts.push(size(block)),
            (None, None) => {}
        }
        parts.extend(self.queue_depth.filter(|q| *q != 1).map(|q| format!("QD{q}")));
        parts.extend(self.threads.filter(|t| *t != 1).map(|t| format!("T{t}")));
        parts.extend(self.name.as_ref().map(|n| format!("({n})")));
        f.write_str(&parts.join(" "))
    }
}

/// Formats sizes such as `4 KiB` and `1 MiB`; other sizes appear in bytes.
fn size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

/// The quantity compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Bytes per second.
    Bandwidth,
    /// Requests per second; for small files, files per second.
    Iops,
    /// Mean time per request in microseconds; lower is better.
    Latency,
}

/// One run of a cell, with at least one value. Values are positive and finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Run {
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
    /// Requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Mean latency of a request in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<f64>,
    /// The file that contains it.
    #[serde(serialize_with = "as_shown")]
    pub source: PathBuf,
    /// The line number in the result's file, counted from 1, if the format has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Run {
    /// The value of one measure.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Bandwidth => self.bandwidth,
            Measure::Iops => self.iops,
            Measure::Latency => self.latency_us,
        }
    }
}

/// JSON must be UTF-8, but a path need not be.
fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(path))
}

fn all_shown<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| shown(path)))
}

/// Several runs of the same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The measured work.
    pub key: Key,
    /// The runs, in the order of reading.
    pub runs: Vec<Run>,
    /// The name of the work for readers of a record; otherwise the key gives the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// According to the record, the data came from a cache, so the cell gets no verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl Cell {
    /// The name of the work for users.
    pub fn called(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.key.to_string())
    }
}

/// All cells of one side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Set {
    /// The name given by the user.
    pub label: String,
    /// The formats found.
    pub formats: Vec<Format>,
    /// The files read, in order.
    #[serde(serialize_with = "all_shown")]
    pub files: Vec<PathBuf>,
    /// The cells in the order of their first run.
    pub cells: Vec<Cell>,
    /// Omitted results and other important facts, one sentence each.
    pub remarks: Vec<String>,
}
