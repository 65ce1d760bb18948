//! Encryption systems: each turns a target into a surface and takes it down without a trace.
//!
//! A system knows nothing of workloads. What it sets up is written to a [ledger](provision::Ledger)
//! before the act, so that whatever a killed run left behind can be found and removed.
#![forbid(unsafe_code)]

mod adapter;
mod command;
mod contender;
mod error;
mod facility;
mod known;
mod machine;
pub mod mounted;
pub mod provision;
mod registry;
mod settings;
mod stacked;

pub use adapter::builtin::inline_layer;
pub use adapter::paired::paired_arm;
pub use contender::{Attachment, Backing, Contender, Content, Fill, Ground, Random, Rest};
pub use error::SystemError;
pub use facility::Facility;
pub use registry::{
    ALL, ArmSpec, Availability, Role, Selection, Setting, System, arms, find, null_layer_of, sweep,
    systems,
};
