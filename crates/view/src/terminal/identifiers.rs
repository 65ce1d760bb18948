//! The identifiers of workloads and choices, which are used in options, CSV and JSON, with their names.

use cryptbench_record::Plan;
use cryptbench_text::clean;

use super::MOST_ROWS;
use crate::columns::bare;

/// The table; `None` if a profile has very many workloads.
pub(super) fn table(plan: &Plan, width: usize) -> Option<String> {
    if plan.workloads.len() > MOST_ROWS {
        return None;
    }
    let workloads = plan.workloads.iter().map(|w| (&w.label, &w.id));
    let arms = plan.arms.iter().map(|a| (&a.label, &a.id));
    let rows = workloads.chain(arms).map(|(name, id)| vec![clean(name), clean(id)]).collect();
    let headings = ["Name", "In options, CSV and JSON"].map(str::to_owned).to_vec();
    Some(bare(headings, rows, 1, width))
}
