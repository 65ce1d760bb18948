//! Records kept in a database of one file, and whether the newest differs from the earlier ones by more than runs of
//! the same thing differ.
//!
//! [`History`] keeps of each record its document and one [`Cell`] per workload and arm; [`check`](check::check) judges
//! a run by the spread *between* earlier ones. The database is SQLite, so that other programs can read it too; its
//! tables are in [`schema`](mod@schema).
#![forbid(unsafe_code)]

mod cell;
pub mod check;
mod error;
pub mod schema;
mod store;

pub use cell::{Cell, Run};
pub use error::HistoryError;
pub use store::{Added, Entry, History};
