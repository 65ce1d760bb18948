//! Quantiles and p-values of Student's t distribution, defined for every input.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::distribution::{normal_area, normal_quantile, student_density, student_tail};

/// From this many degrees of freedom the expansion around the normal quantile is exact to 12 digits.
const EXPAND_FROM: f64 = 2000.0;

/// Smaller tails are refused, because their areas leave the range of normal numbers.
const SMALLEST_TAIL: f64 = 1e-100;

/// Number of quantiles cached per thread: a run requests only a few, repeatedly.
const KEPT: usize = 4096;

thread_local! {
    /// By the bits of the degrees of freedom and the tail.
    static KNOWN: RefCell<HashMap<[u64; 2], Option<f64>>> = RefCell::default();
}

/// The t that leaves `tail` (1e-100 ≤ tail < 0.5) above it with `df` degrees of freedom (any
/// positive number); `None` if that is undefined.
pub(crate) fn upper_quantile(df: f64, tail: f64) -> Option<f64> {
    if !(SMALLEST_TAIL..0.5).contains(&tail) || df.is_nan() || df <= 0.0 {
        return None;
    }
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KEPT {
            known.clear();
        }
        *known.entry([df, tail].map(f64::to_bits)).or_insert_with(|| {
            let z = -normal_quantile(tail);
            if df >= EXPAND_FROM { Some(expand(df, z)) } else { solve(df, tail, z) }
        })
    })
}

/// The t of a two-sided interval of `confidence` (0 < confidence < 1).
pub(crate) fn interval_quantile(df: f64, confidence: f64) -> Option<f64> {
    upper_quantile(df, (1.0 - confidence) / 2.0)
}

/// Two-sided p-value of a t statistic: 0 for an infinite statistic, 1 for NaN.
pub(crate) fn two_sided_p(df: f64, t: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return 1.0;
    }
    match t.abs() {
        f64::INFINITY => 0.0,
        t if df.is_infinite() => 2.0 * normal_area(-t),
        t => (2.0 * student_tail(df, t)).min(1.0),
    }
}

/// Newton's method on ln(upper tail) as a function of ln t; `z` is the normal quantile.
///
/// That function is concave and decreasing, so after the first step the iterates approach the root
/// from the right and cannot diverge; a few steps suffice.
fn solve(df: f64, tail: f64, z: f64) -> Option<f64> {
    // Far in the tail the expansion can leave the range altogether; there `z` is a good enough
    // start.
    let start = if z < 4.0 { expand(df, z) } else { z };
    let mut t = start.max(f64::MIN_POSITIVE);
    for _ in 0..60 {
        let above = student_tail(df, t);
        let step = (above / tail).ln() * above / (t * student_density(df, t));
        if !step.is_finite() {
            return None;
        }
        t *= step.exp();
        if step.abs() < 1e-13 {
            break;
        }
    }
    t.is_finite().then_some(t)
}

/// Expansion of the t quantile around the normal quantile `z` in powers of 1/df: Abramowitz & Stegun,
/// *Handbook of Mathematical Functions*, 26.7.5.
fn expand(df: f64, z: f64) -> f64 {
    let z2 = z * z;
    let g1 = (z2 + 1.0) * z / 4.0;
    let g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
    let g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
    z + (g1 + (g2 + g3 / df) / df) / df
}

#[cfg(test)]
mod tests {
    use super::{two_sided_p, upper_quantile};

    /// `scipy.stats.t.isf(tail, df)`, SciPy 1.17.1.
    #[test]
    fn quantiles_match_scipy() {
        for (df, tail, expected) in SCIPY {
            let found = upper_quantile(f64::from(df), tail).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-9, "{df}, {tail}: {found}, not {expected}");
        }
    }

    #[test]
    fn quantile_and_tail_area_are_inverse() {
        for df in (2..60).chain([100, 199, 500, 1999, 2000, 10_000]).map(f64::from) {
            for tail in [0.4999, 0.3, 0.1, 0.025, 0.005, 1e-4, 1e-8] {
                let back = two_sided_p(df, upper_quantile(df, tail).unwrap()) / 2.0;
                assert!((back / tail - 1.0).abs() < 1e-8, "{df}, {tail}: {back}");
            }
        }
    }

    const SCIPY: [(u32, f64, f64); 55] = [
        (2, 0.25, 0.8164965809277261),
        (2, 0.025, 4.302652729749464),
        (2, 0.005, 9.924843200918293),
        (2, 1e-06, 707.1057205259339),
        (2, 1e-20, 7071067811.865476),
        (4, 0.25, 0.7406970841126829),
        (4, 0.025, 2.7764451051977943),
        (4, 0.005, 4.604094871349993),
        (4, 1e-06, 41.577854150450975),
        (4, 1e-20, 131607.4012825853),
        (5, 0.25, 0.7266868438004226),
        (5, 0.025, 2.5705818356363155),
        (5, 0.005, 4.032142983555229),
        (5, 1e-06, 24.771029720515948),
        (5, 1e-20, 15683.925454365775),
        (7, 0.25, 0.7111417780817866),
        (7, 0.025, 2.3646242515927844),
        (7, 0.005, 3.4994832973504932),
        (7, 1e-06, 14.241469651981445),
        (7, 1e-20, 1445.7919808114368),
        (30, 0.25, 0.6827556933212927),
        (30, 0.025, 2.042272456301238),
        (30, 0.005, 2.749995653567226),
        (30, 1e-06, 5.871117120418882),
        (30, 1e-20, 22.658878371940183),
        (199, 0.25, 0.6757245956106454),
        (199, 0.025, 1.9719565442517537),
        (199, 0.005, 2.6007602160585166),
        (199, 1e-06, 4.898044059397847),
        (199, 1e-20, 10.371808571302585),
        (1999, 0.25, 0.6746124989153225),
        (1999, 0.025, 1.9611514201705618),
        (1999, 0.005, 2.5782910195219237),
        (1999, 1e-06, 4.767487194970644),
        (1999, 1e-20, 9.36380419421725),
        (2000, 0.25, 0.6746124375310217),
        (2000, 0.025, 1.9611508260994381),
        (2000, 0.005, 2.578289787557519),
        (2000, 1e-06, 4.767480145393622),
        (5000, 0.25, 0.6745388203608743),
        (5000, 0.025, 1.9604385517065075),
        (5000, 0.005, 2.5768129665562807),
        (5000, 1e-06, 4.759037953505102),
        (100000, 0.25, 0.674492203553292),
        (100000, 0.025, 1.95998770753461),
        (100000, 0.005, 2.5758784699083757),
        (100000, 1e-06, 4.753704716391288),
        (10000000, 0.25, 0.6744897747295749),
        (10000000, 0.025, 1.9599642217672055),
        (10000000, 0.005, 2.575829795203749),
        (10000000, 1e-06, 4.753427112755577),
        (4000000000, 0.25, 0.6744897502574153),
        (4000000000, 0.025, 1.9599639851331219),
        (4000000000, 0.005, 2.5758293047780376),
        (4000000000, 1e-06, 4.753424315832728),
    ];
}
