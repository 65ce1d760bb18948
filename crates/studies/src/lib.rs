//! Four published studies of what disk encryption costs, replayed from the numbers that they printed.
//!
//! Nothing is measured here and no verdict is written down: each study's tables are derived again with its own
//! estimator, and each of its conclusions is data (a text, where it stands, and a typed [`Check`]) that is
//! evaluated over the numbers. What the numbers do not hold cannot be checked, and that is a verdict, too.
//!
//! | to add | put |
//! |---|---|
//! | a conclusion | an entry in `study/<letter>/conclusions.rs` |
//! | a kind of check | a variant of [`Check`] and its arm in `check/evaluate.rs` |
//! | a study | `study/<letter>/`, its line in `study/mod.rs`, its files in `files.rs` |
#![forbid(unsafe_code)]

pub mod beside;
mod check;
mod csv;
mod error;
mod files;
mod number;
mod observation;
pub mod own;
mod replay;
mod study;
mod table;

pub use check::{Band, Check, Conclusion, Denominator, Finding, Rank, Share, Verdict};
pub use error::DataError;
pub use files::Files;
pub use number::{Printed, Rederived};
pub use observation::{Dimension, Observation, Select};
pub use replay::{Parameter, PublishedError, Replay, Replayed, replay};
pub use study::{About, Letter};
pub use table::Table;

/// The estimators of the studies: the mean without one largest and one smallest of ten (study B), and, with
/// nothing dropped, the mean of five or ten (A, D).
pub use cryptbench_stats::compatibility::{trimmed, trimmed_mean};
