//! The systems available on this machine from which a run chooses if its user does not specify any.

use cryptbench_catalog::{BUILTIN_MOUNTED, BUILTIN_RAW, Remedy};

use crate::adapter::{ORDER, builtin::BUILTIN, plain::PLAIN};
use crate::registry::{find, with_null_layers};
use crate::system::{ArmSpec, Availability, Role, System};
use crate::{Abilities, Selection, SystemError};

/// The sector size for this program's engine if only one sector size is measured: LUKS2's larger sectors, because they
/// are faster.
const DATA_UNIT: u32 = 4096;

/// A system that a run can choose.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub system: &'static str,
    /// The system's arms: its null layers if they were requested, then one that encrypts with the system's defaults.
    pub arms: Vec<ArmSpec>,
    /// Why the system cannot run here, and the remedy; the system then has no arms. `None` if it can run.
    pub lacks: Option<(String, Remedy)>,
}

/// The systems to choose from, in order of preference; `files` states whether workloads create files. Systems
/// that cannot run are included if users would miss them.
///
/// # Errors
/// [`SystemError`] for a setting that no system has.
pub fn candidates(
    selection: &Selection,
    files: bool,
    abilities: &Abilities,
) -> Result<Vec<Candidate>, SystemError> {
    let mut all = Vec::<Candidate>::new();
    for &(system, is_missed) in ORDER {
        // The second engine is the same as the previous system, but for users other than root.
        let is_second = system.name == BUILTIN_RAW.name
            && find(BUILTIN_MOUNTED.name).is_ok_and(|s| abilities.has(s));
        if is_second || (files && !system.has_files()) {
            continue;
        }
        let candidate = candidate(system, selection, abilities)?;
        if is_missed || candidate.lacks.is_none() {
            all.push(candidate);
        }
    }
    Ok(all)
}

fn candidate(
    system: &System,
    selection: &Selection,
    abilities: &Abilities,
) -> Result<Candidate, SystemError> {
    if let Availability::Unavailable { reason, remedy } = abilities.of_system(system) {
        return Ok(Candidate {
            system: system.name,
            arms: Vec::new(),
            lacks: Some((reason, remedy)),
        });
    }
    let mut own = Selection { settings: selection.settings.clone(), ..Selection::default() };
    if system.has_our_ciphers {
        own.data_units.push(DATA_UNIT);
    }
    let arms = of(system, &own, selection.split, abilities)?;
    Ok(Candidate { system: system.name, arms, lacks: None })
}

/// Plain storage twice, and only AES-256 in this process: with LUKS2's sectors, or with the sectors of both formats if
/// nothing else is measured (`alone`).
///
/// # Errors
/// [`SystemError`].
pub fn floor(alone: bool, split: bool) -> Result<Vec<ArmSpec>, SystemError> {
    let data_units = if alone { Vec::new() } else { vec![DATA_UNIT] };
    let none = Abilities::default();
    let mut arms = PLAIN.arms_with(&Selection::default(), &none)?;
    arms.extend(of(&BUILTIN, &Selection { data_units, ..Selection::default() }, split, &none)?);
    Ok(arms)
}

fn of(
    system: &System,
    selection: &Selection,
    split: bool,
    abilities: &Abilities,
) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = match split {
        true => with_null_layers(system, selection, abilities)?,
        false => system.arms_with(selection, abilities)?,
    };
    arms.retain(|arm| split || arm.role != Role::NullLayer);
    Ok(arms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn ids(arms: &[ArmSpec]) -> Vec<&str> {
        arms.iter().map(|arm| arm.id.as_str()).collect()
    }

    fn here(selection: &Selection, files: bool) -> Vec<Candidate> {
        candidates(selection, files, &Abilities::look_for(selection)).unwrap()
    }

    #[test]
    fn the_floor_has_both_sector_sizes_only_where_it_stands_alone() {
        let (luks, both) = ("builtin/aes-256-xts/4096", "builtin/aes-256-xts/512");
        let of = |alone, split| floor(alone, split).unwrap();
        assert_eq!(ids(&of(false, false)), ["plain", "plain-again", luks]);
        assert_eq!(ids(&of(true, false)), ["plain", "plain-again", both, luks]);
        assert_eq!(ids(&of(false, true))[2..], ["builtin/null", luks]);
    }

    #[test]
    fn the_order_is_the_kernels_then_what_people_install_then_our_own() {
        let found = here(&Selection::default(), false);
        let names: Vec<_> = found.iter().map(|c| c.system).collect();
        assert_eq!(names[..4], ["dm-crypt", "veracrypt", "gocryptfs", "builtin-mounted"]);
        for candidate in &found {
            assert_eq!(candidate.arms.is_empty(), candidate.lacks.is_some());
            assert!(candidate.arms.len() <= 1, "{:?}", ids(&candidate.arms));
        }
        let split = Selection { split: true, ..Selection::default() };
        for candidate in here(&split, false) {
            let encrypted = candidate.arms.iter().filter(|a| a.role == Role::Encrypted).count();
            assert_eq!(encrypted, usize::from(candidate.lacks.is_none()), "{}", candidate.system);
        }
    }

    #[test]
    fn without_root_the_own_mount_is_raw_and_what_lacks_is_told() {
        let path = tempfile::tempdir().unwrap();
        let fuse = path.path().join("fuse");
        std::fs::write(&fuse, "").unwrap();
        let program = path.path().join("fusermount3");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        Machine::pretend(Some(Machine {
            root: false,
            path: path.path().into(),
            fuse,
            ..Machine::this()
        }));
        let found = here(&Selection::default(), false);
        let with_files = here(&Selection::default(), true);
        Machine::pretend(None);
        let raw = found.iter().find(|c| c.system == "builtin-raw").unwrap();
        assert_eq!(ids(&raw.arms), ["builtin-raw/aes-256-xts/4096"]);
        let mounted = found.iter().find(|c| c.system == "builtin-mounted").unwrap();
        let (reason, remedy) = mounted.lacks.as_ref().unwrap();
        insta::assert_snapshot!(format!("{reason}; {remedy}"), @"loop devices and mounts require root; run as root");
        let gocryptfs = found.iter().find(|c| c.system == "gocryptfs").unwrap();
        let (reason, remedy) = gocryptfs.lacks.as_ref().unwrap();
        insta::assert_snapshot!(format!("{reason}; {remedy}"), @"gocryptfs is not installed; apt install gocryptfs");
        assert!(found.iter().all(|c| c.system != "cryfs"), "nobody misses it");
        assert!(with_files.iter().all(|c| c.system != "builtin-raw"));
    }
}
