//! Systems to avoid, however fast they are, and the source of that advice.

use cryptbench_catalog::{SYSTEMS, System};
use cryptbench_estimate::soundness::{has_known_weakness, is_unsound};
use cryptbench_record::Arm;

use crate::answer::View;

pub(crate) fn avoid(view: &View<'_, '_>) -> Vec<String> {
    let unsound = view.cast.choices.iter().filter(|arm| is_unsound(view.lookup.record, arm));
    let failed = unsound.map(|arm| format!("{}: failed a check of its data.", view.names.arm(arm)));
    let is_measured =
        |system: &&&System| view.cast.choices.iter().any(|arm| arm.system == system.name);
    let weak = SYSTEMS.iter().filter(is_measured).filter_map(|system| system.weakness);
    failed.chain(weak.map(|weakness| weakness.short.to_owned())).collect()
}

pub(crate) fn is_avoided(view: &View<'_, '_>, arm: &Arm) -> bool {
    has_known_weakness(arm) || is_unsound(view.lookup.record, arm)
}
