//! Inputs of a failed or perfectly quiet run: too few, equal, or not finite.

use cryptbench_stats::{
    Decision, StoppingRule, equivalent_within, estimate, holm, median, noise_floor, pairs_needed,
    quantile, smallest_detectable,
};
use proptest::prelude::*;

#[test]
fn too_few_or_broken_values_give_no_estimate() {
    assert_eq!(estimate(&[], 0.95), None);
    assert_eq!(estimate(&[0.1, 0.2], 0.95), None);
    assert!(estimate(&[0.1, 0.2, 0.3], 0.95).is_some());
    for broken in [f64::NAN, f64::INFINITY, f64::MAX] {
        assert_eq!(estimate(&[0.1, broken, -0.3, 0.2], 0.95), None);
        assert!(!equivalent_within(&[0.1, broken, -0.3, 0.2], f64::INFINITY, 0.05));
    }
    for confidence in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
        assert_eq!(estimate(&[0.1, 0.2, 0.3], confidence), None);
        assert_eq!(pairs_needed(0.1, 0.1, confidence), u32::MAX);
    }
    assert_eq!(noise_floor(&[0.1, -0.2]), None);
    assert_eq!(noise_floor(&[0.1, -0.2, f64::NAN]), None);
    assert_eq!(noise_floor(&[0.1, -0.2, 0.0]), Some(0.19));
}

#[test]
fn equal_values_give_an_interval_without_width() {
    let same = estimate(&[-0.1; 7], 0.95).unwrap();
    assert_eq!((same.mean, same.sd, same.low, same.high), (-0.1, 0.0, -0.1, -0.1));
    assert_eq!((same.p_value, same.hodges_lehmann), (0.0, -0.1));
    assert_eq!(same.signed_rank, Some((-0.1, -0.1)));
    assert_eq!(estimate(&[0.0; 7], 0.95).unwrap().p_value, 1.0);
    assert!(equivalent_within(&[0.01; 3], 0.02, 0.05));
    assert!(!equivalent_within(&[0.02; 3], 0.02, 0.05));
}

#[test]
fn signed_rank_interval_starts_at_six_pairs() {
    let d = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    assert_eq!(estimate(&d[..5], 0.95).unwrap().signed_rank, None);
    assert_eq!(estimate(&d, 0.95).unwrap().signed_rank, Some((0.1, 0.6)));
}

#[test]
fn pairs_needed_saturates() {
    assert_eq!(pairs_needed(0.0, 0.03, 0.95), 3);
    assert_eq!(pairs_needed(0.1, 0.0, 0.95), u32::MAX);
    assert_eq!(pairs_needed(0.1, -1.0, 0.95), u32::MAX);
    assert_eq!(pairs_needed(f64::NAN, 0.03, 0.95), u32::MAX);
    assert_eq!(pairs_needed(f64::INFINITY, 0.03, 0.95), u32::MAX);
    assert_eq!(pairs_needed(1e6, 1e-6, 0.95), u32::MAX);
}

#[test]
fn quantiles_refuse_what_has_no_order() {
    assert_eq!(quantile(&[], 0.5), None);
    assert_eq!(quantile(&[1.0, f64::NAN], 0.5), None);
    assert_eq!(quantile(&[1.0, 2.0], 1.1), None);
    assert_eq!(quantile(&[1.0, 2.0], f64::NAN), None);
    assert_eq!(quantile(&[f64::INFINITY; 3], 0.4), Some(f64::INFINITY));
    assert_eq!(median(&[]), None);
}

#[test]
fn holm_reads_nan_as_no_evidence() {
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(holm(&[f64::NAN, 0.01, 2.0]), [1.0, 0.03, 1.0]);
}

proptest! {
    #[test]
    fn anything_at_all_is_survived(
        d in proptest::collection::vec(proptest::num::f64::ANY, 0..40),
        a in proptest::num::f64::ANY,
        b in proptest::num::f64::ANY,
        pairs in any::<[u32; 2]>(),
    ) {
        if let Some(e) = estimate(&d, a) {
            prop_assert!(e.low <= e.high && (0.0..=1.0).contains(&e.p_value));
        }
        equivalent_within(&d, a, b);
        noise_floor(&d);
        quantile(&d, b);
        pairs_needed(a, b, 0.95);
        prop_assert!(smallest_detectable(a, d.len(), d.len(), b) >= 0.0);
        prop_assert!(holm(&d).iter().all(|p| (0.0..=1.0).contains(p)));
        let rule = StoppingRule { min_pairs: pairs[0], max_pairs: pairs[1], target: a, confidence: b };
        if let Decision::Continue { more } = rule.decide(std::slice::from_ref(&d)) {
            prop_assert!(more >= 1 && d.len() as u64 + u64::from(more) <= u64::from(pairs[1]));
        }
    }

    #[test]
    fn estimates_follow_a_shift_and_a_change_of_sign(
        d in proptest::collection::vec(-0.5..0.5f64, 6..30),
        shift in -1.0..1.0f64,
    ) {
        let base = estimate(&d, 0.95).unwrap();
        let moved: Vec<f64> = d.iter().map(|x| x + shift).collect();
        let moved = estimate(&moved, 0.95).unwrap();
        let mirrored: Vec<f64> = d.iter().map(|x| -x).collect();
        let mirrored = estimate(&mirrored, 0.95).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        prop_assert!(near(moved.low, base.low + shift) && near(moved.half_width, base.half_width));
        prop_assert!(near(moved.hodges_lehmann, base.hodges_lehmann + shift));
        prop_assert!(near(mirrored.low, -base.high) && near(mirrored.p_value, base.p_value));
        let ((low, high), (m_low, m_high)) =
            (base.signed_rank.unwrap(), mirrored.signed_rank.unwrap());
        prop_assert!(near(m_low, -high) && near(m_high, -low));
        prop_assert!(low <= base.hodges_lehmann && base.hodges_lehmann <= high);
    }

    #[test]
    fn holm_lies_between_the_raw_and_the_bonferroni_values(
        p in proptest::collection::vec(0.0..=1.0f64, 1..20),
    ) {
        let adjusted = holm(&p);
        for (i, (raw, a)) in p.iter().zip(&adjusted).enumerate() {
            prop_assert!(*a >= *raw && *a <= (raw * p.len() as f64).min(1.0));
            for (other_raw, other) in p.iter().zip(&adjusted).skip(i) {
                prop_assert!((raw <= other_raw) || (a >= other));
                prop_assert!((raw >= other_raw) || (a <= other));
            }
        }
    }
}
