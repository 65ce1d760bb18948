//! Known facts about encryption systems, as data: their names, ciphers, packages, traces and weaknesses, each
//! stored once.
//!
//! A record refers to systems by texts, which may come from later versions: [`find`] knows those of this
//! version, and everything else is shown as in the record.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod cipher;
mod device;
pub mod guessing;
mod named;
pub mod package;
mod remedy;
mod system;
mod systems;
mod workload;

pub use cipher::*;
pub use device::{DeviceKind, DeviceModel};
pub use package::{Manager, Package};
pub use remedy::Remedy;
pub use system::{Encrypts, Facility, Family, Named, System, Weakness, encrypts, find};
pub use systems::*;
pub use workload::{Estimator, Headline, Pattern, Presentation};
