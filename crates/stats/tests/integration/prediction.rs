//! The prediction interval of one more run: a known answer, its coverage by simulation, and invalid input.

use cryptbench_stats::{holm, predict, smallest_change};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A standard normal value (Box & Muller).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[test]
fn a_known_answer() {
    // Mean 50.1, standard deviation 1.313392. The t quantile for 4 degrees of freedom is 2.776445 (any table), so
    // half the width is 2.776445 * 1.313392 * sqrt(1.2) = 3.9946.
    let p = predict(&[51.4, 49.5, 48.7, 49.3, 51.6], 54.0946, 0.95).unwrap();
    assert!((p.mean - 50.1).abs() < 1e-12);
    assert!((p.sd - 1.313_392).abs() < 1e-6);
    assert!((p.low - 46.105_4).abs() < 1e-3 && (p.high - 54.094_6).abs() < 1e-3, "{p:?}");
    // At the end of the interval, p is 1 minus the interval's confidence.
    assert!((p.p_value - 0.05).abs() < 1e-4, "{p:?}");
}

#[test]
fn one_more_of_the_same_lies_within_as_often_as_said() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for k in [4, 5, 10, 30] {
        let rounds = 4000;
        let inside = (0..rounds).filter(|_| {
            let earlier: Vec<f64> = (0..k).map(|_| 3.0 + 0.05 * normal(&mut random)).collect();
            let newest = 3.0 + 0.05 * normal(&mut random);
            let p = predict(&earlier, newest, 0.95).unwrap();
            p.low <= newest && newest <= p.high
        });
        let share = inside.count() as f64 / f64::from(rounds);
        // 4 standard errors of 0.95 over 4000.
        assert!((share - 0.95).abs() < 0.014, "{k}: {share}");
    }
}

#[test]
fn false_alarms_over_the_cells_of_a_record_stay_below_the_level() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let rounds = 2000;
    let alarms = (0..rounds).filter(|_| {
        let p: Vec<f64> = (0..24)
            .map(|_| {
                let earlier: Vec<f64> = (0..6).map(|_| normal(&mut random)).collect();
                predict(&earlier, normal(&mut random), 0.95).unwrap().p_value
            })
            .collect();
        holm(&p).iter().any(|p| *p < 0.05)
    });
    let share = alarms.count() as f64 / f64::from(rounds);
    assert!(share < 0.07 && share > 0.03, "{share}");
}

#[test]
fn the_smallest_change_is_where_holms_first_step_claims() {
    let earlier = [1.0, 1.1, 0.9, 1.05, 0.95];
    let sd = predict(&earlier, 1.0, 0.95).unwrap().sd;
    let change = smallest_change(sd, 5, 10, 0.01).unwrap();
    let at = |d: f64| predict(&earlier, 1.0 - d, 0.95).unwrap().p_value * 10.0;
    assert!(at(change * 1.001) < 0.01 && at(change * 0.999) > 0.01);
}

#[test]
fn too_little_or_unfit_is_refused() {
    assert_eq!(predict(&[1.0, 2.0, 3.0], 2.0, 0.95), None);
    assert_eq!(predict(&[1.0, 2.0, 3.0, f64::NAN], 2.0, 0.95), None);
    assert_eq!(predict(&[1.0, 2.0, 3.0, 4.0], f64::INFINITY, 0.95), None);
    assert_eq!(predict(&[1.0, 2.0, 3.0, 4.0], 2.0, 1.0), None);
    let same = predict(&[1.0; 5], 1.0, 0.95).unwrap();
    assert_eq!((same.p_value, predict(&[1.0; 5], 1.1, 0.95).unwrap().p_value), (1.0, 0.0));
    assert_eq!((smallest_change(1.0, 3, 1, 0.01), smallest_change(1.0, 4, 0, 0.01)), (None, None));
}
