//! The distribution-free companion of the t interval: Hodges-Lehmann and the signed-rank interval.
//!
//! Both use the sorted Walsh averages (dᵢ + dⱼ)/2, i ≤ j. Their median is the Hodges-Lehmann
//! estimate. Two of their order statistics, chosen from the null distribution of Wilcoxon's
//! signed-rank statistic, form the interval (Hollander & Wolfe, *Nonparametric Statistical
//! Methods*, §3.2-3.3). The method assumes that d is symmetric about its centre, not that it is
//! normal. Ties and zeros are kept; they can make the interval wider than necessary, but never too
//! narrow.

use std::cell::Cell;

use crate::distribution::normal_quantile;

/// Up to this many pairs the null distribution is counted exactly (an `f64` still holds 2⁵⁰ exactly). For more
/// pairs, the normal approximation with continuity correction replaces it.
const EXACT_UP_TO: usize = 50;

/// The n(n+1)/2 averages of each value with itself and every other, ascending.
pub fn walsh_averages(d: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> = d
        .iter()
        .enumerate()
        .flat_map(|(i, a)| d[i..].iter().map(move |b| a + (b - a) / 2.0))
        .collect();
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The Hodges-Lehmann estimate: the median of the averages that [`walsh_averages`] returned.
pub fn centre(walsh: &[f64]) -> Option<f64> {
    let (&low, &high) = (walsh.get(walsh.len().checked_sub(1)? / 2)?, walsh.get(walsh.len() / 2)?);
    Some(low + (high - low) / 2.0)
}

/// The interval of at least `confidence` for the centre of `pairs` values, from the averages that
/// [`walsh_averages`] returned for them. `None` if no interval reaches that confidence.
pub fn interval(walsh: &[f64], pairs: usize, confidence: f64) -> Option<(f64, f64)> {
    let tail = (1.0 - confidence) / 2.0;
    if !(tail > 0.0 && tail < 0.5) {
        return None;
    }
    let cut = if pairs <= EXACT_UP_TO { exact_cut(pairs, tail) } else { normal_cut(pairs, tail) };
    let low = walsh.get(cut.checked_sub(1)?)?;
    let high = walsh.get(walsh.len().checked_sub(cut)?)?;
    Some((*low, *high))
}

thread_local! {
    /// The latest critical value for each number of pairs, and its tail, because all intervals of a run share them.
    static KNOWN: [Cell<Option<(f64, usize)>>; EXACT_UP_TO + 1] =
        const { [const { Cell::new(None) }; EXACT_UP_TO + 1] };
}

/// [`count_cut`], cached: it is computed once for each number of pairs.
fn exact_cut(pairs: usize, tail: f64) -> usize {
    KNOWN.with(|known| match known[pairs].get() {
        Some((known, cut)) if known == tail => cut,
        _ => {
            let cut = count_cut(pairs, tail);
            known[pairs].set(Some((tail, cut)));
            cut
        }
    })
}

/// How many values t = 0, 1, … have P(T ≤ t) ≤ `tail`, for the statistic T of `pairs` pairs.
fn count_cut(pairs: usize, tail: f64) -> usize {
    let largest = pairs * (pairs + 1) / 2;
    // ways[t]: how many of the 2ⁿ sign patterns give rank sum t.
    let mut ways = vec![0.0_f64; largest + 1];
    ways[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (rank..=largest).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let patterns = 2.0_f64.powi(pairs as i32);
    ways.iter()
        .scan(0.0, |below, w| {
            *below += w;
            Some(*below)
        })
        .take_while(|below| below / patterns <= tail)
        .count()
}

/// [`exact_cut`] by the normal approximation of T.
fn normal_cut(pairs: usize, tail: f64) -> usize {
    let n = pairs as f64;
    let mean = n * (n + 1.0) / 4.0;
    let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    // P(T ≤ t) ≈ Φ((t + ½ - mean) / sd) ≤ tail holds for t = 0 … cut - 1. A negative cut becomes 0.
    (mean + sd * normal_quantile(tail) + 0.5).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::{exact_cut, normal_cut};

    /// Two-sided critical values at 5 % and 1 % as textbooks print them (reject when T is at most
    /// that): Wilcoxon & Wilcox (1964), *Some Rapid Approximate Statistical Procedures*.
    /// The cut is one more, since T counts from 0.
    #[test]
    fn cuts_match_the_printed_table() {
        let five_percent = [
            (6, 0),
            (7, 2),
            (8, 3),
            (9, 5),
            (10, 8),
            (11, 10),
            (12, 13),
            (15, 25),
            (20, 52),
            (25, 89),
        ];
        for (pairs, critical) in five_percent {
            assert_eq!(exact_cut(pairs, 0.025), critical + 1, "{pairs} pairs");
        }
        for (pairs, critical) in [(8, 0), (9, 1), (10, 3), (12, 7), (15, 15), (20, 37)] {
            assert_eq!(exact_cut(pairs, 0.005), critical + 1, "{pairs} pairs");
        }
        assert_eq!(exact_cut(5, 0.025), 0);
    }

    #[test]
    fn approximation_joins_the_exact_cut() {
        for pairs in 40..=50 {
            for tail in [0.05, 0.025, 0.005] {
                let (exact, normal) = (exact_cut(pairs, tail), normal_cut(pairs, tail));
                assert!(exact.abs_diff(normal) <= 5, "{pairs} pairs: {exact} and {normal}");
            }
        }
    }
}
