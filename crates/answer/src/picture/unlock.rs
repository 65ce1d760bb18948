//! The table of opening a volume: time from the passphrase to the first read, per arm (format and PRF), and the share
//! of key derivation.

use std::collections::BTreeSet;

use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::opening::{Opening, opening};
use cryptbench_record::{Arm, ArmRole, Operation, Workload};

/// The table.
pub struct Unlock<'a> {
    /// The ways of opening, in the order of the profile: right passphrase, wrong passphrase, unspecified PRF.
    pub workloads: Vec<&'a Workload>,
    /// Names of the parts of the time, key derivation first.
    pub parts: Vec<String>,
    /// One row per arm that has trials, plain included.
    pub rows: Vec<UnlockRow<'a>>,
}

/// One arm.
pub struct UnlockRow<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// One per workload.
    pub times: Vec<Option<Opening>>,
}

/// The table, unless no workload opens a volume.
pub fn unlock<'a>(lookup: &Lookup<'a>) -> Option<Unlock<'a>> {
    let workloads: Vec<&Workload> =
        lookup.workloads().iter().filter(|w| w.operation == Operation::Unlock).collect();
    if workloads.is_empty() {
        return None;
    }
    let parts = parts(lookup, &workloads);
    let rows = lookup
        .arms()
        .iter()
        .filter(|a| a.role != ArmRole::PlainAgain)
        .map(|arm| UnlockRow {
            arm,
            times: workloads.iter().map(|w| opening(lookup, w, arm, &parts)).collect(),
        })
        .filter(|row| row.times.iter().any(Option::is_some))
        .collect();
    Some(Unlock { workloads, parts, rows })
}

fn parts(lookup: &Lookup<'_>, workloads: &[&Workload]) -> Vec<String> {
    let names: BTreeSet<&str> = lookup
        .record
        .trials
        .iter()
        .filter(|t| workloads.iter().any(|w| w.id == t.workload))
        .flat_map(|t| t.measured.parts.keys().map(String::as_str))
        .collect();
    let (first, rest): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| *name == "derivation");
    first.into_iter().chain(rest).map(str::to_owned).collect()
}

/// A part's name as a column heading: `derivation` becomes `key derivation`.
pub fn part_words(name: &str) -> String {
    match name {
        "derivation" => "key derivation".to_owned(),
        "rest" => "the rest".to_owned(),
        other => other.replace(['_', '-'], " "),
    }
}
