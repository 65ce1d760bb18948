//! Statistics of a run: paired estimates of costs over trials, and the decision when to stop
//! measuring.
//!
//! The unit of observation is one trial. The unit of analysis is one block, in which every arm ran once. All
//! functions use d = ln(E/P), one number per block, where E and P are the speeds of the encrypted and the plain
//! trial of that block. `exp(mean d)` is the remaining share of plain speed. All functions are pure: they read no
//! clock, file or record.
//!
//! ```
//! use cryptbench_stats::estimate;
//!
//! let d = [0.903_f64, 0.897, 0.901, 0.899, 0.902, 0.898].map(f64::ln);
//! let cost = estimate(&d, 0.95).expect("three pairs or more");
//! assert!((cost.mean.exp() - 0.9).abs() < 1e-4, "nine tenths of plain speed are kept");
//! assert!(cost.high < 0.0, "and that is no chance");
//! ```
//!
//! | question | module |
//! |---|---|
//! | in which order do the arms run? | [`schedule`], slice by slice [`turns`] |
//! | what does it cost, and how sure is that? | [`paired`], with [`signed_rank`] as the robust check |
//! | which differences do two plain trials show already? | [`noise_floor`](mod@noise_floor) |
//! | from which size on may a difference be claimed? | [`detect`] |
//! | is it precise enough to stop? | [`stopping`] |
//! | does the device still speed up or slow down? | [`steady_state`](mod@steady_state) |
//! | which of many small p-values still count? | [`holm`](mod@holm) |
//! | which part of a cost is the layer's, which the cipher's? | [`decompose`](mod@decompose) |
//! | why do small requests suffer more? | [`cost_model`] |
//! | how sure is a figure that has no formula? | [`bootstrap`](mod@bootstrap) |
//! | what do two samples say that nobody paired? | [`unpaired`] |
//! | what does it cost on the next machine of this kind? | [`pooled`] |
//! | does one more run differ from the earlier ones? | [`prediction`] |
//! | what holds an arm back? | [`bottleneck`](mod@bottleneck) |
//! | which of several explanations fits? | [`criterion`] |
//! | how did a published study condense its trials? | [`compatibility`] |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod bootstrap;
pub mod bottleneck;
pub mod compatibility;
pub mod cost_model;
pub mod criterion;
pub mod decompose;
pub mod detect;
mod distribution;
pub mod holm;
pub mod noise_floor;
pub mod paired;
pub mod pooled;
pub mod prediction;
pub mod schedule;
pub mod signed_rank;
pub mod steady_state;
pub mod stopping;
mod student;
pub mod turns;
pub mod unpaired;

pub use bootstrap::{Bootstrap, bootstrap};
pub use compatibility::{percent_of_larger, trimmed, trimmed_mean};
pub use cost_model::{Coefficient, CostModel, SizePoint};
pub use decompose::{Scale, Share, Step, Waterfall, decompose};
pub use detect::{FAMILY_LEVEL, half_width_to_find, noise_of_mean, smallest_detectable};
pub use holm::holm;
pub use noise_floor::{mean, median, noise_floor, quantile};
pub use paired::{PairedEstimate, equivalent_within, estimate, half_width, pairs_needed};
pub use pooled::{Effect, Heterogeneity, Pooled, outliers, pool, pool_by_paule_mandel, residual_p};
pub use prediction::{Prediction, predict, smallest_change};
pub use schedule::block_order;
pub use steady_state::steady_state;
pub use stopping::{Decision, StoppingRule};
pub use turns::slice_order;
pub use unpaired::{UnpairedEstimate, equivalent_unpaired, estimate_unpaired, power_unpaired};

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
