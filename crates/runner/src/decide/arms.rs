//! Chooses the arms that a run compares.

use cryptbench_catalog::BUILTIN_MOUNTED;
use cryptbench_cipher::Tier;
use cryptbench_load::{Work, WorkloadSpec};
use cryptbench_record as record;
use cryptbench_system::{self as system, Abilities, ArmSpec, Role, System, null_layer_of};
use cryptbench_text::shown;

use super::Tiers;
use super::choices::Choices;
use super::like;
use super::sizes::makes_files;
use super::storage::Target;
use super::volumes::{self, UnlockArm};
use crate::RunError;
use crate::look::Ground;
use crate::request::{PairRequest, Request};

/// The arms of a run, in the order of the record.
#[derive(Clone, Debug)]
pub(crate) enum Arms {
    /// Systems under load.
    Systems(Vec<ArmSpec>),
    /// Volumes to open.
    Volumes(Vec<UnlockArm>),
}

/// Whether the system of an arm creates its own files or file system on the target.
pub(crate) fn makes_a_disk(arm: &ArmSpec) -> bool {
    system::find(arm.system).is_ok_and(System::makes_a_disk)
}

impl Arms {
    /// Chooses the arms for the profile's kind of work and the user's selection; if the program chooses, also
    /// returns how it chose.
    pub(super) fn choose(
        request: &Request,
        abilities: &Abilities,
    ) -> Result<(Self, Option<Choices>), RunError> {
        let works = || request.profile.workloads.iter().map(|w| &w.work);
        let opens = works().filter(|w| matches!(w, Work::Unlock(_))).count();
        if opens > 0 {
            if opens < request.profile.workloads.len() {
                return Err(RunError::Usage(
                    "a profile cannot both open volumes and load a disk: split it into two profiles"
                        .to_owned(),
                ));
            }
            if !request.target.pair.is_empty() {
                return Err(RunError::Usage(
                    "--pair compares storage under load, but this profile opens volumes that it creates: choose \
                     another profile"
                        .to_owned(),
                ));
            }
            let mut arms = volumes::arms(&request.unlock)?;
            // If the earlier part of a resumed run had less time, it may have measured fewer arms.
            let earlier = request.resume.as_deref().map(|record| &record.plan);
            if let Some(plan) = earlier.or(request.like.as_deref()) {
                arms.retain(|arm| plan.arms.iter().any(|asked| asked.id == arm.id));
            }
            return Ok((Self::Volumes(arms), None));
        }
        let mut selection = request.selection.clone();
        let is_open =
            selection.is_open() && request.target.pair.is_empty() && request.like.is_none();
        if let Some(earlier) = &request.resume {
            for arm in &earlier.plan.arms {
                selection.keep(&arm.system, &arm.settings);
            }
            if is_open {
                return Ok((
                    Self::Systems(Choices::again(&selection, &earlier.plan, abilities)?),
                    None,
                ));
            }
        } else if is_open {
            let choices = Choices::new(&selection, &request.profile.workloads, abilities)?;
            return Ok((Self::Systems(choices.arms()?), Some(choices)));
        }
        if selection.systems.is_empty() && !request.target.pair.is_empty() {
            // No other system was selected.
            selection.systems.push("plain".to_owned());
        } else if selection.systems.is_empty() && works().any(|w| matches!(w, Work::Files(_))) {
            // Small files require a file system on the encrypted storage.
            selection.systems.push(BUILTIN_MOUNTED.name.to_owned());
        }
        let mut arms = match &request.like {
            Some(plan) => like::arms(plan, abilities)?,
            None => system::arms(&selection, abilities)?,
        };
        check_files(&arms, &request.profile.workloads)?;
        for (number, pair) in request.target.pair.iter().enumerate() {
            let path = shown(&pair.encrypted);
            let name = pair.name.as_deref().unwrap_or(&path);
            let mut arm = system::paired_arm(number, pair.id.as_deref(), name, &path);
            if let Some(in_use) = &pair.in_use {
                let facts = &in_use.facts;
                arm.data_unit = Some(facts.sector_size);
                arm.settings.insert("cipher", facts.cipher.clone());
            }
            arms.push(arm);
        }
        Ok((Self::Systems(arms), None))
    }

    /// Names the arms of encrypted targets after their properties, unless the user chose a name.
    fn name_pairs(&mut self, pairs: &[PairRequest], targets: &[Target]) {
        let Self::Systems(arms) = self else { return };
        for arm in arms {
            let system::Target::Encrypted(number) = arm.target else {
                continue;
            };
            let (Some(pair), Some(target)) = (pairs.get(number), targets.get(number)) else {
                continue;
            };
            let (path, Ground { filesystem, source, .. }) = (shown(&target.path), &target.ground);
            arm.label = match (&pair.name, &target.existing) {
                (Some(name), _) => name.clone(),
                (None, Some(_)) => path.clone(),
                (None, None) => format!("{filesystem} {path}"),
            };
            let facts = [("path", &path), ("filesystem", filesystem), ("source", source)];
            let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
            arm.settings.extend(known.map(|(key, value)| (key, value.clone())));
        }
    }

    /// The systems under load; empty if the work is opening volumes.
    pub(crate) fn systems(&self) -> &[ArmSpec] {
        match self {
            Self::Systems(arms) => arms,
            Self::Volumes(_) => &[],
        }
    }

    /// The arms in the form of the record, before any is set up; those of encrypted `targets` are named after the
    /// targets.
    pub(super) fn recorded(
        &mut self,
        pairs: &[PairRequest],
        targets: &[Target],
        tiers: Tiers,
    ) -> Result<Vec<record::Arm>, RunError> {
        self.name_pairs(pairs, targets);
        let tier = tiers.ciphers;
        match self {
            Self::Systems(arms) => {
                // Other systems report their kernel once they are set up.
                let kernel = |system: &System, arm: &_| system.own_kernel(arm, tier);
                arms.iter().map(|arm| recorded(arm, arms, kernel)).collect()
            }
            Self::Volumes(arms) => arms.iter().map(|arm| arm.record(tiers)).collect(),
        }
    }
}

/// Those of `arms` that are set up, in the form of the record.
pub(crate) fn recorded_up(arms: &[ArmSpec], tier: Tier) -> Result<Vec<record::Arm>, RunError> {
    let kernel = |system: &System, arm: &_| system.kernel_tier(arm, tier);
    arms.iter().map(|arm| recorded(arm, arms, kernel)).collect()
}

/// Refuses workloads that create files on a system that does not support files.
fn check_files(arms: &[ArmSpec], workloads: &[WorkloadSpec]) -> Result<(), RunError> {
    let Some(workload) = workloads.iter().find(|w| makes_files(&w.work)) else {
        return Ok(());
    };
    match arms.iter().find(|arm| system::find(arm.system).is_ok_and(|s| !s.has_files())) {
        Some(arm) => Err(RunError::Usage(format!(
            "workload {:?} creates new files, but {} has no file system: omit one of them",
            workload.id, arm.system
        ))),
        None => Ok(()),
    }
}

/// `arm` of `arms` in the form of the record; `kernel` returns the code that runs its cipher.
fn recorded(
    arm: &ArmSpec,
    arms: &[ArmSpec],
    kernel: impl Fn(&System, &ArmSpec) -> Option<String>,
) -> Result<record::Arm, RunError> {
    let system = system::find(arm.system)?;
    Ok(record::Arm {
        id: arm.id.clone(),
        label: arm.label.clone(),
        role: match arm.role {
            Role::Plain => record::ArmRole::Plain,
            Role::PlainAgain => record::ArmRole::PlainAgain,
            Role::NullLayer => record::ArmRole::NullLayer,
            Role::Encrypted => record::ArmRole::Encrypted,
        },
        system: arm.system.to_owned(),
        cipher: arm.cipher.map(str::to_owned),
        data_unit: arm.data_unit,
        layout: arm.layout.map(str::to_owned),
        kernel_tier: kernel(system, arm),
        attachment: (!matches!(arm.role, Role::Plain | Role::PlainAgain))
            .then(|| system.attachment().as_str().to_owned()),
        null_layer: null_layer_of(arm, arms).map(|null| null.id.clone()),
        settings: arm.settings.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
    })
}
