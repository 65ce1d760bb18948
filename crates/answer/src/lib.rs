//! What the estimates of a record say: words without layout.
//!
//! [`analyse`] turns raw trials into [`Results`](cryptbench_record::Results). [`answer`] is the answer of a run, and
//! [`picture`] is what its charts and tables show, as data; every form of a report draws these.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod advice;
pub mod answer;
mod avoid;
mod command;
pub mod evidence;
pub mod explanation;
pub mod figure;
mod headline;
pub mod kinds;
pub mod machine;
pub mod names;
mod open;
pub mod opening;
mod parts;
pub mod picture;
pub mod quantity;
pub mod reading;
pub mod remarks;
pub mod results;
pub mod sentences;
pub mod studies;
pub mod surroundings;
mod take;
pub mod wording;

pub use results::analyse;
