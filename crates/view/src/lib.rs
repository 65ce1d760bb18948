//! The layouts of a record's answer: for a terminal, as a page, as tables and as drawings.
//!
//! [`terminal`] and [`html`] show a record with its results, starting with the picture that users of its
//! profile know. The content is the same for every layout: it comes from `cryptbench_answer`, not from this
//! crate.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod charts;
pub mod columns;
pub mod drawing;
pub mod html;
pub mod json;
pub mod pages;
mod prose;
pub mod studies;
pub mod table;
pub mod terminal;

pub use prose::wrap;
