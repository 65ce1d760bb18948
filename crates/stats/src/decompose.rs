//! Locates a loss: plain → layer → cipher, step by step, each step with its interval.
//!
//! Every arm of the chain ran once in every block, so each block has its own steps. They add up exactly to the
//! whole: ln(E/P) = ln(N/P) + ln(E/N) for speeds, and E - P = (N - P) + (E - N) for CPU seconds per GiB or time per
//! request. The steps are then estimated like any other difference between two arms.

use crate::paired::{PairedEstimate, Spread, estimate};
use crate::student;

/// The comparison of two neighbours of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// d = ln(after / before), for speeds: steps multiply.
    Log,
    /// d = after - before, in the values' unit, for CPU time and time per request: steps add.
    Difference,
}

/// A decomposed chain of arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Waterfall {
    /// The change from each arm to the next, in chain order: one fewer than the number of arms.
    pub steps: Vec<Step>,
    /// Every arm except the first, compared with the first; the last one is the whole. With two arms this
    /// equals `steps`.
    pub levels: Vec<PairedEstimate>,
}

/// One step of a [`Waterfall`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The change from the previous arm.
    pub change: PairedEstimate,
    /// The step's share of the whole change. `None` if the whole does not differ significantly from zero, because a
    /// share would then be meaningless.
    pub share: Option<Share>,
}

/// A part of a whole: 0.3 means 30 %. Negative, or above 1, if steps have opposite signs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Mean of the part divided by mean of the whole.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Decomposes a chain of arms. `chain[i][b]` is the value of arm i in block b, for example speeds
/// of plain, null layer and encrypted, in this order.
///
/// `None` for fewer than two arms, arms with different numbers of blocks, fewer than 3 blocks,
/// values that are not finite (for [`Scale::Log`] also values that are not positive), or a
/// confidence outside (0, 1).
pub fn decompose(chain: &[&[f64]], scale: Scale, confidence: f64) -> Option<Waterfall> {
    let (first, rest) = chain.split_first()?;
    if rest.is_empty() || rest.iter().any(|arm| arm.len() != first.len()) {
        return None;
    }
    let change = |before: &[f64], after: &[f64]| -> Vec<f64> {
        let d = |(b, a): (&f64, &f64)| match scale {
            // Not ln(a / b), because its rounding would prevent the steps from adding up.
            Scale::Log => a.ln() - b.ln(),
            Scale::Difference => a - b,
        };
        before.iter().zip(after).map(d).collect()
    };
    let levels: Vec<Vec<f64>> = rest.iter().map(|arm| change(first, arm)).collect();
    let whole = levels.last()?;
    let steps = chain
        .windows(2)
        .map(|pair| {
            let d = change(pair[0], pair[1]);
            Some(Step { change: estimate(&d, confidence)?, share: share(&d, whole, confidence) })
        })
        .collect::<Option<_>>()?;
    let levels = levels.iter().map(|d| estimate(d, confidence)).collect::<Option<_>>()?;
    Some(Waterfall { steps, levels })
}

/// The ratio of the means of `part` and `whole`, block by block, with Fieller's interval: all
/// shares r for which a t test does not reject that part - r · whole is 0 on average.
///
/// Fieller 1954, *Some Problems in Interval Estimation*, J. R. Stat. Soc. B 16:175. `None` if the
/// interval is unbounded, that is, if `whole` does not differ significantly from 0 at this
/// confidence; and if [`estimate`] returns `None`.
pub fn share(part: &[f64], whole: &[f64], confidence: f64) -> Option<Share> {
    if part.len() != whole.len() {
        return None;
    }
    let (p, w) = (Spread::of(part)?, Spread::of(whole)?);
    let n = p.pairs as f64;
    let product: f64 =
        part.iter().zip(whole).map(|(x, y)| (x - p.mean) * (y - w.mean)).sum::<f64>() / (n - 1.0);
    let t2 = student::interval_quantile(n - 1.0, confidence)?.powi(2) / n;
    // r² a - 2 r b + c ≤ 0 holds between the two ends.
    let a = w.mean * w.mean - t2 * w.sd * w.sd;
    let b = p.mean * w.mean - t2 * product;
    let c = p.mean * p.mean - t2 * p.sd * p.sd;
    if a.is_nan() || a <= 0.0 {
        return None;
    }
    let half = (b * b - a * c).max(0.0).sqrt() / a;
    let share = Share { value: p.mean / w.mean, low: b / a - half, high: b / a + half };
    [share.value, share.low, share.high].iter().all(|v| v.is_finite()).then_some(share)
}
