//! Why small requests suffer more or less than large ones, and why devices differ: in words, with the figures of this
//! run.

use cryptbench_stats::{Coefficient, CostModel};

use super::sweep::{Added, End, Sweep};
use crate::quantity::{binary_bytes, digits, latency, percent};

/// A device this many times slower per request shows what the same addition would cost there.
const SLOWER: f64 = 100.0;

/// What an arm adds to the requests of a sweep: `AES adds 2.1 µs [1.9, 2.3] to each request of ...`.
pub(crate) fn addition(sweep: &Sweep<'_>, added: &Added<'_>) -> String {
    let (name, model) = (&added.arm.label, &added.model);
    if !added.describes {
        let (worst, bytes) = model.worst;
        return format!(
            "What {name} adds to {} is no line in the block size: the best one is {} off at {}, so no time \
             per request and per byte is given.",
            sweep.label(),
            percent(100.0 * worst),
            binary_bytes(bytes as u64),
        );
    }
    let of = format!("of {}", sweep.label());
    let (request, byte) = (&model.per_request_s, &model.per_byte_s);
    match (is_positive(request), is_positive(byte)) {
        (true, true) => format!(
            "{name} adds {} to each request {of} and {} to each byte{}.",
            per_request(model),
            per_byte(model),
            dominance(model),
        ),
        (true, false) => format!(
            "{name} adds {} to each request {of}, whatever its size: nothing that grows with the bytes could be \
             told ({}).",
            per_request(model),
            per_byte(model),
        ),
        (false, true) => format!(
            "{name} adds {} to each byte {of}, and nothing per request that could be told ({}).",
            per_byte(model),
            per_request(model),
        ),
        (false, false) => format!(
            "{name} adds nothing to {} that could be told: {} per request, {} per byte.",
            sweep.label(),
            per_request(model),
            per_byte(model),
        ),
    }
}

/// Why small and large requests lose different shares.
pub(crate) fn sizes(added: &Added<'_>) -> Option<String> {
    if !added.describes || !is_positive(&added.model.per_request_s) {
        return None;
    }
    let [small, large] = added.ends;
    let [least, most] = [share(&small), share(&large)];
    let more = if least > most { "more" } else { "less" };
    let at = |end: &End| {
        format!(
            "at {} a plain request takes {} and {} is added to it, {}",
            binary_bytes(end.bytes),
            latency(1e6 * end.plain_s),
            latency(1e6 * end.extra_s),
            percent(100.0 * share(end)),
        )
    };
    Some(format!(
        "Why small requests suffer {more} than large ones under {}: {}; {}.",
        added.arm.label,
        at(&small),
        at(&large)
    ))
}

/// Why the same cipher costs another share on another device.
pub(crate) fn devices(added: &Added<'_>) -> Option<String> {
    let [small, _] = added.ends;
    if !added.describes || !is_positive(&added.model.per_request_s) || small.extra_s <= 0.0 {
        return None;
    }
    Some(format!(
        "Why devices differ: what {} adds is this machine's work, not the device's. A device that takes {} for a \
         request of {}, {SLOWER:.0} times as long as this one, would lose {} to the same {}, where this one loses {}.",
        added.arm.label,
        latency(1e6 * small.plain_s * SLOWER),
        binary_bytes(small.bytes),
        percent(100.0 * lost(small.extra_s, small.plain_s * SLOWER)),
        latency(1e6 * small.extra_s),
        percent(100.0 * lost(small.extra_s, small.plain_s)),
    ))
}

/// `2.1 µs [1.9, 2.3]`: the interval is in the unit of the value.
pub(crate) fn per_request(model: &CostModel) -> String {
    let c = &model.per_request_s;
    let (unit, scale) = match 1e6 * c.value.abs().max(c.high.abs()).max(c.low.abs()) {
        us if us < 1.0 => ("ns", 1e9),
        us if us < 1000.0 => ("µs", 1e6),
        _ => ("ms", 1e3),
    };
    in_unit(c, scale, unit)
}

/// `0.33 ns [0.31, 0.35]`.
pub(crate) fn per_byte(model: &CostModel) -> String {
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
            ": below {} the software path weighs more, above it the bytes",
            binary_bytes(rounded(bytes))
        )
    })
}

/// Whole KiB from 4 KiB on: the balance is not known to the byte.
pub(crate) fn rounded(bytes: f64) -> u64 {
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
