//! The times to unlock volumes.

use cryptbench_answer::opening::OpeningRow;
use cryptbench_answer::quantity::{NONE, fraction};
use cryptbench_record::Record;

use super::super::layout::{add, clean, fitted, unruled};
use super::wrap;

/// Maximum number of volumes on a screen.
const MOST: usize = 12;

/// The table, at most `width` columns wide.
pub(super) fn text(rows: &[OpeningRow], record: &Record, width: usize) -> String {
    let interval = format!("{} interval", fraction(record.plan.confidence));
    let headings = ["", "opens in", &interval, "key derivation"].map(str::to_owned);
    let mut table = unruled(headings.into(), 2);
    for row in rows.iter().take(MOST) {
        let keys = row.keys.clone().unwrap_or_else(|| NONE.to_owned());
        add(&mut table, vec![clean(&row.name), row.time.clone(), row.interval.clone(), keys]);
    }
    let table = fitted(table, width);
    match rows.len().saturating_sub(MOST) {
        0 => table,
        n => format!("{table}\n{}", wrap(&format!("and {n} slower ones"), "", "", width)),
    }
}
