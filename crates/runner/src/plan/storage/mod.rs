//! What a run is pointed at: looked at, and refused where it may not be used. Nothing is changed (Linux: mountinfo and /sys).

mod block;
pub(crate) mod emulated;
mod existing;
mod holders;
mod pair;
mod refusal;
mod target;
mod targets;

pub(crate) use emulated::EmulatedStorage;
pub use existing::Consent;
pub(crate) use existing::Overwritten;
pub(crate) use target::Target;
pub(crate) use targets::{Range, Targets};

use super::arms::Arms;
use super::request::Request;
use crate::RunError;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The storage that a run measures.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    /// It is there.
    Present(Box<Present>),
    /// A modelled device, which the run serves first.
    Emulated(Box<EmulatedStorage>),
}

/// Storage that is there, and how much of it requests go to.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    pub(crate) targets: Targets,
    /// `None` where volumes are opened, which are files of their own.
    pub(crate) range: Option<Range>,
}

impl Storage {
    pub(super) fn plan(request: &Request, arms: &Arms, run_id: &str) -> Result<Self, RunError> {
        let target = &request.target;
        if let Some(emulate) = &target.emulate {
            let asked = target.size.or(request.profile.size);
            let workloads = &request.profile.workloads;
            return EmulatedStorage::plan(emulate, asked, arms, workloads)
                .map(|storage| Self::Emulated(Box::new(storage)));
        }
        let targets = Targets::inspect(target, run_id)?;
        let asked = target.size.map(|size| (size, "asked for with --size"));
        let usual = request.profile.size.map(|size| (size, "as the profile has it"));
        let asked = asked.or(usual);
        let present = Present::plan(targets, arms, &request.profile.workloads, asked)?;
        Ok(Self::Present(Box::new(present)))
    }

    /// The second target of a pair.
    pub(super) fn encrypted(&self) -> Option<&Target> {
        match self {
            Self::Present(present) => present.targets.encrypted.as_ref(),
            Self::Emulated(_) => None,
        }
    }
}

impl Present {
    /// How much of `targets` requests go to: as much as was `asked` for, for the reason beside it.
    ///
    /// # Errors
    /// [`RunError::Usage`] where the targets cannot carry the arms or workloads, [`RunError::Target`] where what a run
    /// makes does not fit.
    fn plan(
        targets: Targets,
        arms: &Arms,
        workloads: &[cryptbench_load::WorkloadSpec],
        asked: Option<(u64, &str)>,
    ) -> Result<Self, RunError> {
        targets.check_suit(arms, workloads)?;
        let range = match arms {
            Arms::Systems(arms) => Some(targets.range(asked, arms, workloads)?),
            Arms::Volumes(_) => None,
        };
        Ok(Self { targets, range })
    }
}

/// Whether requests pass the page cache, and on whose word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffered {
    /// They do not, where direct I/O works.
    No,
    /// The user wants it so.
    Asked,
    /// The profile has it so.
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

/// Bytes for people, in binary units.
pub fn human(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..MIB => (bytes as f64 / 1024.0, "KiB"),
        MIB..GIB => (bytes as f64 / MIB as f64, "MiB"),
        _ => (bytes as f64 / GIB as f64, "GiB"),
    };
    let digits = if value < 10.0 && value.fract() > 0.05 { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(4096), "4 KiB");
        assert_eq!(human(3 * GIB / 2), "1.5 GiB");
        assert_eq!(human(256 * GIB), "256 GiB");
    }
}
