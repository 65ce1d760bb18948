//! The storage of a run: admits the target, or refuses it if it must not be used, and chooses the region that requests
//! can access.

pub(crate) mod emulated;
mod existing;
mod only_read;
mod pair;
pub(crate) mod partitions;
pub(crate) mod seclusion;
mod target;
mod targets;

pub(crate) use self::emulated::EmulatedStorage;
pub(crate) use self::existing::{Existing, refuse_links};
pub use self::only_read::only_reads;
pub(crate) use self::target::Target;
pub(crate) use self::targets::{Present, Range, Targets};
use super::arms::{Arms, makes_a_disk};
use super::choices::{Choices, RANGE};
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
    /// An emulated device, which the run must serve first.
    Emulated(Box<EmulatedStorage>),
}

impl Storage {
    /// The storage of a run of `arms`. If they do not fit, `choices` are reduced: systems that the user did not
    /// specify are dropped.
    pub(super) fn choose(
        request: &Request,
        facts: &Facts,
        arms: &mut Arms,
        mut choices: Option<&mut Choices>,
    ) -> Result<Self, RunError> {
        loop {
            let error = match Self::of(request, arms, facts) {
                Ok(storage) => return Ok(storage),
                Err(error) => error,
            };
            let Some(choices) = choices.as_deref_mut() else {
                return Err(error);
            };
            if !choices.give_way(&error) {
                return Err(error);
            }
            *arms = Arms::Systems(choices.arms()?);
        }
    }

    fn of(request: &Request, arms: &Arms, facts: &Facts) -> Result<Self, RunError> {
        let has_a_disk = arms.systems().iter().any(makes_a_disk);
        if request.precondition > 0 && has_a_disk {
            return Err(RunError::Usage(
                "--precondition writes to the scratch file that inline systems share, but a mounted system has its \
                 own file, so the comparison would be unfair: omit --precondition or one kind of system"
                    .to_owned(),
            ));
        }
        let (target, workloads) = (&request.target, &request.profile.workloads);
        if let Some(emulate) = &target.emulate {
            let asked = target.size.or(request.profile.size);
            let storage = EmulatedStorage::plan(emulate, asked, arms, workloads, facts)?;
            return Ok(Self::Emulated(Box::new(storage)));
        }
        let asked = target.size.map(|size| (size, "requested with --size"));
        let usual = request.profile.size.map(|size| (size, "as the profile specifies"));
        // The amount does not depend on whether the user or the program chose the systems, so that both kinds of
        // run measure the same amount.
        let most = has_a_disk.then_some(RANGE);
        let present = Present::admit(target, facts, arms, workloads, (asked.or(usual), most))?;
        Ok(Self::Present(Box::new(present)))
    }

    /// Whether the run only reads it.
    pub(crate) fn is_only_read(&self) -> bool {
        matches!(self, Self::Present(present) if present.targets.are_only_read())
    }

    /// Size in bytes of all regions that are accessed by requests.
    pub(super) fn whole(&self) -> u64 {
        match self {
            Self::Present(present) => present.range.as_ref().map_or(0, |range| range.size),
            Self::Emulated(storage) => storage.range.size,
        }
    }

    /// Alignment of direct requests in bytes; 1 if it is unknown.
    pub(crate) fn sector(&self) -> u64 {
        let Self::Present(present) = self else { return 1 };
        let targets = &present.targets;
        let all = std::iter::once(&targets.plain).chain(&targets.encrypted);
        all.map(Target::sector).max().unwrap_or(1)
    }

    /// Refuses a directory in which others could replace files that this run creates.
    pub(super) fn check_others(&self, names: bool, is_root: bool) -> Result<(), RunError> {
        let Self::Present(present) = self else { return Ok(()) };
        let Targets { plain, encrypted, .. } = &present.targets;
        let mut all = [plain].into_iter().chain(encrypted);
        all.try_for_each(|target| seclusion::protection(target, names, is_root).map(drop))
    }

    /// The targets that the user encrypted.
    pub(super) fn encrypted(&self) -> &[Target] {
        match self {
            Self::Present(present) => &present.targets.encrypted,
            Self::Emulated(_) => &[],
        }
    }
}

/// Whether requests go through the page cache, and who decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffered {
    /// Requests bypass the page cache if direct I/O works.
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
