//! The log of a run: one line of JSON per event, appended as it happens, so that the results of a
//! killed run survive. [`fold`] reconstructs the record from the lines.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::{Directory, read_file};
use serde::{Deserialize, Serialize};

use crate::io::{LARGEST, RecordError};
use crate::limits::{self, Counter};
use crate::printable::printable_document;
use crate::{EmulatedDevice, Evidence, Plan, Record, StopReason, Target, Trial, WorkloadStop};

/// Name of the log in a run's directory.
pub const LOG: &str = "trials.jsonl";

/// The note in the record of a killed run.
const KILLED: &str =
    "The run was ended from outside before it could write its record: this is what its log holds.";

/// Most lines of a log: one for each trial, and one for each block.
const MOST_LINES: usize = 1_000_000;

/// How long to wait for whoever only looks whether the log is being written.
const PATIENCE: Duration = Duration::from_millis(200);

/// One event of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The run begins: the record with everything known before the measurement, without trials.
    Start(Box<Record>),
    /// The command line of the run, needed to resume it.
    Command {
        /// Words of the command line after the program's name.
        arguments: Vec<String>,
        /// Directory to which relative paths in the arguments refer.
        directory: String,
        /// The same to the byte, if these texts are not: names that are not Unicode, or not printable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exact: Option<(Vec<OsString>, OsString)>,
    },
    /// All arms are set up; contains what the setup determined.
    Prepared {
        /// The plan, including values that only the machine could determine.
        plan: Box<Plan>,
        /// The target, including values that only the machine could determine.
        target: Box<Target>,
        /// Remarks so far.
        notes: Vec<String>,
    },
    /// A trial is complete.
    Trial(Box<Trial>),
    /// Every arm of a block has completed its trial.
    BlockEnd {
        /// Workload identifier.
        workload: String,
        /// Block number from 0; absent for the discarded trials.
        block: Option<u32>,
    },
    /// Why each workload ended.
    Stops(Vec<WorkloadStop>),
    /// The evidence on the arms' data at rest.
    Evidence(Vec<Evidence>),
    /// A remark that a reader must know, as a sentence.
    Note(String),
    /// The run ended, on its own or on request.
    End {
        /// Duration of the run in seconds.
        elapsed_s: f64,
        /// Whether planned work is missing.
        partial: bool,
        /// How well an emulated device kept its times.
        emulated: Option<EmulatedDevice>,
    },
    /// An interrupted run is resumed.
    Resumed {
        /// Seconds since the start of the run at which it is resumed, without the time in between.
        at_s: f64,
    },
}

/// An open log, locked so that others see that its run is in progress.
#[derive(Debug)]
pub struct TrialLog {
    file: File,
}

impl TrialLog {
    /// Creates the log in `directory`.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists; otherwise the operating system's error.
    pub fn create(directory: &Directory) -> io::Result<Self> {
        let file = directory.create_file(LOG.as_ref(), 0o644)?;
        // It is new, so nobody else holds it; some file systems have no locks.
        let _ = lock_within(&file, Lock::Exclusive, Duration::ZERO);
        Ok(Self { file })
    }

    /// Opens the log in `directory` for appending. Drops an incomplete last line.
    ///
    /// # Errors
    /// `WouldBlock` if another process is writing it; otherwise the operating system's error.
    pub fn resume(directory: &Directory) -> io::Result<Self> {
        let mut file = directory.open_file_to_write(LOG.as_ref())?;
        match lock_within(&file, Lock::Exclusive, PATIENCE) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(e),
            // Some file systems have no locks.
            _ => {}
        }
        let text = read_file(&directory.reached().join(LOG), LARGEST)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file })
    }

    /// Appends a line. After the end of a block, all lines so far are on the disk.
    ///
    /// # Errors
    /// The operating system's error; the log then ends where it ended before, or in an incomplete
    /// line.
    pub fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        match line {
            Line::Trial(_) => Ok(()),
            _ => self.file.sync_data(),
        }
    }
}

/// Whether a run is in progress in `directory`: a process holds its log.
#[must_use]
pub fn is_being_written(directory: &Directory) -> bool {
    let held = directory.open_file(LOG.as_ref()).and_then(|file| {
        // Shared, so that two who ask at once do not mistake each other for a run.
        lock_within(&file, Lock::Shared, Duration::ZERO)
    });
    held.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
}

/// The lines of the log in a run's directory, without an incomplete last line.
///
/// # Errors
/// [`RecordError::Io`]; [`RecordError::Malformed`] if any other line is invalid.
pub fn read_log(directory: &Path) -> Result<Vec<Line>, RecordError> {
    let path = directory.join(LOG);
    let failed = |source| RecordError::Io { act: "read", path: path.clone(), source };
    let mut bytes = read_file(&path, LARGEST).map_err(RecordError::read(&path))?;
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
    let text = String::from_utf8(bytes).map_err(|_| {
        failed(io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
    })?;
    let malformed = |source| RecordError::Malformed { path: path.clone(), source };
    let mut counter = Counter::new(limits::RECORD);
    let mut lines = Vec::new();
    for line in text.lines() {
        let too_large = |what| RecordError::TooLarge { path: path.clone(), what };
        counter.add(line).map_err(too_large)?;
        if lines.len() == MOST_LINES {
            return Err(too_large(format!("it has more than {MOST_LINES} lines")));
        }
        lines.push(serde_json::from_str(&printable_document(line)).map_err(malformed)?);
    }
    Ok(lines)
}

/// Reconstructs a run's record line by line.
#[derive(Clone, Debug)]
pub struct Fold {
    record: Record,
    /// Number of complete blocks of each workload.
    pairs: Vec<u32>,
    /// Number of notes that were known before the first trial.
    known: usize,
    ended: bool,
}

impl Fold {
    /// Starts with what is known before the measurement, or with the record of a run that is
    /// resumed.
    #[must_use]
    pub fn begin(record: Record) -> Self {
        let pairs_of = |id: &str| {
            let blocks = record.trials.iter().filter(|t| t.workload == id).filter_map(|t| t.block);
            blocks.max().map_or(0, |last| last + 1)
        };
        let pairs = record.plan.workloads.iter().map(|w| pairs_of(&w.id)).collect();
        Self { pairs, known: record.notes.len(), ended: false, record }
    }

    /// Adds the next event.
    pub fn add(&mut self, line: &Line) {
        let record = &mut self.record;
        match line {
            Line::Prepared { plan, target, notes } => {
                record.plan = (**plan).clone();
                record.target = (**target).clone();
                record.notes.clone_from(notes);
                self.known = notes.len();
            }
            Line::Trial(trial) => record.trials.push((**trial).clone()),
            Line::BlockEnd { workload, block: Some(block) } => {
                let at = record.plan.workloads.iter().position(|w| w.id == *workload);
                if let Some(pairs) = at.and_then(|at| self.pairs.get_mut(at)) {
                    *pairs = (*pairs).max(block + 1);
                }
            }
            Line::Stops(stops) => record.stops.clone_from(stops),
            Line::Evidence(evidence) => record.evidence.clone_from(evidence),
            Line::Note(note) => record.notes.push(note.clone()),
            Line::End { elapsed_s, partial, emulated } => {
                (record.elapsed_s, record.partial) = (*elapsed_s, *partial);
                if emulated.is_some() {
                    record.target.emulated.clone_from(emulated);
                }
                self.ended = true;
            }
            Line::Resumed { .. } => self.resume(),
            Line::Start(_) | Line::Command { .. } | Line::BlockEnd { block: None, .. } => {}
        }
    }

    /// Drops what was recorded at the end of the run, and the trials of incomplete blocks. A
    /// resumed run repeats these blocks, and no pair spans two parts of a run.
    fn resume(&mut self) {
        let Self { record, pairs, known, ended } = self;
        let plan = &record.plan;
        record.trials.retain(|trial| {
            let at = plan.workloads.iter().position(|w| w.id == trial.workload);
            trial.block.is_none_or(|block| at.is_some_and(|at| block < pairs[at]))
        });
        record.notes.truncate(*known);
        record.evidence.clear();
        record.stops.clear();
        *ended = false;
    }

    /// The record so far.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The final record. If the run did not reach its end, the record is partial, with every
    /// completed trial.
    #[must_use]
    pub fn finish(self) -> Record {
        let Self { mut record, pairs, ended, .. } = self;
        let interrupted = |(w, pairs): (&crate::Workload, &u32)| WorkloadStop {
            workload: w.id.clone(),
            reason: StopReason::Interrupted,
            pairs: *pairs,
        };
        if record.stops.is_empty() || !ended {
            record.stops = record.plan.workloads.iter().zip(&pairs).map(interrupted).collect();
        }
        if !ended {
            record.partial = true;
            record.elapsed_s = until(&record.trials);
            record.notes.push(KILLED.to_owned());
        }
        record
    }
}

/// Seconds from the start of a run to the end of its last trial.
fn until(trials: &[Trial]) -> f64 {
    trials.last().map_or(0.0, |t| t.at_s + t.elapsed_s)
}

fn fold_lines(lines: &[Line]) -> Option<Fold> {
    let mut lines = lines.iter();
    let Some(Line::Start(start)) = lines.next() else { return None };
    let mut fold = Fold::begin((**start).clone());
    lines.for_each(|line| fold.add(line));
    Some(fold)
}

/// Reconstructs the record from the lines of a log. The record of a killed run is partial, with
/// every completed trial.
///
/// `None` unless the lines begin with the start of a run.
#[must_use]
pub fn fold(lines: &[Line]) -> Option<Record> {
    fold_lines(lines).map(Fold::finish)
}

/// The record of a run that is resumed: the trials of complete blocks, without anything recorded at
/// its end.
#[must_use]
pub fn fold_to_resume(lines: &[Line]) -> Option<Record> {
    let mut fold = fold_lines(lines)?;
    fold.add(&Line::Resumed { at_s: 0.0 });
    let mut record = fold.finish();
    record.notes.pop();
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    fn start() -> Line {
        let workload = |id: &str| Workload { id: id.to_owned(), ..Workload::default() };
        let plan = Plan { workloads: vec![workload("a"), workload("b")], ..Plan::default() };
        let document = serde_json::json!({
            "schema": crate::SCHEMA, "program_version": "0", "run_id": "r", "started": "", "elapsed_s": 0.0,
            "partial": false, "plan": plan, "machine": crate::Machine::default(),
            "target": Target::default(), "trials": [], "stops": [], "notes": ["at the start"],
        });
        Line::Start(Box::new(serde_json::from_value(document).unwrap()))
    }

    fn trial(workload: &str, block: Option<u32>, at_s: f64) -> Line {
        let workload = workload.to_owned();
        Line::Trial(Box::new(Trial { workload, block, at_s, elapsed_s: 0.5, ..Trial::default() }))
    }

    fn end(workload: &str, block: u32) -> Line {
        Line::BlockEnd { workload: workload.to_owned(), block: Some(block) }
    }

    fn lines() -> Vec<Line> {
        vec![
            start(),
            trial("a", None, 0.0),
            trial("a", Some(0), 1.0),
            trial("a", Some(0), 2.0),
            end("a", 0),
            trial("b", Some(0), 3.0),
        ]
    }

    #[test]
    fn a_log_that_is_being_written_is_seen_to_be_and_is_not_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        assert!(!is_being_written(&held), "there is no log");
        let log = TrialLog::create(&held).unwrap();
        assert!(is_being_written(&held) && is_being_written(&held));
        let refused = TrialLog::resume(&held).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(log);
        assert!(!is_being_written(&held));
        let _log = TrialLog::resume(&held).unwrap();
        assert!(is_being_written(&held));
    }

    #[test]
    fn a_log_adds_up_to_a_partial_record_with_every_trial() {
        let record = fold(&lines()).unwrap();
        assert!(record.partial);
        assert_eq!((record.trials.len(), record.elapsed_s), (4, 3.5));
        assert_eq!([record.stops[0].pairs, record.stops[1].pairs], [1, 0]);
        assert_eq!(record.notes, ["at the start", KILLED]);
        assert!(fold(&lines()[1..]).is_none());
    }

    #[test]
    fn what_goes_on_begins_incomplete_blocks_anew() {
        let record = fold_to_resume(&lines()).unwrap();
        assert_eq!(record.trials.len(), 3, "the discarded trial and block 0 of a");
        assert_eq!(record.notes, ["at the start"]);
        let mut more = lines();
        more.push(Line::Resumed { at_s: 4.0 });
        more.extend([trial("b", Some(0), 4.0), trial("b", Some(0), 5.0), end("b", 0)]);
        let record = fold(&more).unwrap();
        assert_eq!((record.trials.len(), record.stops[1].pairs), (5, 1));
    }

    #[test]
    fn a_run_that_ended_is_what_it_said_at_its_end_until_it_goes_on() {
        let mut lines = lines();
        lines.push(Line::Note("at the end".to_owned()));
        lines.push(Line::End { elapsed_s: 9.0, partial: true, emulated: None });
        let record = fold(&lines).unwrap();
        assert_eq!(record.elapsed_s, 9.0);
        assert_eq!(record.notes, ["at the start", "at the end"]);
        let record = fold_to_resume(&lines).unwrap();
        assert_eq!((record.trials.len(), record.elapsed_s), (3, 2.5));
        assert_eq!(record.notes, ["at the start"]);
    }

    #[test]
    fn a_line_that_was_cut_short_is_dropped_and_a_damaged_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let directory = Directory::open(dir.path()).unwrap();
        let mut log = TrialLog::create(&directory).unwrap();
        lines().iter().for_each(|line| log.append(line).unwrap());
        assert!(TrialLog::create(&directory).is_err(), "nothing is overwritten");
        let path = dir.path().join(LOG);
        let whole = std::fs::read(&path).unwrap();
        let last = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
        for cut in last..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(read_log(dir.path()).unwrap().len(), 5, "{cut}");
        }
        drop(log);
        let mut log = TrialLog::resume(&directory).unwrap();
        log.append(&end("b", 0)).unwrap();
        assert_eq!(read_log(dir.path()).unwrap().len(), 6);
        std::fs::write(&path, [b"{\"nonsense\": 1}\n", &whole[..]].concat()).unwrap();
        assert!(matches!(read_log(dir.path()), Err(RecordError::Malformed { .. })));
    }

    #[test]
    fn of_a_partial_record_and_a_log_that_knows_more_the_log_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let directory = Directory::open(dir.path()).unwrap();
        let mut log = TrialLog::create(&directory).unwrap();
        lines().iter().for_each(|line| log.append(line).unwrap());
        let trials = || crate::read(dir.path()).unwrap().trials.len();
        assert_eq!(trials(), 4);
        crate::write(&fold(&lines()[..3]).unwrap(), &dir.path().join("record.json")).unwrap();
        assert_eq!(trials(), 4, "the log has gone on");
        let more = [&lines()[..], &[trial("b", Some(0), 9.0)]].concat();
        crate::write(&fold(&more).unwrap(), &dir.path().join("record.json")).unwrap();
        assert_eq!(trials(), 5, "the record was written last");
    }
}
