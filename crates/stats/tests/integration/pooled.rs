//! Whether intervals of pooled costs and of the prediction for the next machine contain the truth, by simulation.

use cryptbench_stats::{Effect, pool, pool_by_paule_mandel};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Standard normal deviates (Box & Muller 1958).
struct Normal(ChaCha8Rng);

impl Normal {
    fn next(&mut self) -> f64 {
        let (a, b): (f64, f64) = (self.0.random(), self.0.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

/// Percentage of fleets whose interval contains the mean, and whose prediction interval contains the next machine's
/// true cost.
fn coverage(machines: usize, between: f64, fleets: u32) -> [f64; 2] {
    const TRUTH: f64 = -0.15;
    let mut normal = Normal(ChaCha8Rng::seed_from_u64(7 + machines as u64));
    let mut held = [0u32; 2];
    for _ in 0..fleets {
        let effects: Vec<Effect> = (0..machines)
            .map(|_| {
                // Machines differ in how precisely they could be measured.
                let error = 0.01 * (0.5 * normal.next()).exp();
                let value = TRUTH + between * normal.next() + error * normal.next();
                Effect { value, variance: error * error }
            })
            .collect();
        let found = pool(&effects, 0.95).unwrap();
        let next = TRUTH + between * normal.next();
        held[0] += u32::from(found.low <= TRUTH && TRUTH <= found.high);
        held[1] += u32::from(found.next_low <= next && next <= found.next_high);
    }
    held.map(|n| 100.0 * f64::from(n) / f64::from(fleets))
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is for the documentation")]
fn prediction_intervals_hold_the_next_machine() {
    println!("| machines | 1 % apart: mean, next | 3 % | 10 % |\n|---|---|---|---|");
    for (machines, fleets) in [(5, 1500), (10, 1500), (20, 1500), (50, 500), (200, 500)] {
        let row = [0.01, 0.03, 0.1].map(|between| coverage(machines, between, fleets));
        let cells = row.map(|[mean, next]| format!("{mean:.1}, {next:.1}"));
        println!("| {machines} | {} |", cells.join(" | "));
        for [mean, next] in row {
            assert!((93.0..=98.5).contains(&mean), "{machines}: mean {mean}");
            assert!((93.0..=97.0).contains(&next), "{machines}: next {next}");
        }
    }
}

/// `combine_effects` of statsmodels (fixtures/generate_pooled.py).
#[test]
fn paule_and_mandels_pool_matches_statsmodels() {
    let text = include_str!("../../fixtures/pooled.json");
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    let cases = document["cases"].as_array().unwrap();
    assert!(cases.len() >= 7);
    let mut raised = 0;
    for case in cases {
        let number = |key: &str| case[key].as_f64().unwrap();
        let numbers = |key: &str| -> Vec<f64> {
            case[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
        };
        let effects: Vec<Effect> = numbers("effect")
            .into_iter()
            .zip(numbers("variance"))
            .map(|(value, variance)| Effect { value, variance })
            .collect();
        let found = pool_by_paule_mandel(&effects, 0.95).unwrap();
        let name = &case["name"];
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-7 * b.abs() + 1e-12;
        assert!(near(found.between, number("between")), "{name}: τ² {}", found.between);
        assert!(near(found.mean, number("mean")), "{name}: mean {}", found.mean);
        // The modification: the error is never smaller than without Hartung and Knapp's factor.
        let expected = number("standard_error").max(number("without_correction"));
        assert!(near(found.standard_error, expected), "{name}: error {}", found.standard_error);
        raised += usize::from(number("standard_error") < 0.9 * number("without_correction"));
    }
    assert!(raised > 0, "no case that the modification changes");
}
