//! How the arms compare with each other: cipher with cipher, and layer with cipher.

use cryptbench_estimate::chain::is_null_layer_of;
use cryptbench_estimate::comparison::{Comparison, compare};
use cryptbench_estimate::ranking::is_mostly_decided;
use cryptbench_estimate::soundness::{has_known_weakness, is_unsound};
use cryptbench_estimate::verdict::is_alike;
use cryptbench_record::{Arm, ArmRole, Cell, Verdict};

use super::arms::names;
use super::{MOST_ARMS_SPOKEN, Sentence, View, of_workloads};
use crate::quantity::{kept_percent, percent, percent_digits, thousands};
use crate::wording::list;

/// Share of the whole loss (in log units) from which a part counts as most of the loss.
const MOST_OF_IT: f64 = 2.0 / 3.0;

/// States which encrypted arm is faster, or that there is no difference.
pub(super) fn encrypted_arms(view: &View<'_>) -> Option<Sentence> {
    let mut arms = view.encrypted();
    arms.retain(|arm| !is_unsound(view.record, arm));
    let text = match &arms[..] {
        [] | [_] => return None,
        [first, second] => two(view, first, second)?,
        _ => best_of(view, &arms)?,
    };
    Some(Sentence::new(7, text))
}

fn two(view: &View<'_>, first: &Arm, second: &Arm) -> Option<String> {
    let compared = compare(view.lookup, &second.id, &first.id);
    let slower = where_verdict(&compared, |v| matches!(v, Verdict::Costs { .. }));
    let faster = where_verdict(&compared, |v| matches!(v, Verdict::Gains { .. }));
    let (label, other) = (&second.label, &first.label);
    Some(match (&faster[..], &slower[..]) {
        _ if compared.is_empty() => return None,
        ([], []) => {
            format!(
                "No difference between {other} and {label} was found in {}.",
                any_of(view, compared.len())
            )
        }
        (faster, []) => one_sided(view, label, other, faster, compared.len()),
        ([], slower) => one_sided(view, other, label, slower, compared.len()),
        (faster, slower) => format!(
            "{label} is faster than {other} in {}, and slower in {}.",
            names(view, &ids(faster), 2),
            names(view, &ids(slower), 2),
        ),
    })
}

/// One of two arms is faster in all workloads in which the two differ; `compared` counts all compared workloads.
fn one_sided(
    view: &View<'_>,
    winner: &str,
    loser: &str,
    cells: &[&Comparison],
    compared: usize,
) -> String {
    let most = cells.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)));
    let by = most.map_or_else(String::new, |c| match cells.len() {
        1 => format!(" (by {})", lead(c)),
        _ => format!(", most in {} (by {})", view.workload_label(&c.workload), lead(c)),
    });
    let place = match cells {
        [one] => view.workload_label(&one.workload).to_owned(),
        many => of_workloads(many.len(), view),
    };
    let rest = match compared.saturating_sub(cells.len()) {
        0 => "",
        1 => "; in the other, no difference was found",
        _ => "; in the others, no difference was found",
    };
    format!("{winner} is faster than {loser} in {place}{by}{rest}.")
}

/// For three or more arms: the fastest arm, and the arms that are equally good. Systems to avoid are not included.
fn best_of(view: &View<'_>, arms: &[&Arm]) -> Option<String> {
    let arms: Vec<&Arm> = arms.iter().copied().filter(|arm| !has_known_weakness(arm)).collect();
    let best = arms
        .iter()
        .copied()
        .filter(|arm| is_mostly_decided(view.lookup, arm))
        .filter_map(|arm| Some((arm, view.mean_kept(arm)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?
        .0;
    let beaten = |compared: &[Comparison]| {
        compared.iter().any(|c| matches!(c.verdict, Verdict::Costs { .. }))
    };
    let rivals: Vec<(&Arm, Vec<Comparison>)> = arms
        .iter()
        .copied()
        .filter(|arm| arm.id != best.id)
        .map(|arm| (arm, compare(view.lookup, &arm.id, &best.id)))
        .filter(|(_, compared)| !compared.is_empty())
        // Of an undecided choice only a proven difference says anything.
        .filter(|(arm, compared)| beaten(compared) || is_mostly_decided(view.lookup, arm))
        .collect();
    let level: Vec<&str> =
        rivals.iter().filter(|(_, c)| !beaten(c)).map(|(arm, _)| arm.label.as_str()).collect();
    let behind = rivals.len() - level.len();
    Some(match (&level[..], behind) {
        ([], 0) => return None,
        ([], _) => format!(
            "{} is the fastest of {} choices: every other one is slower in some workload.",
            best.label,
            rivals.len() + 1
        ),
        (level, 0) => format!(
            "Between {} and {} no difference was found in any workload.",
            best.label,
            list(level, MOST_ARMS_SPOKEN)
        ),
        (level, behind) => format!(
            "{} is the fastest on average, {} {} not shown slower anywhere, and {behind} {} slower \
             in some workload.",
            best.label,
            list(level, MOST_ARMS_SPOKEN),
            if level.len() == 1 { "is" } else { "are" },
            if behind == 1 { "is" } else { "are" },
        ),
    })
}

/// Where the loss arises: in the path without the cipher, or in the cipher.
///
/// Describes the worst cost of any encrypted arm whose system has a pass-through.
pub(super) fn layer_and_cipher(view: &View<'_>) -> Option<Sentence> {
    let nulls = view.record.plan.arms.iter().filter(|a| a.role == ArmRole::NullLayer);
    let text = nulls
        .filter_map(|null| split(view, null))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, text)| text)?;
    Some(Sentence::new(5, text))
}

/// The sentence about one pass-through, with the ratio of the loss that it explains, for ranking.
fn split(view: &View<'_>, null: &Arm) -> Option<(f64, String)> {
    let worst: Option<(&Arm, &Cell, f64)> = view
        .encrypted()
        .into_iter()
        .filter(|arm| is_null_layer_of(null, arm))
        .flat_map(|arm| view.cells(arm).into_iter().map(move |c| (arm, c)))
        .filter(|(_, c)| matches!(c.verdict, Some(Verdict::Costs { .. })))
        .filter_map(|(arm, c)| Some((arm, c, c.kept?.ratio)))
        .min_by(|a, b| a.2.total_cmp(&b.2));
    let Some((arm, cell, ratio)) = worst else { return layer_alone(view, null) };
    let layer = cryptbench_estimate::cells::cell(view.cells, &cell.workload, &null.id)?.kept?;
    let compared = compare(view.lookup, &arm.id, &null.id);
    let cipher = compared.iter().find(|c| c.workload == cell.workload)?.estimate;
    let share = cipher.ratio.ln() / ratio.ln();
    let most = if share >= MOST_OF_IT {
        "most of the loss there is due to the cipher"
    } else if share <= 1.0 - MOST_OF_IT {
        "most of the loss there is due to the path, not to the cipher"
    } else {
        "path and cipher share the loss"
    };
    let text = format!(
        "The path alone, without the cipher, runs at {} of plain in {}, and with {} at {} of that: {most}.",
        kept_percent(&layer),
        view.workload_label(&cell.workload),
        arm.label,
        kept_percent(&cipher),
    );
    Some((ratio, text))
}

/// If no encrypted arm costs anything: states that the layer costs nothing either, or that only the layer costs
/// anything.
fn layer_alone(view: &View<'_>, null: &Arm) -> Option<(f64, String)> {
    let cells = view.cells(null);
    let costly: Vec<&str> = cells
        .iter()
        .filter(|c| matches!(c.verdict, Some(Verdict::Costs { .. })))
        .map(|c| c.workload.as_str())
        .collect();
    let alike = cells.iter().filter(|c| c.verdict.as_ref().is_some_and(is_alike)).count();
    let text = match (&costly[..], alike) {
        ([], 0) => return None,
        ([], n) => format!(
            "With the path alone ({}), no loss was found in {} either.",
            null.label,
            of_workloads(n, view)
        ),
        (some, _) => format!(
            "The path alone ({}), without the cipher, is slower in {}.",
            null.label,
            names(view, some, 3)
        ),
    };
    Some((1.0, text))
}

fn any_of(view: &View<'_>, compared: usize) -> String {
    match view.workloads() {
        [only] => only.label.clone(),
        all if compared == all.len() => {
            format!("any of the {} workloads", thousands(compared as f64))
        }
        _ => format!("any of the {} workloads that can be compared", thousands(compared as f64)),
    }
}

fn where_verdict(all: &[Comparison], keep: impl Fn(&Verdict) -> bool) -> Vec<&Comparison> {
    all.iter().filter(|c| keep(&c.verdict)).collect()
}

fn ids<'a>(cells: &[&'a Comparison]) -> Vec<&'a str> {
    cells.iter().map(|c| c.workload.as_str()).collect()
}

/// The advantage of the faster arm, with its interval: `8 % [5, 11]`.
fn lead(c: &Comparison) -> String {
    let e = &c.estimate;
    let (ratio, low, high) = match e.ratio < 1.0 {
        true => (1.0 / e.ratio, 1.0 / e.high, 1.0 / e.low),
        false => (e.ratio, e.low, e.high),
    };
    let [by, least, most] = [ratio, low, high].map(|r| (r - 1.0) * 100.0);
    format!("{} [{}, {}]", percent(by), percent_digits(least), percent_digits(most))
}

/// Distance from "the same speed" in log units.
fn distance(c: &Comparison) -> f64 {
    c.estimate.ratio.ln().abs()
}
