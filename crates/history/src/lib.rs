//! Stores records in a single-file database, and checks whether the newest run differs from earlier runs by more than
//! the variation between runs explains.
//!
//! [`History`] stores each record's document and one [`Cell`] per workload and arm. [`check`](check::check) evaluates a
//! run against the spread *between* earlier runs. The database is an SQLite file, so other programs can also read it;
//! [`schema`](mod@schema) describes its tables.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod canonical;
mod cell;
pub mod check;
mod error;
pub mod schema;
mod store;

pub use cell::{Cell, Run};
pub use error::HistoryError;
pub use store::{Added, Entry, History};
