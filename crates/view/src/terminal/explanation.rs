//! An explanation of the cost: the time added per request and per byte, and the losses caused by path and
//! cipher.

use cryptbench_answer::explanation::{
    devices, label, per_byte, per_request, rounded, sizes, taken,
};
use cryptbench_answer::quantity::{NONE, binary_bytes, count, fraction, percent};
use cryptbench_estimate::chain::{chains, cipher_share};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::sweep::{Added, most_added, sweeps};

use super::layout::{add, clean, empty, fitted};
use super::wrap;

/// Maximum number of sweeps with a separate table; an iozone run has a hundred sweeps.
const MOST_SWEEPS: usize = 4;

/// Maximum number of workloads of a chain that have a separate row.
const MOST_ROWS: usize = 12;

pub(super) fn section(lookup: &Lookup<'_>, width: usize) -> Option<String> {
    let mut parts: Vec<String> = added(lookup, width).into_iter().collect();
    parts.extend(layer_and_cipher(lookup, width));
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The time that each arm adds to the requests of the sweeps, and the conclusions from the first sweep.
fn added(lookup: &Lookup<'_>, width: usize) -> Option<String> {
    let sweeps = sweeps(lookup);
    let found: Vec<_> =
        sweeps.iter().map(|s| (s, s.added(lookup))).filter(|(_, a)| !a.is_empty()).collect();
    let (_, first) = found.first()?;
    let confidence = fraction(lookup.record.plan.confidence);
    let which = match &found[..] {
        [(only, _)] => format!(" ({})", label(only)),
        _ => String::new(),
    };
    let title = format!("Time added to a request{which}, a + b x size [{confidence}]:");
    let mut table = empty(["", "per request", "per byte", "equal at"].map(str::to_owned).into());
    for (sweep, arms) in found.iter().take(MOST_SWEEPS) {
        if found.len() > 1 {
            add(&mut table, [&label(sweep), "", "", ""].map(str::to_owned).into());
        }
        for arm in arms {
            add(&mut table, row(arm));
        }
    }
    let mut lines = vec![wrap(&title, "", "  ", width), fitted(table, width)];
    if found.len() > MOST_SWEEPS {
        let more = count(found.len() - MOST_SWEEPS, "sweep is", "sweeps are");
        lines.push(wrap(&format!("{more} left out."), "", "  ", width));
    }
    let told = most_added(first)?;
    let reasons = [sizes(told), devices(told)];
    lines.extend(reasons.into_iter().flatten().map(|r| wrap(&r, "", "  ", width)));
    Some(lines.join("\n"))
}

fn row(added: &Added<'_>) -> Vec<String> {
    let model = &added.model;
    let name = clean(&added.arm.label);
    if !added.describes {
        let (worst, bytes) = model.worst;
        let off = format!("{} off at {}", percent(100.0 * worst), binary_bytes(bytes as u64));
        return vec![name, "no line:".to_owned(), off, NONE.to_owned()];
    }
    let equal = model.balance_bytes.map_or_else(|| NONE.to_owned(), |b| binary_bytes(rounded(b)));
    vec![name, per_request(model), per_byte(model), equal]
}

/// The losses of the slowest arm, step by step.
fn layer_and_cipher(lookup: &Lookup<'_>, width: usize) -> Option<String> {
    let chains = chains(lookup);
    let chain = chains.iter().min_by(|a, b| a.mean_kept().total_cmp(&b.mean_kept()))?;
    if chain.rows.len() > MOST_ROWS {
        return None;
    }
    let title = format!(
        "Loss of path ({}) and cipher of {}, each in % of the speed before it [{}]:",
        chain.layer.label,
        chain.arm.label,
        fraction(lookup.record.plan.confidence),
    );
    let mut table = empty(["", "path", "cipher", "its share"].map(str::to_owned).into());
    for row in &chain.rows {
        let [layer, cipher] = [0, 1].map(|i| taken(&row.speed.steps[i]));
        let share = cipher_share(row).map_or_else(|| NONE.to_owned(), |s| percent(100.0 * s.value));
        add(&mut table, vec![clean(&row.workload.label), layer, cipher, share]);
    }
    let mut lines = vec![wrap(&title, "", "  ", width), fitted(table, width)];
    if chains.len() > 1 {
        let more = count(chains.len() - 1, "choice", "choices");
        let more = format!("The page shows the same for {more} more.");
        lines.push(wrap(&more, "", "  ", width));
    }
    Some(lines.join("\n"))
}
