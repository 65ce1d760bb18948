//! Which arms a run compares.

use cryptbench_cipher::Tier;
use cryptbench_load::Work;
use cryptbench_record as record;
use cryptbench_system::{self as system, ArmSpec, Role, System};

use super::request::Request;
use super::storage::Target;
use super::volumes::{self, UnlockArm};
use crate::RunError;

/// The arms of a run, in the order in which a record lists them.
#[derive(Clone, Debug)]
pub(crate) enum Arms {
    /// Systems under a load.
    Systems(Vec<ArmSpec>),
    /// Volumes that are opened.
    Volumes(Vec<UnlockArm>),
}

/// Whether the system of an arm makes files or a file system of its own on the target.
pub(crate) fn makes_a_disk(arm: &ArmSpec) -> bool {
    system::find(arm.system).is_ok_and(System::makes_a_disk)
}

impl Arms {
    /// The arms that the profile's kind of work and the user's choice come to.
    ///
    /// # Errors
    /// [`RunError::Usage`] for a choice that makes no sense, [`RunError::System`] for one that is not there.
    pub(super) fn choose(request: &Request) -> Result<Self, RunError> {
        let works = || request.profile.workloads.iter().map(|w| &w.work);
        let opens = works().filter(|w| matches!(w, Work::Unlock(_))).count();
        if opens > 0 {
            if opens < request.profile.workloads.len() {
                return Err(RunError::Usage(
                    "opening volumes and loading a disk are measured on different arms: put them into two profiles"
                        .to_owned(),
                ));
            }
            if request.target.pair.is_some() {
                return Err(RunError::Usage(
                    "--pair compares storage under a load, and this profile opens volumes of its own: choose another"
                        .to_owned(),
                ));
            }
            return volumes::arms(&request.unlock).map(Self::Volumes);
        }
        let mut selection = request.selection.clone();
        if selection.systems.is_empty() && request.target.pair.is_some() {
            // Nothing else was asked for.
            selection.systems.push("plain".to_owned());
        } else if selection.systems.is_empty() && works().any(|w| matches!(w, Work::Files(_))) {
            // Small files need a file system on the encrypted storage.
            selection.systems.push("builtin-mounted".to_owned());
        }
        let mut arms = system::arms(&selection)?;
        if let Some(pair) = &request.target.pair {
            let path = pair.encrypted.display().to_string();
            arms.push(system::paired_arm(pair.name.as_deref().unwrap_or(&path), &path));
        }
        Ok(Self::Systems(arms))
    }

    /// Names the arm of a pair after what `target` was found to be, unless its user chose a name.
    pub(super) fn name_pair(&mut self, name: Option<&str>, target: &Target) {
        let Self::Systems(arms) = self else { return };
        let path = target.path.display().to_string();
        for arm in arms.iter_mut().filter(|arm| arm.target == system::Target::Encrypted) {
            arm.label = name.map_or_else(
                || match &target.existing {
                    Some(_) => path.clone(),
                    None => format!("{} {path}", target.filesystem),
                },
                ToOwned::to_owned,
            );
            let facts =
                [("path", &path), ("filesystem", &target.filesystem), ("source", &target.source)];
            let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
            arm.settings.extend(known.map(|(key, value)| (key, value.clone())));
        }
    }

    /// The systems under a load; none where volumes are opened.
    pub(crate) fn systems(&self) -> &[ArmSpec] {
        match self {
            Self::Systems(arms) => arms,
            Self::Volumes(_) => &[],
        }
    }

    /// As a record has them.
    pub(super) fn recorded(&self, tier: Tier) -> Result<Vec<record::Arm>, RunError> {
        match self {
            Self::Systems(arms) => arms.iter().map(|arm| recorded(arm, arms, tier)).collect(),
            Self::Volumes(arms) => arms.iter().map(UnlockArm::record).collect(),
        }
    }
}

fn recorded(arm: &ArmSpec, arms: &[ArmSpec], tier: Tier) -> Result<record::Arm, RunError> {
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
        kernel_tier: system::find(arm.system)?.kernel_tier(arm, tier),
        attachment: (!matches!(arm.role, Role::Plain | Role::PlainAgain))
            .then(|| system::find(arm.system).map(|s| s.attachment().as_str().to_owned()))
            .transpose()?,
        null_layer: system::null_layer_of(arm, arms).map(|null| null.id.clone()),
        settings: arm.settings.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
    })
}
