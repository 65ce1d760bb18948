//! Estimates and verdicts derived from a record alone, and their presentation to people.
//!
//! [`analyse`] turns raw trials into [`Results`](cryptbench_record::Results); [`terminal`] and
//! [`html`] show a record with its results, first of all in the picture that the users of its
//! profile know. What such a picture shows is data of `presentation`, the same for both. Nothing
//! here measures, and nothing is shown that the record does not contain.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod accounting;
mod advice;
mod analysis;
mod answer;
mod carry_over;
mod comparison;
mod compatibility;
mod cpu;
mod device;
mod disturbance;
pub mod drawing;
mod evidence;
mod explanation;
mod format;
mod kinds;
mod lookup;
mod names;
mod presentation;
mod prose;
mod quantity;
mod rate_limit;
mod sentences;
pub mod studies;
mod verdict;
mod wording;

pub use advice::observations;
pub use analysis::{analyse, arm_cells, cell};
pub use answer::in_order;
pub use comparison::{Comparison, compare};
pub use format::html_forest::{ForestPage, ForestPlot, ForestRow, forest_page};
pub use format::html_kdf::{KdfBar, KdfChart, KdfPage, KdfTable, kdf_page};
pub use format::html_speed::{SpeedBar, SpeedChart, SpeedPage, speed_page};
pub use format::parquet;
pub use format::tidy::Rows;
pub use format::{answer as answer_json, charts, csv, html, markdown, terminal};
pub use names::Names;
pub use prose::{clean, thousands, wrap};
pub use quantity::share_words;
pub use rate_limit::is_rate_limited;
pub use wording::{verdict_mark, verdict_words};
