//! Why small requests slow down more or less than large requests, and why devices differ: in words, with the figures
//! from this run.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::series::series_name;
use cryptbench_estimate::sweep::{Added, End, Sweep, sweeps};
use cryptbench_record::{Addition, Operation, Workload};
use cryptbench_stats::{Coefficient, CostModel, Step};

use crate::quantity::{binary_bytes, digits, latency, percent, percent_digits};

/// Factor by which requests take longer on an example device, which shows the effect of the same added time on a slower
/// device.
const SLOWER: f64 = 100.0;

/// The time that an arm adds to the requests of a sweep: `AES adds 2.1 µs [1.9, 2.3] to each request of ...`.
pub fn addition(sweep: &Sweep<'_>, added: &Added<'_>) -> String {
    let (name, model) = (&added.arm.label, &added.model);
    if !added.describes {
        let (worst, bytes) = model.worst;
        return format!(
            "The time that {name} adds to {} is not linear in the block size: the best line is {} off at {}, so no time \
             per request and per byte is given.",
            label(sweep),
            percent(100.0 * worst),
            binary_bytes(bytes as u64),
        );
    }
    let of = format!("of {}", label(sweep));
    let (request, byte) = (&model.per_request_s, &model.per_byte_s);
    match (is_positive(request), is_positive(byte)) {
        (true, true) => format!(
            "{name} adds {} to each request {of} and {} to each byte{}.",
            per_request(model),
            per_byte(model),
            dominance(model),
        ),
        (true, false) => format!(
            "{name} adds {} to each request {of}, whatever its size: no measurable time per byte ({}).",
            per_request(model),
            per_byte(model),
        ),
        (false, true) => format!(
            "{name} adds {} to each byte {of}, and no measurable time per request ({}).",
            per_byte(model),
            per_request(model),
        ),
        (false, false) => format!(
            "{name} adds no measurable time to {}: {} per request, {} per byte.",
            label(sweep),
            per_request(model),
            per_byte(model),
        ),
    }
}

/// Why small and large requests lose different shares.
pub fn sizes(added: &Added<'_>) -> Option<String> {
    if !added.describes || !is_positive(&added.model.per_request_s) {
        return None;
    }
    let [small, large] = added.ends;
    let [least, most] = [share(&small), share(&large)];
    let more = if least > most { "more" } else { "less" };
    let at = |end: &End| {
        format!(
            "at {} a plain request takes {}, to which {} is added, {}",
            binary_bytes(end.bytes),
            latency(1e6 * end.plain_s),
            latency(1e6 * end.extra_s),
            percent(100.0 * share(end)),
        )
    };
    Some(format!(
        "Why small requests lose {more} than large ones with {}: {}; {}.",
        added.arm.label,
        at(&small),
        at(&large)
    ))
}

/// Why the same cipher costs a different share of the speed on a different device.
pub fn devices(added: &Added<'_>) -> Option<String> {
    let [small, _] = added.ends;
    if !added.describes || !is_positive(&added.model.per_request_s) || small.extra_s <= 0.0 {
        return None;
    }
    Some(format!(
        "Why devices differ: {} adds work for this machine, not for the device. A device that takes {} for a \
         request of {}, {SLOWER:.0} times as long as this one, would lose {} to the same {}; this one loses {}.",
        added.arm.label,
        latency(1e6 * small.plain_s * SLOWER),
        binary_bytes(small.bytes),
        percent(100.0 * lost(small.extra_s, small.plain_s * SLOWER)),
        latency(1e6 * small.extra_s),
        percent(100.0 * lost(small.extra_s, small.plain_s)),
    ))
}

/// `2.1 µs [1.9, 2.3]`: the interval is in the unit of the value.
pub fn per_request(model: &CostModel) -> String {
    let c = &model.per_request_s;
    let (unit, scale) = match 1e6 * c.value.abs().max(c.high.abs()).max(c.low.abs()) {
        us if us < 1.0 => ("ns", 1e9),
        us if us < 1000.0 => ("µs", 1e6),
        _ => ("ms", 1e3),
    };
    in_unit(c, scale, unit)
}

/// `0.33 ns [0.31, 0.35]`.
pub fn per_byte(model: &CostModel) -> String {
    in_unit(&model.per_byte_s, 1e9, "ns")
}

fn in_unit(c: &Coefficient, scale: f64, unit: &str) -> String {
    let [value, low, high] = [c.value, c.low, c.high].map(|v| signed(v * scale));
    format!("{value} {unit} [{low}, {high}]")
}

/// Three significant digits.
fn signed(value: f64) -> String {
    let size = value.abs();
    let words = match size {
        _ if size < 5e-5 => "0".to_owned(),
        _ if size < 0.01 => format!("{size:.4}"),
        _ if size < 0.1 => format!("{size:.3}"),
        _ => digits(size),
    };
    if value < 0.0 && words != "0" { format!("-{words}") } else { words }
}

fn dominance(model: &CostModel) -> String {
    model.balance_bytes.map_or_else(String::new, |bytes| {
        format!(
            ": below {} the software path dominates, above it the time per byte",
            binary_bytes(rounded(bytes))
        )
    })
}

/// Whole KiB for 4 KiB or more: the size at which both costs are equal is not known to the byte.
pub fn rounded(bytes: f64) -> u64 {
    match bytes {
        b if b >= 4096.0 => ((b / 1024.0).round() * 1024.0) as u64,
        b => b.round() as u64,
    }
}

fn is_positive(c: &Coefficient) -> bool {
    c.low > 0.0
}

/// The added time relative to the time of a plain request.
fn share(end: &End) -> f64 {
    end.extra_s / end.plain_s
}

/// Share of the speed that is lost.
fn lost(extra_s: f64, plain_s: f64) -> f64 {
    extra_s / (plain_s + extra_s)
}

/// The loss in a step as a percentage of the speed before it: `8.1 [6.9, 9.3]`; a gain is negative.
pub fn taken(step: &Step) -> String {
    let loss = |log: f64| percent_digits(-100.0 * log.exp_m1());
    let c = &step.change;
    format!("{} [{}, {}]", loss(c.mean), loss(c.high), loss(c.low))
}

/// `sequential writes (4 at once)`.
pub fn label(sweep: &Sweep<'_>) -> String {
    let w = sweep.workloads[0];
    let what = match &w.operation {
        Operation::Mixed => "mixed requests".to_owned(),
        operation => format!("{operation}s"),
    };
    let file = w.file_bytes.filter(|_| sweep.file_is_told);
    let file = file.map_or_else(String::new, |f| format!(", file of {}", binary_bytes(f)));
    let stdio = if w.stdio { " through stdio" } else { "" };
    let name = match is_again(w) {
        true => series_name(&w.label),
        false => format!("{} {what}", w.pattern),
    };
    let flight = match w.in_flight() {
        0 | 1 => "one at a time".to_owned(),
        n => format!("{n} at once"),
    };
    format!("{name}{stdio} ({flight}){file}")
}

/// Whether the name contains more than operation and pattern, such as iozone's `rewrite` and `reread`.
fn is_again(w: &Workload) -> bool {
    w.id.split('-').any(|part| ["rewrite", "reread"].contains(&part))
}

/// The explanation in the form stored in records, for readers of the JSON.
pub fn additions(lookup: &Lookup<'_>) -> Vec<Addition> {
    let sweeps = sweeps(lookup);
    let each = sweeps.iter().flat_map(|s| s.added(lookup).into_iter().map(move |a| (s, a)));
    let three = |c: &Coefficient| [c.value, c.low, c.high];
    each.map(|(sweep, added)| Addition {
        arm: added.arm.id.clone(),
        sweep: label(sweep),
        workloads: sweep.workloads.iter().map(|w| w.id.clone()).collect(),
        per_request_s: three(&added.model.per_request_s),
        per_byte_s: three(&added.model.per_byte_s),
        misfit: added.model.misfit,
        worst: added.model.worst.0,
        describes: added.describes,
    })
    .collect()
}
