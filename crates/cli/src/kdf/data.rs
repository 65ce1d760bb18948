//! The study in machine-readable form: everything as JSON, the times as CSV.

use cryptbench_kdf::Derivation;
use cryptbench_microbench::kdf::{GUESS_KEY_BYTES, HEADER_KEY_BYTES, KdfSpeed, Point};
use cryptbench_view::table::csv::lines;
use serde_json::{Value, json};

use super::study::Study;

/// One object: the question, the machine, and a list of functions, the fastest at the default cost first.
pub fn json(study: &Study) -> String {
    let (s, q) = (&study.speeds, &study.question);
    let of: serde_json::Map<String, Value> =
        q.hardware.of.iter().map(|(name, factor)| ((*name).to_owned(), json!(factor))).collect();
    let whole = json!({
        "cpu": s.cpu_model,
        "cpus": s.cpus,
        "cpu_features": s.cpu_features,
        "tier": s.tier.as_str(),
        "volume": s.volume.name(),
        "rounds": s.rounds,
        "elapsed_s": rounded(s.elapsed.as_secs_f64()),
        "header_key_bytes": HEADER_KEY_BYTES,
        "guess_key_bytes": GUESS_KEY_BYTES,
        "mount_limit_s": q.limit.as_secs_f64(),
        "every_function_s": study.every_function().map(rounded),
        "attack": {
            "threads": s.threads,
            "multiplier": q.hardware.multiplier,
            "multiplier_of": of,
            "known_pim": q.known,
            "unknown_pim_up_to": q.unknown,
        },
        "functions": study.by_default().into_iter().map(|row| function(study, row)).collect::<Vec<_>>(),
    });
    format!("{whole:#}")
}

fn function(study: &Study, row: &KdfSpeed) -> Value {
    let point = |p: &Point| {
        json!({
            "cost": cost(&p.derivation),
            "s": rounded(p.seconds),
            "spread_percent": rounded(p.spread_percent),
        })
    };
    let time = |derivation: &Derivation| {
        let time = row.time(derivation);
        json!({ "cost": cost(derivation), "s": rounded(time.seconds), "measured": time.measured })
    };
    let pims: Vec<_> = study
        .question
        .pims
        .iter()
        .filter_map(|&pim| {
            let mut object = time(&study.at(row.function, pim)?);
            object["pim"] = json!(pim);
            Some(object)
        })
        .collect();
    let attacks: Vec<_> = study
        .question
        .bits
        .iter()
        .map(|&bits| {
            let attack = study.attack(row, bits);
            json!({
                "entropy_bits": bits,
                "pim_known_s": rounded(attack.known),
                "pim_unknown_s": attack.unknown.map(rounded),
            })
        })
        .collect();
    let [one, all, more] = study.guesses(row);
    json!({
        "function": row.function.name(),
        "kernel": row.kernel,
        "guess_kernel": row.guess_kernel,
        "old_volumes_only": row.old_volumes_only,
        "default": time(&row.default),
        "us_per_iteration": row.us_per_iteration().map(rounded),
        "measured": [point(&row.short), point(&row.long)],
        "longer_than_proportional_percent": rounded(row.linearity_percent),
        "pims": pims,
        "largest_pim_within_limit": study.largest_pim(row),
        "guesses_per_s": { "one_thread": rounded(one), "all_threads": rounded(all), "attacker": rounded(more) },
        "published_card_guesses_per_s": study.card_guesses(row).map(rounded),
        "attacks": attacks,
    })
}

fn cost(derivation: &Derivation) -> Value {
    match derivation {
        Derivation::Pbkdf2 { iterations, .. } => json!({ "iterations": iterations }),
        Derivation::Argon2 { params, .. } => json!({
            "passes": params.passes, "memory_kib": params.memory_kib, "lanes": params.lanes,
        }),
    }
}

/// Names of the columns.
const NAMES: [&str; 11] = [
    "function",
    "pim",
    "iterations",
    "passes",
    "memory_kib",
    "s",
    "measured",
    "spread_percent",
    "us_per_iteration",
    "guess_s",
    "kernel",
];

/// A header line, then for each function one line for the default cost (without a PIM) and one line for each PIM. The
/// last line has no newline.
pub fn csv(study: &Study) -> String {
    let mut rows = vec![NAMES.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    for row in study.by_default() {
        let pims = study.question.pims.iter().map(|&pim| (Some(pim), study.at(row.function, pim)));
        for (pim, derivation) in [(None, Some(row.default))].into_iter().chain(pims) {
            let Some(derivation) = derivation else { continue };
            let time = row.time(&derivation);
            let (iterations, passes, memory) = match derivation {
                Derivation::Pbkdf2 { iterations, .. } => (Some(iterations), None, None),
                Derivation::Argon2 { params, .. } => {
                    (None, Some(params.passes), Some(params.memory_kib))
                }
            };
            let whole = |value: Option<u32>| value.map_or_else(String::new, |v| v.to_string());
            let us = row.us_per_iteration();
            rows.push(vec![
                row.function.name().to_owned(),
                whole(pim),
                whole(iterations),
                whole(passes),
                whole(memory),
                rounded(time.seconds).to_string(),
                time.measured.to_string(),
                rounded(row.long.spread_percent).to_string(),
                us.map_or_else(String::new, |us| rounded(us).to_string()),
                rounded(row.guess_seconds(&derivation)).to_string(),
                row.kernel.to_string(),
            ]);
        }
    }
    let mut out = lines(rows);
    out.pop();
    out
}

/// Rounds to five significant figures; further digits are noise.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.4e}").parse().unwrap_or(value)
}
