//! The estimates of a record in words, without layout.
//!
//! A [`Report`] is created once from a record and rendered in every output format. Its [`answer`] contains the
//! results of a run; [`picture`] contains the data of its charts and tables.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod advice;
pub mod answer;
mod avoid;
mod capacity;
mod classes;
pub mod command;
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
pub mod place;
pub mod quantity;
pub mod reading;
pub mod remarks;
mod report;
pub mod sentences;
pub mod studies;
pub mod surroundings;
mod take;
pub mod why;
pub mod wording;

pub use report::{Labelled, Report};
