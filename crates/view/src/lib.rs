//! The answer of a record laid out: on a terminal, as a page, in tables and as drawings.
//!
//! [`terminal`] and [`html`] show a record with its results, starting with the picture that the users of its profile
//! know. This crate does not decide the content: that is data of `cryptbench_answer`, the same for every form.
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
