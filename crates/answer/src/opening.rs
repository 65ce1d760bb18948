//! The answer of a run that unlocks volumes: seconds, and the PIM that a time limit allows.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::opening::{Opening, opening};
use cryptbench_record::{Arm, ArmRole, Operation, Workload, budget_option};

use crate::advice::opening::openings;
use crate::answer::{Answer, MOST_ADVICE, Open};
use crate::figure::Figure;
use crate::quantity::{duration, fraction, seconds};
use crate::wording::list;

/// Volumes that are listed individually.
const MOST_NAMED: usize = 2;

/// One volume and its unlock time.
pub struct OpeningRow {
    /// The volume.
    pub name: String,
    /// `0.31 s`, and its interval.
    pub time: String,
    /// `0.30 s to 0.33 s`.
    pub interval: String,
    /// Share of the time spent on key derivation.
    pub keys: Option<String>,
}

pub(crate) fn answer<'a>(lookup: &Lookup<'a>) -> Answer<'a> {
    let way = lookup.workloads().iter().find(|w| w.operation == Operation::Unlock);
    let mut times: Vec<(&Arm, Opening)> = way.map(|way| times(lookup, way)).unwrap_or_default();
    times.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let headline = match &times[..] {
        [] => "No volume was opened.".to_owned(),
        [(arm, only)] => format!("{} opens in {} here.", arm.label, seconds(only.median)),
        [(fast, least), .., (slow, most)] => format!(
            "Opening takes {} ({}) to {} ({}) here.",
            seconds(least.median),
            fast.label,
            seconds(most.median),
            slow.label
        ),
    };
    let rows = times.iter().map(|(arm, o)| {
        let keys = o.parts.first().copied().flatten().map(|s| s / o.median);
        OpeningRow {
            name: arm.label.clone(),
            time: seconds(o.median),
            interval: format!("{} to {}", seconds(o.low), seconds(o.high)),
            keys: keys.filter(|share| share.is_finite()).map(fraction),
        }
    });
    let mut take = openings(lookup);
    take.truncate(MOST_ADVICE);
    let partial = lookup.record.partial;
    let ended = partial.then(|| {
        Open::new(format!("The run ended early, after {}.", duration(lookup.record.elapsed_s)))
    });
    let open = ended.into_iter().chain(without_time(lookup)).collect();
    Answer {
        headline: vec![headline],
        figure: Figure::Openings(rows.collect()),
        take,
        avoid: Vec::new(),
        why: Vec::new(),
        open,
    }
}

/// The volumes that did not fit into the budget, and a budget that would suffice for them.
fn without_time(lookup: &Lookup<'_>) -> Option<Open> {
    let late = lookup.record.plan.left_out.iter().filter(|out| out.enough_s.is_some());
    let names: Vec<&str> = late.clone().map(|out| &*out.system).collect();
    let enough_s = late.filter_map(|out| out.enough_s).reduce(f64::max)?;
    Some(Open::new(format!(
        "Not opened for lack of time: {}; use {}.",
        list(&names, MOST_NAMED),
        budget_option(enough_s)
    )))
}

fn times<'a>(lookup: &Lookup<'a>, way: &Workload) -> Vec<(&'a Arm, Opening)> {
    let parts = ["derivation".to_owned()];
    let volumes = lookup.arms().iter().filter(|a| a.role == ArmRole::Encrypted);
    volumes.filter_map(|arm| Some((arm, opening(lookup, way, arm, &parts)?))).collect()
}
