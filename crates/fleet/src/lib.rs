//! A fleet: the records of many machines in one directory, and the cost of encryption on the next machine of a
//! kind.
//!
//! Each machine runs `cryptbench run --fleet DIR`, started by any means, and writes one file to that directory
//! ([`Shared`]). This crate never connects to a machine. [`stream`] reads the files in order with bounded memory,
//! [`Fleet`] keeps the data that pooling needs from each file, and [`Report`] is the result. [`Plan`] writes the
//! scripts for Slurm, Kubernetes, Ansible or a shell.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod collect;
mod error;
mod failure;
mod fleet;
mod hosts;
mod node;
mod observed;
mod outliers;
mod plan;
mod reasons;
mod report;
mod shared;
mod stream;

pub use collect::{Collected, collect};
pub use error::FleetError;
pub use failure::{FAILURE, Failure};
pub use fleet::Fleet;
pub use hosts::expand;
pub use node::{file_stem, node};
pub use observed::{Facts, Found, Observed, ObservedCell, read};
pub use outliers::Outlier;
pub use plan::{For, Plan};
pub use report::{Damaged, Failed, Group, Kind, Member, Report, Row, SCHEMA, Share};
pub use shared::Shared;
pub use stream::{Files, stream};
