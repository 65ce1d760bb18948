//! The stopping rule on hand-made data.

use cryptbench_stats::{Decision, StoppingRule, estimate, half_width, pairs_needed};

const RULE: StoppingRule =
    StoppingRule { min_pairs: 6, max_pairs: 20, target: 0.03, confidence: 0.95 };

/// Alternating ±`size` around a 50 % loss: the size of the effect must not matter.
fn alternating(pairs: usize, size: f64) -> Vec<f64> {
    (0..pairs).map(|i| -0.7 + if i % 2 == 0 { size } else { -size }).collect()
}

#[test]
fn quiet_arms_stop_at_the_minimum_and_not_before() {
    for pairs in 0..6 {
        let more = 6 - pairs as u32;
        assert_eq!(RULE.decide(&[alternating(pairs, 1e-4)]), Decision::Continue { more });
    }
    assert_eq!(RULE.decide(&[alternating(6, 1e-4)]), Decision::Precision);
}

#[test]
fn a_narrow_but_not_clear_interval_needs_four_in_a_row() {
    // Half-width at 6 pairs: 2.571 · 0.02 · √(6/5) / √6 = 0.0230, between 0.6 and 1 of ln 1.03 = 0.0296.
    let d = alternating(9, 0.02);
    let half_width = estimate(&d[..6], 0.95).unwrap().half_width;
    assert!(half_width < RULE.limit() && half_width > StoppingRule::CLEAR * RULE.limit());
    for pairs in 6..9 {
        let decision = RULE.decide(&[d[..pairs].to_vec()]);
        assert_eq!(decision, Decision::Continue { more: 1 }, "{pairs} pairs");
    }
    assert_eq!(RULE.decide(&[d]), Decision::Precision);
}

#[test]
fn a_wide_interval_breaks_the_row() {
    // Wide at 6 pairs because of the first value, narrow from some later pair on.
    let mut d = alternating(20, 0.01);
    d[0] += 0.1;
    let narrow: Vec<usize> =
        (6..=20).filter(|&n| half_width(&d[..n], 0.95).unwrap() <= RULE.limit()).collect();
    assert!(narrow[0] > 6, "{narrow:?}");
    let stop = (6..=20).find(|&n| RULE.decide(&[d[..n].to_vec()]) == Decision::Precision);
    assert_eq!(stop, Some(narrow[0] + 3));
}

#[test]
fn the_last_block_may_undo_precision() {
    let mut d = alternating(9, 0.02);
    assert_eq!(RULE.decide(std::slice::from_ref(&d)), Decision::Precision);
    d.push(0.5);
    assert!(matches!(RULE.decide(&[d]), Decision::Continue { more } if more >= 1));
}

#[test]
fn every_arm_must_be_precise() {
    let (quiet, noisy) = (alternating(10, 1e-4), alternating(10, 0.2));
    assert_eq!(RULE.decide(std::slice::from_ref(&quiet)), Decision::Precision);
    let wanted = pairs_needed(estimate(&noisy, 0.95).unwrap().sd, RULE.limit(), 0.95);
    assert!(wanted > 20);
    // The cap limits the forecast.
    assert_eq!(RULE.decide(&[quiet, noisy]), Decision::Continue { more: 10 });
}

#[test]
fn the_cap_counts_the_longest_arm() {
    assert_eq!(RULE.decide(&[alternating(20, 0.2)]), Decision::PairCap);
    assert_eq!(RULE.decide(&[alternating(20, 0.2), vec![]]), Decision::PairCap);
    assert_eq!(RULE.decide(&[vec![]]), Decision::Continue { more: 6 });
    // If the precision is reached at the cap, the decision is that it is reached.
    assert_eq!(RULE.decide(&[alternating(20, 1e-4)]), Decision::Precision);
    assert_eq!(RULE.decide(&[]), Decision::Precision);
}

#[test]
fn the_target_is_a_fraction_of_speed() {
    assert!((RULE.limit() - 1.03_f64.ln()).abs() < 1e-15);
}

/// The decision must depend only on the spread, not on the size of the effect.
#[test]
fn the_mean_plays_no_part() {
    for size in [1e-4, 0.015, 0.02, 0.05, 0.1] {
        for pairs in 3..20 {
            let d = alternating(pairs, size);
            let none: Vec<f64> = d.iter().map(|x| x + 0.7).collect();
            assert_eq!(RULE.decide(&[d]), RULE.decide(&[none]));
        }
    }
}
