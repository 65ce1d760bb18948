//! The arms of another run's plan, as far as this machine supports them, and the differences from that plan.

use cryptbench_catalog::{PAIRED, PLAIN};
use cryptbench_record::{self as record, LeftOut};
use cryptbench_system::{self as system, Abilities, ArmSpec, Availability, Selection};

use crate::RunError;

/// The setting of the program's own mount whose actual value is recorded, whether it was requested or not.
const TRANSPORT: &str = "transport";

/// The arms of `plan` that can be set up here, in its order. Arms that the user encrypted come from `--pair`.
///
/// # Errors
/// [`RunError::Usage`] if only plain storage can be set up.
pub(super) fn arms(plan: &record::Plan, abilities: &Abilities) -> Result<Vec<ArmSpec>, RunError> {
    let mut found: Vec<ArmSpec> = Vec::new();
    let mut add = |selection: &Selection| {
        // A selection that the system does not support yields no arms, because none of the plan's arms can come
        // from it.
        for arm in system::arms(selection, abilities).unwrap_or_default() {
            let is_asked = plan.arms.iter().any(|asked| asked.id == arm.id);
            if is_asked && !found.iter().any(|has| has.id == arm.id) {
                found.push(arm);
            }
        }
    };
    for name in names(plan) {
        selections(name, plan).iter().for_each(&mut add);
    }
    add(&Selection { systems: vec![PLAIN.name.to_owned()], ..Selection::default() });
    let at = |arm: &ArmSpec| plan.arms.iter().position(|asked| asked.id == arm.id);
    found.sort_by_key(at);
    let is_of_a_pair = plan.arms.iter().any(|arm| arm.system == PAIRED.name);
    if found.iter().all(|arm| arm.system == PLAIN.name) && !is_of_a_pair {
        let problem = "none of the record's choices can be set up here; see cryptbench systems";
        return Err(RunError::Usage(problem.to_owned()));
    }
    Ok(found)
}

/// The systems of a plan, without duplicates.
fn names(plan: &record::Plan) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for arm in &plan.arms {
        let name = arm.system.as_str();
        if ![PLAIN.name, PAIRED.name].contains(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The requests that could have produced these arms of a system: without options, with its settings, with its
/// ciphers and data units, or with all of them.
fn selections(name: &str, plan: &record::Plan) -> Vec<Selection> {
    let own: Vec<&record::Arm> = plan.arms.iter().filter(|arm| arm.system == name).collect();
    let plain = Selection { systems: vec![name.to_owned()], split: true, ..Selection::default() };
    let mut ciphers = plain.clone();
    let mut settings = plain.clone();
    let known = system::find(name).map_or(&[][..], system::System::settings);
    for arm in own {
        if let Some(cipher) = arm.cipher.as_ref().filter(|name| !ciphers.ciphers.contains(name)) {
            ciphers.ciphers.push(cipher.clone());
        }
        if let Some(unit) = arm.data_unit.filter(|unit| !ciphers.data_units.contains(unit)) {
            ciphers.data_units.push(unit);
        }
        for (key, value) in &arm.settings {
            let is_setting = known
                .iter()
                .any(|setting| setting.name == key && setting.values.contains(&value.as_str()));
            let values = settings.settings.entry(key.clone()).or_default();
            if is_setting && !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    settings.settings.retain(|_, values| !values.is_empty());
    let transports = settings.settings.remove(TRANSPORT).unwrap_or_default();
    let all = Selection { settings: settings.settings.clone(), ..ciphers.clone() };
    let mut found = vec![plain, settings.clone(), ciphers, all.clone()];
    // Only the identifier tells whether a transport was requested or follows from the machine, so the identifier
    // decides.
    for way in transports {
        for mut by in [settings.clone(), all.clone()] {
            by.settings.insert(TRANSPORT.to_owned(), vec![way.clone()]);
            found.push(by);
        }
    }
    found
}

/// The systems of `like` that are not in `plan`, with the reasons.
pub(super) fn left_out(
    like: &record::Plan,
    plan: &record::Plan,
    abilities: &Abilities,
) -> Vec<LeftOut> {
    let is_here = |name: &str| plan.arms.iter().any(|arm| arm.system == name);
    let missing = names(like).into_iter().filter(|name| !is_here(name));
    let why = |name: &str| match system::find(name).map(|system| abilities.of_system(system)) {
        Ok(Availability::Unavailable { reason, remedy }) => (reason, remedy.to_string()),
        Ok(Availability::Available(_)) => (
            "none of its choices in the record is available here".to_owned(),
            "see cryptbench systems".to_owned(),
        ),
        Err(error) => (error.to_string(), "use the cryptbench version that measured it".to_owned()),
    };
    missing
        .map(|name| {
            let (reason, remedy) = why(name);
            LeftOut { system: name.to_owned(), reason, remedy, enough_s: None }
        })
        .collect()
}

/// The other differences of `like` from `plan`, in sentences.
pub(super) fn remarks(like: &record::Plan, plan: &record::Plan) -> Vec<String> {
    let mut said = Vec::new();
    let missing = |all: Vec<(&str, &str)>, here: Vec<&str>| {
        let missing = all.into_iter().filter(|(id, _)| !here.contains(id));
        missing.map(|(_, label)| label.to_owned()).collect::<Vec<_>>()
    };
    let arms = missing(
        like.arms.iter().map(|arm| (&arm.id[..], &arm.label[..])).collect(),
        plan.arms.iter().map(|arm| &arm.id[..]).collect(),
    );
    let workloads = missing(
        like.workloads.iter().map(|w| (&w.id[..], &w.label[..])).collect(),
        plan.workloads.iter().map(|w| &w.id[..]).collect(),
    );
    for (what, missing) in [("choices", arms), ("workloads", workloads)] {
        if !missing.is_empty() {
            said.push(format!(
                "missing in this run: {} of the record's {what} ({})",
                missing.len(),
                missing.join(", ")
            ));
        }
    }
    if like.seed != plan.seed {
        said.push(format!("the seed is {}, but {} in the record", plan.seed, like.seed));
    }
    said
}
