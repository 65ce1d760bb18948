//! The familiar chart or table of a profile, as data: one function each from the record to the content, shared by all
//! output formats.

pub mod bars;
pub mod condensed;
pub mod copies;
pub mod curve;
pub mod files;
pub mod grid;
pub mod heatmap;
pub mod peers;
pub mod unlock;

use cryptbench_estimate::arms::{compared, plain_arm};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, ArmRole};

/// Up to this number of workloads, each workload has its own charts and its own row in tables; a larger number is
/// condensed into series.
pub const MOST_CHARTED: usize = 16;

/// Up to this number of workloads, each workload has its own row in the tables of the page.
pub const MOST_LISTED: usize = 100;

/// The arms selected for a chart that has no room for all arms.
pub struct Chosen<'a> {
    /// Plain first, then encrypted arms (the pass-through among them) in plan order.
    pub arms: Vec<&'a Arm>,
    /// Number of omitted arms.
    pub left_out: usize,
}

/// Plain and at most `most` other arms: all other arms if possible, otherwise the fastest and the slowest encrypted
/// arms by the mean over all workloads.
pub fn chosen<'a>(lookup: &Lookup<'a>, most: usize) -> Chosen<'a> {
    let all = compared(lookup.arms());
    let mut picked = all.clone();
    if all.len() > most {
        // The pass-through is dropped first, because it does not show the cost of encryption.
        let encrypted =
            all.iter().copied().filter(|a| a.role == ArmRole::Encrypted).collect::<Vec<_>>();
        picked =
            if encrypted.len() <= most { encrypted } else { extremes(lookup, encrypted, most) };
    }
    let left_out = all.len() - picked.len();
    let arms = plain_arm(lookup.record).into_iter().chain(picked).collect();
    Chosen { arms, left_out }
}

/// The fastest and the slowest arms, `most` in total, in the given order.
fn extremes<'a>(lookup: &Lookup<'a>, arms: Vec<&'a Arm>, most: usize) -> Vec<&'a Arm> {
    let mut ranked: Vec<(f64, &str)> =
        arms.iter().map(|a| (lookup.mean_ratio(a).unwrap_or(0.0), a.id.as_str())).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let fast = most.div_ceil(2);
    let slow = ranked.len() - (most - fast);
    let keep = |id: &str| ranked[..fast].iter().chain(&ranked[slow..]).any(|(_, kept)| *kept == id);
    arms.into_iter().filter(|a| keep(&a.id)).collect()
}

/// A chart's note about omitted arms; `None` if the chart shows all arms.
pub fn left_out_words(left_out: usize) -> Option<String> {
    (left_out > 0).then(|| {
        format!(
            "{left_out} more {} not drawn: only the fastest and the slowest are shown.",
            if left_out == 1 { "choice is" } else { "choices are" }
        )
    })
}
