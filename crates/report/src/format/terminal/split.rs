//! Who used the CPU time: one line per arm.

use cryptbench_record::Record;

use super::layout::{add, clean, empty, fitted};
use super::wrap;
use crate::accounting::{PARTS, Split, splits};
use crate::quantity::{cpu, percent_digits};

/// The table, unless no trial was accounted.
pub(super) fn table(record: &Record, width: usize) -> Option<String> {
    let splits = splits(record);
    let per_gib = splits.first()?.per_gib();
    let title = match per_gib {
        true => "Whose CPU time it was, over all workloads, CPU s/GiB:",
        false => "Whose CPU time it was, over all workloads, % of the machine:",
    };
    let headings = ["", "load", "helpers", "kernel", "other", "of machine"].map(str::to_owned);
    debug_assert_eq!(headings.len(), PARTS.len() + 2);
    let mut table = empty(headings.into());
    for split in &splits {
        let parts = parts(split, per_gib).into_iter();
        let used = format!("{} %", percent_digits(split.used_percent()));
        let row = [clean(&split.arm.label)].into_iter().chain(parts).chain([used]);
        add(&mut table, row.collect());
    }
    let legend = "load: the measuring process with the ciphers in it; helpers: the helper programs of systems; other: everything else, less what it took before the \
                  run, and so below 0 at times";
    Some(format!(
        "{}\n{}\n{}",
        wrap(title, "", "  ", width),
        fitted(table, width),
        wrap(legend, "", "  ", width)
    ))
}

fn parts(split: &Split<'_>, per_gib: bool) -> [String; 4] {
    match per_gib {
        true => split.seconds_per_gib().map(cpu),
        false => split.percents().map(percent_digits),
    }
}
