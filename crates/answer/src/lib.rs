//! What the estimates of a record say: words without layout.
//!
//! A [`Report`] is made once of a record, and every form draws it. Its [`answer`] says what a run found; [`picture`] is what
//! its charts and tables show, as data.
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
