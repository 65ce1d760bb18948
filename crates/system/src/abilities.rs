//! The abilities of this machine, queried once: which systems can run on it, and the facts on which their arms
//! depend.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cryptbench_catalog::{BUILTIN, BUILTIN_MOUNTED, PLAIN, Remedy};
use serde::{Deserialize, Serialize};

use crate::adapter::ORDER;
use crate::machine::Machine;
use crate::{ALL, Availability, Selection, System, systems};

/// Systems that a run may use even if they are not specified: for small files, and for comparisons.
const ALWAYS: [&str; 3] = [PLAIN.name, BUILTIN.name, BUILTIN_MOUNTED.name];

/// Which systems can run on a machine. Stored abilities describe the machine on which they were determined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Abilities {
    /// The systems that were queried, by their names.
    systems: BTreeMap<String, Availability>,
    /// Features of the machine on which the settings of systems depend.
    pub(crate) features: Features,
}

/// The features on which the settings of systems depend. Determined without running a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Why NTFS cannot be created and mounted, and the remedy.
    pub(crate) lacks_ntfs: Option<(String, Remedy)>,
    /// Why nothing can be set up through device mapper, and the remedy.
    pub(crate) lacks_device_mapper: Option<(String, Remedy)>,
    /// The directory of dm-crypt's parameters.
    pub(crate) dm_crypt: PathBuf,
    /// The parameters in that directory.
    pub(crate) dm_crypt_parameters: Vec<String>,
    /// Whether the kernel has dm-inlinecrypt.
    pub(crate) has_inline_crypto: bool,
    /// Why no ublk device can be created, and the remedy.
    pub(crate) lacks_ublk: Option<(String, Remedy)>,
    /// Why FUSE does not support io_uring, and the remedy.
    pub(crate) lacks_fuse_uring: Option<(String, Remedy)>,
}

impl Features {
    pub(crate) fn of(machine: &Machine) -> Self {
        let lacks = |availability| match availability {
            Some(Availability::Unavailable { reason, remedy }) => Some((reason, remedy)),
            Some(Availability::Available(_)) | None => None,
        };
        Self {
            lacks_ntfs: machine.lacks_ntfs(),
            lacks_device_mapper: lacks(machine.lacks_device_mapper()),
            dm_crypt: machine.dm_crypt(),
            dm_crypt_parameters: machine.dm_crypt_parameters(),
            has_inline_crypto: machine.has_inline_crypto(),
            lacks_ublk: machine.lacks_ublk(),
            lacks_fuse_uring: machine.lacks_fuse_uring(),
        }
    }
}

impl Abilities {
    /// Queries every system.
    pub fn look() -> Self {
        Self::of(|_| true)
    }

    /// Queries only the systems that a run of `selection` may use, because a query can take time.
    pub fn look_for(selection: &Selection) -> Self {
        let is_named = |name: &str| selection.systems.iter().any(|named| named == name);
        let is_candidate = |system: &System| ORDER.iter().any(|(one, _)| one.name == system.name);
        let null_layer_of = |system: &System, other: &System| {
            other.null_layer.is_some_and(|null| null.name == system.name)
        };
        let all = is_named(ALL);
        let (chooses, split) = (selection.is_open(), selection.split);
        Self::of(|system| {
            let stands_below = |other: &&&System| null_layer_of(system, other);
            let below_named = || systems().iter().any(|o| is_named(o.name) && stands_below(&o));
            ALWAYS.contains(&system.name)
                || is_named(system.name)
                || below_named()
                || all
                || (chooses && is_candidate(system))
                || (chooses
                    && split
                    && systems().iter().filter(stands_below).any(|o| is_candidate(o)))
        })
    }

    fn of(is_asked: impl Fn(&System) -> bool) -> Self {
        let machine = Machine::this();
        let asked = systems().iter().filter(|system| is_asked(system));
        Self {
            systems: asked
                .map(|system| (system.name.to_owned(), system.availability_on(&machine)))
                .collect(),
            features: Features::of(&machine),
        }
    }

    /// Whether `system` can run on that machine.
    pub fn of_system(&self, system: &System) -> Availability {
        self.systems.get(system.name).cloned().unwrap_or_else(|| {
            Availability::without("its availability was not checked", "run cryptbench systems")
        })
    }

    pub(crate) fn has(&self, system: &System) -> bool {
        matches!(self.systems.get(system.name), Some(Availability::Available(_)))
    }
}
