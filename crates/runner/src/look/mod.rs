//! Examines the machine and everything that a request specifies. Each fact is determined once, before anything is
//! decided. Nothing is changed.

mod below;
mod encryption;
pub(crate) mod existing;
mod ground;
mod holders;
mod in_use;
mod kinds;
mod others;
mod place;

use std::path::PathBuf;

use cryptbench_load::Work;
use cryptbench_os::machine::{Machine, memory_available};
use cryptbench_os::storage::space;
use cryptbench_os::user;
use cryptbench_system::{Abilities, Selection};
use serde::{Deserialize, Serialize};

pub(crate) use self::below::Below;
pub(crate) use self::existing::numbered;
pub(crate) use self::ground::Ground;
pub(crate) use self::holders::Holder;
pub use self::in_use::InUse;
pub(crate) use self::others::Others;
pub(crate) use self::place::{Place, There, parent};
use crate::request::{EmulateRequest, Request, TargetRequest};

/// A fact, or the reason in words why it could not be determined.
pub(crate) type Asked<T> = Result<T, String>;

/// Device number of a block device; for a file, the device number of its file system and its inode number.
pub(crate) type Number = (u64, u64);

/// All facts that determine the decisions of a run, in addition to its request. Stored facts represent a machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The abilities of the systems on that machine.
    pub abilities: Abilities,
    pub(crate) drawn: Drawn,
    pub(crate) processor: Processor,
    /// Whether root runs this.
    pub(crate) is_root: bool,
    /// Free bytes for the data of an emulated device, if one is requested.
    pub(crate) room_to_emulate: Option<Asked<u64>>,
    /// The plain target, unless a device is emulated instead.
    pub(crate) plain: Option<Place>,
    /// The targets that their user encrypted.
    pub(crate) encrypted: Vec<Place>,
    /// The storage that may be overwritten: each path that the user repeated, and the number of the file or
    /// device there.
    pub(crate) consented: Vec<(PathBuf, Option<Number>)>,
}

/// Settings that do not depend on the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Drawn {
    /// `20261121-203000-1a2b3c`: sorts by time, and is unique even within a second.
    pub(crate) run_id: String,
    /// Time of the request, in UTC.
    pub(crate) started: String,
    /// Short enough to be typed.
    pub(crate) seed: u32,
}

/// The hardware on which ciphers run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Processor {
    /// The highest tiers of ciphers and of key derivations. If the environment variable does not contain a tier, the
    /// value of the variable.
    pub(crate) tiers: Asked<(String, String)>,
    pub(crate) features: Vec<String>,
}

impl Default for Processor {
    fn default() -> Self {
        Self { tiers: Ok(("soft".to_owned(), "soft".to_owned())), features: Vec::new() }
    }
}

/// Queries everything that a run of `request` depends on.
pub fn look(request: &Request) -> Facts {
    // A pair of targets and volumes do not need any system to be set up.
    let opens = request.profile.workloads.iter().all(|w| matches!(w.work, Work::Unlock(_)));
    let none = Selection { systems: vec!["plain".to_owned()], ..Selection::default() };
    let sets_none_up = request.selection.is_open() && (opens || !request.target.pair.is_empty());
    let selection = if sets_none_up { &none } else { &request.selection };
    look_with(request, Abilities::look_for(selection))
}

/// Queries everything that a run of `request` depends on, except the systems, which have already been queried.
pub fn look_with(request: &Request, abilities: Abilities) -> Facts {
    let target = &request.target;
    let (plain, encrypted) = places(target);
    Facts {
        abilities,
        drawn: draw(),
        processor: processor(),
        is_root: user::is_root(),
        room_to_emulate: target.emulate.as_ref().map(room_to_emulate),
        plain,
        encrypted,
        consented: consented(&target.consent.destroy),
    }
}

/// The files or devices at the paths that may be overwritten.
pub(crate) fn consented(destroy: &[PathBuf]) -> Vec<(PathBuf, Option<Number>)> {
    destroy.iter().map(|path| (path.clone(), numbered(path))).collect()
}

fn places(target: &TargetRequest) -> (Option<Place>, Vec<Place>) {
    if target.emulate.is_some() {
        return (None, Vec::new());
    }
    if let Some(in_use) = target.pair.iter().find_map(|pair| pair.in_use.as_ref()) {
        let read = |path| Place::to_read(path, Some(in_use.facts.size_bytes));
        return (Some(read(&in_use.below)), vec![read(&in_use.mapped)]);
    }
    if target.only_read {
        return (Some(Place::to_read(&target.path, None)), Vec::new());
    }
    let encrypted = target.pair.iter().map(|pair| Place::look(&pair.encrypted)).collect();
    (Some(Place::look(&target.path)), encrypted)
}

fn room_to_emulate(emulate: &EmulateRequest) -> Asked<u64> {
    match &emulate.backing {
        None => Ok(memory_available().unwrap_or(0)),
        Some(directory) => space(directory).map(|space| space.free).map_err(|e| e.to_string()),
    }
}

fn processor() -> Processor {
    let tiers = cryptbench_cipher::tier().and_then(|ours| Ok((ours, cryptbench_kdf::tier()?)));
    let named = tiers.map(|(ours, kdf)| (ours.as_str().to_owned(), kdf.as_str().to_owned()));
    Processor { tiers: named.map_err(|e| e.value), features: Machine::this().cpu_features }
}

fn draw() -> Drawn {
    let random = || getrandom::u32().expect("the kernel's random generator answers");
    let now = jiff::Timestamp::now();
    Drawn {
        run_id: format!("{}-{:06x}", now.strftime("%Y%m%d-%H%M%S"), random() & 0xff_ffff),
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        seed: random(),
    }
}
