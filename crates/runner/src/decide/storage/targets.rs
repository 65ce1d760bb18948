//! The targets of a run: a single one, or a plain one and those that the user encrypted.

use std::path::PathBuf;

use cryptbench_blockdev::Extent;
use cryptbench_load::{FileUse, Work, WorkloadSpec};
use cryptbench_record as record;
use cryptbench_system::resource::Partitions;
use cryptbench_system::{ArmSpec, Role};
use cryptbench_text::{chain, human, shown};

use super::only_read::{check_reads, in_use_notes, only_read_note};
use super::{MIB, Target, pair, partitions};
use crate::RunError;
use crate::decide::arms::{Arms, makes_a_disk};
use crate::decide::fit::SMALL;
use crate::decide::sizes::{containers, file_space, least_scratch, makes_files, uses_range};
use crate::look::existing::Kind;
use crate::look::{Facts, InUse, Number, Place, There};
use crate::request::{Consent, TargetRequest};

/// Size of the scratch file for workloads that do not use it: the file is used only to test which kind of I/O works.
const UNUSED: u64 = 16 * MIB;

/// The targets of a run.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    pub(crate) plain: Target,
    /// The targets that the user declares to be encrypted.
    pub(crate) encrypted: Vec<Target>,
    /// Set if the two targets are a device in use and its underlying device; both are only read.
    pub(crate) in_use: Option<InUse>,
    /// Bytes of each partition that is made on plain storage, the first for requests.
    pub(crate) partitions: Vec<u64>,
}

/// The region of each target that is accessed by requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Size in bytes.
    pub(crate) size: u64,
    /// The reason for that size, in words.
    pub(crate) reason: String,
}

/// Existing storage, and the region of it that is accessed by requests.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    pub(crate) targets: Targets,
    /// `None` if the work is opening volumes, because these are separate files.
    pub(crate) range: Option<Range>,
}

impl Present {
    /// Accepts the storage that `target` specifies, and chooses the part of it for requests: of a requested
    /// size with its reason, or otherwise of at most this many bytes.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the targets do not support the arms or workloads, [`RunError::Target`] if they
    /// must not be used, or if the files of a run do not fit.
    pub(super) fn admit(
        target: &TargetRequest,
        facts: &Facts,
        arms: &Arms,
        workloads: &[WorkloadSpec],
        sizes: (Option<(u64, &str)>, Option<u64>),
    ) -> Result<Self, RunError> {
        let mut targets = Targets::admit(target, facts)?;
        if let Some(said) = target.device_kind {
            let found = &mut targets.plain.ground.device_kind;
            *found = Some(record::KindOfDevice::said(said, found.as_ref()));
        }
        targets.check_suit(arms, workloads)?;
        let range = match arms {
            Arms::Systems(arms) => Some(targets.range(sizes, arms, workloads)?),
            Arms::Volumes(_) => None,
        };
        if let (Some(range), false) = (&range, targets.plain.is_directory()) {
            targets.partitions = partitions::lens(arms.systems(), range.size);
        }
        Ok(Self { targets, range })
    }
}

impl Targets {
    /// Admits the storage that `target` specifies.
    ///
    /// # Errors
    /// [`RunError::Target`] if it must not be used, with a remedy.
    fn admit(target: &TargetRequest, facts: &Facts) -> Result<Self, RunError> {
        let Facts { plain, encrypted, consented, .. } = facts;
        let Some(plain) = plain else {
            let problem = "was not examined".to_owned();
            return Err(RunError::Target { path: target.path.clone(), problem });
        };
        if let Some(in_use) = target.pair.iter().find_map(|pair| pair.in_use.as_ref()) {
            let record::InUse { offset_bytes: offset, size_bytes: len, .. } = in_use.facts;
            let mapped = |place| Target::to_read(place, Some(Extent { offset: 0, len }));
            return Ok(Self {
                plain: Target::to_read(plain, Some(Extent { offset, len }))?,
                encrypted: encrypted.iter().map(mapped).collect::<Result<_, _>>()?,
                in_use: Some(in_use.clone()),
                partitions: Vec::new(),
            });
        }
        let mut all = encrypted.iter().chain([plain].into_iter().filter(|_| !encrypted.is_empty()));
        let is_missing =
            |place: &&Place| matches!(place.there, There::Nothing { .. } | There::Unseen(_));
        if let Some(place) = all.find(is_missing) {
            let problem = "does not exist: --pair compares existing locations".to_owned();
            return Err(RunError::Target { path: place.path.clone(), problem });
        }
        let run_id = &facts.drawn.run_id;
        let admit = |place: &Place| Target::admit(place, run_id, &target.consent, consented);
        let plain = admit(plain)?;
        if target.only_read {
            let (encrypted, partitions) = (Vec::new(), Vec::new());
            return Ok(Self { plain, encrypted, in_use: None, partitions });
        }
        let encrypted = encrypted.iter().map(admit).collect::<Result<Vec<_>, _>>()?;
        for (number, one) in encrypted.iter().enumerate() {
            pair::check(&plain, one)?;
            encrypted[..number].iter().try_for_each(|before| pair::check_others(before, one))?;
        }
        let targets = Self { plain, encrypted, in_use: None, partitions: Vec::new() };
        targets.check_consent(&target.consent, consented)?;
        Ok(targets)
    }

    /// Whether nothing is written to them.
    pub(crate) fn are_only_read(&self) -> bool {
        self.plain.only_read.is_some()
    }

    fn each(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.plain).chain(&self.encrypted)
    }

    /// Checks that the consent matches the storage; if not, the consent was given for other storage.
    fn check_consent(
        &self,
        consent: &Consent,
        consented: &[(PathBuf, Option<Number>)],
    ) -> Result<(), RunError> {
        for path in &consent.destroy {
            let mut existing = self.each().filter_map(|target| target.existing.as_ref());
            if !existing.any(|existing| existing.is_named(path, consented)) {
                let targets: Vec<_> = self.each().map(|target| shown(&target.path)).collect();
                return Err(RunError::Target {
                    path: path.clone(),
                    problem: format!(
                        "is specified with --destroy but is not a target that this run would overwrite ({}): nothing \
                         was written",
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
                        "does not have the signature {name:?} specified with --yes-erase: check that this is the \
                         right device. Nothing was written"
                    ),
                });
            }
        }
        Ok(())
    }

    /// Refuses workloads and arms that the targets do not support.
    fn check_suit(&self, arms: &Arms, workloads: &[WorkloadSpec]) -> Result<(), RunError> {
        if self.are_only_read() {
            return check_reads(arms, workloads);
        }
        let Some(target) = self.each().find(|target| !target.is_directory()) else {
            return Ok(());
        };
        let refuse = |problem: String| {
            Err(RunError::Usage(format!(
                "{} is a {}, but {problem}",
                shown(&target.path),
                target.kind()
            )))
        };
        let Arms::Systems(arms) = arms else {
            return refuse(
                "the volumes to open are files: specify a directory on a file system".to_owned(),
            );
        };
        if let Some(workload) = workloads.iter().find(|w| makes_files(&w.work)) {
            return refuse(format!(
                "workload {:?} creates new files, which needs a file system: specify a directory, or choose another \
                 profile",
                workload.id
            ));
        }
        let on_one = |arm: &&ArmSpec| partitions::is_on_one(arm);
        let is_disk = target.existing.as_ref().is_some_and(|found| found.kind == Kind::Device);
        let mut made = arms.iter().filter(|arm| makes_a_disk(arm) && !(is_disk && on_one(arm)));
        if let Some(arm) = made.clone().find(on_one) {
            return refuse(format!(
                "{} needs a partition, and only a disk can have one: specify a disk or a directory",
                arm.label
            ));
        }
        let encrypted = made.clone().find(|arm| arm.role == Role::Encrypted);
        if let Some(arm) = encrypted.or_else(|| made.next()) {
            return refuse(format!(
                "{} stores its data in files: specify a directory on a file system, or set up {} yourself on a \
                 second device and compare the two with --pair",
                arm.label, arm.system
            ));
        }
        Ok(())
    }

    /// The part over which the requests of all arms are spread. `asked` is a requested size with its reason;
    /// without it, the part has at most `most` bytes.
    ///
    /// # Errors
    /// [`RunError::Target`] if it does not fit together with everything else that a run creates.
    fn range(
        &self,
        (asked, most): (Option<(u64, &str)>, Option<u64>),
        arms: &[ArmSpec],
        workloads: &[WorkloadSpec],
    ) -> Result<Range, RunError> {
        let is_used = workloads.iter().any(|w| uses_range(&w.work));
        if self.plain.is_directory() && asked.is_none() && !is_used {
            let reason = "minimal: these workloads create their own files".to_owned();
            self.check_room(UNUSED, arms, workloads)?;
            return Ok(Range { size: UNUSED, reason });
        }
        let least = least_scratch(workloads);
        let is_whole = asked.is_none() && workloads.iter().any(|w| w.work.is_whole());
        let reason_of_all = || "the whole target, as the profile specifies".to_owned();
        if let Some(all) = self.plain.only_read.filter(|_| is_whole) {
            return Ok(Range { size: all.len, reason: reason_of_all() });
        }
        if self.are_only_read() {
            let (size, reason) = self.plain.stretch(asked, least, arms.len() as u64)?;
            return Ok(Range { size, reason });
        }
        let all = self.plain.all().filter(|_| is_whole);
        let (mut size, mut reason) = match all {
            Some(all) => (all, reason_of_all()),
            None => self.plain.size(asked, least)?,
        };
        if let Some(most) = most.map(|most| most.max(least.next_multiple_of(MIB)))
            && asked.is_none()
            && all.is_none()
            && size > most
        {
            (size, reason) = (most, "small, because each system fills its own file".to_owned());
        }
        let used = least.next_multiple_of(MIB).max(SMALL);
        if asked.is_none() && all.is_none() && size > used && name_their_part(workloads) {
            (size, reason) = (used, "as much as these workloads use".to_owned());
        }
        for encrypted in &self.encrypted {
            let (there, why) = match encrypted.all().filter(|_| all.is_some()) {
                Some(there) => (there, "the whole of the smaller target".to_owned()),
                None => encrypted.size(asked, least)?,
            };
            if there < size {
                (size, reason) = (there, format!("{why} ({})", shown(&encrypted.path)));
            }
        }
        if let Some(shared) = self.shared(asked.is_some(), least).filter(|shared| *shared < size) {
            (size, reason) = (
                shared,
                "so that a file for each location fits on the same file system".to_owned(),
            );
        }
        let mut part = size;
        if !self.plain.is_directory() && arms.iter().any(partitions::is_on_one) {
            let fitting = (size, reason);
            (size, reason) = partitions::fit(&self.plain, arms, fitting, least, asked.is_some())?;
            // If the run ends early, only the data that the partition table overwrites is certain to be lost.
            part = Partitions::before();
        }
        for target in self.each() {
            if let Some(Err(why)) = target.existing.as_ref().map(|e| e.suits(part, e.holes)) {
                let problem = chain(&why);
                return Err(RunError::Target { path: target.path.clone(), problem });
            }
        }
        self.check_room(size, arms, workloads)?;
        Ok(Range { size, reason })
    }

    /// Refuses a run whose files do not fit.
    fn check_room(
        &self,
        size: u64,
        arms: &[ArmSpec],
        workloads: &[WorkloadSpec],
    ) -> Result<(), RunError> {
        let each = size + file_space(workloads);
        let containers = containers(arms, each, self.plain.free());
        self.each().enumerate().try_for_each(|(number, target)| {
            let containers = if number == 0 { containers } else { 0 };
            target.holds(self.sharing(target) * each, containers)
        })
    }

    /// Number of targets, including `target`, that use space in its file system.
    fn sharing(&self, target: &Target) -> u64 {
        let others = self.each().filter(|other| !std::ptr::eq(*other, target));
        1 + others.filter(|other| pair::share_room(target, other)).count() as u64
    }

    /// Bytes of each file if more than two targets share the space of a file system and no size was requested.
    fn shared(&self, asked: bool, least: u64) -> Option<u64> {
        let crowded = self.each().map(|target| (self.sharing(target), target.free()));
        let each = |(files, free): (u64, u64)| (free / (2 * files)).max(least) / MIB * MIB;
        crowded.filter(|(files, _)| *files > 2 && !asked).map(each).min()
    }

    /// The most important warning: that plain storage is encrypted.
    fn encryption_note(&self) -> Option<String> {
        let by = self.plain.ground.encrypted_by.as_ref()?;
        Some(format!(
            "{} is already encrypted by {} ({}): \"plain\" is not plain there, and every figure is the cost of \
             encryption on top of that.",
            shown(&self.plain.path),
            by.system,
            by.at
        ))
    }

    /// Notes on the targets for readers, in sentences: first, whether plain storage is plain.
    pub(crate) fn notes(&self, size: u64) -> Vec<String> {
        let mut notes: Vec<String> = self.encryption_note().into_iter().collect();
        if let Some(in_use) = &self.in_use {
            notes.extend(in_use_notes(in_use, size));
            return notes;
        }
        if self.are_only_read() {
            notes.push(only_read_note(&self.plain));
        }
        for target in self.each() {
            let Some(existing) = &target.existing else {
                continue;
            };
            let lost = match &existing.signatures[..] {
                [] => String::new(),
                names => format!(", which destroys its contents ({})", names.join(", ")),
            };
            let (bytes, then) = match &self.partitions[..] {
                [] => (size, "afterwards they contain random bytes".to_owned()),
                lens => (
                    Partitions::space(lens),
                    format!(
                        "{} partitions are made there and removed after the run, but their contents stay",
                        lens.len()
                    ),
                ),
            };
            notes.push(format!(
                "The first {} of {} ({}) are overwritten{lost}; {then}.",
                human(bytes),
                shown(&target.path),
                target.in_words()
            ));
        }
        notes.extend(self.encrypted.iter().flat_map(|one| pair::caveats(&self.plain, one)));
        notes
    }
}

/// Whether each of these workloads specifies how much of the range it uses.
fn name_their_part(workloads: &[WorkloadSpec]) -> bool {
    workloads.iter().all(|w| match &w.work {
        Work::Block(block) => block.file != FileUse::Scratch(None),
        Work::Files(_) | Work::Unlock(_) => true,
    })
}
