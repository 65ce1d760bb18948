//! What speed does not show: known weaknesses of the measured systems.

use cryptbench_record::Arm;

/// A weakness, the arms that have it, and its source.
type Risk = (fn(&Arm) -> bool, &'static str);

const RISKS: [Risk; 4] = [
    (
        |arm| arm.system == "encfs",
        "EncFS: an audit found it not safe if someone sees two versions of the files, and that its integrity \
         checks can be switched off by whoever can write there (Taylor Hornby, 2014); number, sizes, times and tree of \
         the files show.",
    ),
    (
        |arm| arm.system == "ecryptfs",
        "eCryptfs: sizes, times, number and tree of the files show, and changed data are decrypted as if they were \
         sound; the kernel's list of maintainers gives it odd fixes only.",
    ),
    (
        is_unauthenticated,
        "XTS and CBC hide data and do not protect them: anyone who can write to the disk can alter data undetected \
         (NIST SP 800-38E).",
    ),
    (
        |arm| arm.settings.iter().any(|(name, value)| name.contains("discard") && is_on(value)),
        "Discard lets everybody who reads the disk see which parts are unused, and from that the file system and how full \
         it is (cryptsetup's manual, --allow-discards).",
    ),
];

/// The risks of the measured arms.
pub(super) fn risks(arms: &[&Arm]) -> Vec<String> {
    let found = RISKS.iter().filter(|(has, _)| arms.iter().any(|arm| has(arm)));
    found.map(|(_, words)| format!("Risk: {words}")).collect()
}

fn is_unauthenticated(arm: &Arm) -> bool {
    let mode = arm.cipher.as_deref().unwrap_or_default().to_lowercase();
    let integrity = arm.settings.iter().any(|(name, value)| name == "integrity" && is_on(value));
    (mode.contains("xts") || mode.contains("cbc")) && !integrity
}

fn is_on(value: &str) -> bool {
    !matches!(value, "" | "no" | "none" | "off" | "false")
}
