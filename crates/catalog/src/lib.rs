//! Known facts about encryption systems, as data: their names, ciphers, packages, identifying files and weaknesses,
//! each stored once.
//!
//! Records refer to systems by name, and may come from later versions. [`find`] knows the names of this version; all
//! other names are shown as they are in the record.
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
