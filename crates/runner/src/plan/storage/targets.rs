//! Where a run takes place: one target, or the two of a pair.

use cryptbench_load::WorkloadSpec;
use cryptbench_system::{ArmSpec, Role};
use cryptbench_text::chain;

use super::{Consent, MIB, Target, human, pair};
use crate::RunError;
use crate::plan::arms::{Arms, makes_a_disk};
use crate::plan::request::TargetRequest;
use crate::plan::sizes::{containers, file_space, least_scratch, makes_files, uses_range};

/// The scratch file of workloads that use none: it only shows what kind of I/O works.
const UNUSED: u64 = 16 * MIB;

/// The targets of a run.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    pub(crate) plain: Target,
    /// The one that its user calls encrypted.
    pub(crate) encrypted: Option<Target>,
}

/// The part of each target that requests go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Bytes.
    pub(crate) size: u64,
    /// Why so many, in words.
    pub(crate) reason: String,
}

impl Targets {
    /// Looks at what `target` names. Nothing is changed.
    ///
    /// # Errors
    /// [`RunError::Target`] if one may not be used, with what to do about it.
    pub(crate) fn inspect(target: &TargetRequest, run_id: &str) -> Result<Self, RunError> {
        if let Some(pair) = &target.pair {
            for path in [&target.path, &pair.encrypted] {
                if !path.exists() {
                    let problem = "does not exist: a pair compares places that are there";
                    return Err(RunError::Target {
                        path: path.clone(),
                        problem: problem.to_owned(),
                    });
                }
            }
        }
        let plain = Target::inspect(&target.path, run_id, &target.consent)?;
        let encrypted = match &target.pair {
            Some(pair) => Some(Target::inspect(&pair.encrypted, run_id, &target.consent)?),
            None => None,
        };
        if let Some(encrypted) = &encrypted {
            pair::check(&plain, encrypted)?;
        }
        let targets = Self { plain, encrypted };
        targets.check_consent(&target.consent)?;
        Ok(targets)
    }

    fn each(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.plain).chain(&self.encrypted)
    }

    /// What was given away must be what is there: else it was meant for something else.
    fn check_consent(&self, consent: &Consent) -> Result<(), RunError> {
        for path in &consent.destroy {
            let mut existing = self.each().filter_map(|target| target.existing.as_ref());
            if !existing.any(|existing| existing.is_at(path)) {
                let targets: Vec<_> =
                    self.each().map(|target| target.path.display().to_string()).collect();
                return Err(RunError::Target {
                    path: path.clone(),
                    problem: format!(
                        "is named by --destroy, and is not what this run would overwrite ({}): nothing was done",
                        targets.join(", ")
                    ),
                });
            }
        }
        for name in &consent.erase {
            let mut found = self.each().filter_map(|target| target.existing.as_ref());
            if !found.any(|existing| existing.signatures.contains(name)) {
                return Err(RunError::Target {
                    path: self.plain.path.clone(),
                    problem: format!(
                        "holds no signature {name:?}, which --yes-erase names: is it the right one? Nothing was done"
                    ),
                });
            }
        }
        Ok(())
    }

    /// Refuses workloads and arms that the targets cannot carry.
    ///
    /// # Errors
    /// [`RunError::Usage`].
    pub(super) fn check_suit(
        &self,
        arms: &Arms,
        workloads: &[WorkloadSpec],
    ) -> Result<(), RunError> {
        let Some(target) = self.each().find(|target| target.existing.is_some()) else {
            return Ok(());
        };
        let refuse = |problem: String| {
            Err(RunError::Usage(format!(
                "{} is a {}, and {problem}",
                target.path.display(),
                target.kind()
            )))
        };
        let Arms::Systems(arms) = arms else {
            return refuse(
                "volumes to be opened are files: name a directory on a file system".to_owned(),
            );
        };
        if let Some(workload) = workloads.iter().find(|w| makes_files(&w.work)) {
            return refuse(format!(
                "the workload {:?} makes new files, which takes a file system: name a directory, or another profile",
                workload.id
            ));
        }
        let mut made = arms.iter().filter(|arm| makes_a_disk(arm));
        let encrypted = made.clone().find(|arm| arm.role == Role::Encrypted);
        if let Some(arm) = encrypted.or_else(|| made.next()) {
            return refuse(format!(
                "{} keeps its data in files: name a directory on a file system, or set {} up yourself on a second \
                 device and compare the two with --pair",
                arm.label, arm.system
            ));
        }
        Ok(())
    }

    /// The part that requests of all arms are spread over: as many bytes as were `asked` for, for the reason beside it.
    ///
    /// # Errors
    /// [`RunError::Target`] if they do not fit, with all that a run makes besides.
    pub(super) fn range(
        &self,
        asked: Option<(u64, &str)>,
        arms: &[ArmSpec],
        workloads: &[WorkloadSpec],
    ) -> Result<Range, RunError> {
        let is_used = workloads.iter().any(|w| uses_range(&w.work));
        if self.plain.existing.is_none() && asked.is_none() && !is_used {
            let reason = "hardly any: these workloads make files of their own".to_owned();
            self.check_room(UNUSED, arms, workloads)?;
            return Ok(Range { size: UNUSED, reason });
        }
        let least = least_scratch(workloads);
        let (mut size, mut reason) = self.plain.size(asked, least)?;
        if let Some(encrypted) = &self.encrypted {
            let (there, why) = encrypted.size(asked, least)?;
            if there < size {
                (size, reason) = (there, format!("{why} ({})", encrypted.path.display()));
            }
        }
        for target in self.each() {
            if let Some(Err(why)) = target.existing.as_ref().map(|e| e.suits(size)) {
                let problem = chain(&why);
                return Err(RunError::Target { path: target.path.clone(), problem });
            }
        }
        self.check_room(size, arms, workloads)?;
        Ok(Range { size, reason })
    }

    /// Refuses a run whose files do not fit beside what is there.
    fn check_room(
        &self,
        size: u64,
        arms: &[ArmSpec],
        workloads: &[WorkloadSpec],
    ) -> Result<(), RunError> {
        let each = size + file_space(workloads);
        let containers = containers(arms, each, self.plain.free());
        match &self.encrypted {
            Some(encrypted) if pair::share_room(&self.plain, encrypted) => {
                self.plain.holds(2 * each, containers)
            }
            Some(encrypted) => {
                self.plain.holds(each, containers)?;
                encrypted.holds(each, 0)
            }
            None => self.plain.holds(each, containers),
        }
    }

    /// What a reader must know of the targets, in sentences.
    pub(crate) fn notes(&self, size: u64) -> Vec<String> {
        let mut notes = Vec::new();
        for target in self.each() {
            let Some(existing) = &target.existing else { continue };
            let lost = match &existing.signatures[..] {
                [] => String::new(),
                names => format!(", and with them what it held: {}", names.join(", ")),
            };
            notes.push(format!(
                "The first {} of {} ({}) are overwritten{lost}; they hold random bytes afterwards.",
                human(size),
                target.path.display(),
                target.in_words()
            ));
        }
        if let Some(encrypted) = &self.encrypted {
            notes.extend(pair::caveats(&self.plain, encrypted));
        }
        notes
    }
}
