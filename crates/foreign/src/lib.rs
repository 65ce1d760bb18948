//! Reads results of other programs into a common form, and compares two sets of results as
//! unpaired.
//!
//! [`read`] takes files and directories of fio's JSON, iozone's reports, dd's logs and text from
//! CrystalDiskMark or KDiskMark. It identifies formats by their content and returns a [`Set`] of
//! [`Cell`]s; [`from_record`] makes a set from a record. [`compare`](compare::compare) compares two
//! sets. Text that cannot be parsed is an [error](ForeignError) with file and line;
//! [`Set::remarks`] lists what was omitted on purpose.
#![forbid(unsafe_code)]

mod cell;
pub mod compare;
pub mod costs;
mod dd;
pub mod differences;
mod diskmark;
mod error;
pub mod estimator;
mod fio;
mod iozone;
mod number;
mod read;
mod record;

pub use cell::{Cell, Format, Key, Measure, Run, Set};
pub use error::ForeignError;
pub use read::{is_record, read};
pub use record::{ArmChoice, RecordError, from_record};
