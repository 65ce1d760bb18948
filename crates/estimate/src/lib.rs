//! Estimates and verdicts, derived only from a record: numbers without words.
//!
//! [`cells`](cells::cells) turns raw trials into one cell per workload and arm; the other modules read the cells
//! through a [`Lookup`](lookup::Lookup). The crate does not measure anything, and reports only what the record
//! contains.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod accounting;
pub mod arms;
pub mod binding;
pub mod budget;
pub mod carry_over;
pub mod cast;
pub mod cells;
pub mod chain;
pub mod class;
pub mod comparison;
pub mod compatibility;
pub mod cpu;
pub mod device;
pub mod disturbance;
pub mod doubt;
pub mod lookup;
pub mod opening;
pub mod ranking;
pub mod rate_limit;
pub mod series;
pub mod soundness;
pub mod sweep;
pub mod verdict;
