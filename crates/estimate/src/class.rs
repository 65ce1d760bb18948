//! Request sizes, as users distinguish them.

use cryptbench_record::{Pattern, Workload};

/// Requests up to this size in bytes are small: their cost per request outweighs the cost of their bytes.
pub const SMALL: u64 = 16 << 10;

/// Requests of at least this size in bytes are large.
pub const LARGE: u64 = 256 << 10;

/// Request size classes, and work without requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// From [`LARGE`] on.
    Large,
    /// Between the two.
    Medium,
    /// Up to [`SMALL`].
    Small,
    /// Work without requests: whole files, or opening volumes.
    Files,
}

impl Class {
    /// The class of a workload.
    pub fn of(w: &Workload) -> Self {
        match w.block_size {
            _ if !w.is_of_requests() => Self::Files,
            size if size >= LARGE => Self::Large,
            size if size <= SMALL => Self::Small,
            _ => Self::Medium,
        }
    }

    /// The access pattern of requests of this class in most profiles.
    pub fn usual_pattern(self) -> Pattern {
        match self {
            Self::Large => Pattern::Sequential,
            _ => Pattern::Random,
        }
    }
}
