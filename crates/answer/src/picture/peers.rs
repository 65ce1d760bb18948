//! The compatibility estimators of a profile: the figures that its users would have printed, with this program's
//! estimate.

use cryptbench_catalog::Estimator;
use cryptbench_estimate::compatibility::{best, cellwise_percent, mean, trimmed};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Record, Workload};

use super::{MOST_LISTED, chosen};
use crate::quantity::{headline_value, is_time};

/// Maximum number of encrypted arms next to plain.
const MOST_ARMS: usize = 5;

/// The estimator that users of a record's profile use, if this version knows it.
pub(super) fn estimator(record: &Record) -> Option<Estimator> {
    record.plan.estimator.as_deref().and_then(Estimator::of)
}

/// The description of an estimator, to follow "condensed as".
pub fn words(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::Mean => "the arithmetic mean of all trials",
        Estimator::TrimmedMean => "the mean of all trials without the largest and the smallest",
        Estimator::Best => "the best of all trials",
        Estimator::CellwisePercent => {
            "the mean over the cells of the difference in percent of the larger value"
        }
    }
}

/// The headlines of a cell's trials, condensed.
fn of_values(estimator: Estimator, values: &[f64], smaller_is_better: bool) -> Option<f64> {
    match estimator {
        Estimator::Mean | Estimator::CellwisePercent => mean(values),
        Estimator::TrimmedMean => mean(&trimmed(values)),
        Estimator::Best if smaller_is_better => values.iter().copied().reduce(f64::min),
        Estimator::Best => best(values),
    }
}

/// The condensed figures of a record.
pub struct Peers<'a> {
    /// The estimator.
    pub estimator: Estimator,
    /// Plain first.
    pub arms: Vec<&'a Arm>,
    /// Workload and headline value by arm (see [`headline_value`]); empty if there are more workloads than a table
    /// can list.
    pub rows: Vec<(&'a Workload, Vec<Option<f64>>)>,
    /// For `cellwise-percent`: mean and largest difference from plain by arm, without plain itself.
    pub cellwise: Vec<(&'a Arm, f64, f64)>,
}

/// The figures, if the record specifies an estimator that this version knows.
pub fn peers<'a>(lookup: &Lookup<'a>) -> Option<Peers<'a>> {
    let estimator = estimator(lookup.record)?;
    let arms = chosen(lookup, MOST_ARMS).arms;
    let value = |workload: &Workload, arm: &Arm| {
        let values: Vec<f64> = lookup
            .trials
            .of_cell(&workload.id, &arm.id)
            .into_iter()
            .map(|t| headline_value(workload, t.bandwidth(), t.iops()))
            .filter(|v| v.is_finite())
            .collect();
        of_values(estimator, &values, is_time(workload))
    };
    let all: Vec<(&Workload, Vec<Option<f64>>)> = lookup
        .workloads()
        .iter()
        .map(|w| (w, arms.iter().map(|arm| value(w, arm)).collect::<Vec<_>>()))
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    let cellwise = match estimator {
        Estimator::CellwisePercent => (1..arms.len())
            .filter_map(|i| {
                let pairs: Vec<(f64, f64)> =
                    all.iter().filter_map(|(_, v)| v[i].zip(v[0])).collect();
                let (mean, most) = cellwise_percent(&pairs)?;
                Some((arms[i], mean, most))
            })
            .collect(),
        _ => Vec::new(),
    };
    let listed = cellwise.is_empty() && all.len() <= MOST_LISTED;
    let rows = if listed { all } else { Vec::new() };
    (!rows.is_empty() || !cellwise.is_empty()).then_some(Peers { estimator, arms, rows, cellwise })
}
