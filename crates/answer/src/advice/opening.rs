//! The volumes that open within a wait that users accept, and the largest PIM for that wait.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::opening::{Opening, opening};
use cryptbench_record::{Arm, ArmRole, Operation};

use crate::quantity::{seconds, thousands};
use crate::wording::list;

/// The wait in seconds: the default of `cryptbench kdf --mount-limit`.
const LIMIT_S: f64 = 1.0;

/// Maximum number of volumes listed per sentence.
const MOST_NAMED: usize = 4;

/// Maximum number of volumes whose PIM is listed.
const MOST_PIMS: usize = 4;

/// For the first way of opening, with the right passphrase: the volumes that open within the limit, then the largest
/// PIM within the limit.
pub fn openings(lookup: &Lookup<'_>) -> Vec<String> {
    let parts = ["derivation".to_owned(), "rest".to_owned()];
    let way = lookup.workloads().iter().find(|w| w.operation == Operation::Unlock);
    let volumes = lookup.arms().iter().filter(|a| a.role == ArmRole::Encrypted);
    let times: Vec<(&Arm, Opening)> =
        volumes.filter_map(|arm| Some((arm, opening(lookup, way?, arm, &parts)?))).collect();
    let named = |wanted: &dyn Fn(&Opening) -> bool| -> Vec<String> {
        let found = times.iter().filter(|(_, o)| wanted(o));
        found.map(|(arm, o)| format!("{} ({})", arm.label, seconds(o.median))).collect()
    };
    let said = |what: &str, names: &[String]| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{what} {}", list(&names, MOST_NAMED)))
    };
    // Volumes whose interval includes the limit are not mentioned.
    let within = said("open", &named(&|o| o.high <= LIMIT_S));
    let beyond = said("not", &named(&|o| o.low > LIMIT_S));
    let answers: Vec<String> = [within, beyond].into_iter().flatten().collect();
    let mut found = Vec::new();
    if !answers.is_empty() {
        found.push(format!("Within {LIMIT_S:.0} s {}.", answers.join(", but ")));
    }
    found.extend(times.iter().filter_map(|(arm, o)| pim(arm, o)).take(MOST_PIMS));
    found
}

/// The largest PIM of a VeraCrypt volume within the limit. Its PBKDF2 uses 15,000 + 1000 x PIM iterations and the
/// derivation time is proportional to this number (VeraCrypt, "Personal Iterations Multiplier (PIM)").
fn pim(arm: &Arm, o: &Opening) -> Option<String> {
    if arm.layout.as_deref() != Some("VeraCrypt") {
        return None;
    }
    let iterations: f64 = arm.settings.get("iterations")?.parse().ok()?;
    let (derivation, rest) = (o.parts.first().copied()??, o.parts.get(1).copied().flatten()?);
    let largest = |derivation: f64| {
        let room = iterations * (LIMIT_S - rest) / derivation;
        let pim = ((room - 15_000.0) / 1000.0).floor();
        (pim.is_finite() && pim >= 1.0).then_some(pim)
    };
    // Interval of the derivation time: the interval of the opening time, less the times of all other parts.
    let [least, most] = [o.high, o.low].map(|opening| largest(opening - rest));
    let (pim, least, most) = (largest(derivation)?, least?, most?);
    let [pim, least, most] = [pim, least, most].map(thousands);
    Some(format!("{}: a PIM up to {pim} ({least}-{most}) opens within {LIMIT_S:.0} s.", arm.label))
}
