//! Drives a [`Surface`](cryptbench_blockdev::Surface) with a workload and returns latencies and
//! counters, knowing nothing of what lies behind it.
//!
//! - A [`Profile`] is data: the workloads that people quote, read from TOML.
//! - A [`Job`] is one workload for some seconds; an [`Engine`] runs it and returns a
//!   [`Measurement`].
//! - Written data is incompressible and [stamped](verify_sector), so that a reader can tell lost,
//!   stale and misplaced sectors apart and can prove that stored bytes are encrypted.
//!
//! Two requests in flight may touch the same place: nothing orders them, as on real storage under
//! a real load. Which of two such writes wins is unspecified; either way the stamp is valid.

mod clock;
mod engine;
mod error;
mod job;
mod memory;
mod places;
mod profile;
mod stamp;
mod window;

pub use engine::{Engine, EngineChoice};
pub use error::LoadError;
pub use job::{Job, MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, Operation, Pattern};
pub use profile::{Headline, Profile, ProfileError, WorkloadSpec};
pub use stamp::{MARKER, SECTOR, STAMP_LEN, SectorState, verify_sector};
pub use window::Measurement;
