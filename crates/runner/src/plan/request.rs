//! What a user asks for.

use std::path::PathBuf;
use std::time::Duration;

use cryptbench_devices::Model;
use cryptbench_load::{EngineChoice, Profile};
use cryptbench_record as record;
use cryptbench_system::Selection;

use super::storage::Consent;
use super::volumes::UnlockSelection;

/// Where to measure.
#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// An existing directory, a file that does not exist yet, or a file or block device that is overwritten.
    pub path: PathBuf,
    /// What may be overwritten, should `path` name something that is no directory.
    pub consent: Consent,
    /// A second place, for a comparison of what its user prepared; `path` is then the plain one.
    pub pair: Option<PairRequest>,
    /// A modelled device to be served and measured in place of `path`.
    pub emulate: Option<EmulateRequest>,
    /// Bytes of the scratch file; `None` chooses from the room there is.
    pub size: Option<u64>,
    /// Whether requests pass the page cache; `None` leaves it to the profile. Where direct I/O does not work
    /// they always do.
    pub buffered: Option<bool>,
}

/// The encrypted one of two places that are compared.
#[derive(Clone, Debug)]
pub struct PairRequest {
    /// Where; of the same kind as the plain place.
    pub encrypted: PathBuf,
    /// What tables call it; `None` takes its file system and path.
    pub name: Option<String>,
}

/// A device that is not there, and what is to hold its bytes.
#[derive(Clone, Debug)]
pub struct EmulateRequest {
    /// The device.
    pub model: Model,
    /// A directory for its bytes; `None` is memory.
    pub backing: Option<PathBuf>,
}

/// Everything that a user can ask of a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where.
    pub target: TargetRequest,
    /// The work.
    pub profile: Profile,
    /// The arms under a load.
    pub selection: Selection,
    /// The volumes, where opening them is the work.
    pub unlock: UnlockSelection,
    /// Wall-clock bound of the whole run; `None` is [`DEFAULT_BUDGET`](crate::DEFAULT_BUDGET), in proportion more for more arms than
    /// the default ones, or as long as a profile with a fixed number of trials takes.
    pub budget: Option<Duration>,
    /// Trials per workload and arm instead of as many as the precision takes; `None` leaves it to the profile.
    pub trials: Option<u32>,
    /// Measured time of one trial; `None` chooses it from the budget.
    pub trial: Option<Duration>,
    /// Seed of the schedule; `None` draws one.
    pub seed: Option<u64>,
    /// Target half-width of the intervals as a fraction.
    pub precision: f64,
    /// Most pairs per workload.
    pub max_pairs: u32,
    /// What carries the requests.
    pub engine: EngineChoice,
    /// Whether trials are cut into slices where they can be.
    pub slices: bool,
    /// Read back after each trial what it wrote.
    pub verify: bool,
    /// Times that the filled scratch file is written again in a random order before the first trial.
    pub precondition: u32,
    /// A run that was cut short, with which this one goes on.
    pub resume: Option<Box<record::Record>>,
}
