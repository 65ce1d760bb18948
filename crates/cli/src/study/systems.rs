//! The systems of a study on this machine, and their substitutes.

use std::path::Path;

use cryptbench_catalog::{BUILTIN, DM_CRYPT, Encrypts, encrypts};
use cryptbench_os::Details;
use cryptbench_os::storage::mount_of;
use cryptbench_system::Availability;
use cryptbench_system::provision::signatures;
use cryptbench_text::shown;

use super::protocol::{Program, Protocol};
use crate::run::args::RunArgs;

/// Adds the study's systems to the run's arguments, and describes in sentences how each system is set up on this
/// machine. Systems that the user specified are kept.
pub fn arguments(args: &RunArgs, protocol: &Protocol) -> (RunArgs, Vec<String>) {
    let (mut chosen, mut remarks) = (args.clone(), Vec::new());
    let prepared = args.place.pair.get(1..).unwrap_or_default();
    // If the target is a device, it has no file system in which systems could store files.
    let is_on_devices = args.place.pair.first().is_some_and(|plain| !plain.is_dir());
    let is_on_device = args.place.pair.is_empty()
        && args.place.emulate.is_none()
        && args.place.target.exists()
        && !args.place.target.is_dir();
    if !args.what.system.is_empty() || is_on_devices {
        let of_study: Vec<_> = protocol.systems.iter().map(|program| program.name).collect();
        remarks.push(format!(
            "measuring the systems that you specified instead of the study's: {}",
            of_study.join(", ")
        ));
        return (chosen, remarks);
    }
    for place in prepared {
        remarks.push(format!("also measuring the location that you prepared: {}", shown(place)));
    }
    for program in protocol.systems {
        // A location that the user prepared may contain a system for which there is no substitute.
        if program.itself.is_none() && !prepared.is_empty() {
            remarks.push(format!(
                "{}: no substitute is used, because --pair names the locations",
                program.name
            ));
            continue;
        }
        let (system, mut remark) = one(program, protocol.apart, &chosen.what.system, is_on_device);
        let own = protocol.own_ciphers.iter().find(|(of, _)| Some(*of) == program.itself);
        if let (Some(_), Some((_, cipher))) = (system, own) {
            remark.push_str(&format!(", with {cipher}"));
        }
        remarks.push(remark);
        chosen.what.system.extend(system.map(str::to_owned));
    }
    if protocol.serial && args.place.emulate.is_some() {
        remarks.push(in_series(&mut chosen));
    }
    chosen.what.system.sort();
    chosen.what.system.dedup();
    complete(&mut chosen, protocol);
    if protocol.ntfs && !is_on_device {
        remarks.extend(on_ntfs(&mut chosen));
    }
    let ciphers = match chosen.what.cipher.as_slice() {
        [] => "each system's own".to_owned(),
        some => some.join(", "),
    };
    remarks.push(format!("ciphers: {ciphers}"));
    remarks.extend(settings(&chosen));
    (chosen, remarks)
}

/// Adds the arm that reproduces the driver shown by the study's figures; returns a sentence that describes this arm.
fn in_series(chosen: &mut RunArgs) -> String {
    let stands_in = chosen.what.system.iter().any(|system| system == BUILTIN.name);
    let drivers = if stands_in { &["parallel", "serial"][..] } else { &["serial"] };
    let drivers = drivers.iter().map(ToString::to_string).collect();
    chosen.what.set.push(("driver".to_owned(), drivers));
    chosen.what.system.push(BUILTIN.name.to_owned());
    "also measuring builtin with driver=serial: one request at a time, in pieces of 256 KiB, in series with the \
     cipher, as the study's figures show for VeraCrypt's Windows driver"
        .to_owned()
}

/// The system to use for a program, and the reason.
fn one(
    program: &Program,
    apart: bool,
    taken: &[String],
    on_device: bool,
) -> (Option<&'static str>, String) {
    let Program { name, had, itself, replaced_by } = program;
    let name = format!("{name} ({had})");
    let lack = |name: &str| match on_device && has_a_disk(name) {
        true => {
            Some("it needs a file system for its container, but the target is a device".to_owned())
        }
        false => lack(name),
    };
    let why = match itself {
        Some(itself) => match lack(itself) {
            None => {
                return (
                    Some(itself),
                    format!("{name}: measured directly, as the system {itself}"),
                );
            }
            Some(why) => why,
        },
        None => "no program on this machine can create its volumes".to_owned(),
    };
    let is_free = |other: &&&str| !apart || !taken.iter().any(|taken| taken == **other);
    match replaced_by.iter().filter(is_free).find(|other| lack(other).is_none()) {
        Some(other) => {
            (Some(other), format!("{name} cannot be set up here: {other} is used instead ({why})"))
        }
        None => (None, format!("{name} cannot be set up here and is left out ({why})")),
    }
}

/// Whether a system creates its own files or its own file system on the target.
fn has_a_disk(name: &str) -> bool {
    cryptbench_system::find(name).is_ok_and(cryptbench_system::System::makes_a_disk)
}

/// Why a system cannot be measured on this machine.
fn lack(name: &str) -> Option<String> {
    let systems = cryptbench_system::systems();
    let Some(system) = systems.iter().find(|s| s.name() == name) else {
        return Some("cryptbench does not support it".to_owned());
    };
    match system.availability() {
        Availability::Available(_) => None,
        Availability::Unavailable { reason, .. } => Some(reason),
    }
}

/// Adds the ciphers, data units and settings of the study, unless the user specified other values.
fn complete(chosen: &mut RunArgs, protocol: &Protocol) {
    let has = |name: &str| chosen.what.system.iter().any(|s| s == name);
    if chosen.what.cipher.is_empty() {
        // The study's cipher for TrueCrypt is TrueCrypt's default here. A specified cipher would also apply to LUKS.
        let named = |(system, _): &&(&str, &str)| *system == DM_CRYPT.name || !has(system);
        let own = protocol.own_ciphers.iter().filter(named).map(|(_, cipher)| cipher);
        chosen.what.cipher = protocol.ciphers.iter().chain(own).map(|c| (*c).to_owned()).collect();
    }
    if chosen.what.data_unit.is_empty()
        && chosen.what.system.iter().any(|name| encrypts(name) == Some(Encrypts::Own))
    {
        chosen.what.data_unit = vec![512];
    }
    let settings = protocol.settings.iter().filter(|(system, ..)| has(system));
    let settings: Vec<_> =
        settings.map(|(_, n, v)| ((*n).to_owned(), vec![(*v).to_owned()])).collect();
    chosen.what.set.extend(settings);
}

/// The setting that specifies where a system stores its data, and its values: first the default, which the other
/// profiles use, then the values that the study compares.
const ON: (&str, [&str; 3]) = ("on", ["container", "partition", "container-in-partition"]);

/// Adds measurements on a partition, and in a container file on a partition; returns a sentence about the
/// comparison. `None` if no system supports this, or if the user specified the location.
pub fn in_places(part: &mut RunArgs, is_on_device: bool) -> Option<String> {
    let has_places = |name: &&String| {
        cryptbench_system::find(name).is_ok_and(|system| {
            let on = system.settings().iter().find(|setting| setting.name == ON.0);
            on.is_some_and(|setting| ON.1.iter().all(|value| setting.values.contains(value)))
        })
    };
    let systems: Vec<&str> =
        part.what.system.iter().filter(has_places).map(String::as_str).collect();
    if systems.is_empty() || is_on_device || part.what.set.iter().any(|(name, _)| name == ON.0) {
        return None;
    }
    let said = format!(
        "{}: {} will also be measured on a partition and in a container file on that partition, as in the study",
        part.what.profile.display(),
        systems.join(", ")
    );
    part.what.set.push((ON.0.to_owned(), ON.1.map(str::to_owned).to_vec()));
    Some(said)
}

/// The setting that selects the file system, for systems that can use the study's.
const FILE_SYSTEM: &str = "file-system";

/// If plain storage has NTFS, makes the systems use NTFS as well; returns a description in a sentence. `None` if no
/// system has a separate file system.
fn on_ntfs(chosen: &mut RunArgs) -> Option<String> {
    let has_one = |name: &String| {
        cryptbench_system::find(name)
            .is_ok_and(|system| system.settings().iter().any(|s| s.name == FILE_SYSTEM))
    };
    chosen.what.system.iter().find(|name| has_one(name))?;
    let plain = file_system(chosen.place.pair.first().unwrap_or(&chosen.place.target));
    if chosen.place.emulate.is_some() || plain.as_deref() != Some(NTFS) {
        return Some(format!(
            "file systems: {} on plain storage and ext4 on the encrypted devices; if the target has NTFS, as in the \
             study, the encrypted devices also use NTFS",
            plain.filter(|_| chosen.place.emulate.is_none()).unwrap_or_else(|| "ext4".to_owned())
        ));
    }
    Some(match cryptbench_system::lacks_ntfs() {
        Some((reason, remedy)) => format!(
            "file systems: NTFS on plain storage, as in the study, but ext4 on the encrypted devices: {reason} \
             ({remedy})"
        ),
        None => {
            chosen.what.set.push((FILE_SYSTEM.to_owned(), vec![NTFS.to_owned()]));
            "file systems: NTFS, as in the study, on plain storage and on the encrypted devices"
                .to_owned()
        }
    })
}

const NTFS: &str = "ntfs";

/// The type of a directory's file system; `ntfs` for any NTFS driver.
fn file_system(directory: &Path) -> Option<String> {
    let directory = std::fs::canonicalize(directory).ok()?;
    let details = Details::of(&std::fs::metadata(&directory).ok()?);
    let mount = mount_of(details.file_system, &directory)?;
    let is_ntfs = match mount.file_system.as_str() {
        // ntfs-3g is only one of several programs whose mounts have this type.
        "fuseblk" => signatures(&mount.source).is_ok_and(|all| all.iter().any(|s| s.name == NTFS)),
        name => name.starts_with(NTFS),
    };
    Some(if is_ntfs { NTFS.to_owned() } else { mount.file_system })
}

/// The settings of the run, in one sentence.
fn settings(chosen: &RunArgs) -> Option<String> {
    let units = chosen.what.data_unit.iter().map(|unit| format!("sectors of {unit} B"));
    let set = chosen.what.set.iter().map(|(name, values)| format!("{name}={}", values.join(",")));
    let all: Vec<String> = units.chain(set).collect();
    (!all.is_empty()).then(|| format!("settings: {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_device_what_keeps_files_is_replaced_by_what_has_none() {
        let program = Program {
            name: "VeraCrypt",
            had: "AES",
            itself: Some("veracrypt"),
            replaced_by: &["builtin-mounted", "builtin"],
        };
        let (system, why) = one(&program, false, &[], true);
        assert_eq!(system, Some("builtin"));
        insta::assert_snapshot!(why, @"VeraCrypt (AES) cannot be set up here: builtin is used instead (it needs a file \
            system for its container, but the target is a device)");
    }

    #[test]
    fn what_the_study_compares_has_stand_ins_of_its_own() {
        let program =
            |name| Program { name, had: "AES", itself: None, replaced_by: &["builtin", "plain"] };
        let (first, why) = one(&program("BestCrypt"), true, &[], false);
        assert_eq!(first, Some("builtin"));
        insta::assert_snapshot!(why, @"BestCrypt (AES) cannot be set up here: builtin is used instead (no program on \
        this machine can create its volumes)");
        let taken = ["builtin".to_owned()];
        assert_eq!(one(&program("other"), true, &taken, false).0, Some("plain"));
        assert_eq!(one(&program("other"), false, &taken, false).0, Some("builtin"));
        let all = ["builtin".to_owned(), "plain".to_owned()];
        insta::assert_snapshot!(one(&program("other"), true, &all, false).1, @"other (AES) cannot be set up here and \
        is left out (no program on this machine can create its volumes)");
    }
}
