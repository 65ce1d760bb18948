//! The figures in words: units, sentences, and their basis.

use std::time::Duration;

use cryptbench_answer::quantity::thousands;
use cryptbench_catalog::guessing::{CARD, CARD_WATTS, GUESSING, OTHER_VOLUMES, PROGRAM, SOURCE};
use cryptbench_kdf::{Derivation, Function};
use cryptbench_microbench::kdf::{GUESS_KEY_BYTES, HEADER_KEY_BYTES, KdfSpeed};

use super::study::{DICEWARE_BITS, Study};

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;
/// A Julian year.
const YEAR: f64 = 365.25 * DAY;

/// A duration with three significant figures: `352 ms`, `1.19 s`, `2.77 h`, `12.3 y`, `4.2e9 y`.
pub fn span(seconds: f64) -> String {
    let (value, unit) = in_unit(seconds);
    match seconds {
        s if !s.is_finite() => "–".to_owned(),
        s if s >= 999_500.0 * YEAR => format!("{value:.1e} {unit}"),
        _ => format!("{} {unit}", figures(value)),
    }
}

/// The value in the unit that suits its size.
fn in_unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s < 999.5e-9 => (s * 1e9, "ns"),
        s if s < 999.5e-6 => (s * 1e6, "µs"),
        s if s < 0.9995 => (s * 1e3, "ms"),
        s if s < 2.0 * MINUTE => (s, "s"),
        s if s < 2.0 * HOUR => (s / MINUTE, "min"),
        s if s < 2.0 * DAY => (s / HOUR, "h"),
        s if s < YEAR => (s / DAY, "d"),
        s => (s / YEAR, "y"),
    }
}

/// A time specified by the user, without trailing zeros: `1 s`, `2.5 min`.
pub fn asked(time: Duration) -> String {
    let (value, unit) = in_unit(time.as_secs_f64());
    let number = figures(value);
    match number.contains('.') {
        true => format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{number} {unit}"),
    }
}

/// Three significant figures, with a thousands separator.
pub fn figures(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".to_owned(),
        v if v < 0.995 => format!("{v:.3}"),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => {
            // Three significant figures: 45,521 becomes 45,500.
            let unit = 10f64.powi((v.log10().floor() as i32 - 2).max(0));
            thousands(((v / unit).round() * unit) as u64)
        }
    }
}

/// `40`, `51.7`.
pub fn bits(bits: f64) -> String {
    let text = format!("{bits:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A function's name in tables, without the prefix `HMAC-`, which all functions except Argon2id have.
pub fn name(row: &KdfSpeed) -> String {
    let name = row.function.label();
    if row.old_volumes_only { format!("{name} (old)") } else { name.to_owned() }
}

/// Iterations, or passes and memory.
pub fn cost(derivation: &Derivation) -> String {
    match derivation {
        Derivation::Pbkdf2 { iterations, .. } => thousands(*iterations),
        Derivation::Argon2 { params, .. } => {
            format!("{}x{} MiB", thousands(params.passes), params.memory_kib / 1024)
        }
    }
}

/// `1 thread`, `8 threads`.
pub fn threads(count: usize) -> String {
    format!("{count} thread{}", if count == 1 { "" } else { "s" })
}

/// A short description of the guessing hardware: `2 threads of this CPU x 1000`.
pub fn hardware(study: &Study) -> String {
    let hardware = &study.question.hardware;
    let own: Vec<_> = hardware
        .of
        .iter()
        .filter_map(|(name, factor)| {
            let row = study.speeds.rows.iter().find(|row| row.function.name() == *name)?;
            Some(format!("{} x {}", row.function.label(), factor))
        })
        .collect();
    let mut words = format!("{} of this CPU", threads(study.speeds.threads));
    if hardware.multiplier != 1.0 {
        words += &format!(" x {}", hardware.multiplier);
    }
    if !own.is_empty() {
        words += &format!(" ({})", own.join(", "));
    }
    words
}

/// The PIM that an attacker knows.
pub fn known(study: &Study) -> String {
    match (study.question.known, study.question.unknown) {
        (Some(pim), _) => format!("PIM {}", thousands(pim)),
        (None, Some(_)) => "the default cost".to_owned(),
        (None, None) => "the fixed cost".to_owned(),
    }
}

/// Describes the measurement in one sentence.
pub fn method(study: &Study) -> String {
    let s = &study.speeds;
    format!(
        "Derivation of {HEADER_KEY_BYTES}-byte header keys on one thread, as for unlocking a {}; medians of {} \
         rounds, interleaved over all functions, {:.0} s in total; IQR: interquartile range in % of the median. \
         Values marked * were measured at exactly this cost; the others are calculated from the rate at a different \
         cost{}",
        s.volume.name(),
        s.rounds,
        s.elapsed.as_secs_f64(),
        match s.rows.iter().any(|row| row.old_volumes_only) {
            true => "; (old): only in volumes of older versions",
            false => "",
        }
    )
}

/// How closely the time was proportional to the cost.
pub fn linearity(study: &Study) -> String {
    let seen: Vec<_> = study
        .speeds
        .rows
        .iter()
        .map(|row| {
            format!(
                "{} {:+.1} % ({} compared with {})",
                row.function.label(),
                row.linearity_percent,
                cost(&row.long.derivation),
                cost(&row.short.derivation)
            )
        })
        .collect();
    format!(
        "Deviation of the time from proportionality between the lower and the higher measured cost: {}",
        seen.join("; ")
    )
}

/// The published rate of a graphics card, and the average time that the card takes to guess; not measured here.
pub fn published(study: &Study, row: &KdfSpeed) -> Option<String> {
    let rate = study.card_guesses(row)?;
    let each = study.question.bits.iter().map(|bit| {
        let seconds = (bit - 1.0).exp2() / rate;
        let kwh = seconds / HOUR * CARD_WATTS / 1000.0;
        format!("{} bits take {} and {} kWh", bits(*bit), span(seconds), power(kwh))
    });
    Some(format!(
        "Published, not measured here: a {CARD} ({PROGRAM}) makes {} guesses per second at {} of {}; on average {}.",
        figures(rate),
        known(study),
        row.function.label(),
        each.collect::<Vec<_>>().join(", ")
    ))
}

/// The graphics card's time for volumes of other formats, at the cost that the published benchmark uses.
fn other_volumes(study: &Study) -> String {
    let each = OTHER_VOLUMES.iter().map(|rate| {
        let times = study.question.bits.iter().map(|bit| {
            format!("{} bits {}", bits(*bit), span((bit - 1.0).exp2() / rate.per_second))
        });
        format!(
            "{} ({} iterations) {} per second, {}",
            rate.function,
            rate.iterations,
            figures(rate.per_second),
            times.collect::<Vec<_>>().join(", ")
        )
    });
    format!(
        "Guess rates of the same card for other volumes, published and not measured here: {}. The rate is inversely \
         proportional to the iteration count; the source has no rate for LUKS2 with Argon2id",
        each.collect::<Vec<_>>().join("; ")
    )
}

/// `840`, `5.1e6`
fn power(kwh: f64) -> String {
    if kwh < 999_500.0 { figures(kwh) } else { format!("{kwh:.1e}") }
}

/// The conclusions for the choice of a function and a PIM, each with its figure.
pub fn verdicts(study: &Study) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(fastest(study));
    out.extend(restless(study));
    out.extend(per_iteration(study));
    out.extend(within_limit(study));
    out.extend(unknown_function(study));
    out.extend(attacked(study));
    out.extend(bits_or_waiting(study));
    out.extend(secret_pim(study));
    out
}

fn fastest(study: &Study) -> Option<String> {
    let rows = study.choices();
    let (first, last) = (rows.first()?, rows.last()?);
    let (short, long) = (study.default_time(first).seconds, study.default_time(last).seconds);
    Some(match rows.len() {
        1 => format!("{} unlocks in {} at its default cost.", first.function.label(), span(short)),
        _ => format!(
            "At their default costs {} unlocks fastest ({}) and {} slowest ({}, {} times as long).",
            first.function.label(),
            span(short),
            last.function.label(),
            span(long),
            figures(long / short)
        ),
    })
}

/// Spread, as a percentage of the median, above which the figures are only approximate.
const RESTLESS: f64 = 10.0;

fn restless(study: &Study) -> Option<String> {
    let rows = study.speeds.rows.iter();
    let widest = rows.max_by(|a, b| a.long.spread_percent.total_cmp(&b.long.spread_percent))?;
    let spread = widest.long.spread_percent;
    (spread > RESTLESS).then(|| {
        format!(
            "The machine was busy: the interquartile range of {} is {} % of the median. Treat all figures here as \
             rough, or measure again when the machine is idle.",
            widest.function.label(),
            figures(spread)
        )
    })
}

/// The order by time per iteration, and the functions whose rank differs because of their default costs.
fn per_iteration(study: &Study) -> Option<String> {
    let by_iteration = study.by_iteration();
    if by_iteration.len() < 2 {
        return None;
    }
    let order: Vec<_> = by_iteration
        .iter()
        .map(|(row, us)| format!("{} {} µs", row.function.label(), figures(*us)))
        .collect();
    let mut moved = Vec::new();
    for (index, (quick, _)) in by_iteration.iter().enumerate() {
        let passed: Vec<&KdfSpeed> = by_iteration[index + 1..]
            .iter()
            .map(|(slow, _)| *slow)
            .filter(|slow| study.default_time(quick).seconds > study.default_time(slow).seconds)
            .collect();
        let names: Vec<_> = passed.iter().map(|row| row.function.label()).collect();
        let mut costs: Vec<_> = passed.iter().map(|row| cost(&row.default)).collect();
        costs.dedup();
        if !passed.is_empty() {
            moved.push(format!(
                "{} is faster than {} per iteration but slower by default, with {} iterations instead of {}",
                quick.function.label(),
                names.join(" and "),
                cost(&quick.default),
                costs.join(" or ")
            ));
        }
    }
    let moved = match moved.is_empty() {
        true => "the default costs do not change this order".to_owned(),
        false => moved.join("; "),
    };
    Some(format!("Per iteration: {}; {moved}.", order.join(", ")))
}

fn within_limit(study: &Study) -> Option<String> {
    let limit = study.question.limit;
    let rows = study.choices();
    let (within, over): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| study.default_time(row).seconds <= limit.as_secs_f64());
    let timed = |rows: &[&&KdfSpeed]| -> String {
        let each = rows.iter().map(|row| {
            let time = span(study.default_time(row).seconds);
            match study.largest_pim(row) {
                Some(pim) => format!("{} (PIM up to {})", row.function.label(), thousands(pim)),
                None => format!("{} ({time})", row.function.label()),
            }
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let lower = match study.question.unknown {
        Some(_) => "with a lower PIM",
        None => "too slow",
    };
    let mut words = match (within.is_empty(), over.is_empty()) {
        (false, true) => format!(
            "Every function unlocks within {} at its default cost: {}.",
            asked(limit),
            timed(&within)
        ),
        (false, false) => format!(
            "These unlock within {} at their default costs: {}; {lower}: {}.",
            asked(limit),
            timed(&within),
            timed(&over)
        ),
        (true, false) => {
            format!(
                "None unlocks within {} at its default cost; {lower}: {}.",
                asked(limit),
                timed(&over)
            )
        }
        (true, true) => return None,
    };
    if let Some(least) = least_pims(study) {
        words += &format!(
            " VeraCrypt accepts a PIM below {least} only with a passphrase of at least 20 characters."
        );
    }
    Some(words)
}

/// The PIMs for PBKDF2 below which VeraCrypt requires a long passphrase.
fn least_pims(study: &Study) -> Option<String> {
    let mut least: Vec<u32> = study
        .speeds
        .rows
        .iter()
        .filter(|row| matches!(row.function, Function::Pbkdf2(_)))
        .filter_map(|row| study.speeds.volume.default_pim(row.function))
        .collect();
    least.sort_unstable();
    least.dedup();
    match least.as_slice() {
        [] => None,
        [one] => Some(one.to_string()),
        [low, .., high] => Some(format!("{high} ({low} where each PIM step is 2048 iterations)")),
    }
}

fn unknown_function(study: &Study) -> Option<String> {
    let every = study.every_function()?;
    let first = *study.choices().first()?;
    Some(format!(
        "If the function is not specified, trying all {} on {} takes {} at the default costs (calculated; a wrong \
         passphrase always takes that long). With {} specified, unlocking takes {}.",
        study.speeds.rows.len(),
        threads(study.speeds.cpus as usize),
        span(every),
        first.function.label(),
        span(study.default_time(first).seconds)
    ))
}

fn attacked(study: &Study) -> Option<String> {
    let clause = |&bit: &f64| {
        let mut rows: Vec<_> =
            study.choices().into_iter().map(|row| (row, study.attack(row, bit).known)).collect();
        rows.sort_by(|a, b| a.1.total_cmp(&b.1));
        let ((weak, least), (strong, most)) = (rows.first()?, rows.last()?);
        let to = match rows.len() {
            1 => String::new(),
            _ => format!(" to {} ({})", span(*most), strong.function.label()),
        };
        Some(format!("{} bits {} ({}){to}", bits(bit), span(*least), weak.function.label()))
    };
    let clauses: Vec<_> = study.question.bits.iter().filter_map(clause).collect();
    if clauses.is_empty() {
        return None;
    }
    let at = match study.question.known {
        Some(pim) => format!("a known PIM of {}", thousands(pim)),
        None => "the default cost".to_owned(),
    };
    Some(format!(
        "Expected time to guess a passphrase with {} at {at}: {}.",
        hardware(study),
        clauses.join("; ")
    ))
}

fn bits_or_waiting(study: &Study) -> Option<String> {
    let row = *study.choices().first()?;
    let waits = study.default_time(row).seconds * DICEWARE_BITS.exp2();
    Some(format!(
        "Doubling the cost adds one bit and doubles the owner's wait. One more random word from a list of 7,776 \
         adds {} bits without a longer wait; for the same gain, {} would take {} to unlock.",
        bits(DICEWARE_BITS),
        row.function.label(),
        span(waits)
    ))
}

fn secret_pim(study: &Study) -> Option<String> {
    let highest = study.question.unknown?;
    let mut gains: Vec<_> =
        study.choices().into_iter().filter_map(|row| Some((row, study.secret_pim(row)?))).collect();
    gains.sort_by(|a, b| a.1.bits.total_cmp(&b.1.bits));
    let ((_, least), (_, most)) = (gains.first()?, gains.last()?);
    let bits = match (format!("{:.1}", least.bits), format!("{:.1}", most.bits)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    let mut waits: Vec<_> = gains.iter().map(|(row, gain)| (row, gain.mean_seconds)).collect();
    waits.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (quick, slow) = (waits.first()?, waits.last()?);
    let to = match waits.len() {
        1 => String::new(),
        _ => format!(" to {} with {}", span(slow.1), slow.0.function.label()),
    };
    Some(format!(
        "A secret PIM, drawn at random from 1 to {}, adds {bits} bits over a known PIM with the same average \
         unlock time ({} with {}{to}). A PIM left at the default adds none, because it is tried first.",
        thousands(highest),
        span(quick.1),
        quick.0.function.label(),
    ))
}

/// What the attacker's times are based on.
pub fn assumptions(study: &Study) -> Vec<String> {
    let all = threads(study.speeds.threads);
    let mut out = vec![
        "The passphrase is random; on average half of all candidates are tried: 2^(bits - 1) guesses.".to_owned(),
        format!(
            "The guess rate is that of this CPU, measured on {all} in parallel with a guess in every vector lane. For \
             other hardware it is multiplied by --multiplier, for all functions or for one (argon2id=20). GPUs and \
             FPGAs are not measured here.",
        ),
        format!(
            "The published rates of a {CARD} ({}) come from the benchmark of {PROGRAM} at its default cost, scaled by \
             the iteration count; {CARD_WATTS} W is the card's maximum power: {SOURCE}",
            GUESSING.iter().map(|rate| rate.mode).collect::<Vec<_>>().join(", ")
        ),
        other_volumes(study) + ".",
        format!(
            "A guess derives {GUESS_KEY_BYTES} bytes, enough for a volume with one cipher, while unlocking derives \
             {HEADER_KEY_BYTES}, so a guess costs less than unlocking.",
        ),
        "The function is known. Trying all functions takes the sum of their times.".to_owned(),
    ];
    if let Some(highest) = study.question.unknown {
        out.push(format!(
            "Known PIM: {}. Unknown PIM: any from 1 to {} with equal probability (--unknown-pim); the cheapest are \
             tried first.",
            known(study),
            thousands(highest)
        ));
    }
    if let Some(row) = study.speeds.rows.iter().find(|row| row.default.memory_kib() > 0) {
        let known = study.known(row);
        out.push(format!(
            "Argon2id: one guess per thread in parallel, each with {} MiB. The rate was measured at a lower cost; the \
             time per guess is assumed to be proportional to memory times passes.",
            thousands(known.memory_kib() / 1024)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_three_figures_and_a_unit() {
        let written: Vec<_> = [
            3.2e-9,
            0.000_012_34,
            0.0113,
            0.3521,
            0.9996,
            27.62,
            119.0,
            121.0,
            10_000.0,
            200_000.0,
            3e7,
            3.2e7,
            3.2e10,
            1e20,
            f64::INFINITY,
        ]
        .map(span)
        .into();
        assert_eq!(
            written,
            [
                "3.20 ns", "12.3 µs", "11.3 ms", "352 ms", "1.00 s", "27.6 s", "119 s", "2.02 min",
                "2.78 h", "2.31 d", "347 d", "1.01 y", "1,010 y", "3.2e12 y", "–"
            ]
        );
    }

    #[test]
    fn numbers_have_three_figures() {
        assert_eq!(
            [0.7041, 2.384, 12.14, 1_420_000.4].map(figures),
            ["0.704", "2.38", "12.1", "1,420,000"]
        );
        assert_eq!([40.0, 51.7].map(bits), ["40", "51.7"]);
    }
}
