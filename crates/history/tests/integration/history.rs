//! The database: the same record once, what survives its file, concurrent use, files that are something else.

use std::fs;
use std::path::Path;

use crate::made::{Made, record};
use cryptbench_history::check::{Change, Measure, check, check_all};
use cryptbench_history::{History, HistoryError, Run, schema};
use rusqlite::Connection;

/// Turns a database into one of version 1.
const VERSION_1: &str = "ALTER TABLE cells DROP COLUMN arm_set; ALTER TABLE records DROP COLUMN title; \
                         PRAGMA user_version = 1";

fn saved(directory: &Path, name: &str, made: &Made) -> std::path::PathBuf {
    let path = directory.join(format!("{name}.json"));
    cryptbench_record::write(&record(made), &path).unwrap();
    path
}

#[test]
fn the_same_record_is_added_once_and_outlives_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("deep/er/history.sqlite");
    let one = saved(dir.path(), "one", &Made { day: 1, ..Made::default() });
    let mut history = History::create(&database).unwrap();
    let first = history.add(&one).unwrap();
    assert!(first.new);
    assert_eq!((history.add(&one).unwrap().id, history.add(&one).unwrap().new), (first.id, false));
    // The same content in another layout and with other derived results is the same record.
    let mut json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&one).unwrap()).unwrap();
    json["results"] = serde_json::json!({ "cells": [], "sentences": ["other"] });
    let copy = dir.path().join("copy.json");
    fs::write(&copy, json.to_string()).unwrap();
    assert!(!history.add(&copy).unwrap().new);
    // One trial more is another.
    let other = saved(dir.path(), "other", &Made { day: 1, pairs: 7, ..Made::default() });
    assert!(history.add(&other).unwrap().new);
    fs::remove_file(&one).unwrap();
    drop(history);
    let mut history = History::open(&database).unwrap();
    let kept: cryptbench_record::Record =
        serde_json::from_str(&history.document(first.id).unwrap()).unwrap();
    assert_eq!(kept.trials.len(), record(&Made { day: 1, ..Made::default() }).trials.len());
    assert_eq!(history.runs().unwrap()[0].1, Run::of(&kept));
    let list = history.list().unwrap();
    assert_eq!((list.len(), list[0].cells, list[0].profile.as_str()), (2, 4, "quick"));
    history.remove(first.id).unwrap();
    assert_eq!((history.list().unwrap().len(), history.runs().unwrap().len()), (1, 1));
    assert!(matches!(history.remove(first.id), Err(HistoryError::NoSuchRecord { .. })));
    assert!(matches!(history.document(first.id), Err(HistoryError::NoSuchRecord { .. })));
}

#[test]
fn a_record_has_the_title_of_its_run_and_takes_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    cryptbench_record::write(&record(&Made::default()), &dir.path().join("record.json")).unwrap();
    let mut history = History::create(&dir.path().join("h")).unwrap();
    let id = history.add(dir.path()).unwrap().id;
    assert_eq!(history.list().unwrap()[0].title, "");
    for title in ["laptop, new kernel", "laptop"] {
        fs::write(dir.path().join("title.txt"), title).unwrap();
        let again = history.add(dir.path()).unwrap();
        assert_eq!((again.id, again.new), (id, false), "the title is no part of the record");
        assert_eq!(history.list().unwrap()[0].title, title);
    }
    // A copy elsewhere, without a title, takes none away.
    let copy = dir.path().join("copy.json");
    fs::copy(dir.path().join("record.json"), &copy).unwrap();
    history.add(&copy).unwrap();
    assert_eq!(history.list().unwrap()[0].title, "laptop");
}

#[test]
fn fields_of_later_versions_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = saved(dir.path(), "one", &Made::default());
    let text = fs::read_to_string(&path).unwrap().replacen('{', "{\"from_the_future\": 42,", 1);
    fs::write(&path, text).unwrap();
    let mut history = History::create(&dir.path().join("h")).unwrap();
    let id = history.add(&path).unwrap().id;
    assert!(history.document(id).unwrap().contains("\"from_the_future\":42"));
}

#[test]
fn many_at_once_add_each_record_once() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("history.sqlite");
    let records: Vec<_> = (1..=6)
        .map(|day| saved(dir.path(), &format!("r{day}"), &Made { day, ..Made::default() }))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // Each begins the database, if it comes first.
                let mut history = History::create(&database).unwrap();
                for record in &records {
                    history.add(record).unwrap();
                    history.list().unwrap();
                }
            });
        }
    });
    assert_eq!(History::open(&database).unwrap().list().unwrap().len(), 6);
}

/// Whoever opens a history that another process began a moment ago may meet it before it is in its final mode, and
/// while others write.
#[test]
fn a_writer_at_the_same_time_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("h");
    drop(History::create(&path).unwrap());
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "journal_mode", "DELETE").unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| History::open(&path).map(|h| h.list().unwrap().len()));
        std::thread::sleep(std::time::Duration::from_millis(300));
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(opened.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn files_that_are_something_else_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    assert!(matches!(History::open(&path), Err(HistoryError::None { .. })));
    assert!(!path.exists());
    fs::write(&path, "my letters, and so on, and so on, for longer than a header of SQLite has bytes, which are one hundred").unwrap();
    let unchanged = |path: &Path, what: &str| {
        let before = fs::read(path).unwrap();
        for result in [History::open(path), History::create(path)] {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
        assert_eq!(fs::read(path).unwrap(), before);
    };
    unchanged(&path, "no database");
    let other = dir.path().join("other.sqlite");
    let connection = Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE letters (text TEXT)").unwrap();
    drop(connection);
    unchanged(&other, "database of another program");
    let newer = dir.path().join("newer.sqlite");
    drop(History::create(&newer).unwrap());
    let connection = Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", schema::VERSION + 1).unwrap();
    connection.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(connection);
    unchanged(&newer, "use a newer cryptbench");
    assert!(matches!(History::open(dir.path()), Err(HistoryError::NotOurs { .. })));
}

#[test]
fn damage_is_found_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.sqlite");
    let mut history = History::create(&path).unwrap();
    for day in 1..=5 {
        history.add(&saved(dir.path(), "r", &Made { day, ..Made::default() })).unwrap();
    }
    drop(history);
    let good = fs::read(&path).unwrap();
    assert!(good.len() > 3 * 4096);
    for (what, bad) in [
        ("cut", good[..good.len() / 2 / 4096 * 4096].to_vec()),
        ("a page of noise", {
            let mut bad = good.clone();
            bad[4096..8192].fill(0xa5);
            bad
        }),
    ] {
        for name in ["history.sqlite-wal", "history.sqlite-shm"] {
            let _ = fs::remove_file(dir.path().join(name));
        }
        fs::write(&path, &bad).unwrap();
        let error = History::create(&path).unwrap_err();
        assert!(matches!(error, HistoryError::Damaged { .. }), "{what}: {error}");
        assert_eq!(fs::read(&path).unwrap(), bad, "{what}");
    }
}

#[test]
fn records_that_cannot_be_used_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut history = History::create(&dir.path().join("h")).unwrap();
    let path = dir.path().join("bad.json");
    fs::write(&path, "{}").unwrap();
    assert!(matches!(history.add(&path), Err(HistoryError::Record(_))));
    let mut empty = record(&Made::default());
    empty.trials.clear();
    cryptbench_record::write(&empty, &path).unwrap();
    assert!(matches!(history.add(&path), Err(HistoryError::Empty { .. })));
    assert!(history.list().unwrap().is_empty());
}

fn runs(levels: &[f64]) -> Vec<Run> {
    let day = |i: usize| u32::try_from(i).unwrap() + 1;
    let made = |(i, level): (usize, &f64)| {
        Run::of(&record(&Made { day: day(i), level: *level, ..Made::default() }))
    };
    levels.iter().enumerate().map(made).collect()
}

#[test]
fn a_regression_is_told_from_the_spread_between_runs() {
    // Runs differ by 10 %, their trials by 0.1 %: a run 12 % below is one of the same, whatever its trials say.
    let quiet = [1.0, 1.1, 0.95, 1.05, 0.9, 1.02, 0.97, 1.08];
    let mut levels = quiet.to_vec();
    levels.push(0.88);
    let all = runs(&levels);
    let last = check(all.last().unwrap(), &all, Measure::Speed, 0.01);
    assert_eq!((last.cells.len(), last.count(Change::Regression)), (4, 0));
    assert!(last.cells[0].earlier == 8 && last.cells[0].detectable > 0.12);
    levels.push(0.4);
    let all = runs(&levels);
    let last = check(all.last().unwrap(), &all, Measure::Speed, 0.01);
    assert_eq!(last.count(Change::Regression), 4, "{last:#?}");
    assert!((last.cells[0].ratio - 0.41).abs() < 0.02);
    // What encryption costs did not change: both arms fell together.
    let kept = check(all.last().unwrap(), &all, Measure::Kept, 0.01);
    assert_eq!((kept.cells.len(), kept.count(Change::Regression)), (2, 0));
    levels.push(3.0);
    let all = runs(&levels);
    assert!(check(all.last().unwrap(), &all, Measure::Speed, 0.05).count(Change::Improvement) > 0);
}

#[test]
fn too_few_earlier_runs_cannot_tell() {
    let all = runs(&[1.0, 1.1, 0.95, 0.2]);
    let last = check(all.last().unwrap(), &all, Measure::Speed, 0.01);
    assert_eq!((last.cells.len(), last.untold.len(), last.untold[0].earlier), (0, 4, 3));
    // Later runs are no earlier ones.
    let all = runs(&[1.0, 1.1, 0.95, 1.0, 1.0, 1.0]);
    let every = check_all(&all, Measure::Speed, 0.01);
    let judged: Vec<usize> = every.iter().map(|c| c.cells.len()).collect();
    assert_eq!(judged, [0, 0, 0, 0, 4, 4]);
}

#[test]
fn other_machines_targets_and_work_are_not_compared() {
    let same = Made { day: 1, ..Made::default() };
    let of = |made: &Made| Run::of(&record(made)).cells[0].clone();
    let base = of(&same);
    assert!(base.is_same(&of(&Made { day: 9, level: 2.0, ..Made::default() })));
    for other in [
        Made { cpu: "another", ..Made::default() },
        Made { device: "sdz", ..Made::default() },
        Made { block_size: 8192, ..Made::default() },
        Made { direct: false, ..Made::default() },
    ] {
        assert!(!base.is_same(&of(&other)));
    }
    // An update of kernel or program is what a regression may come from.
    assert!(base.is_same(&of(&Made { kernel: "Linux 7", ..Made::default() })));
}

#[test]
fn cells_that_a_cache_answered_are_not_judged() {
    let mut all = runs(&[1.0, 1.1, 0.95, 1.0, 1.0, 0.1]);
    for cell in &mut all[5].cells {
        cell.cached = true;
    }
    let last = check(&all[5], &all, Measure::Speed, 0.01);
    assert_eq!((last.cells.len(), last.cached), (0, 4));
}

#[test]
fn what_another_program_wrote_into_the_database_steers_no_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("history.sqlite");
    let one = saved(dir.path(), "one", &Made { day: 1, ..Made::default() });
    let id = History::create(&database).unwrap().add(&one).unwrap().id;
    let spoilt = "char(27) || '[2J' || char(155)";
    let connection = Connection::open(&database).unwrap();
    for column in
        ["run_id", "program_version", "profile", "machine", "target", "added", "source", "title"]
    {
        let set = format!("UPDATE records SET {column} = {column} || {spoilt}");
        connection.execute(&set, []).unwrap();
    }
    for column in ["machine", "target", "workload", "workload_label", "arm", "arm_label"] {
        connection
            .execute(&format!("UPDATE cells SET {column} = {column} || {spoilt}"), [])
            .unwrap();
    }
    let document = "UPDATE records SET document = replace(document, '\"run_id\":\"', '\"run_id\":\"' || char(155))";
    connection.execute(document, []).unwrap();
    drop(connection);
    let history = History::open(&database).unwrap();
    let said = [
        format!("{:#?}", history.list().unwrap()),
        format!("{:#?}", history.runs().unwrap()),
        history.document(id).unwrap(),
    ];
    for said in said {
        // `{:?}` would have escaped what is there, with one backslash.
        assert!(said.contains("\\u{9b}"), "{said}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said}");
        assert!(!said.replace("\\\\u{", "").contains("\\u{"), "{said}");
    }
}

#[test]
fn runs_of_another_set_are_kept_apart_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.sqlite");
    let mut history = History::create(&path).unwrap();
    let (both, floor) = (Some("default/dm-crypt+gocryptfs"), Some("default/floor"));
    let sets = [None, both, both, both, both, floor, floor, both];
    for (day, set) in (1..).zip(sets) {
        // The other sets would make a regression of it.
        let level = if set == both { 1.0 + 0.001 * f64::from(day % 3) } else { 4.0 };
        let made = Made { day, set, level, ..Made::default() };
        history.add(&saved(dir.path(), &format!("r{day}"), &made)).unwrap();
    }
    let of = |history: &History| {
        let all: Vec<Run> = history.runs().unwrap().into_iter().map(|(_, run)| run).collect();
        check(all.last().unwrap(), &all, Measure::Speed, 0.01)
    };
    let last = of(&history);
    assert_eq!((last.cells.len(), last.cells[0].earlier), (4, 4));
    assert_eq!(last.count(Change::Regression), 0);
    assert_eq!(last.arm_set, "default/dm-crypt+gocryptfs");
    let others: Vec<_> = last.other_sets.iter().map(|(set, runs)| (set.as_str(), *runs)).collect();
    assert_eq!(others, [("", 1), ("default/floor", 2)]);
    // A database of the version before learns the sets from its documents.
    drop(history);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(VERSION_1).unwrap();
    drop(connection);
    assert_eq!(of(&History::open(&path).unwrap()).other_sets, last.other_sets);
}

#[test]
fn the_default_of_earlier_versions_is_the_set_of_builtin_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.sqlite");
    let mut record = record(&Made::default());
    let ids = [
        "plain",
        "plain-again",
        "builtin/null",
        "builtin/aes-256-xts/512",
        "builtin/aes-256-xts/4096",
    ];
    let plain = record.plan.arms[0].clone();
    record.plan.arms =
        ids.map(|id| cryptbench_record::Arm { id: id.into(), ..plain.clone() }).into();
    let file = dir.path().join("old.json");
    cryptbench_record::write(&record, &file).unwrap();
    let mut history = History::create(&path).unwrap();
    history.add(&file).unwrap();
    let set = |history: &History| history.runs().unwrap()[0].1.cells[0].arm_set.clone();
    assert_eq!(set(&history), cryptbench_record::BUILTIN_ONLY);
    drop(history);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(VERSION_1).unwrap();
    drop(connection);
    assert_eq!(set(&History::open(&path).unwrap()), cryptbench_record::BUILTIN_ONLY);
}
