//! Many workloads in few rows, one for each series and arm.

use cryptbench_answer::picture::condensed::{Tally, condensed};
use cryptbench_answer::quantity::{NONE, fraction, thousands};
use cryptbench_estimate::lookup::Lookup;

use super::layout::{add, clean, empty, fitted};

pub(super) fn table(lookup: &Lookup<'_>, width: usize) -> String {
    let mut table =
        empty(["series (workloads)", "% of plain", "least", "verdicts"].map(str::to_owned).into());
    for series in condensed(lookup) {
        let cells = thousands(series.workloads.len() as f64);
        let name = format!("{} ({cells})", clean(&series.name));
        add(&mut table, vec![name, String::new(), String::new(), String::new()]);
        for tally in &series.arms {
            add(&mut table, row(tally));
        }
    }
    fitted(table, width)
}

fn row(tally: &Tally<'_>) -> Vec<String> {
    let mean = tally.mean_ratio.map_or_else(|| NONE.to_owned(), fraction);
    let worst = tally.worst.map_or_else(
        || NONE.to_owned(),
        |(ratio, workload)| format!("{} in {}", fraction(ratio), clean(&workload.label)),
    );
    vec![format!("  {}", clean(&tally.arm.label)), mean, worst, tally.marks()]
}
