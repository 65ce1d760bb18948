//! What used CPU time: one line per arm.

use cryptbench_answer::quantity::{cpu, digits, percent_digits};
use cryptbench_answer::remarks::{ENERGY, PARTS};
use cryptbench_estimate::accounting::{Split, energies, splits};
use cryptbench_record::Record;

use super::layout::{add, clean, empty, fitted};
use super::wrap;

/// The table; `None` if CPU time was not recorded for any trial.
pub(super) fn table(record: &Record, width: usize) -> Option<String> {
    let splits = splits(record);
    let per_gib = splits.first()?.per_gib();
    let title = match per_gib {
        true => "CPU use by component, over all workloads, CPU s/GiB:",
        false => "CPU use by component, over all workloads, % of the machine:",
    };
    let energies = energies(&splits);
    let headings = ["", "load", "helpers", "kernel", "other", "of machine"];
    debug_assert_eq!(headings.len(), PARTS.len() + 2);
    let headings = headings.into_iter().chain(energies.iter().map(|&i| ENERGY[i]));
    let mut table = empty(headings.map(str::to_owned).collect());
    for split in &splits {
        let parts = parts(split, per_gib).into_iter();
        let used = format!("{} %", percent_digits(split.used_percent()));
        let joules = |&i: &usize| split.joules_per_gib[i].map_or_else(String::new, digits);
        let energy = energies.iter().map(joules);
        let row = [clean(&split.arm.label)].into_iter().chain(parts).chain([used]).chain(energy);
        add(&mut table, row.collect());
    }
    let legend = "load: the measuring process, including its ciphers; helpers: the helper programs of systems; other: \
    everything else minus its use before the run, so it can be negative";
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
