//! The neutral form: named cells, each with the values of several runs.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Who wrote a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// This program.
    Record,
    /// fio's JSON.
    Fio,
    /// iozone's text report.
    Iozone,
    /// What dd prints at its end.
    Dd,
    /// CrystalDiskMark's or KDiskMark's text.
    DiskMark,
}

impl Format {
    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Record => "cryptbench record",
            Self::Fio => "fio JSON",
            Self::Iozone => "iozone report",
            Self::Dd => "dd log",
            Self::DiskMark => "CrystalDiskMark or KDiskMark text",
        }
    }
}

/// What was done: cells of two sets with the same key are compared. Fields that a format does not tell are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// `sequential`, `random` and so on, as in a record.
    pub pattern: String,
    /// `read`, `write`, `mixed`, `mixed read`, `copy`, iozone's `rewrite` and so on.
    pub operation: String,
    /// Bytes of the file, where results are told apart by it (iozone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// Bytes per request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_size: Option<u64>,
    /// Requests in flight of each thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Threads or processes that issue requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Share of reads in percent of a mixed workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// What else tells cells apart: the name of a fio job, the arm of a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl fmt::Display for Key {
    /// `seq. read 1 MiB QD8`, without what is usual (QD1, one thread) or not known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = match self.pattern.as_str() {
            "sequential" => "seq.",
            "random" => "rand.",
            other => other,
        };
        // iozone's `random-read` and `record-rewrite` name their pattern.
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

/// `4 KiB`, `1 MiB`, or bytes where it is no whole number of them.
fn size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

/// What of a run is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Bytes per second.
    Bandwidth,
    /// Requests per second; files per second of small files.
    Iops,
    /// Mean microseconds of a request: less is better.
    Latency,
}

/// One run of a cell: at least one value is there. Values are positive and finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Run {
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
    /// Requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Mean latency of a request, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<f64>,
    /// The file that it stands in.
    pub source: PathBuf,
    /// The line of that file, where it has lines, from 1.
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

/// Several runs of the same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// What was done.
    pub key: Key,
    /// Each time it was done, in the order of reading.
    pub runs: Vec<Run>,
    /// A cache answered, says the record: the cell takes no part in a verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// All cells that were named together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Set {
    /// What was named.
    pub label: String,
    /// The formats that were found.
    pub formats: Vec<Format>,
    /// The files that were read, in that order.
    pub files: Vec<PathBuf>,
    /// The cells in the order of their first run.
    pub cells: Vec<Cell>,
    /// What was left out, and what a reader must know, in sentences.
    pub remarks: Vec<String>,
}
