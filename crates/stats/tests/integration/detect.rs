//! The detectable difference agrees with the t test and Holm, and shrinks with the square root of n.

use cryptbench_stats::{
    FAMILY_LEVEL, StoppingRule, estimate, half_width_to_find, holm, noise_of_mean,
    smallest_detectable,
};
use proptest::prelude::*;

/// Student's t in printed tables: t(9; 0.995) = 3.250, t(9; 0.975) = 2.262, t(24; 0.995) = 2.797.
#[test]
fn detectable_sizes_match_printed_tables() {
    for (pairs, cells, level, t) in
        [(10, 1, 0.01, 3.250), (10, 1, 0.05, 2.262), (25, 1, 0.01, 2.797), (10, 5, 0.05, 3.250)]
    {
        let found = smallest_detectable(0.2, pairs, cells, level);
        let expected = t * 0.2 / (pairs as f64).sqrt();
        assert!((found / expected - 1.0).abs() < 3e-4, "{found}, not {expected}");
    }
}

#[test]
fn nothing_is_detectable_without_a_test() {
    for (sd, pairs, cells, level) in [
        (0.1, 2, 8, 0.01),
        (0.1, 10, 0, 0.01),
        (0.1, 10, 8, 0.0),
        (0.1, 10, 8, 1.0),
        (0.1, 10, 8, -0.1),
        (0.1, 10, 8, f64::NAN),
        (f64::NAN, 10, 8, 0.01),
        (-0.1, 10, 8, 0.01),
    ] {
        let found = smallest_detectable(sd, pairs, cells, level);
        assert_eq!(found, f64::INFINITY, "{sd} {pairs} {cells} {level}");
    }
    assert_eq!(smallest_detectable(0.0, 10, 8, 0.01), 0.0);
}

#[test]
fn the_noise_of_a_mean_shrinks_with_the_root_of_its_pairs() {
    assert_eq!(noise_of_mean(0.28, 1), 0.28);
    assert!((noise_of_mean(0.28, 16) - 0.07).abs() < 1e-15);
    assert_eq!(noise_of_mean(0.28, 0), f64::INFINITY);
    assert_eq!(noise_of_mean(0.0, 0), f64::INFINITY);
}

/// z(0.975) = 1.960, z(0.9) = 1.2816, z(1 - 0.01 / 16) = 3.2272, z(0.995) = 2.5758.
#[test]
fn what_finds_a_cost_is_narrower_than_the_cost() {
    for (cells, claim) in [(8, 3.2272), (1, 2.5758)] {
        let found = half_width_to_find(0.03, cells, 0.95, 0.9);
        let expected = 0.03 * 1.960 / (claim + 1.2816);
        assert!((found / expected - 1.0).abs() < 1e-4, "{found}, not {expected}");
    }
    assert_eq!(half_width_to_find(0.03, 0, 0.95, 0.9), 0.0);
    assert_eq!(half_width_to_find(0.03, 8, 1.0, 0.9), 0.0);
    assert_eq!(half_width_to_find(0.03, 8, 0.95, 1.0), 0.0);
    assert_eq!(half_width_to_find(f64::NAN, 8, 0.95, 0.9), 0.0);
    let rule = StoppingRule::default().to_find_its_target(8);
    assert!((rule.target - 0.0129).abs() < 1e-4, "{rule:?}");
}

proptest! {
    /// Among cells without a difference, Holm claims a mean just above the detectable size and none just below it.
    #[test]
    fn holm_claims_from_that_size_on(
        d in proptest::collection::vec(-0.2..0.2f64, 6..60),
        cells in 1..12usize,
    ) {
        let centre = estimate(&d, 0.95).unwrap().mean;
        let size = smallest_detectable(estimate(&d, 0.95).unwrap().sd, d.len(), cells, FAMILY_LEVEL);
        for (factor, claimed) in [(1.001, true), (0.999, false), (-1.001, true)] {
            let moved: Vec<f64> = d.iter().map(|x| x - centre + factor * size).collect();
            let mut p = vec![0.9; cells];
            p[cells / 2] = estimate(&moved, 0.95).unwrap().p_value;
            prop_assert_eq!(holm(&p)[cells / 2] < FAMILY_LEVEL, claimed);
        }
    }
}
