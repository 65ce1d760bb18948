//! `cryptbench report --share`: a record without anything that identifies its owner, with the same figures.

use std::fs;
use std::path::Path;

use cryptbench_record::{Node, read, write};

use crate::sandbox::{Sandbox, text};

#[test]
fn a_shared_record_names_nobody_and_has_the_same_figures() {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    let mut record = read(&fixture).unwrap();
    record.title = Some("Ann's laptop".to_owned());
    record.target.directory = "/home/ann/private".to_owned();
    record.target.source = "/dev/mapper/luks-0a1b2c3d-0000-4000-8000-0123456789ab".to_owned();
    record.notes.push("The run ended early: cannot open /home/ann/private/x on ann-pc.".to_owned());
    let node = Node { name: "ann-pc".to_owned(), ..Node::default() };
    record.node = Some(node);
    let (own, shared) = (sandbox.target().join("own.json"), sandbox.target().join("shared.json"));
    write(&record, &own).unwrap();
    let done = sandbox.run(&["report", "own.json", "--share", "shared.json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let sent = fs::read_to_string(&shared).unwrap();
    for name in ["0a1b2c3d", &record.run_id, &record.started, "/dev/", "/home/"] {
        assert!(!sent.contains(name), "{name} is in it");
    }
    // Only as a separate word, because `planned` contains it.
    let mut words = sent.split(|c: char| !c.is_alphanumeric());
    assert!(!words.any(|word| word.eq_ignore_ascii_case("ann")), "the name is in it");
    let figures = |name: &str| {
        let done = sandbox.run(&["report", name, "--format", "csv", "--table", "cells"]);
        assert!(done.status.success(), "{name}: {}", text(&done.stderr));
        // Without the columns for the run's name and start.
        let table = text(&done.stdout);
        table.replace(&record.run_id, "shared").replace(&record.started, &record.started[..10])
    };
    assert_eq!(figures("own.json"), figures("shared.json"));
    // The record itself is never overwritten.
    let done = sandbox.run(&["report", "own.json", "--share", "own.json"]);
    assert!(!done.status.success());
    assert!(read(&own).is_ok_and(|kept| kept.node.is_some()));
}
