//! Resolves `last` and `last~1` to this user's newest runs, wherever their records are, for every command that
//! accepts a record.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use cryptbench_os::{
    Directory, FileType, path_of_text, read_text, text_of_path, user, write_whole,
};
use cryptbench_record::{LOG, is_being_written};
use cryptbench_system::provision::data_directory;
use cryptbench_text::{quoted_path, shown};
use serde::Deserialize;

use crate::args::Command;
use crate::exit::Refusal;
use crate::history::args::HistoryCommand;
use crate::output::{RECORD, runs_directory};
use crate::say::message;

/// The file in the data directory that lists runs whose records are stored elsewhere. Each line contains a run's
/// name, a tab and its directory.
const ELSEWHERE: &str = "elsewhere.tsv";

/// Maximum number of remembered runs, and maximum size of the file that is read.
const MOST: usize = 200;
const LARGEST: u64 = 1 << 20;

/// Remembers that the files of the run `run` are in `directory`. A failure to do so does not fail the run.
pub fn remember(run: &str, directory: &Path) {
    let Some(data) = data_directory() else { return };
    let Ok(directory) = std::path::absolute(directory) else { return };
    let file = data.join(ELSEWHERE);
    let place = text_of_path(&directory);
    let before = read_text(&file, LARGEST).unwrap_or_default();
    let others = before.lines().filter(|line| line.split_once('\t').is_some_and(|l| l.1 != place));
    let mut lines: Vec<&str> = others.collect();
    let added = format!("{run}\t{place}");
    lines.push(&added);
    let kept = &lines[lines.len().saturating_sub(MOST)..];
    let _ = write_whole(&file, format!("{}\n", kept.join("\n")).as_bytes());
}

/// A run of this user.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// The run's name, which starts with the time at which the run started.
    run: String,
    directory: PathBuf,
}

/// The runs of this user, with the newest first.
fn runs() -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // There are runs of the user who ran sudo, and runs of root in directories that only root can write to.
    let of_asker = runs_directory().zip(user::asker().map(|asker| asker.user));
    let of_root = data_directory().map(|data| (data.join("runs"), user::effective()));
    for (kept, owner) in of_asker.into_iter().chain(of_root) {
        found.extend(in_directory(&kept, owner));
        let list = kept.parent().map(|data| data.join(ELSEWHERE));
        found.extend(list.into_iter().flat_map(|list| elsewhere(&list, owner)));
    }
    found.sort_by(|a, b| b.cmp(a));
    found.dedup_by(|a, b| a.run == b.run);
    found
}

fn in_directory(runs: &Path, owner: u32) -> Vec<Found> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let found = entries.map(|entry| Found {
        run: entry.file_name().to_string_lossy().into_owned(),
        directory: entry.path(),
    });
    found.filter(|found| is_run_of(&found.directory, owner)).collect()
}

fn elsewhere(list: &Path, owner: u32) -> Vec<Found> {
    let lines = read_text(list, LARGEST).unwrap_or_default();
    let found = lines.lines().filter_map(|line| {
        let (run, place) = line.split_once('\t')?;
        let directory = path_of_text(place);
        (is_run_of(&directory, owner) && is_still(run, &directory))
            .then(|| Found { run: run.to_owned(), directory })
    });
    found.collect()
}

/// Whether `directory` and the record or log in it belong to `owner` or root: another user must not be able to replace
/// a directory, and thereby control what is read.
fn is_run_of(directory: &Path, owner: u32) -> bool {
    let is_ours = |other: u32| other == owner || other == 0;
    let Ok(held) = Directory::open_no_follow(directory) else { return false };
    let has = |name: &str| {
        let found = held.entry(OsStr::new(name)).ok().flatten();
        found.is_some_and(|file| file.kind == FileType::RegularFile && is_ours(file.owner))
    };
    held.owner_and_mode().is_ok_and(|(owner, _)| is_ours(owner)) && (has(RECORD) || has(LOG))
}

/// Whether the record in `directory` still belongs to `run`. A log without a record is trusted.
fn is_still(run: &str, directory: &Path) -> bool {
    #[derive(Deserialize)]
    struct Name {
        run_id: String,
    }
    match cryptbench_record::read_document(directory) {
        Ok((_, text)) => serde_json::from_str::<Name>(&text).is_ok_and(|name| name.run_id == run),
        Err(_) => directory.join(LOG).is_file(),
    }
}

/// Which run `path` refers to, counted back from the newest: 1 for `last~1`. `None` if a file has that name, because
/// `path` then refers to the file.
fn asked(path: &Path) -> Option<anyhow::Result<usize>> {
    let rest = path.to_str()?.strip_prefix("last")?;
    if fs::symlink_metadata(path).is_ok() {
        return None;
    }
    match rest.strip_prefix('~') {
        None if rest.is_empty() => Some(Ok(0)),
        None => None,
        Some(number) => Some(number.parse().map_err(|_| {
            Refusal::usage(path, "not a run; use last, or last~1 for the run before it").into()
        })),
    }
}

/// Whether `path` refers to one of the newest runs.
pub fn is_named(path: &Path) -> bool {
    asked(path).is_some()
}

/// Maximum number of runs that a shell completes.
const COMPLETED: usize = 20;

/// The names of the newest runs of this user. A shell evaluates them, so directories whose names have another form are
/// left out.
pub fn known() -> Vec<String> {
    let names = runs().into_iter().map(|found| found.run);
    names.filter(|name| is_run_name(name)).take(COMPLETED).collect()
}

/// Whether a name is like `20240229-120000-1a2b`.
fn is_run_name(name: &str) -> bool {
    name.len() > 8
        && name.bytes().take(8).all(|c| c.is_ascii_digit())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

/// The directory of the run with this name, unless a file has the same name.
fn called(path: &Path) -> Option<PathBuf> {
    let name = path.to_str().filter(|name| is_run_name(name))?;
    if fs::symlink_metadata(path).is_ok() {
        return None;
    }
    runs().into_iter().find(|found| found.run == name).map(|found| found.directory)
}

/// If there are fewer runs.
pub fn record(path: &Path) -> anyhow::Result<PathBuf> {
    let Some(back) = asked(path) else {
        return Ok(called(path).unwrap_or_else(|| path.to_owned()));
    };
    let back = back?;
    let runs = runs();
    let count = runs.len();
    match runs.into_iter().nth(back) {
        Some(found) => Ok(found.directory),
        None => {
            let reason = match count {
                0 => "you have no runs yet; specify a record.json or the directory of a run"
                    .to_owned(),
                1 => "you have only 1 run: last".to_owned(),
                n => format!("you have only {n} runs: last to last~{}", n - 1),
            };
            Err(Refusal::input(path, &reason).into())
        }
    }
}

/// The records in a directory that contains several runs, such as a study's directory; otherwise `path` itself.
pub fn records(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let path = record(path)?;
    let is_run = |directory: &Path| {
        // Any entry with that name counts; if the entry is unusable, the error from reading it says why.
        [RECORD, LOG].iter().any(|name| fs::symlink_metadata(directory.join(name)).is_ok())
    };
    if !path.is_dir() || is_run(&path) {
        return Ok(vec![path]);
    }
    let below = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<PathBuf> = below.filter(|below| is_run(below)).collect();
    runs.sort();
    match runs.is_empty() {
        true => {
            let reason =
                "contains no record; specify a record.json, the directory of a run, or last";
            Err(Refusal::input(&path, reason).into())
        }
        false => Ok(runs),
    }
}

/// Tells that a directory contains no record, so that only the trials in its log are used.
pub fn note_if_unfinished(path: &Path) {
    if !path.is_dir() || path.join(RECORD).exists() || !path.join(LOG).exists() {
        return;
    }
    let is_running = Directory::open(path).is_ok_and(|held| is_being_written(&held));
    let why = match is_running {
        true => "its run is in progress".to_owned(),
        false => {
            let path = quoted_path(path);
            format!("its run was killed; to continue it: cryptbench run --resume {path}")
        }
    };
    let path = shown(path);
    message(&format!("{path} has no {RECORD} yet, so only the trials so far are used ({why})"));
}

/// If there are fewer runs.
pub fn named(command: &mut Command) -> anyhow::Result<()> {
    let one = |path: &mut PathBuf| -> anyhow::Result<()> {
        *path = record(path)?;
        note_if_unfinished(path);
        Ok(())
    };
    let all = |paths: &mut Vec<PathBuf>| -> anyhow::Result<()> {
        let found: anyhow::Result<Vec<_>> = paths.iter().map(|path| records(path)).collect();
        *paths = found?.concat();
        paths.iter().for_each(|path| note_if_unfinished(path));
        Ok(())
    };
    match command {
        Command::Compare(args) => {
            args.a.iter_mut().chain(&mut args.b).try_for_each(one)?;
            all(&mut args.joint)
        }
        Command::History(args) => match &mut args.command {
            HistoryCommand::Add { records } => all(records),
            HistoryCommand::Check { record, .. } => record.iter_mut().try_for_each(one),
            _ => Ok(()),
        },
        Command::Studies(args) => {
            args.beside.iter_mut().try_for_each(one)?;
            all(&mut args.from)
        }
        Command::Predict(args) => {
            args.device.iter_mut().chain(&mut args.record).try_for_each(one)?;
            all(&mut args.against)
        }
        Command::Run(args) => {
            args.what.like.iter_mut().try_for_each(one)?;
            if let Some(path) = &mut args.result.resume {
                *path = record(path)?;
            }
            Ok(())
        }
        // `report` resolves the name itself, because it prints the name.
        _ => Ok(()),
    }
}

/// Refuses a directory that contains several records, for a command that accepts only one.
pub fn several(path: &Path, found: &[PathBuf]) -> Refusal {
    let names: Vec<String> = found.iter().map(|path| shown(path)).collect();
    let reason = format!("contains {} records; specify one: {}", found.len(), names.join(", "));
    Refusal::usage(path, &reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_runs_before_the_newest() {
        let of = |text: &str| asked(Path::new(text)).map(|asked| asked.map_err(|e| e.to_string()));
        assert_eq!(of("last"), Some(Ok(0)));
        assert_eq!(of("last~2"), Some(Ok(2)));
        for path in ["lasting", "last.json", "runs/last", "20240229-120000-1a2b", "1"] {
            assert_eq!(of(path), None, "{path}");
        }
        for wrong in ["last~", "last~-1", "last~x"] {
            assert!(matches!(of(wrong), Some(Err(_))), "{wrong}");
        }
    }

    #[test]
    fn a_name_that_a_shell_would_evaluate_is_no_run() {
        assert!(is_run_name("20240229-120000-1a2b"));
        for name in ["20240229", "20240229-$(x)", "20240229 x", "20240229/x", "last", "2024-02-29"]
        {
            assert!(!is_run_name(name), "{name}");
        }
    }

    #[test]
    fn a_strangers_directory_is_not_the_newest_run() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("out");
        fs::create_dir(&run).unwrap();
        fs::write(run.join(RECORD), r#"{"run_id": "20260101-000000-aa"}"#).unwrap();
        let me = user::effective();
        let list = dir.path().join(ELSEWHERE);
        let line = |run: &str| {
            fs::write(&list, format!("{run}\t{}\n", text_of_path(&dir.path().join("out"))))
        };
        line("20260101-000000-aa").unwrap();
        assert_eq!(elsewhere(&list, me).len(), 1);
        // Another run has taken its place.
        line("20250101-000000-bb").unwrap();
        assert_eq!(elsewhere(&list, me), []);
        line("20260101-000000-aa").unwrap();
        let link = dir.path().join("link");
        fs::rename(&run, &link).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&link, &run).unwrap();
            assert_eq!(elsewhere(&list, me), [], "a link is not followed");
            fs::remove_file(&run).unwrap();
            fs::rename(&link, &run).unwrap();
            match std::os::unix::fs::chown(&run, Some(12_345), None) {
                Ok(()) => assert_eq!(elsewhere(&list, me), []),
                Err(_) => eprintln!("SKIPPED: giving a directory away requires root"),
            }
        }
    }
}
