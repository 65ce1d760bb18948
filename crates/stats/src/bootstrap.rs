//! Intervals for figures without a formula: medians, percentiles, ratios of sums.
//!
//! The bootstrap draws blocks with replacement and recomputes the figure from each draw. For the mean of d use
//! [`paired`](crate::paired): with ten pairs a bootstrap interval is too narrow, as the simulation in
//! `tests/explanation.rs` and docs/methodology.md show. The bootstrap is for figures without a t interval that
//! are based on many trials.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::distribution::{normal_area, normal_quantile};
use crate::noise_floor::quantile;
use crate::paired::FEWEST_PAIRS;
use crate::schedule::below;

/// A figure with its bootstrap interval, in the figure's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// The figure of the data itself.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The bias-corrected and accelerated interval (BCa) of `figure`.
///
/// `figure` receives block numbers (0 to `blocks` - 1, some of them repeatedly) and computes the
/// figure from those blocks, so the trials of a block stay together. `seed` makes the draws
/// repeatable. For 95 %, use 2,000 `resamples` or more. Efron 1987, *Better Bootstrap Confidence
/// Intervals*, J. Am. Stat. Assoc. 82:171.
///
/// `None` for fewer than 3 blocks, fewer than 100 resamples, a confidence outside (0, 1), and if
/// `figure` is not finite for the data, for a draw, or for the data without one block.
pub fn bootstrap(
    blocks: usize,
    figure: impl Fn(&[usize]) -> Option<f64>,
    confidence: f64,
    resamples: u32,
    seed: u64,
) -> Option<Bootstrap> {
    let sane = blocks >= FEWEST_PAIRS && resamples >= 100 && confidence > 0.0 && confidence < 1.0;
    if !sane {
        return None;
    }
    let figure = |drawn: &[usize]| figure(drawn).filter(|v| v.is_finite());
    let all: Vec<usize> = (0..blocks).collect();
    let estimate = figure(&all)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = all.clone();
    let figures: Vec<f64> = (0..resamples)
        .map(|_| {
            drawn.fill_with(|| below(&mut random, blocks as u64) as usize);
            figure(&drawn)
        })
        .collect::<Option<_>>()?;
    let left_out: Vec<f64> = (0..blocks)
        .map(|out| figure(&all.iter().copied().filter(|i| *i != out).collect::<Vec<_>>()))
        .collect::<Option<_>>()?;
    // The share of draws below the estimate; equal ones count half.
    let share = figures
        .iter()
        .map(|f| 0.5 * (f64::from(*f < estimate) + f64::from(*f <= estimate)))
        .sum::<f64>()
        / f64::from(resamples);
    if share == 0.0 || share == 1.0 {
        // All draws are on one side, so there is no interval to correct.
        return None;
    }
    let bias = normal_quantile(share);
    let acceleration = acceleration(&left_out);
    let end = |tail: f64| {
        let z = bias + normal_quantile(tail);
        quantile(&figures, normal_area(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - confidence) / 2.0;
    Some(Bootstrap { estimate, low: end(tail)?, high: end(1.0 - tail)? })
}

/// The rate at which the standard error changes with the figure, from the jackknife.
fn acceleration(left_out: &[f64]) -> f64 {
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let sum = |power: i32| left_out.iter().map(|f| (mean - f).powi(power)).sum::<f64>();
    let squares = sum(2);
    if squares > 0.0 { sum(3) / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
