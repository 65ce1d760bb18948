//! Compares a container file with a partition of the same device, for systems that were measured on both.

use cryptbench_estimate::lookup::Lookup;
use cryptbench_estimate::ranking::between;
use cryptbench_record::{Arm, Workload};

use super::interval;
use super::settings::difference;

/// The setting that chooses the location, and its values for a container file, each with the location that is the same
/// except for the container file. A container on the target and a partition of a disk image on the target are both
/// files, so they are not compared.
const PLACE: (&str, [(&str, &str); 2]) =
    ("on", [("container-in-partition", "partition"), ("container", "target")]);

/// The settings that determine where data is stored and where requests go: changing them is never advice for speed. In
/// older records, `io-target` is called `surface`.
pub const PLACES: [&str; 4] = [PLACE.0, "io-target", "surface", "file-system"];

/// One sentence for each system that has arms which differ only in location.
pub fn places(lookup: &Lookup<'_>, arms: &[&Arm]) -> Vec<String> {
    let mut told: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    for container in arms {
        for direct in arms.iter().filter(|arm| arm.id != container.id) {
            let Some(change) = difference(container, direct) else { continue };
            let is_place = change.setting == PLACE.0
                && PLACE.1.contains(&(change.from.as_str(), change.to.as_str()));
            if is_place && !told.contains(&container.system.as_str()) {
                let sentence = compared(lookup, container, direct);
                told.extend(sentence.is_some().then_some(container.system.as_str()));
                sentences.extend(sentence);
            }
        }
    }
    sentences
}

fn compared(lookup: &Lookup<'_>, container: &Arm, direct: &Arm) -> Option<String> {
    let judged = |w: &Workload, arm: &Arm| {
        lookup.cell(w, arm).is_some_and(|c| !c.cached && c.kept.is_some())
    };
    let both = |w: &&Workload| judged(w, container) && judged(w, direct);
    let over: Vec<&Workload> = lookup.workloads().iter().filter(both).collect();
    let mean = between(lookup, container, direct, &over)?;
    let advice = match () {
        () if mean.high < 1.0 => "the container is slower",
        () if mean.low > 1.0 => "the container is faster",
        () => "use whichever is more convenient",
    };
    Some(format!(
        "Container or partition: {} reaches {} of the speed of {} over {} workloads: {advice}.",
        container.label,
        interval(&mean),
        direct.label,
        over.len(),
    ))
}
