//! Files with far more content than any run are refused with a message that states the limit, before they fill the
//! memory.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::sandbox::{Sandbox, text};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Enough for a file of this test, but only a third of what an empty text for every three bytes of the file would
/// need.
const MEMORY: u64 = 640 << 20;

/// Size of each hostile list in bytes: less than the smallest limit on a file.
const LIST: usize = 60_000_000;

/// A list that repeats `item` as often as it fits.
fn list(item: &str) -> String {
    let mut list = format!("{item},").repeat(LIST / (item.len() + 1));
    list.pop();
    list
}

fn fixture() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/builtin-only.json");
    fs::read_to_string(path).unwrap()
}

fn written(path: &Path, text: &str) -> String {
    fs::write(path, text).unwrap();
    path.display().to_string()
}

/// The output of the program with limited memory.
fn said(s: &Sandbox, args: &[&str]) -> Output {
    let mut command = s.command(args);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    prlimit(Some(Pid::from_child(&run)), Resource::As, limit).unwrap();
    run.wait_with_output().unwrap()
}

#[track_caller]
fn refused(s: &Sandbox, args: &[&str], file: &str, limit: &str) {
    let done = said(s, args);
    let why = text(&done.stderr);
    assert_eq!(done.status.code(), Some(5), "{args:?}: {why}");
    assert!(why.contains(file) && why.contains(limit), "{args:?}: {why}");
}

#[test]
fn a_record_with_millions_of_texts_is_refused_in_little_memory() {
    let s = Sandbox::new();
    let notes = fixture().replace("\"notes\":[]", &format!("\"notes\":[{}]", list("\"\"")));
    assert!(notes.len() > LIST, "the fixture has no notes");
    let record = written(&s.out().join("record.json"), &notes);
    let limit = "the list \"notes\" has more than 10000 items";
    let small = written(&s.out().join("small.json"), &fixture());
    refused(&s, &["report", &record], &record, limit);
    refused(&s, &["compare", &small, &record], &record, limit);
    let database = s.out().join("history").display().to_string();
    refused(&s, &["history", "--database", &database, "add", &record], &record, limit);
    assert!(!Path::new(&database).exists());
    // A bad file in a fleet does not hide the other files.
    let fleet = s.out().join("fleet");
    fs::create_dir(&fleet).unwrap();
    fs::rename(&record, fleet.join("large.json")).unwrap();
    fs::rename(&small, fleet.join("small.json")).unwrap();
    let done = said(&s, &["fleet", "report", &fleet.display().to_string(), "--full"]);
    let report = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("large.json") && words.contains(limit), "{report}");
    assert!(words.starts_with("1 machine, 1 record"), "{report}");
}

#[test]
fn a_log_with_millions_of_texts_is_refused_in_little_memory() {
    let s = Sandbox::new();
    let run = s.out().join("run");
    fs::create_dir(&run).unwrap();
    let record: serde_json::Value = serde_json::from_str(&fixture()).unwrap();
    let start = serde_json::json!({ "start": record });
    let command =
        format!("{{\"command\":{{\"arguments\":[{}],\"directory\":\"\"}}}}", list("\"\""));
    let log = written(&run.join("trials.jsonl"), &format!("{start}\n{command}\n"));
    let at = run.display().to_string();
    refused(&s, &["report", &at], &log, "the list \"arguments\" has more than 10000 items");
    let notes = "{\"note\":\"\"}\n".repeat(1_100_000);
    written(&run.join("trials.jsonl"), &format!("{start}\n{notes}"));
    refused(&s, &["report", &at], &log, "more than 1000000 lines");
}

#[test]
fn a_foreign_result_with_millions_of_values_is_refused_in_little_memory() {
    let s = Sandbox::new();
    let fio = format!("{{\n\"fio version\": \"fio-3.33\",\n\"jobs\": [{}]}}\n", list("[]"));
    let fio = written(&s.out().join("fio.json"), &fio);
    let lines = written(
        &s.out().join("table.csv"),
        &("operation,mb_s
"
        .to_owned()
            + &"read,1
"
            .repeat(8_000_000)),
    );
    let limits =
        [(&fio, "the list \"jobs\" has more than 10000 items"), (&lines, "more than 100000 lines")];
    for (file, limit) in limits {
        refused(&s, &["compare", file, file], file, limit);
    }
}

#[test]
fn a_record_that_is_longer_than_any_is_refused_by_its_length() {
    let s = Sandbox::new();
    let file = s.out().join("long.json");
    fs::File::create(&file).unwrap().set_len((512 << 20) + 1).unwrap();
    let at = file.display().to_string();
    refused(&s, &["report", &at], &at, "longer than 512 MiB");
}
