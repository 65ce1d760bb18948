//! What nobody should take, however fast it is, and where that is known from.

use cryptbench_record::Arm;

use super::View;
use crate::evidence::is_unsound;

/// A system and why not to use it.
const AVOIDED: [(&str, &str); 2] = [
    ("encfs", "EncFS: not safe if someone sees two versions of the files (audit, 2014)."),
    (
        "ecryptfs",
        "eCryptfs: it decrypts altered data as if they were sound, and the kernel maintains it only in odd fixes.",
    ),
];

pub(super) fn avoid(view: &View<'_, '_>) -> Vec<String> {
    let unsound = view.cast.choices.iter().filter(|arm| is_unsound(view.lookup.record, arm));
    let failed =
        unsound.map(|arm| format!("{}: it failed a check of its data.", view.names.arm(arm)));
    let known = AVOIDED
        .iter()
        .filter(|(system, _)| view.cast.choices.iter().any(|arm| arm.system == *system));
    failed.chain(known.map(|(_, words)| (*words).to_owned())).collect()
}

pub(super) fn is_avoided(view: &View<'_, '_>, arm: &Arm) -> bool {
    has_known_weakness(arm) || is_unsound(view.lookup.record, arm)
}

/// Whether nobody should take the system of an arm, whatever was measured.
pub(crate) fn has_known_weakness(arm: &Arm) -> bool {
    AVOIDED.iter().any(|(system, _)| arm.system == *system)
}
