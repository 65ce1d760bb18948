//! Results of other programs in one neutral form, and two sets of results compared as what they are: unpaired.
//!
//! [`read`] takes files and directories of fio's JSON, iozone's reports, dd's logs and CrystalDiskMark's or
//! KDiskMark's text, tells them apart by their content, and gives a [`Set`] of [`Cell`]s; [`from_record`] makes one
//! of a record. [`compare`](compare::compare) sets two of them beside each other. What is not understood is an
//! [error](ForeignError) with file and line, and what was left out on purpose stands in [`Set::remarks`].
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
