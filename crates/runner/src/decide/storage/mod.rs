//! The storage of a run: admits the target, or refuses it if it must not be used, and chooses the part for requests.

pub(crate) mod emulated;
mod existing;
mod only_read;
mod pair;
mod target;
mod targets;

pub(crate) use self::emulated::EmulatedStorage;
pub(crate) use self::existing::{Existing, refuse_links};
pub use self::only_read::only_reads;
pub(crate) use self::target::Target;
pub(crate) use self::targets::{Range, Targets};
use super::arms::Arms;
use crate::RunError;
use crate::look::Facts;
use crate::request::Request;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The storage that a run measures.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    /// Existing storage.
    Present(Box<Present>),
    /// An emulated device, which the run serves first.
    Emulated(Box<EmulatedStorage>),
}

/// Existing storage, and the part of it that requests go to.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    pub(crate) targets: Targets,
    /// `None` if the work is opening volumes, which are separate files.
    pub(crate) range: Option<Range>,
}

impl Storage {
    /// The storage of a run of `arms`; where nobody asks for a size, the active range has at most `most` bytes.
    pub(super) fn plan(
        request: &Request,
        arms: &Arms,
        facts: &Facts,
        most: Option<u64>,
    ) -> Result<Self, RunError> {
        let target = &request.target;
        if let Some(emulate) = &target.emulate {
            let asked = target.size.or(request.profile.size);
            let workloads = &request.profile.workloads;
            return EmulatedStorage::plan(emulate, asked, arms, workloads, facts)
                .map(|storage| Self::Emulated(Box::new(storage)));
        }
        let targets = Targets::admit(target, facts)?;
        let asked = target.size.map(|size| (size, "asked for with --size"));
        let usual = request.profile.size.map(|size| (size, "as the profile has it"));
        let asked = asked.or(usual);
        let present = Present::plan(targets, arms, &request.profile.workloads, asked, most)?;
        Ok(Self::Present(Box::new(present)))
    }

    /// Whether the run only reads it.
    pub(crate) fn is_only_read(&self) -> bool {
        matches!(self, Self::Present(present) if present.targets.are_only_read())
    }

    /// Bytes of all that requests go to.
    pub(super) fn whole(&self) -> u64 {
        match self {
            Self::Present(present) => present.range.as_ref().map_or(0, |range| range.size),
            Self::Emulated(storage) => storage.range.size,
        }
    }

    /// The targets that the user encrypted.
    pub(super) fn encrypted(&self) -> &[Target] {
        match self {
            Self::Present(present) => &present.targets.encrypted,
            Self::Emulated(_) => &[],
        }
    }
}

impl Present {
    /// Chooses the part of `targets` for requests. `asked` is a requested size with its reason; without
    /// it, the part has at most `most` bytes.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the targets cannot carry the arms or workloads, [`RunError::Target`]
    /// if the files of a run do not fit.
    fn plan(
        targets: Targets,
        arms: &Arms,
        workloads: &[cryptbench_load::WorkloadSpec],
        asked: Option<(u64, &str)>,
        most: Option<u64>,
    ) -> Result<Self, RunError> {
        targets.check_suit(arms, workloads)?;
        let range = match arms {
            Arms::Systems(arms) => Some(targets.range((asked, most), arms, workloads)?),
            Arms::Volumes(_) => None,
        };
        Ok(Self { targets, range })
    }
}

/// Whether requests go through the page cache, and who decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffered {
    /// They bypass it if direct I/O works.
    No,
    /// The user requested it.
    Asked,
    /// The profile requires it.
    Profile,
}

impl Buffered {
    pub(super) fn choose(request: &Request) -> Self {
        match (request.target.buffered, request.profile.buffered) {
            (Some(true), _) => Self::Asked,
            (None, true) => Self::Profile,
            _ => Self::No,
        }
    }
}
