//! Turns files and directories into a set: identifies the format of each file, and merges runs of the same cell.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cryptbench_text::{printable, shown};

use crate::cell::{Cell, Format, Key, Run, Set};
use crate::error::{Fault, ForeignError};
use crate::{dd, dials, diskmark, fio, hdtune, iozone, table};

/// Maximum size of a file in bytes: larger files are not benchmark reports. fio's JSON with histograms (json+) is about
/// 100 KB per job.
const LARGEST: u64 = 64 << 20;

/// Maximum number of lines in a report that is not JSON: 60 times the number in the largest report, iozone's. Each line
/// may yield several results.
const MOST_LINES: usize = 100_000;

/// The results that a format's reader found in one file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) observations: Vec<Observation>,
    pub(crate) remarks: Vec<String>,
    /// Whether the file contains results for both plain and encrypted storage.
    pub(crate) halves: Halves,
}

/// How a file distinguishes results for plain and for encrypted storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Halves {
    /// It does not distinguish them.
    #[default]
    One,
    /// The file contains the same work twice in succession.
    Passes,
    /// It labels them.
    Named,
}

/// The storage of a result, in a file that contains results for both kinds of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Plain,
    Encrypted,
}

/// A single result of one run, before runs of the same work are merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observation {
    pub(crate) key: Key,
    /// Distinguishes two kinds of work in one file that have the same key.
    pub(crate) name: Option<String>,
    pub(crate) bandwidth: Option<f64>,
    pub(crate) iops: Option<f64>,
    pub(crate) latency_us: Option<f64>,
    pub(crate) line: Option<usize>,
    /// The storage, if the file contains results for both plain and encrypted storage.
    pub(crate) half: Option<Half>,
}

/// Whether the path is a record from this program, or a run's directory.
pub fn is_record(path: &Path) -> bool {
    if path.is_dir() {
        return path.join("record.json").is_file();
    }
    // The schema's name is at the start of every record.
    cryptbench_os::read_beginning(path, 4096).is_ok_and(|bytes| {
        let start = String::from_utf8_lossy(&bytes);
        start.trim_start().starts_with('{') && start.contains("\"cryptbench.record/")
    })
}

/// Reads files, and the files in directories, as one set.
///
/// Skips hidden files, and says so in a remark; every other file must be readable as a result.
pub fn read(paths: &[PathBuf]) -> Result<Set, ForeignError> {
    let mut set = empty(paths.iter().map(|p| shown(p)).collect::<Vec<_>>().join(", "));
    for path in paths {
        list(path, &mut set)?;
    }
    let mut observations = Vec::new();
    for path in set.files.clone() {
        let (format, mut found) = file(&path)?;
        match found.halves {
            Halves::One => {}
            Halves::Named => return Err(Fault::file(TWO_STORAGES).of(path)),
            Halves::Passes => found.remarks.push(TWO_PASSES.to_owned()),
        }
        if !set.formats.contains(&format) {
            set.formats.push(format);
        }
        let remark = |r: String| format!("{}: {r}", shown(&path));
        set.remarks.extend(found.remarks.into_iter().map(remark));
        observations.extend(found.observations.into_iter().map(|o| (path.clone(), o)));
    }
    set.cells = cells(observations);
    make_printable(&mut set);
    if set.cells.is_empty() {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(ForeignError::File { path, reason: "holds no results".into() });
    }
    Ok(set)
}

/// Reads one file with results for both plain and encrypted storage as two sets. Study B's script appends the results
/// for both to one log.
pub fn read_halves(path: &Path) -> Result<(Set, Set), ForeignError> {
    let fault = |reason: &str| Fault::file(reason).of(path.to_owned());
    if path.is_dir() {
        return Err(fault(ONE_STORAGE));
    }
    let (format, found) = file(path)?;
    let [plain, encrypted] = match found.halves {
        Halves::One => return Err(fault(ONE_STORAGE)),
        Halves::Passes => ["first pass, taken as plain", "second pass, taken as encrypted"],
        Halves::Named => ["plain", "encrypted"],
    };
    let half = |half: Half, what: &str| {
        let mut set = empty(format!("{} ({what})", shown(path)));
        (set.formats, set.files) = (vec![format], vec![path.to_owned()]);
        set.remarks = found.remarks.iter().map(|r| format!("{}: {r}", shown(path))).collect();
        let own = found.observations.iter().filter(|o| o.half == Some(half));
        set.cells = cells(own.map(|o| (path.to_owned(), o.clone())).collect());
        make_printable(&mut set);
        set
    };
    Ok((half(Half::Plain, plain), half(Half::Encrypted, encrypted)))
}

const ONE_STORAGE: &str = "does not contain both plain and encrypted storage, as a log of study B's script can; also \
specify the result to compare it with";

const TWO_STORAGES: &str = "contains both plain and encrypted storage; compare this file by itself";

const TWO_PASSES: &str = "two passes of study B's script, taken as runs on one location; if one is of plain and the \
other of encrypted storage, compare the file by itself";

fn empty(label: String) -> Set {
    Set { label, formats: Vec::new(), files: Vec::new(), cells: Vec::new(), remarks: Vec::new() }
}

/// Makes strings printable, because the names of files and jobs are untrusted.
pub(crate) fn make_printable(set: &mut Set) {
    let keys = set.cells.iter_mut().map(|cell| &mut cell.key);
    let names = keys.flat_map(|key| {
        [&mut key.pattern, &mut key.operation].into_iter().chain(key.name.as_mut())
    });
    for text in names.chain(&mut set.remarks).chain([&mut set.label]) {
        if let Cow::Owned(shown) = printable(text) {
            *text = shown;
        }
    }
}

fn list(path: &Path, set: &mut Set) -> Result<(), ForeignError> {
    let io = |source| ForeignError::Io { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        set.files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path).map_err(io)?.collect::<Result<Vec<_>, _>>().map_err(io)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            set.remarks.push(format!("{}: a hidden file, left out", shown(&entry.path())));
        } else {
            list(&entry.path(), set)?;
        }
    }
    Ok(())
}

fn file(path: &Path) -> Result<(Format, Found), ForeignError> {
    let io = |source| ForeignError::Io { path: path.to_owned(), source };
    let fault = |fault: Fault| fault.of(path.to_owned());
    let bytes = match cryptbench_os::read_file(path, LARGEST) {
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge) => {
            return Err(fault(Fault::file("not a file of at most 64 MiB, as a result would be")));
        }
        read => read.map_err(io)?,
    };
    if iozone::is_binary_table(&bytes) {
        let remark =
            "the binary table of iozone -b, left out: iozone's text report has the same numbers";
        let found = Found { remarks: vec![remark.into()], ..Found::default() };
        return Ok((Format::Iozone, found));
    }
    let text = decode(&bytes).map_err(fault)?;
    let format = detect(&text).map_err(fault)?;
    let found = match format {
        Format::Fio => fio::parse(&text),
        Format::Iozone => iozone::parse(&text),
        Format::DiskMark => diskmark::parse(&text),
        Format::Dd => dd::parse(&text),
        Format::HdTune => hdtune::parse(&text),
        Format::Dials => dials::parse(&text),
        Format::Atto | Format::Anvil | Format::Table => table::parse(&text, format),
        Format::Record => Err(Fault::file(
            "a cryptbench record: specify it, or the directory of its run, as A or B",
        )),
    };
    found.map(|found| (format, found)).map_err(fault)
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which CrystalDiskMark uses.
fn decode(bytes: &[u8]) -> Result<String, Fault> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|c| unit([c[0], c[1]])).collect();
        String::from_utf16(&units)
            .map_err(|_| Fault::file("begins with a UTF-16 byte order mark but is not UTF-16 text"))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => decode(rest),
        _ if bytes.contains(&0) => Err(Fault::file("is binary; text or JSON was expected")),
        // Logs in other locales may contain bytes that are not UTF-8; the numbers are ASCII
        // everywhere.
        _ => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn detect(text: &str) -> Result<Format, Fault> {
    let json = text.lines().any(|l| l.starts_with('{'));
    if json && text.contains("\"cryptbench.record/") {
        return Ok(Format::Record);
    }
    if json && text.contains("\"fio version\"") {
        return Ok(Format::Fio);
    }
    if text.lines().nth(MOST_LINES).is_some() {
        let problem = format!("has more than {MOST_LINES} lines, the limit for a report; split it");
        return Err(Fault::file(problem));
    }
    if iozone::is_report(text) {
        return Ok(Format::Iozone);
    }
    if diskmark::is_report(text) {
        return Ok(Format::DiskMark);
    }
    if hdtune::is_report(text) {
        return Ok(Format::HdTune);
    }
    if dials::is_report(text) {
        return Ok(Format::Dials);
    }
    if let Some(format) = table::kind(text) {
        return Ok(format);
    }
    if dd::is_log(text) {
        return Ok(Format::Dd);
    }
    const KNOWN: &str = "is not in a known format: fio's \
        JSON (--output-format=json), an iozone report, a dd log, text of \
                         CrystalDiskMark, KDiskMark, HD Tune, Blackmagic or AJA, or a table (docs/compare.md)";
    Err(match text.lines().enumerate().find(|(_, line)| !line.trim().is_empty()) {
        None => Fault::file("is empty"),
        Some((index, line)) => Fault::line(index + 1, KNOWN, line),
    })
}

/// Merges runs of the same work. If one file contains the same work under several names, such as two fio jobs, the
/// name becomes part of the key.
fn cells(observations: Vec<(PathBuf, Observation)>) -> Vec<Cell> {
    let mut names: BTreeMap<(&Path, &Key), BTreeSet<&Option<String>>> = BTreeMap::new();
    for (path, o) in &observations {
        names.entry((path, &o.key)).or_default().insert(&o.name);
    }
    let ambiguous: BTreeSet<Key> =
        names.into_iter().filter(|(_, n)| n.len() > 1).map(|((_, k), _)| k.clone()).collect();
    let mut cells: Vec<Cell> = Vec::new();
    let mut at: BTreeMap<Key, usize> = BTreeMap::new();
    for (source, o) in observations {
        let mut key = o.key;
        if ambiguous.contains(&key) {
            key.name = o.name;
        }
        let run = Run {
            bandwidth: o.bandwidth,
            iops: o.iops,
            latency_us: o.latency_us,
            source,
            line: o.line,
        };
        let index = *at.entry(key.clone()).or_insert_with(|| {
            cells.push(Cell { key, runs: Vec::new(), title: None, cached: false });
            cells.len() - 1
        });
        cells[index].runs.push(run);
    }
    cells
}
