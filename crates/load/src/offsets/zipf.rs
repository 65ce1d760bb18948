//! Ranks with a Zipf distribution.
//!
//! Rejection-inversion (Hörmann, Derflinger: Rejection-Inversion to Generate Variates from Monotone Discrete
//! Distributions, ACM TOMACS 6(3), 1996). The method is exact for every exponent and any number of ranks, without
//! tables, in constant expected time.

use super::splitmix;

/// Maximum number of draws before the most popular rank is used. Fewer than half of the draws are rejected.
const DRAWS: u64 = 64;

/// Ranks 1 to n; rank k has a probability proportional to k^-theta.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    theta: f64,
    n: f64,
    /// The hat function's integral up to just below the first rank, and up to just above the last rank.
    low: f64,
    high: f64,
    /// A rank that exceeds its draw by at most this amount is accepted without evaluating the hat function.
    shortcut: f64,
}

impl Zipf {
    /// `n` must not be zero; `theta` must be finite and above 0.
    pub(super) fn new(n: u64, theta: f64) -> Self {
        let mut zipf = Self { theta, n: n as f64, low: 0.0, high: 0.0, shortcut: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.hat(2.0));
        zipf
    }

    /// The rank, from 1, for the SplitMix64 sequence with this seed.
    #[inline]
    pub(super) fn rank(&self, seed: u64) -> u64 {
        for draw in 0..DRAWS {
            // 53 random bits, in (0, 1].
            let uniform = ((splitmix(seed, draw) >> 11) + 1) as f64 * f64::EPSILON / 2.0;
            let u = self.low + uniform * (self.high - self.low);
            let x = self.inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.n);
            if rank - x <= self.shortcut || u >= self.integral(rank + 0.5) - self.hat(rank) {
                return rank as u64;
            }
        }
        1
    }

    /// x^-theta.
    fn hat(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// (x^(1 - theta) - 1) / (1 - theta), and ln x for theta 1.
    fn integral(&self, x: f64) -> f64 {
        let ln = x.ln();
        ratio((1.0 - self.theta) * ln, f64::exp_m1) * ln
    }

    /// The inverse of `integral`.
    fn inverse(&self, y: f64) -> f64 {
        // Rounding can make the product less than -1, where the logarithm is undefined.
        let t = (y * (1.0 - self.theta)).max(-1.0);
        (ratio(t, f64::ln_1p) * y).exp()
    }
}

/// f(x) / x for a function f with f(0) = 0 and derivative 1 at 0.
fn ratio(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    if x.abs() < 1e-300 { 1.0 } else { f(x) / x }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compares observed with exact frequencies: chi-squared with 19 degrees of freedom, 99.99 %
    /// quantile 53.
    #[test]
    fn frequencies_are_exact() {
        for theta in [0.2, 0.5, 0.99, 1.0, 1.000_000_1, 1.2, 2.5] {
            let zipf = Zipf::new(20, theta);
            let draws = 100_000;
            let mut seen = [0f64; 20];
            for i in 0..draws {
                seen[zipf.rank(splitmix(4711, i)) as usize - 1] += 1.0;
            }
            let weight = |k: usize| ((k + 1) as f64).powf(-theta);
            let sum: f64 = (0..20).map(weight).sum();
            let chi2: f64 = (0..20)
                .map(|k| {
                    let expected = draws as f64 * weight(k) / sum;
                    (seen[k] - expected).powi(2) / expected
                })
                .sum();
            assert!(chi2 < 53.0, "theta {theta}: {chi2}");
        }
    }

    proptest! {
        #[test]
        fn ranks_stay_in_range(n in 1u64..1 << 54, theta in 1e-9f64..50.0, seed: u64) {
            let rank = Zipf::new(n, theta).rank(seed);
            prop_assert!((1..=n).contains(&rank), "{}", rank);
        }
    }
}
