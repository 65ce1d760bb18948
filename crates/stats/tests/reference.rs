//! Known answers: SciPy, NumPy and statsmodels (fixtures/generate.py), and printed examples.

use cryptbench_stats::{
    equivalent_within, estimate, holm, median, noise_floor, pairs_needed, quantile,
};
use serde_json::Value;

#[test]
fn paired_estimates_match_scipy() {
    let cases = fixture("paired");
    assert!(cases.len() >= 30);
    for case in &cases {
        let name = &case["name"];
        let d = numbers(&case["d"]);
        let found = estimate(&d, number(&case["confidence"])).unwrap();
        assert_eq!(found.pairs, d.len());
        close(found.mean, &case["mean"], 1e-12, "mean", name);
        close(found.sd, &case["sd"], 1e-10, "sd", name);
        close(found.low, &case["low"], 1e-9, "low", name);
        close(found.high, &case["high"], 1e-9, "high", name);
        close(found.p_value, &case["p_value"], 1e-8, "p", name);
        close(found.hodges_lehmann, &case["hodges_lehmann"], 1e-12, "HL", name);
        close(noise_floor(&d).unwrap(), &case["noise_floor"], 1e-12, "noise floor", name);
        assert!((found.high - found.low - 2.0 * found.half_width).abs() < 1e-12);
        match (found.signed_rank, case["signed_rank"].as_array()) {
            (None, None) => {}
            (Some((low, high)), Some(ends)) => {
                close(low, &ends[0], 1e-12, "signed-rank low", name);
                close(high, &ends[1], 1e-12, "signed-rank high", name);
            }
            (found, expected) => panic!("{name}: {found:?}, not {expected:?}"),
        }
    }
}

/// Depression scale of nine patients before and after a tranquilliser: Hollander & Wolfe (1973),
/// *Nonparametric Statistical Methods*, examples 3.1 to 3.3; also in R's help on `wilcox.test`. The
/// book's interval has 96.1 % confidence, the first that the statistic offers above 95 %.
#[test]
#[expect(clippy::approx_constant, reason = "3.14 is a patient's score")]
fn signed_rank_matches_hollander_and_wolfe() {
    let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    let d: Vec<f64> = after.iter().zip(before).map(|(y, x)| y - x).collect();
    let found = estimate(&d, 0.95).unwrap();
    assert!((found.hodges_lehmann - -0.46).abs() < 1e-12);
    let (low, high) = found.signed_rank.unwrap();
    assert!((low - -0.786).abs() < 1e-12 && (high - -0.010).abs() < 1e-12, "{low} {high}");
}

#[test]
fn equivalence_matches_two_scipy_tests() {
    let cases = fixture("equivalence");
    let mut verdicts = [0, 0];
    for case in &cases {
        let (d, margin) = (numbers(&case["d"]), number(&case["margin"]));
        let p = number(&case["p_value"]);
        for alpha in [0.01, 0.05, 0.1] {
            let found = equivalent_within(&d, margin, alpha);
            assert_eq!(found, p < alpha, "p {p}, alpha {alpha}, margin {margin}");
            verdicts[usize::from(found)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&n| n > 5), "both verdicts must occur: {verdicts:?}");
}

#[test]
fn pair_counts_match_trying_every_n() {
    for case in &fixture("pairs_needed") {
        let found = pairs_needed(
            number(&case["sd"]),
            number(&case["half_width"]),
            number(&case["confidence"]),
        );
        assert_eq!(u64::from(found), case["pairs"].as_u64().unwrap(), "{case}");
    }
}

#[test]
fn quantiles_match_numpy() {
    for case in &fixture("quantile") {
        let found = quantile(&numbers(&case["x"]), number(&case["p"])).unwrap();
        close(found, &case["value"], 1e-12, "quantile", case);
    }
    assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
}

#[test]
fn holm_matches_statsmodels() {
    for case in &fixture("holm") {
        let found = holm(&numbers(&case["p"]));
        let expected = numbers(&case["adjusted"]);
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-12, "{case}: {found:?}");
        }
    }
}

fn fixture(name: &str) -> Vec<Value> {
    let text = include_str!("../fixtures/reference.json");
    let document: Value = serde_json::from_str(text).unwrap();
    document[name].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Equal to within `tolerance`, relative to the expected value or to 1e-3, whichever is larger: p-values
/// may be tiny, and their digits matter.
fn close(found: f64, expected: &Value, tolerance: f64, what: &str, case: &Value) {
    let expected = number(expected);
    let allowed = tolerance * expected.abs().max(if what == "p" { 0.0 } else { 1e-3 });
    assert!((found - expected).abs() <= allowed, "{case}: {what} is {found}, not {expected}");
}
