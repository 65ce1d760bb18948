//! Reads results from other tools into a common form, and compares two sets of results as unpaired.
//!
//! [`read`] accepts files and directories of fio's JSON, iozone's reports, dd's logs, text from CrystalDiskMark,
//! KDiskMark, HD Tune, Blackmagic Disk Speed Test and AJA System Test, and tables from ATTO, from Anvil's Storage
//! Utilities and in cryptbench's own format. [`read`] identifies formats by their content and returns a [`Set`] of
//! [`Cell`]s; [`from_record`] makes a set from a record. [`compare`](compare::compare) compares two sets. Text that
//! cannot be parsed causes an [error](ForeignError) with file and line; [`Set::remarks`] lists deliberate omissions.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod answer;
mod cell;
pub mod compare;
pub mod costs;
mod dd;
mod dials;
pub mod differences;
mod diskmark;
mod error;
pub mod estimator;
mod fio;
mod hdtune;
mod iozone;
pub mod joint;
pub mod naming;
mod number;
mod read;
mod record;
pub mod reproduced;
mod table;

pub use cell::{Cell, Format, Key, Measure, Run, Set};
pub use error::ForeignError;
pub use read::{is_record, read, read_halves};
pub use record::{ArmChoice, RecordError, from_record};
