//! Where a run takes place: one target, or the two of a pair.

use cryptbench_load::{FileUse, Work, WorkloadSpec};
use cryptbench_record::PairedTarget;
use cryptbench_system::resource::{Journal, PrivateDirectory};
use cryptbench_system::{ArmSpec, Role, System, Target, find};
use cryptbench_text::chain;

use super::seclusion::seclude;
use super::{Consent, MIB, Site, human, pair};
use crate::plan::{Arms, Resolved, room};
use crate::{Request, RunError};

/// The scratch file of workloads that use none: it only shows what kind of I/O works.
const UNUSED: u64 = 16 * MIB;

/// The targets of a run.
pub(crate) struct Places {
    pub(crate) plain: Site,
    /// The one that its user calls encrypted.
    pub(crate) encrypted: Option<Site>,
}

impl Places {
    /// Looks at what `request` names. Nothing is changed.
    ///
    /// # Errors
    /// [`RunError::Target`] if a place may not be used, with what to do about it.
    pub(crate) fn inspect(request: &Request, run_id: &str) -> Result<Self, RunError> {
        let target = &request.target;
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
        let plain = Site::inspect(&target.path, run_id, &target.consent)?;
        let encrypted = match &target.pair {
            Some(pair) => Some(Site::inspect(&pair.encrypted, run_id, &target.consent)?),
            None => None,
        };
        if let Some(encrypted) = &encrypted {
            pair::check(&plain, encrypted)?;
        }
        let places = Self { plain, encrypted };
        places.check_consent(&target.consent)?;
        Ok(places)
    }

    /// Moves what the run makes to where nobody else can rename it; the directories go when they are dropped.
    ///
    /// # Errors
    /// [`RunError::Target`] if a place cannot be kept apart.
    pub(crate) fn seclude(
        &mut self,
        resolved: &Resolved,
        run_id: &str,
        journal: &Journal,
    ) -> Result<Vec<PrivateDirectory>, RunError> {
        let names = match &resolved.arms {
            Arms::Systems(arms) => {
                arms.iter().any(makes_a_disk)
                    || resolved.workloads.iter().any(|w| makes_files(&w.work))
            }
            Arms::Volumes(_) => true,
        };
        let mut private = Vec::new();
        private.extend(seclude(&mut self.plain, names, run_id, "private", journal)?);
        if let Some(encrypted) = &mut self.encrypted {
            private.extend(seclude(encrypted, names, run_id, "private-paired", journal)?);
        }
        Ok(private)
    }

    fn each(&self) -> impl Iterator<Item = &Site> {
        std::iter::once(&self.plain).chain(&self.encrypted)
    }

    /// What was given away must be what is there: else it was meant for something else.
    fn check_consent(&self, consent: &Consent) -> Result<(), RunError> {
        for path in &consent.destroy {
            let mut existing = self.each().filter_map(|site| site.existing.as_ref());
            if !existing.any(|existing| existing.is_at(path)) {
                let targets: Vec<_> =
                    self.each().map(|site| site.directory.display().to_string()).collect();
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
            let mut found = self.each().filter_map(|site| site.existing.as_ref());
            if !found.any(|existing| existing.signatures.contains(name)) {
                return Err(RunError::Target {
                    path: self.plain.directory.clone(),
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
    /// [`RunError::Request`].
    pub(crate) fn suit(&self, resolved: &Resolved) -> Result<(), RunError> {
        let Some(site) = self.each().find(|site| site.existing.is_some()) else { return Ok(()) };
        let refuse = |problem: String| {
            Err(RunError::Request(format!(
                "{} is a {}, and {problem}",
                site.directory.display(),
                site.kind()
            )))
        };
        let Arms::Systems(arms) = &resolved.arms else {
            return refuse(
                "volumes to be opened are files: name a directory on a file system".to_owned(),
            );
        };
        if let Some(workload) = resolved.workloads.iter().find(|w| makes_files(&w.work)) {
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

    /// Bytes that requests of all arms are spread over, and the reason in words.
    ///
    /// # Errors
    /// [`RunError::Target`] if they do not fit, with all that a run makes besides.
    pub(crate) fn size(
        &self,
        request: &Request,
        arms: &[ArmSpec],
        workloads: &[WorkloadSpec],
    ) -> Result<(u64, String), RunError> {
        if self.plain.existing.is_none()
            && request.target.size.is_none()
            && !workloads.iter().any(|w| uses_scratch(&w.work))
        {
            let reason = "hardly any: these workloads make files of their own".to_owned();
            self.hold(UNUSED, arms, workloads)?;
            return Ok((UNUSED, reason));
        }
        let mut chosen = self.plain.scratch_size(request, workloads)?;
        if let Some(encrypted) = &self.encrypted {
            let there = encrypted.scratch_size(request, workloads)?;
            if there.0 < chosen.0 {
                chosen = (there.0, format!("{} ({})", there.1, encrypted.directory.display()));
            }
        }
        for site in self.each() {
            if let Some(Err(why)) = site.existing.as_ref().map(|e| e.suits(chosen.0)) {
                let problem = chain(&why);
                return Err(RunError::Target { path: site.directory.clone(), problem });
            }
        }
        self.hold(chosen.0, arms, workloads)?;
        Ok(chosen)
    }

    /// Refuses a run whose files do not fit beside what is there.
    fn hold(
        &self,
        size: u64,
        arms: &[ArmSpec],
        workloads: &[WorkloadSpec],
    ) -> Result<(), RunError> {
        let each = size + room(workloads);
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

    /// Gives the arm of a pair the name that tables call it by, unless its user chose one.
    pub(crate) fn name_pair(&self, request: &Request, resolved: &mut Resolved) {
        let (Some(site), Some(pair)) = (&self.encrypted, &request.target.pair) else { return };
        let place = site.directory.display();
        let name = pair.name.clone().unwrap_or_else(|| match &site.existing {
            Some(_) => place.to_string(),
            None => format!("{} {place}", site.filesystem),
        });
        let Arms::Systems(specs) = &mut resolved.arms else { return };
        for (spec, arm) in specs.iter_mut().zip(&mut resolved.plan.arms) {
            if spec.target != Target::Encrypted {
                continue;
            }
            spec.label.clone_from(&name);
            arm.label.clone_from(&name);
            let mut note = |key: &str, value: &str| {
                if !value.is_empty() {
                    arm.settings.insert(key.to_owned(), value.to_owned());
                }
            };
            note("path", &place.to_string());
            note("filesystem", &site.filesystem);
            note("source", &site.source);
        }
    }

    /// What a reader must know of the targets, in sentences.
    pub(crate) fn notes(&self, size: u64) -> Vec<String> {
        let mut notes = Vec::new();
        for site in self.each() {
            let Some(existing) = &site.existing else { continue };
            let lost = match &existing.signatures[..] {
                [] => String::new(),
                names => format!(", and with them what it held: {}", names.join(", ")),
            };
            notes.push(format!(
                "The first {} of {} ({}) are overwritten{lost}; they hold random bytes afterwards.",
                human(size),
                site.directory.display(),
                site.in_words()
            ));
        }
        if let Some(encrypted) = &self.encrypted {
            notes.extend(pair::caveats(&self.plain, encrypted));
        }
        notes
    }

    /// What a record says of the second target.
    pub(crate) fn record_pair(&self, resolved: &Resolved) -> Option<PairedTarget> {
        let site = self.encrypted.as_ref()?;
        let is_there = |arm: &usize| resolved.arms.target(*arm) == Target::Encrypted;
        let arm = &resolved.plan.arms[(0..resolved.plan.arms.len()).find(is_there)?];
        let existing = site.existing.as_ref();
        Some(PairedTarget {
            name: arm.label.clone(),
            arm: arm.id.clone(),
            directory: site.directory.display().to_string(),
            kind: site.kind().to_owned(),
            filesystem: site.filesystem.clone(),
            mount_options: site.mount_options.clone(),
            source: site.source.clone(),
            device: site.device.clone(),
            backing_file: existing.and_then(|e| e.backing_file.clone()),
            erased: existing.map(|e| e.signatures.clone()).unwrap_or_default(),
        })
    }
}

/// Bytes of what mounted systems make, each for `len` bytes of files, one after the other where `free` bytes are
/// free.
pub(crate) fn containers(arms: &[ArmSpec], len: u64, free: u64) -> u64 {
    let mut sum = 0;
    for arm in arms.iter().filter(|arm| makes_a_disk(arm)) {
        let left = free.saturating_sub(sum + len);
        sum += find(arm.system).map_or(0, |system| system.footprint(len, left));
    }
    sum
}

/// Whether an arm's system makes files or a file system of its own in the target.
pub(crate) fn makes_a_disk(arm: &ArmSpec) -> bool {
    find(arm.system).is_ok_and(System::makes_a_disk)
}

fn makes_files(work: &Work) -> bool {
    match work {
        Work::Block(block) => matches!(block.file, FileUse::Fresh(_)),
        Work::Files(_) => true,
        Work::Unlock(_) => false,
    }
}

fn uses_scratch(work: &Work) -> bool {
    matches!(work, Work::Block(block) if matches!(block.file, FileUse::Scratch(_)))
}
