//! Encryption systems: each turns a target into an I/O target, and later removes everything that it created.
//!
//! A system does not know the workloads. Before it creates a resource, it records the intent in a
//! [journal](resource::Journal), so that everything that a killed run leaves behind can be found and removed.
#![forbid(unsafe_code)]
#![cfg_attr(windows, allow(dead_code, reason = "only the systems of Linux are set up"))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod abilities;
#[cfg_attr(windows, path = "windows/adapter.rs")]
mod adapter;
mod choices;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod disk_server;
mod driver;
mod error;
mod facility;
#[cfg_attr(windows, path = "windows/kind.rs")]
mod kind;
#[cfg_attr(windows, path = "windows/machine.rs")]
mod machine;
mod meant;
mod prepared;
#[cfg_attr(windows, path = "windows/provision.rs")]
pub mod provision;
mod registry;
#[cfg_attr(windows, path = "windows/resource.rs")]
pub mod resource;
#[cfg(target_os = "linux")]
mod served_file;
#[cfg_attr(windows, path = "windows/served_volume.rs")]
mod served_volume;
mod settings;
mod system;
mod transport;

pub use abilities::{Abilities, Features};
pub use adapter::builtin::inline_layer;
pub use adapter::paired::paired_arm;
pub use choices::{Candidate, candidates, floor};
pub use error::{Selected, SystemError};
pub use facility::facility;
pub use machine::lacks_ntfs;
pub use meant::{Chosen, UnknownSettings, meant_settings, meant_sweeps};
pub use prepared::{
    ArmContext, Backing, Closed, Content, Fill, PreparedArm, Random, container_path,
};
pub use registry::{
    ALL, Selection, arms, find, meant, meant_ciphers, null_layer_of, sweep, systems,
};
pub use served_volume::{SERVE_DISK, ServedVolume, serve_disk};
pub use system::{ArmSpec, Attachment, Availability, Role, Setting, System, Target};
