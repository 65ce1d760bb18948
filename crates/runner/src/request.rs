//! A user's request.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_catalog::DeviceKind;
use cryptbench_devices::Model;
use cryptbench_load::{EngineChoice, Profile};
use cryptbench_record as record;
use cryptbench_system::Selection;

use crate::decide::volumes::UnlockSelection;
use crate::look::InUse;

/// Maximum number of pairs of a workload, unless the user specifies it.
const MAX_PAIRS: u32 = 200;

/// The storage that the user has allowed the run to destroy.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// Files and devices, each specified a second time.
    pub destroy: Vec<PathBuf>,
    /// Signatures on them, by their names in blkid(8).
    pub erase: Vec<String>,
}

/// The target.
#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// An existing directory, the path of a new file, or a file or block device to be overwritten.
    pub path: PathBuf,
    /// Permission to overwrite `path` if it is not a directory.
    pub consent: Consent,
    /// Only read `path`, which must then be a block device, and write nothing anywhere.
    pub only_read: bool,
    /// Targets that the user encrypted, to be compared with `path`, which is then the plain target.
    pub pair: Vec<PairRequest>,
    /// An emulated device that is served and measured instead of `path`.
    pub emulate: Option<EmulateRequest>,
    /// Bytes of the scratch file; `None` chooses the size according to the free space.
    pub size: Option<u64>,
    /// The kind of device that holds the target, if the user specifies it.
    pub device_kind: Option<DeviceKind>,
    /// Whether requests go through the page cache; `None` leaves it to the profile. If direct I/O does not work,
    /// requests always go through the page cache.
    pub buffered: Option<bool>,
}

/// An encrypted target in addition to the plain one.
#[derive(Clone, Debug)]
pub struct PairRequest {
    /// Path of the encrypted target, which must be of the same kind as the plain target.
    pub encrypted: PathBuf,
    /// The target's label in tables; `None` uses its file system and path.
    pub name: Option<String>,
    /// Set if the two are a device in use and its underlying device; both are only read.
    pub in_use: Option<InUse>,
    /// Identifier of its arm in records; `None` if there is no other encrypted target.
    pub id: Option<String>,
}

/// An emulated device, and the storage for its bytes.
#[derive(Clone, Debug)]
pub struct EmulateRequest {
    /// The model of the device.
    pub model: Model,
    /// A directory for its bytes; `None` means memory.
    pub backing: Option<PathBuf>,
}

/// All settings of a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The target.
    pub target: TargetRequest,
    /// The work.
    pub profile: Profile,
    /// The arms under load.
    pub selection: Selection,
    /// The volumes, if the work is opening them.
    pub unlock: UnlockSelection,
    /// Time limit of the whole run. `None` means [`DEFAULT_BUDGET`](crate::DEFAULT_BUDGET),
    /// proportionally more for more arms than by default, or as long as a profile with a fixed
    /// number of trials takes.
    pub budget: Option<Duration>,
    /// Trials per workload and arm, instead of as many as the precision needs; `None` uses the profile's
    /// number.
    pub trials: Option<u32>,
    /// Measured time of one trial; `None` chooses it from the budget.
    pub trial: Option<Duration>,
    /// Seed of the schedule; `None` draws one.
    pub seed: Option<u64>,
    /// Minimum detectable loss, as a fraction. `None` means [`DEFAULT_PRECISION`](crate::DEFAULT_PRECISION) in
    /// trials that fill the budget; otherwise trials are short, so that a workload ends soon after it has reached
    /// its precision.
    pub precision: Option<f64>,
    /// Maximum number of pairs per workload.
    pub max_pairs: u32,
    /// The requested engine.
    pub engine: EngineChoice,
    /// Whether trials are sliced if possible.
    pub slices: bool,
    /// Whether plain storage is measured by queue depth and request size before the first trial, to explain costs.
    pub why: bool,
    /// After each trial, verify the data that it wrote.
    pub verify: bool,
    /// How often the filled scratch file is rewritten in random order before the first trial.
    pub precondition: u32,
    /// The plan whose arms are measured as far as they can be set up here, instead of a selection.
    pub like: Option<Box<record::Plan>>,
    /// The interrupted run that this one continues.
    pub resume: Option<Box<record::Record>>,
}

impl Request {
    /// `cryptbench run PATH` with the work of `profile`.
    pub fn of(path: &Path, profile: Profile) -> Self {
        Self {
            target: TargetRequest {
                path: path.to_owned(),
                consent: Consent::default(),
                only_read: false,
                pair: Vec::new(),
                emulate: None,
                size: None,
                device_kind: None,
                buffered: None,
            },
            profile,
            selection: Selection::default(),
            unlock: UnlockSelection::default(),
            budget: None,
            trials: None,
            trial: None,
            seed: None,
            precision: None,
            max_pairs: MAX_PAIRS,
            engine: EngineChoice::Auto,
            slices: true,
            why: true,
            verify: false,
            precondition: 0,
            like: None,
            resume: None,
        }
    }
}
