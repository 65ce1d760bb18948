//! Replays four published studies on the cost of disk encryption from the numbers that they
//! printed.
//!
//! This crate does not measure and contains no verdicts. It derives each study's tables again with the study's
//! own estimator. Each conclusion is data (a text, its source, and a typed [`Check`]) that is evaluated on the
//! study's numbers. If the numbers are not sufficient, the verdict is that the conclusion cannot be checked.
//!
//! | to add | put |
//! |---|---|
//! | a conclusion | an entry in `study/<letter>/conclusions.rs` |
//! | a kind of check | a variant of [`Check`] and its arm in `check/evaluate.rs` |
//! | a conclusion tested on records | an entry in `here/claims.rs` |
//! | an item of a study, such as a tool | a line of `data/items.csv` |
//! | a study | `study/<letter>/`, its line in `study/mod.rs`, its files in `files.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod beside;
mod check;
mod cpu;
mod csv;
mod error;
mod files;
pub mod here;
pub mod items;
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
pub use study::{About, Answer, Letter, abouts};
pub use table::{Field, Number, Table};

/// The estimators of the studies: the mean of ten without the largest and the smallest value (study B) and, without
/// dropping any, the mean of five or ten (A, D).
pub use cryptbench_stats::compatibility::{trimmed, trimmed_mean};
