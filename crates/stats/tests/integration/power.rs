//! The probability of detecting a difference, compared with simulation.

use cryptbench_stats::{estimate_unpaired, power_unpaired};
use rand::{RngExt as _, SeedableRng as _};

/// Compared with the share of simulated samples in which Welch's test finds a true difference.
#[test]
fn power_is_how_often_a_difference_is_found() {
    const TIMES: u32 = 3_000;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    // The sum of twelve uniform values is almost normally distributed.
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    for (n, size) in [(6, 1.0), (6, 2.5), (20, 1.0), (20, 0.5)] {
        let (mut found, mut power) = (0, 0.0);
        for _ in 0..TIMES {
            let x: Vec<f64> = (0..n).map(|_| normal()).collect();
            let y: Vec<f64> = (0..n).map(|_| size + normal()).collect();
            found += u32::from(estimate_unpaired(&x, &y, 0.95).unwrap().p_value < 0.01);
            power += power_unpaired(&x, &y, size, 0.01).unwrap();
        }
        let [found, power] = [f64::from(found), power].map(|v| v / f64::from(TIMES));
        assert!((found - power).abs() < 0.06, "{n}, {size}: {found} was found, {power} foretold");
    }
    assert_eq!(power_unpaired(&[1.0, 2.0], &[1.0, 2.0, 3.0], 1.0, 0.01), None);
    assert_eq!(power_unpaired(&[1.0; 3], &[1.0; 3], 1.0, 0.01), Some(1.0));
}
