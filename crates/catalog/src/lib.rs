//! What is known of encryption systems, as data: their names, ciphers, packages, traces and weaknesses, each in one place.
//!
//! A record names systems by texts, among which those of later versions may be: [`find`] knows what this version knows, and
//! everything else is shown as the record has it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod cipher;
pub mod guessing;
mod named;
pub mod package;
mod remedy;
mod system;
mod systems;
mod workload;

pub use cipher::*;
pub use package::{Manager, Package};
pub use remedy::Remedy;
pub use system::{Encrypts, Facility, Family, Named, System, Weakness, encrypts, find};
pub use systems::*;
pub use workload::{Estimator, Pattern, Presentation};
