//! The log of a run: one line of JSON per kept event, appended as it happens, so that the results of
//! a killed run survive. [`fold`](crate::fold) reconstructs the record from them.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::{Directory, read_file};

use crate::Event;
use crate::io::{LARGEST, RecordError};
use crate::limits::{self, Counter};
use crate::printable::printable_document;

/// Name of the log in a run's directory.
pub const LOG: &str = "trials.jsonl";

/// Maximum number of lines in a log: one for each trial, and one for each block.
const MOST_LINES: usize = 1_000_000;

/// How long to wait for a process that only checks whether the log is being written.
const PATIENCE: Duration = Duration::from_millis(200);

/// An open log, locked so that other processes see that its run is in progress.
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
        // The log is new, so nobody else has locked it. Some file systems have no locks.
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

    /// Appends an event. After the end of a block, all lines so far are on the disk.
    ///
    /// # Errors
    /// The operating system's error; the log then still ends as before, or in an incomplete line.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut text = serde_json::to_vec(event)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        match event {
            Event::Measured(_) => Ok(()),
            _ => self.file.sync_data(),
        }
    }
}

/// Whether a run is in progress in `directory`: a process then has its log locked.
pub fn is_being_written(directory: &Directory) -> bool {
    let held = directory.open_file(LOG.as_ref()).and_then(|file| {
        // Shared, so that two simultaneous queries do not mistake each other for a run.
        lock_within(&file, Lock::Shared, Duration::ZERO)
    });
    held.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
}

/// The events of the log in a run's directory, without an incomplete last line.
///
/// # Errors
/// [`RecordError::Io`]; [`RecordError::Malformed`] if any other line is invalid.
pub fn read_log(directory: &Path) -> Result<Vec<Event>, RecordError> {
    let path = directory.join(LOG);
    let failed = |source| RecordError::Io { act: "read", path: path.clone(), source };
    let mut bytes = read_file(&path, LARGEST).map_err(RecordError::read(&path))?;
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
    let text = String::from_utf8(bytes).map_err(|_| {
        failed(io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
    })?;
    let malformed = |source| RecordError::Malformed { path: path.clone(), source };
    let mut counter = Counter::new(limits::RECORD);
    let mut events = Vec::new();
    for line in text.lines() {
        let too_large = |what| RecordError::TooLarge { path: path.clone(), what };
        counter.add(line).map_err(too_large)?;
        if events.len() == MOST_LINES {
            return Err(too_large(format!("it has more than {MOST_LINES} lines")));
        }
        events.push(Event::parse(&printable_document(line)).map_err(malformed)?);
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold;
    use crate::fold::tests::{end, lines, trial};

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
