//! What a machine leaves: its record whole, or why there is none, and nothing else.

use std::fs;

use cryptbench_fleet::{FAILURE, Failure, Shared};
use cryptbench_record::{Machine, to_json};

use crate::made::{FAST, Normal, record};

#[test]
fn a_record_takes_the_failure_back_and_a_partial_one_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().join("new/fleet");
    let shared = Shared::open(&directory).unwrap();
    let mut whole = record(&mut Normal::new(1), "node1", &FAST, (3, 0.01));
    let node = whole.node.clone().unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&directory)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let failure = Failure {
        schema: FAILURE.to_owned(),
        program_version: "0.1.0".to_owned(),
        node: node.clone(),
        why: "no room".to_owned(),
        exit_code: 3,
        machine: Machine::default(),
    };
    shared.leave_failure(&failure).unwrap();
    assert!(names().len() == 1 && names()[0].ends_with(".failed.json"), "{:?}", names());
    assert!(!shared.is_done(&node));
    whole.partial = true;
    shared.leave(&node, &to_json(&whole)).unwrap();
    assert!(!shared.is_done(&node), "what was cut short is measured again");
    whole.partial = false;
    let path = shared.leave(&node, &to_json(&whole)).unwrap();
    assert!(shared.is_done(&node));
    assert_eq!(names(), [path.file_name().unwrap().to_str().unwrap()]);
    assert_eq!(cryptbench_record::read(&path).unwrap().node, Some(node.clone()));
    // A run that compared nothing is no answer.
    whole.trials.retain(|t| t.arm == "plain");
    shared.leave(&node, &to_json(&whole)).unwrap();
    assert!(!shared.is_done(&node));
}
