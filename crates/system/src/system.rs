//! A system, described as data: its names, its settings, its arms, and its kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use cryptbench_blockdev::SectorTransform;
use cryptbench_catalog::{self as catalog, Remedy};
use cryptbench_cipher::Tier;
use serde::{Deserialize, Serialize};
use tracing::debug;

use crate::kind::mapped::{self, Mapped};
use crate::kind::served::{self, Served};
use crate::kind::stacked::{self, Stacked};
use crate::kind::{in_place, inline, unsupported};
use crate::machine::Machine;
use crate::registry::Selection;
use crate::{Abilities, ArmContext, Features, PreparedArm, SystemError};

/// The role of an arm in comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Plain storage, the baseline.
    Plain,
    /// Plain storage again, for the noise floor.
    PlainAgain,
    /// The software path of a system without its cipher.
    NullLayer,
    /// Encrypted storage.
    Encrypted,
}

/// The target of a run on which an arm is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The target of plain storage, which all systems that a run sets up use.
    #[default]
    Plain,
    /// Another target, which its user encrypted. These targets are numbered from 0.
    Encrypted(usize),
}

/// An arm, as offered by a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmSpec {
    /// Identifier within a run, such as `builtin/aes-256-xts/512`.
    pub id: String,
    /// Its label in tables.
    pub label: String,
    /// Its role in comparisons.
    pub role: Role,
    /// Name of the system in the registry.
    pub system: &'static str,
    /// Its target.
    pub target: Target,
    /// Cipher and mode; `None` if nothing is encrypted.
    pub cipher: Option<&'static str>,
    /// Number of bytes per tweak.
    pub data_unit: Option<u32>,
    /// The format whose sector layout it uses.
    pub layout: Option<&'static str>,
    /// Names and values of its [settings](System::settings).
    pub settings: BTreeMap<&'static str, String>,
}

impl ArmSpec {
    /// Whether a setting has this value.
    pub(crate) fn is_set(&self, setting: &str, value: &str) -> bool {
        self.settings.get(setting).is_some_and(|v| v == value)
    }
}

/// A setting of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name on the command line, such as `sector-size`.
    pub name: &'static str,
    /// Its effect, in one line.
    pub about: &'static str,
    /// The possible values, the system's own default first.
    pub values: &'static [&'static str],
}

/// Whether a system can run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// The system can run; the text contains its version.
    Available(String),
    /// It cannot run.
    Unavailable {
        /// The exact reason.
        reason: String,
        /// The remedy.
        remedy: Remedy,
    },
}

impl Availability {
    /// Not available, for this reason and with this remedy.
    pub(crate) fn without(reason: impl Into<String>, remedy: impl Into<Remedy>) -> Self {
        Self::Unavailable { reason: reason.into(), remedy: remedy.into() }
    }
}

/// The position of a system between a workload and the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// In the submitting process, on the same bytes as plain storage.
    Inline,
    /// As a separate file system with ordinary files.
    Mounted,
}

impl Attachment {
    /// `inline` or `mounted`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Mounted => "mounted",
        }
    }
}

/// Creates the transform of an arm; each has its own key.
pub(crate) type Transform = fn(&ArmSpec, Tier) -> Result<Arc<dyn SectorTransform>, SystemError>;

/// How to set up the arms of a system.
pub(crate) enum Kind {
    /// As a transform in this process, over the scratch file of plain storage.
    Inline(Transform),
    /// As a container, a device that shows its plaintext, and a file system on that device.
    Mapped(Mapped),
    /// As a container whose plaintext this program serves as a file.
    Served(Served),
    /// As a directory or file system whose plaintext another file system shows.
    Stacked(Stacked),
    /// Not set up: existing storage is measured.
    InPlace(Attachment),
    /// Never; the function returns the reason and the remedy for a machine.
    Unsupported(fn(&Machine) -> (String, Remedy)),
}

/// An encryption system, or plain storage without encryption.
pub struct System {
    pub(crate) facts: &'static catalog::System,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) settings: &'static [Setting],
    /// Another system whose null layer is the software path of this system without its cipher.
    pub(crate) null_layer: Option<&'static System>,
    /// Whether the system is included when a user asks for all systems.
    pub(crate) in_all: bool,
    /// Whether the system uses the ciphers and data units of a selection directly, and not as settings.
    pub(crate) has_our_ciphers: bool,
    pub(crate) availability: fn(&System, &Machine) -> Availability,
    pub(crate) arms: fn(&System, &Selection, &Features) -> Result<Vec<ArmSpec>, SystemError>,
    pub(crate) kernel_tier: fn(&ArmSpec, Tier) -> Option<String>,
    pub(crate) kind: Kind,
}

impl System {
    /// A system that can always run and has no arms and no settings.
    pub(crate) const fn new(facts: &'static catalog::System, kind: Kind) -> Self {
        Self {
            facts,
            name: facts.name,
            about: facts.about,
            settings: &[],
            null_layer: None,
            in_all: true,
            has_our_ciphers: false,
            availability: |_, _| Availability::Available("needs nothing".to_owned()),
            arms: unsupported::no_arms,
            kernel_tier: |_, _| None,
            kind,
        }
    }

    /// Name in the registry and on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A description in one line.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Its settings.
    pub fn settings(&self) -> &'static [Setting] {
        self.settings
    }

    /// Whether it can run here.
    pub fn availability(&self) -> Availability {
        self.availability_on(&Machine::this())
    }

    pub(crate) fn availability_on(&self, machine: &Machine) -> Availability {
        let found = (self.availability)(self, machine);
        debug!("{}: {found:?}", self.name);
        found
    }

    /// The arms for a choice of ciphers, data units and settings on this machine.
    ///
    /// # Errors
    /// [`SystemError::NothingSelected`], [`SystemError::Unavailable`], [`SystemError::Cipher`].
    pub fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        (self.arms)(self, selection, &Features::of(&Machine::this()))
    }

    /// Like [`arms`](Self::arms), but for a machine with these `abilities`.
    ///
    /// # Errors
    /// As for [`arms`](Self::arms).
    pub fn arms_with(
        &self,
        selection: &Selection,
        abilities: &Abilities,
    ) -> Result<Vec<ArmSpec>, SystemError> {
        (self.arms)(self, selection, &abilities.features)
    }

    /// An arm of this system, without a cipher or settings.
    pub(crate) fn arm(
        &self,
        id: impl Into<String>,
        label: impl Into<String>,
        role: Role,
    ) -> ArmSpec {
        ArmSpec {
            id: id.into(),
            label: label.into(),
            role,
            system: self.name,
            target: Target::Plain,
            cipher: None,
            data_unit: None,
            layout: None,
            settings: BTreeMap::new(),
        }
    }

    /// The system's position between a workload and the storage.
    pub fn attachment(&self) -> Attachment {
        match self.kind {
            Kind::Inline(_) => Attachment::Inline,
            Kind::InPlace(attachment) => attachment,
            Kind::Mapped(_) | Kind::Served(_) | Kind::Stacked(_) | Kind::Unsupported(_) => {
                Attachment::Mounted
            }
        }
    }

    /// Whether its arms are part of every run, chosen or not.
    pub fn is_baseline(&self) -> bool {
        matches!(self.kind, Kind::InPlace(Attachment::Inline))
    }

    /// Whether the system creates its own files or file system on the target.
    pub fn makes_a_disk(&self) -> bool {
        matches!(self.kind, Kind::Mapped(_) | Kind::Served(_) | Kind::Stacked(_))
    }

    /// Whether new files can be created through it.
    pub fn has_files(&self) -> bool {
        !matches!(self.kind, Kind::Served(_))
    }

    /// Whether its arms are containers on the measured storage.
    pub fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Mapped(_) | Kind::Served(_))
    }

    /// Number of bytes of storage that an arm needs for `len` bytes of files if `free` bytes are free.
    pub fn footprint(&self, len: u64, free: u64) -> u64 {
        match &self.kind {
            Kind::Served(_) => served::footprint(len),
            Kind::Stacked(stacked) => stacked.footprint(len, free),
            _ => mapped::footprint(len, free),
        }
    }

    /// Bytes of the partition of a disk for `len` bytes of files if `arm` is set up on a partition.
    pub fn partition(&self, arm: &ArmSpec, len: u64) -> Option<u64> {
        match &self.kind {
            Kind::Mapped(mapped) => mapped::partition(mapped, arm, len),
            _ => None,
        }
    }

    /// Number of bytes that are filled before use, if new files need up to `files` bytes and `free` bytes are
    /// free.
    pub fn filled(&self, len: u64, files: u64, free: u64) -> u64 {
        match &self.kind {
            Kind::Mapped(mapped) => mapped::filled(mapped, len, files, free),
            _ => self.footprint(len, 0),
        }
    }

    /// Name of the system that provides the null layer, which is the software path of this system without its
    /// cipher; usually its own name.
    pub fn null_layer(&self) -> &'static str {
        self.null_layer.map_or(self.name, |system| system.name)
    }

    /// The cipher kernel that `arm` uses at `tier`, if the system can report it.
    pub fn kernel_tier(&self, arm: &ArmSpec, tier: Tier) -> Option<String> {
        (self.kernel_tier)(arm, tier)
    }

    /// Like [`kernel_tier`](Self::kernel_tier), but only if the result depends only on this program's own code
    /// and on the CPU, so that nothing else needs to be queried.
    pub fn own_kernel(&self, arm: &ArmSpec, tier: Tier) -> Option<String> {
        self.has_our_ciphers.then(|| self.kernel_tier(arm, tier))?
    }

    /// Sets up `arm`.
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left behind.
    pub fn prepare(
        &self,
        arm: &ArmSpec,
        context: &mut ArmContext<'_>,
    ) -> Result<PreparedArm, SystemError> {
        match &self.kind {
            Kind::Inline(transform) => inline::prepare(*transform, arm, context),
            Kind::Mapped(mapped) => mapped::prepare(mapped, arm, context),
            Kind::Served(served) => served::prepare(served, arm, context),
            Kind::Stacked(stacked) => stacked::prepare(stacked, self, arm, context),
            Kind::InPlace(_) => Ok(in_place::prepare(arm, context)),
            Kind::Unsupported(_) => Err(unsupported::refusal(self)),
        }
    }
}
