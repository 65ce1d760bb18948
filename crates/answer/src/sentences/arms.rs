//! The cost of each encrypted arm relative to plain storage.

use cryptbench_estimate::verdict::{HOPELESS_PERCENT, TELLING_MARGIN_PERCENT, is_alike, is_open};
use cryptbench_record::{Arm, Cell, Verdict};

use super::{MOST_ARMS_SPOKEN, Sentence, View, of_workloads};
use crate::quantity::{cpu, fraction, kept_percent, percent, thousands};
use crate::wording::{list, verdict_words};

/// One sentence per encrypted arm; if there are many arms, only for the best and the worst.
pub(super) fn costs(view: &View<'_>) -> Vec<Sentence> {
    let arms = view.encrypted();
    if arms.len() <= MOST_ARMS_SPOKEN {
        return arms.iter().map(|arm| Sentence::new(9, cost(view, arm))).collect();
    }
    let mut ranked: Vec<(&Arm, f64)> =
        arms.iter().filter_map(|arm| Some((*arm, view.mean_kept(arm)?))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (Some((best, high)), Some((worst, low))) = (ranked.first(), ranked.last()) else {
        let text = format!("None of the {} choices has enough repeats yet.", arms.len());
        return vec![Sentence::new(9, text)];
    };
    let range = format!(
        "Of {} choices, {} is the fastest ({} of plain speed, averaged over the workloads) and {} the slowest ({}).",
        arms.len(),
        best.label,
        fraction(*high),
        worst.label,
        fraction(*low),
    );
    vec![
        Sentence::new(9, range),
        Sentence::new(8, cost(view, best)),
        Sentence::new(8, cost(view, worst)),
    ]
}

fn cost(view: &View<'_>, arm: &Arm) -> String {
    let cells = view.cells(arm);
    let mut costly: Vec<&Cell> = with_verdict(&cells, |v| matches!(v, Verdict::Costs { .. }));
    costly.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let alike = with_verdict(&cells, is_alike);
    let judged = with_verdict(&cells, |v| !matches!(v, Verdict::Cached | Verdict::TooFewPairs));
    match (&costly[..], &judged[..]) {
        (_, []) => no_verdict(view, arm, &cells),
        (_, [only]) if view.workloads().len() == 1 => single(view, arm, only),
        ([worst, ..], _) => {
            let open = with_verdict(&cells, is_open).len();
            slowed(view, arm, costly.len(), worst, (alike.len(), open))
        }
        ([], _) => {
            let noisy = |v: &Verdict| is_open(v) && matches!(v, Verdict::WithinNoise { .. });
            let noisy = with_verdict(&judged, noisy).len();
            match alike.len() > noisy {
                true => indistinct(view, arm, &alike),
                false => unsettled(view, arm, noisy),
            }
        }
    }
}

/// For an arm with few decided workloads: states the number of decided workloads, and whether noise is the reason.
fn unsettled(view: &View<'_>, arm: &Arm, noisy: usize) -> String {
    match noisy {
        0 => format!(
            "Whether {} is slower is undecided in all {} workloads.",
            arm.label,
            thousands(view.workloads().len() as f64)
        ),
        noisy => format!(
            "This run is too short, or the machine too busy, to distinguish {} from plain storage in {}: a loss of {} \
             would not show there.",
            arm.label,
            of_workloads(noisy, view),
            percent(HOPELESS_PERCENT),
        ),
    }
}

fn no_verdict(view: &View<'_>, arm: &Arm, cells: &[&Cell]) -> String {
    let cached = cells.iter().any(|c| c.cached);
    let why = if cached { "it was served from a cache" } else { "there are too few repeats" };
    let place = match view.workloads() {
        [only] => format!(" in {}", only.label),
        _ => String::new(),
    };
    format!("There is no verdict on {}{place}: {why}.", arm.label)
}

/// For a run of one workload: everything in one sentence.
fn single(view: &View<'_>, arm: &Arm, cell: &Cell) -> String {
    let Some((kept, verdict)) = cell.kept.as_ref().zip(cell.verdict.as_ref()) else {
        return no_verdict(view, arm, &[cell]);
    };
    let words = match verdict {
        Verdict::Costs { .. } | Verdict::Gains { .. } => String::new(),
        Verdict::WithinNoise { .. } => ", no loss found".to_owned(),
        Verdict::LikelyCosts { .. } | Verdict::LikelyGains { .. } => ", not proven".to_owned(),
        alike_or_open => format!(" ({})", verdict_words(alike_or_open)),
    };
    let keeps = if matches!(verdict, Verdict::Gains { .. }) { "reaches" } else { "runs at" };
    format!(
        "{} {keeps} {} of plain speed in {} here{words}{}{}.",
        arm.label,
        kept_percent(kept),
        view.workload_label(&cell.workload),
        noise_clause(cell, "; the noise of this disk is "),
        cpu_clause(view, cell, "; it takes ").unwrap_or_default(),
    )
}

/// `alike` and `open`: workloads without a difference from plain, and inconclusive workloads.
fn slowed(
    view: &View<'_>,
    arm: &Arm,
    costly: usize,
    worst: &Cell,
    (alike, open): (usize, usize),
) -> String {
    let kept = worst.kept.as_ref().map_or_else(String::new, kept_percent);
    let lead = match costly {
        1 => format!("{} slows {}: it runs at", arm.label, view.workload_label(&worst.workload)),
        _ => format!(
            "{} slows {}, most of all {}: it runs at",
            arm.label,
            of_workloads(costly, view),
            view.workload_label(&worst.workload),
        ),
    };
    let others = match alike {
        0 => String::new(),
        1 => "; in one, no loss was found".to_owned(),
        n => {
            let rest = if n + costly == view.workloads().len() { "the other " } else { "" };
            format!("; in {rest}{}, no loss was found", thousands(n as f64))
        }
    };
    let open = match open {
        0 => String::new(),
        1 => "; one is undecided".to_owned(),
        n => format!("; {} are undecided", thousands(n as f64)),
    };
    format!(
        "{lead} {kept} of plain speed there{}{}{others}{open}.",
        noise_clause(worst, ", where noise is "),
        cpu_clause(view, worst, ", and takes ").unwrap_or_default(),
    )
}

fn indistinct(view: &View<'_>, arm: &Arm, alike: &[&Cell]) -> String {
    let margin = alike.iter().map(|c| alike_margin(c)).fold(0.0, f64::max);
    let meaning = if margin <= TELLING_MARGIN_PERCENT {
        format!(
            "the disk, not the cipher, is the limit (differences are below {})",
            percent(margin)
        )
    } else {
        format!("differences below {} would not show here", percent(margin))
    };
    let most = alike
        .iter()
        .max_by(|a, b| a.cpu.process_s_per_gib.total_cmp(&b.cpu.process_s_per_gib))
        .and_then(|c| {
            let place = format!(" in {}", view.workload_label(&c.workload));
            Some(cpu_clause(view, c, "; it still takes ")? + &place)
        });
    format!(
        "On this disk, no loss was found with {} in {}: {meaning}{}.",
        arm.label,
        of_workloads(alike.len(), view),
        most.unwrap_or_default(),
    )
}

/// Workloads in which encrypted storage was faster, which encryption cannot cause.
pub(super) fn gains(view: &View<'_>) -> Option<Sentence> {
    let mut faster: Vec<(&Arm, &Cell)> = Vec::new();
    for arm in view.encrypted() {
        let cells = view.cells(arm);
        let gaining = with_verdict(&cells, |v| matches!(v, Verdict::Gains { .. }));
        faster.extend(gaining.into_iter().map(|c| (arm, c)));
    }
    let (arm, most) = faster.iter().max_by(|a, b| ratio(a.1).total_cmp(&ratio(b.1)))?;
    let others = match faster.len() - 1 {
        0 => String::new(),
        n => format!(", and {} more results came out faster", thousands(n as f64)),
    };
    let text = format!(
        "{} came out faster than plain in {} ({}){others}: a sign that a cache or the disk, not \
         encryption, made the difference.",
        arm.label,
        view.workload_label(&most.workload),
        most.kept.as_ref().map_or_else(String::new, kept_percent),
    );
    Some(Sentence::new(6, text))
}

/// Names of the workloads of some cells, for lists in sentences.
pub(super) fn names(view: &View<'_>, workloads: &[&str], most: usize) -> String {
    let labels: Vec<&str> = workloads.iter().map(|id| view.workload_label(id)).collect();
    list(&labels, most)
}

fn with_verdict<'a>(cells: &[&'a Cell], keep: impl Fn(&Verdict) -> bool) -> Vec<&'a Cell> {
    cells.iter().copied().filter(|c| c.verdict.as_ref().is_some_and(&keep)).collect()
}

fn ratio(cell: &Cell) -> f64 {
    cell.kept.map_or(1.0, |k| k.ratio)
}

fn alike_margin(cell: &Cell) -> f64 {
    match cell.verdict {
        Some(Verdict::Equivalent { within_percent }) => within_percent,
        Some(Verdict::WithinNoise { noise_percent }) => noise_percent,
        _ => 0.0,
    }
}

fn noise_clause(cell: &Cell, lead: &str) -> String {
    cell.noise_of_mean.map_or_else(String::new, |noise| format!("{lead}{}", fraction(noise)))
}

/// `0.31 CPU-seconds per GiB (plain: 0.06)`; empty if no CPU time was counted.
fn cpu_clause(view: &View<'_>, cell: &Cell, lead: &str) -> Option<String> {
    let measure = cryptbench_estimate::cpu::Measure::of(view.record);
    let own = measure.seconds_per_gib(cell);
    if own == 0.0 || own.is_nan() {
        return None;
    }
    let plain = view
        .plain_cell(&cell.workload)
        .map_or_else(String::new, |p| format!(" (plain: {})", cpu(measure.seconds_per_gib(p))));
    Some(format!("{lead}{} CPU-seconds per GiB{plain}", cpu(own)))
}
