//! What used CPU time during the trials, and important facts about the machine.

use cryptbench_answer::quantity::{cpu, digits, percent};
use cryptbench_answer::remarks::{ENERGY, PARTS, remarks};
use cryptbench_estimate::accounting::{Split, energies, splits};
use cryptbench_record::Record;
use maud::{Markup, html};

use super::scrolling;

/// The part of the method section about CPU time; empty if CPU time was not recorded for any trial.
pub(super) fn accounting(record: &Record) -> Markup {
    let splits = splits(record);
    let remarks = remarks(record);
    html! {
        @if let Some(first) = splits.first() {
            h3 { "CPU use by component" }
            p {
                "CPU time over all measured trials; “other” is the rest of the machine's busy time minus its idle baseline; "
                @if first.per_gib() { "in CPU-seconds per GiB transferred." } @else { "in percent of the machine." }
            }
            (scrolling("CPU time of each part", &table(&splits, first.per_gib())))
        }
        @for remark in &remarks { p { (remark) } }
    }
}

fn table(splits: &[Split<'_>], per_gib: bool) -> Markup {
    let energies = energies(splits);
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Choice" }
                    @for name in PARTS { th.number scope="col" { (name) } }
                    th.number scope="col" { "of the machine" }
                    @for &i in &energies { th.number scope="col" { (ENERGY[i]) } }
                }
            }
            tbody {
                @for split in splits {
                    tr {
                        th scope="row" { (split.arm.label) }
                        @for part in parts(split, per_gib) { td.number { (part) } }
                        td.number { (percent(split.used_percent())) }
                        @for &i in &energies { td.number { (split.joules_per_gib[i].map_or_else(String::new, digits)) } }
                    }
                }
            }
        }
    }
}

fn parts(split: &Split<'_>, per_gib: bool) -> [String; 4] {
    match per_gib {
        true => split.seconds_per_gib().map(cpu),
        false => split.percents().map(percent),
    }
}
