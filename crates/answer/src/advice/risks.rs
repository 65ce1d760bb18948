//! Known weaknesses of the measured systems, which speed does not show.

use cryptbench_catalog::{SYSTEMS, System};
use cryptbench_record::Arm;

/// A weakness of a system's arms, the affected arms, and its source.
type Risk = (fn(&Arm) -> bool, &'static str);

const RISKS: [Risk; 2] = [
    (
        is_unauthenticated,
        "XTS and CBC provide confidentiality but no integrity: anyone who can write to the disk can alter data undetected \
         (NIST SP 800-38E).",
    ),
    (
        |arm| arm.settings.iter().any(|(name, value)| name.contains("discard") && is_on(value)),
        "Discards show anyone who can read the disk which parts are unused, and thus the file system and how full it \
         is (cryptsetup's manual, --allow-discards).",
    ),
];

/// The risks of the measured arms.
pub(super) fn risks(arms: &[&Arm]) -> Vec<String> {
    let is_measured = |system: &&&System| arms.iter().any(|arm| arm.system == system.name);
    let weak = SYSTEMS.iter().filter(is_measured).filter_map(|system| system.weakness);
    let found = RISKS.iter().filter(|(has, _)| arms.iter().any(|arm| has(arm)));
    let words = weak.map(|weakness| weakness.full).chain(found.map(|(_, words)| *words));
    words.map(|words| format!("Risk: {words}")).collect()
}

fn is_unauthenticated(arm: &Arm) -> bool {
    let mode = arm.cipher.as_deref().unwrap_or_default().to_lowercase();
    let integrity = arm.settings.iter().any(|(name, value)| name == "integrity" && is_on(value));
    (mode.contains("xts") || mode.contains("cbc")) && !integrity
}

fn is_on(value: &str) -> bool {
    !matches!(value, "" | "no" | "none" | "off" | "false")
}
