//! The table of unlock times: seconds from the passphrase to the first read, by format and PRF.

use cryptbench_answer::picture::unlock::{Unlock, part_words};
use cryptbench_answer::quantity::{NONE, seconds};
use cryptbench_estimate::opening::Opening;

use super::layout::{add, clean, empty, fitted};
use super::wrap;

pub(super) fn draw(table: &Unlock<'_>, width: usize) -> String {
    let title = "Time from the passphrase to the first read (for a wrong one, to the refusal); median and its interval:";
    let fixed = ["opening", "median", "interval"].map(str::to_owned);
    let parts = table.parts.iter().map(|name| part_words(name).replacen(' ', "\n", 1));
    let mut made = empty(fixed.into_iter().chain(parts).collect());
    for (i, workload) in table.workloads.iter().enumerate() {
        let blanks = vec![String::new(); 2 + table.parts.len()];
        add(&mut made, [vec![clean(&workload.label)], blanks].concat());
        for row in &table.rows {
            if let Some(opening) = &row.times[i] {
                let label = format!("  {}", clean(&row.arm.label));
                add(&mut made, [vec![label], numbers(opening)].concat());
            }
        }
    }
    format!("{}\n{}", wrap(title, "", "  ", width), fitted(made, width))
}

fn numbers(opening: &Opening) -> Vec<String> {
    let interval = format!("{} to {}", seconds(opening.low), seconds(opening.high));
    let fixed = [seconds(opening.median), interval];
    let parts = opening.parts.iter().map(|p| p.map_or_else(|| NONE.to_owned(), seconds));
    fixed.into_iter().chain(parts).collect()
}
