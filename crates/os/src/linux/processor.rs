//! Names of CPUs: on ARM, /proc/cpuinfo contains only part numbers.

/// Part numbers of the implementer 0x41 (Arm), from the manuals of its CPUs (MIDR_EL1).
const ARM: &[(&str, &str)] = &[
    ("0xd03", "Cortex-A53"),
    ("0xd04", "Cortex-A35"),
    ("0xd05", "Cortex-A55"),
    ("0xd07", "Cortex-A57"),
    ("0xd08", "Cortex-A72"),
    ("0xd09", "Cortex-A73"),
    ("0xd0a", "Cortex-A75"),
    ("0xd0b", "Cortex-A76"),
    ("0xd0c", "Neoverse-N1"),
    ("0xd40", "Neoverse-V1"),
    ("0xd41", "Cortex-A78"),
    ("0xd49", "Neoverse-N2"),
    ("0xd4f", "Neoverse-V2"),
    ("0xd80", "Cortex-A520"),
];

/// The name of the first CPU.
pub(super) fn name(cpuinfo: &str) -> Option<String> {
    if let Some(name) = field(cpuinfo, &["model name", "Processor"]) {
        return Some(name);
    }
    let implementer = field(cpuinfo, &["CPU implementer"])?;
    let part = field(cpuinfo, &["CPU part"])?;
    let known = ARM.iter().find(|(number, _)| implementer == "0x41" && part == *number);
    Some(known.map_or_else(
        || format!("ARM part {part} of implementer {implementer}"),
        |(_, name)| (*name).to_owned(),
    ))
}

/// The value of the first field in this list that is present.
pub(super) fn field(cpuinfo: &str, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let line = cpuinfo.lines().find(|l| l.split(':').next().map(str::trim) == Some(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_processor_has_its_name() {
        let x86 = "processor\t: 0\nmodel name\t: A CPU: fast\n";
        assert_eq!(name(x86).as_deref(), Some("A CPU: fast"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\nCPU revision\t: 3\n";
        assert_eq!(name(arm).as_deref(), Some("Cortex-A72"));
        let other = arm.replace("0x41", "0x61");
        assert_eq!(name(&other).as_deref(), Some("ARM part 0xd08 of implementer 0x61"));
        assert_eq!(name("processor : 0\n"), None);
    }
}
