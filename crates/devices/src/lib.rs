//! Emulated storage devices: models as data, an engine that turns a stream of requests into
//! completion times, and a block device that keeps these times in real time over memory or a file.
//!
//! ```
//! use cryptbench_devices::{Engine, Model, Operation, Request};
//!
//! let model = Model::named("hdd-7200")?;
//! let mut engine = Engine::new(&model, model.capacity_bytes);
//! let read = |offset, arrival_s| Request {
//!     operation: Operation::Read, offset, bytes: 4096, arrival_s, continues: false,
//! };
//! let first = engine.submit(&read(1 << 30, 0.0));
//! let next = engine.submit(&read((1 << 30) + 4096, first));
//! // The disc reads on in a fraction of the time that it took to get there.
//! assert!(next - first < first / 10.0);
//! # Ok::<(), cryptbench_devices::ModelError>(())
//! ```
//!
//! An engine is a pure function of its model, its state and the requests. An engine uses no clock and never waits, so
//! it can simulate hours of a disk's work in milliseconds. [`EmulatedDevice`] adds the waiting.
//!
//! | to add | put |
//! |---|---|
//! | a device | `models/<name>.toml` and its line in `model.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod backing;
pub mod calibration;
mod counted;
mod disc;
mod draw;
mod emulated;
mod engine;
mod error;
mod flash;
mod link;
mod model;
pub mod predict;
pub mod published;
mod request;
pub mod sweep;

pub use backing::Backing;
pub use emulated::{EmulatedDevice, Kept};
pub use engine::Engine;
pub use error::ModelError;
pub use model::{Disc, Flash, Hybrid, Interface, Model, Surface};
pub use request::{Operation, Request};
