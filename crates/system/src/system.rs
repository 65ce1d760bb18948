//! A system as data: what it is called, what it can be set to, what it offers, and which kind of thing it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use cryptbench_blockdev::SectorTransform;
use cryptbench_cipher::Tier;

use crate::kind::mapped::{self, Mapped};
use crate::kind::stacked::{self, Stacked};
use crate::kind::{in_place, inline, unsupported};
use crate::machine::Machine;
use crate::registry::Selection;
use crate::{ArmContext, PreparedArm, SystemError};

/// What an arm is compared as.
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

/// Which of a run's targets an arm is measured on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// That of plain storage, as all systems are that a run sets up.
    #[default]
    Plain,
    /// The one beside it that its user has encrypted.
    Encrypted,
}

/// One arm, as a system offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmSpec {
    /// Identifier within a run, such as `builtin/aes-256-xts/512`.
    pub id: String,
    /// How tables call it.
    pub label: String,
    /// What it is compared as.
    pub role: Role,
    /// Name of the system in the registry.
    pub system: &'static str,
    /// What it is measured on.
    pub target: Target,
    /// Cipher and mode; `None` where nothing is encrypted.
    pub cipher: Option<&'static str>,
    /// Bytes under one tweak.
    pub data_unit: Option<u32>,
    /// The format whose sector layout is used.
    pub layout: Option<&'static str>,
    /// What the system is set to, where it has [settings](System::settings): name and value.
    pub settings: BTreeMap<&'static str, String>,
}

impl ArmSpec {
    /// Whether a setting has that value.
    pub(crate) fn is_set(&self, setting: &str, value: &str) -> bool {
        self.settings.get(setting).is_some_and(|v| v == value)
    }
}

/// Something that a system can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name on the command line, such as `sector-size`.
    pub name: &'static str,
    /// What it decides, in one line.
    pub about: &'static str,
    /// The values there are, the system's own default first.
    pub values: &'static [&'static str],
}

/// Whether a system can run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can; the text names its version.
    Available(String),
    /// It cannot, for this reason, and this would mend it.
    Unavailable {
        /// The exact reason.
        reason: String,
        /// What to do.
        remedy: String,
    },
}

impl Availability {
    /// It cannot run, for this reason, and this would mend it.
    pub(crate) fn without(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), remedy: remedy.into() }
    }
}

/// How a system comes between a workload and the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// In the process that issues the requests, on the very bytes that plain storage is measured on.
    Inline,
    /// As a file system of its own, in which files are made and used like any others.
    Mounted,
}

impl Attachment {
    /// `inline` or `mounted`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Mounted => "mounted",
        }
    }
}

/// Makes the transform of an arm, under a key of its own.
pub(crate) type Transform = fn(&ArmSpec, Tier) -> Result<Arc<dyn SectorTransform>, SystemError>;

/// How arms of a system are set up.
pub(crate) enum Kind {
    /// As a transform in this process, over the scratch file of plain storage.
    Inline(Transform),
    /// As a container that a device shows, with a file system on it.
    Mapped(Mapped),
    /// As a directory, or a file system, that another shows.
    Stacked(Stacked),
    /// Not at all: what is there is measured.
    InPlace(Attachment),
    /// Never, for this reason on a machine; and what would mend it.
    Unsupported(fn(&Machine) -> (String, String)),
}

/// An encryption system (or plain storage, the one that encrypts nothing).
pub struct System {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) settings: &'static [Setting],
    /// Another system whose null layer is the software path of this one without its cipher.
    pub(crate) null_layer: Option<&'static System>,
    /// Whether it is meant where a user asks for all.
    pub(crate) in_all: bool,
    /// Whether ciphers and data units of a selection are its own, as settings are of others.
    pub(crate) has_our_ciphers: bool,
    pub(crate) availability: fn(&System, &Machine) -> Availability,
    pub(crate) arms: fn(&System, &Selection) -> Result<Vec<ArmSpec>, SystemError>,
    pub(crate) kernel_tier: fn(&ArmSpec, Tier) -> Option<String>,
    pub(crate) kind: Kind,
}

impl System {
    /// One that can always run, offers nothing, and has no settings.
    pub(crate) const fn new(name: &'static str, about: &'static str, kind: Kind) -> Self {
        Self {
            name,
            about,
            settings: &[],
            null_layer: None,
            in_all: true,
            has_our_ciphers: false,
            availability: |_, _| Availability::Available("always".to_owned()),
            arms: unsupported::no_arms,
            kernel_tier: |_, _| None,
            kind,
        }
    }

    /// Name in the registry and on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in one line.
    #[must_use]
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// What it can be set to.
    #[must_use]
    pub fn settings(&self) -> &'static [Setting] {
        self.settings
    }

    /// Whether it can run here.
    #[must_use]
    pub fn availability(&self) -> Availability {
        self.availability_on(&Machine::this())
    }

    pub(crate) fn availability_on(&self, machine: &Machine) -> Availability {
        (self.availability)(self, machine)
    }

    pub(crate) fn is_available(&self) -> bool {
        matches!(self.availability(), Availability::Available(_))
    }

    /// The arms that it offers for a choice of ciphers, data units and settings.
    ///
    /// # Errors
    /// [`SystemError::NothingSelected`], [`SystemError::Unavailable`], [`SystemError::Cipher`].
    pub fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        (self.arms)(self, selection)
    }

    /// An arm of it that encrypts nothing and is set to nothing.
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

    /// How it comes between a workload and the storage.
    #[must_use]
    pub fn attachment(&self) -> Attachment {
        match self.kind {
            Kind::Inline(_) => Attachment::Inline,
            Kind::InPlace(attachment) => attachment,
            Kind::Mapped(_) | Kind::Stacked(_) | Kind::Unsupported(_) => Attachment::Mounted,
        }
    }

    /// Whether its arms are in every run, chosen or not.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        matches!(self.kind, Kind::InPlace(Attachment::Inline))
    }

    /// Whether it makes files or a file system of its own on the target.
    #[must_use]
    pub fn makes_a_disk(&self) -> bool {
        matches!(self.kind, Kind::Mapped(_) | Kind::Stacked(_))
    }

    /// Bytes of storage that an arm takes with `len` bytes of files where `free` are free.
    #[must_use]
    pub fn footprint(&self, len: u64, free: u64) -> u64 {
        match &self.kind {
            Kind::Stacked(stacked) if !stacked.is_contained() => stacked::footprint(len),
            _ => mapped::footprint(len, free),
        }
    }

    /// Name of the system whose null layer is this one's software path without its cipher: mostly its own.
    #[must_use]
    pub fn null_layer(&self) -> &'static str {
        self.null_layer.map_or(self.name, |system| system.name)
    }

    /// The cipher kernel that `arm` runs on at `tier`, where the system can tell.
    #[must_use]
    pub fn kernel_tier(&self, arm: &ArmSpec, tier: Tier) -> Option<String> {
        (self.kernel_tier)(arm, tier)
    }

    /// Sets `arm` up.
    ///
    /// # Errors
    /// Any [`SystemError`]; nothing is left.
    pub fn prepare(
        &self,
        arm: &ArmSpec,
        context: &mut ArmContext<'_>,
    ) -> Result<PreparedArm, SystemError> {
        match &self.kind {
            Kind::Inline(transform) => inline::prepare(*transform, arm, context),
            Kind::Mapped(mapped) => mapped::prepare(mapped, arm, context),
            Kind::Stacked(stacked) => stacked::prepare(stacked, self, arm, context),
            Kind::InPlace(_) => Ok(in_place::prepare(arm, context)),
            Kind::Unsupported(_) => Err(unsupported::refusal(self)),
        }
    }
}
