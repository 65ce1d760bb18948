//! Applies a workload to an [`IoTarget`](cryptbench_blockdev::IoTarget), and returns latencies and counters. The crate
//! has no information about the storage behind the target.
//!
//! - A [`Profile`] is data: the workloads of well-known benchmarks, read from TOML or from a fio job file.
//! - A [`FileSet`] consists of many small files and the actions on them.
//! - A [`Job`] is one workload for a given time or amount; an [`Engine`] executes it and returns a [`Measurement`].
//! - Written data is incompressible and marked with [verify headers](verify_sector). With them, a
//!   [reader](Acknowledged::verify) can distinguish lost, stale, torn and misplaced sectors, and can prove that
//!   stored data is encrypted.
//!
//! Requests in flight may overlap, and are not ordered, as on real storage under a real load. It is unspecified which
//! of two overlapping writes takes effect last; the verify header is valid in both cases.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod clock;
mod engine;
mod error;
mod files;
mod job;
mod memory;
mod offsets;
mod profile;
mod verify;
mod verify_header;
mod window;

pub use engine::{Engine, EngineChoice, Precondition, Slice, Slices};
pub use error::LoadError;
pub use files::{FileSet, FilesMeasurement, remove_left_behind};
pub use job::{
    Amount, Content, Direction, Flush, Job, MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, MAX_THREADS,
    Operation, Pattern, Rate, Start,
};
pub use profile::{
    Assumptions, BlockWork, Cache, Estimator, FileAction, FileSizes, FileUse, FileWork, Forecast,
    Headline, Presentation, Profile, ProfileError, Rates, UnlockWork, Work, WorkAmount,
    WorkloadSpec,
};
pub use verify::{Acknowledged, Fault, Finding, Verification};
pub use verify_header::{HEADER_LEN, MARKER, SECTOR, SectorState, verify_sector};
pub use window::{Measurement, Sample};
