//! The table of systems, and the selection of arms from it.

use std::collections::{BTreeMap, BTreeSet};

use cryptbench_text::names::{self, Named, Unknown};

use crate::adapter::{SYSTEMS, builtin, builtin::BUILTIN, plain::PLAIN};
use crate::settings::{self, PRESET};
use crate::system::{ArmSpec, Availability, Role, System};
use crate::{Abilities, Selected, SystemError};

/// The arms that a user wants from the registered systems. An empty list means the defaults.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of systems; [`ALL`] means every system that can run here.
    pub systems: Vec<String>,
    /// Names of ciphers.
    pub ciphers: Vec<String>,
    /// Data units in bytes.
    pub data_units: Vec<u32>,
    /// Values of settings by name; each value produces a separate arm. For an unspecified setting, a system
    /// uses its default.
    pub settings: BTreeMap<String, Vec<String>>,
    /// If no systems are specified: whether the null layers of the chosen systems are also measured. A
    /// specified system always includes its null layers.
    pub split: bool,
}

impl Selection {
    /// Whether nothing was chosen.
    pub fn is_open(&self) -> bool {
        let Self { systems, ciphers, data_units, settings, split: _ } = self;
        systems.is_empty() && ciphers.is_empty() && data_units.is_empty() && settings.is_empty()
    }

    /// Keeps the system's own choice from an earlier part of a run, in which an arm of `system` has `settings`,
    /// so that the system does not choose again.
    pub fn keep(&mut self, system: &str, settings: &BTreeMap<String, String>) {
        const SIZE: &str = "sector-size";
        let is_luks2 = settings.get("format").is_some_and(|format| format == "luks2");
        if system != cryptbench_catalog::DM_CRYPT.name || !is_luks2 || !self.data_units.is_empty() {
            return;
        }
        if let Some(size) = settings.get(SIZE) {
            self.settings.entry(SIZE.to_owned()).or_insert_with(|| vec![size.clone()]);
        }
    }
}

/// Selects every system that can run here, each with all of its presets.
pub const ALL: &str = "all";

/// All systems, in the order of tables.
pub fn systems() -> &'static [&'static System] {
    SYSTEMS
}

/// The system with this name.
pub fn find(name: &str) -> Result<&'static System, SystemError> {
    let found = systems().iter().copied().find(|s| s.name == name);
    found.ok_or_else(|| SystemError::UnknownSystem(Unknown::of("system", name, &by_name())))
}

/// Every system with its names: on the command line, in tables and in lists.
fn by_name() -> Vec<Named<&'static str>> {
    let called = |system: &&'static System| {
        let titles = cryptbench_catalog::find(system.name).map(|known| {
            let usual = match known.named {
                cryptbench_catalog::Named::ByLayout(_, [_, usual]) => Some(usual.to_owned()),
                _ => None,
            };
            [Some(known.usual_title()), Some(known.brand().to_owned()), usual]
        });
        Named::new(system.name, system.name, titles.into_iter().flatten().flatten())
    };
    systems().iter().map(called).collect()
}

/// The names of the systems that a user specified: with [`ALL`], with a name or title in upper or lower case,
/// or with a part of a name that is unique.
///
/// # Errors
/// [`SystemError::UnknownSystem`] with all names that are unknown or ambiguous.
pub fn meant(asked: &[String]) -> Result<Vec<String>, SystemError> {
    let mut all = by_name();
    all.push(Named::new(ALL, ALL, []));
    let groups = || {
        let of = |name: &dyn Fn(&System) -> bool| {
            let names = systems().iter().filter(|s| name(s)).map(|s| s.name());
            names.collect::<Vec<_>>().join(", ")
        };
        let is_here = |s: &System| matches!(s.availability(), Availability::Available(_));
        let groups = [
            ("can run here", of(&|s| s.in_all && is_here(s))),
            ("not available here", of(&|s| s.in_all && !is_here(s))),
            ("only by name", of(&|s| !s.in_all)),
        ];
        let groups = groups.into_iter().filter(|(_, names)| !names.is_empty());
        groups.map(|(what, names)| format!("{names} ({what})")).collect::<Vec<_>>().join("; ")
    };
    let found = names::named("system", asked, &all, groups).map_err(SystemError::UnknownSystem)?;
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// The ciphers that a user specified, of any system: with names in upper or lower case, with labels, or as
/// `AES-256` for `aes-256-xts`.
///
/// # Errors
/// [`SystemError::UnknownCipher`] with all names that are unknown or ambiguous.
pub fn meant_ciphers(asked: &[String]) -> Result<Vec<String>, SystemError> {
    let mut all: Vec<Named<&'static str>> = builtin::cipher_names()
        .chain(settings::ciphers(systems()).into_iter().map(|name| (name, None)))
        .map(|(name, _)| Named::new(name, name, titles_of_cipher(name)))
        .collect();
    let mut seen = BTreeSet::new();
    all.retain(|named| seen.insert(named.it));
    let list =
        || "those that `cryptbench ciphers --list` and `cryptbench systems` print".to_owned();
    let found = names::named("cipher", asked, &all, list).map_err(SystemError::UnknownCipher)?;
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// Other names of a cipher: `AES-256` for `aes-256-xts`, and its label.
pub(crate) fn titles_of_cipher(name: &str) -> Vec<String> {
    let short = name.strip_suffix("-xts").map(str::to_owned);
    let label = builtin::cipher_names().find(|(own, _)| *own == name).and_then(|(_, label)| label);
    short.into_iter().chain(label.map(str::to_owned)).collect()
}

/// The systems of a selection, or the default systems.
fn chosen(
    selection: &Selection,
    abilities: &Abilities,
) -> Result<Vec<&'static System>, SystemError> {
    Ok(match &selection.systems[..] {
        [] => vec![&BUILTIN],
        names if names.iter().any(|name| name == ALL) => {
            systems().iter().copied().filter(|s| s.in_all && abilities.has(s)).collect()
        }
        names => names.iter().map(|name| find(name)).collect::<Result<_, _>>()?,
    })
}

/// The null layers that an encrypted system borrows from another system, if that system can run here. They use
/// the settings of the selection that they support.
fn foreign_null_layers(
    system: &System,
    selection: &Selection,
    abilities: &Abilities,
) -> Result<Vec<ArmSpec>, SystemError> {
    let Some(null) = system.null_layer.filter(|null| abilities.has(null)) else {
        return Ok(Vec::new());
    };
    let known = |name: &String, values: &Vec<String>| {
        let setting = null.settings.iter().find(|s| s.name == name);
        setting.is_some_and(|s| values.iter().all(|v| s.values.contains(&v.as_str())))
    };
    let mut settings = selection.settings.clone();
    settings.retain(|name, values| known(name, values));
    // If the null layers also have sectors, these have the same size.
    let mut data_units: Vec<u32> =
        system.arms_with(selection, abilities)?.iter().filter_map(|arm| arm.data_unit).collect();
    data_units.dedup();
    let own = Selection { settings, data_units, ..Selection::default() };
    let arms = null.arms_with(&own, abilities)?;
    Ok(arms.into_iter().filter(|arm| arm.role == Role::NullLayer).collect())
}

/// The arms of a system, its null layers first.
pub(crate) fn with_null_layers(
    system: &System,
    selection: &Selection,
    abilities: &Abilities,
) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = foreign_null_layers(system, selection, abilities)?;
    arms.extend(system.arms_with(selection, abilities)?);
    Ok(arms)
}

/// An additional effect of [`ALL`]: each system is measured with all of its presets, unless the user chose
/// some.
fn with_presets(selection: &Selection, chosen: &[&System]) -> Selection {
    let mut selection = selection.clone();
    if selection.systems.iter().any(|name| name == ALL) {
        for preset in chosen.iter().flat_map(|s| s.settings()).filter(|s| s.name == PRESET) {
            let values = preset.values.iter().map(ToString::to_string).collect();
            selection.settings.entry(PRESET.to_owned()).or_insert(values);
        }
    }
    selection
}

/// The null layer of an encrypted arm: the same software path without the cipher. If there are several null layers, the
/// one with the most settings in common.
pub fn null_layer_of<'a>(arm: &ArmSpec, arms: &'a [ArmSpec]) -> Option<&'a ArmSpec> {
    let system = find(arm.system).ok().filter(|_| arm.role == Role::Encrypted)?.null_layer();
    // A null layer in another location has a different path (fscrypt: in a container, or on the target itself).
    let elsewhere = |null: &ArmSpec| null.settings.get("on") != arm.settings.get("on");
    let nulls = arms
        .iter()
        .filter(|a| a.role == Role::NullLayer && a.system == system)
        .filter(|null| !elsewhere(null));
    let in_common = |null: &ArmSpec| {
        let same = |(name, value): &(&&str, &String)| arm.settings.get(**name) == Some(*value);
        null.settings.iter().filter(same).count()
    };
    // A null layer takes precedence if it and the arm both have a data unit, or neither has one: the two paths then
    // differ only in the cipher.
    let by_unit = |null: &ArmSpec| null.data_unit.is_some() == arm.data_unit.is_some();
    nulls.min_by_key(|null| std::cmp::Reverse((by_unit(null), in_common(null))))
}

/// Adds every value that the chosen systems have for the settings `names` to `selection`: a sweep. `cipher` and
/// `data-unit` count as settings of the built-in engine.
///
/// # Errors
/// [`SystemError::NothingSelected`] if none of the systems has such a setting.
pub fn sweep<'a>(
    selection: &mut Selection,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), SystemError> {
    let mut names = names.into_iter().peekable();
    if names.peek().is_none() {
        return Ok(());
    }
    let chosen = chosen(selection, &Abilities::look_for(selection))?;
    names.try_for_each(|name| sweep_over(selection, &chosen, name))
}

fn sweep_over(
    selection: &mut Selection,
    chosen: &[&System],
    name: &str,
) -> Result<(), SystemError> {
    let ours = chosen.iter().any(|s| s.has_our_ciphers);
    let mut found = false;
    if ours && name == "cipher" {
        selection.ciphers =
            cryptbench_cipher::ciphers().iter().map(|c| c.name.to_owned()).collect();
        found = true;
    }
    if ours && matches!(name, "data-unit" | "sector-size") {
        selection.data_units.clear();
        found = true;
    }
    let mut values: Vec<String> = Vec::new();
    for setting in chosen.iter().flat_map(|s| s.settings()).filter(|s| s.name == name) {
        for value in setting.values {
            if !values.iter().any(|v| v == value) {
                values.push((*value).to_owned());
            }
        }
    }
    if !values.is_empty() {
        selection.settings.insert(name.to_owned(), values);
        found = true;
    }
    if found {
        return Ok(());
    }
    let mut names: Vec<_> = chosen.iter().flat_map(|s| s.settings()).map(|s| s.name).collect();
    if ours {
        names.extend(["cipher", "data-unit"]);
    }
    names.sort_unstable();
    names.dedup();
    let hint = match names.is_empty() {
        true => "they have no settings".to_owned(),
        false => format!("settings to sweep over: {}", names.join(", ")),
    };
    Err(SystemError::NothingSelected {
        of: Selected::Setting,
        what: format!("a setting {name:?}"),
        hint,
    })
}

/// The arms of a run on a machine with these `abilities`: plain, plain again, then those of the chosen systems.
pub fn arms(selection: &Selection, abilities: &Abilities) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = PLAIN.arms_with(selection, abilities)?;
    let chosen = chosen(selection, abilities)?;
    let selection = &with_presets(selection, &chosen);
    settings::check(selection, &chosen)?;
    // Each system uses the specified ciphers that it supports.
    let foreign = settings::foreign_ciphers(selection, &chosen);
    if let (Some(name), true) = (foreign.first(), chosen.iter().all(|s| settings::has_cipher(s))) {
        return Err(SystemError::NothingSelected {
            of: Selected::Cipher,
            what: format!("the cipher {name:?}"),
            hint: format!("they offer: {}", settings::ciphers(&chosen).join(", ")),
        });
    }
    for system in chosen {
        if let Availability::Unavailable { reason, remedy } = abilities.of_system(system) {
            return Err(SystemError::Unavailable {
                name: system.name().to_owned(),
                reason,
                remedy,
            });
        }
        let mut selection = selection.clone();
        if !settings::has_cipher(system) {
            selection.ciphers.retain(|name| builtin::has(name) || foreign.contains(name));
        }
        for arm in with_null_layers(system, &selection, abilities)? {
            if !arms.iter().any(|a| a.id == arm.id) {
                arms.push(arm);
            }
        }
    }
    Ok(arms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{
        bindfs::BINDFS, builtin_mounted::BUILTIN_RAW, delay::DELAY, gocryptfs::GOCRYPTFS,
    };
    use crate::system::Target;

    fn pick(systems: &[&str], ciphers: &[&str], data_units: &[u32]) -> Selection {
        Selection {
            systems: systems.iter().map(ToString::to_string).collect(),
            ciphers: ciphers.iter().map(ToString::to_string).collect(),
            data_units: data_units.to_vec(),
            ..Selection::default()
        }
    }

    fn here(selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        arms(selection, &Abilities::look_for(selection))
    }

    fn ids(selection: &Selection) -> Vec<String> {
        here(selection).unwrap().into_iter().map(|a| a.id).collect()
    }

    #[test]
    fn bitlockers_ciphers_are_arms_on_its_own_layout() {
        let chosen =
            pick(&["builtin"], &["bitlocker-aes-128-xts", "bitlocker-aes-256-cbc-elephant"], &[]);
        let arms = here(&chosen).unwrap();
        let ours: Vec<_> = arms.iter().filter(|arm| arm.layout == Some("BitLocker")).collect();
        let labels: Vec<&str> = ours.iter().map(|arm| arm.label.as_str()).collect();
        insta::assert_snapshot!(labels.join("\n"), @"
            BitLocker AES-XTS 128 (not Windows' driver) 512 B
            BitLocker AES-XTS 128 (not Windows' driver) 4096 B
            BitLocker AES-CBC 256 with Elephant diffuser (not Windows' driver) 512 B
            BitLocker AES-CBC 256 with Elephant diffuser (not Windows' driver) 4096 B
            ");
        let tier = cryptbench_cipher::Tier::Soft;
        for arm in ours {
            let unit = arm.data_unit.unwrap() as usize;
            let layer = crate::inline_layer(arm, &[7; 64][..key_bytes(arm)], tier).unwrap();
            // As in a volume: the cipher is selected by its method, and the number of the third sector is its
            // tweak.
            let name = if arm.id.contains("xts") { "aes-128-xts" } else { "aes-256-cbc-elephant" };
            let method = cryptbench_volume::format::bitlocker::Method::find(name).unwrap();
            let cipher = method.keyed(&[7; 64][..key_bytes(arm)], unit, tier).unwrap();
            let plain: Vec<u8> = (0..2 * unit).map(|i| (i / 7) as u8).collect();
            let (mut stored, mut expected) = (vec![0; plain.len()], plain.clone());
            layer.seal(2 * unit as u64, &plain, &mut stored);
            cipher.encrypt_in_place(2, &mut expected);
            assert!(stored == expected, "{}", arm.id);
            layer.open(2 * unit as u64, &mut stored);
            assert!(stored == plain, "{}", arm.id);
        }
        let unknown = here(&pick(&["builtin"], &["bitlocker-rot13"], &[])).unwrap_err();
        insta::assert_snapshot!(unknown, @r#"no chosen system offers the cipher "bitlocker-rot13"; BitLocker offers: bitlocker-aes-128-xts, bitlocker-aes-256-xts, bitlocker-aes-128-cbc, bitlocker-aes-256-cbc, bitlocker-aes-128-cbc-elephant, bitlocker-aes-256-cbc-elephant"#);
    }

    #[test]
    fn filevaults_cipher_is_an_arm_on_its_own_layout() {
        let arms = here(&pick(&["builtin"], &["filevault-aes-128-xts"], &[])).unwrap();
        let arm = arms.iter().find(|arm| arm.layout == Some("FileVault 2")).unwrap();
        assert_eq!(arm.label, "FileVault 2 AES-XTS 128 (not Apple's driver) 512 B");
        let (key, tier) = ([7; 32], cryptbench_cipher::Tier::Soft);
        let layer = crate::inline_layer(arm, &key, tier).unwrap();
        // As in a volume: the third sector of the logical volume.
        let cipher = cryptbench_volume::format::filevault::keyed(&key, tier).unwrap();
        let plain: Vec<u8> = (0..1024).map(|i| (i / 7) as u8).collect();
        let (mut stored, mut expected) = (vec![0; plain.len()], plain.clone());
        layer.seal(1024, &plain, &mut stored);
        cipher.encrypt_in_place(2, &mut expected);
        assert!(stored == expected);
    }

    fn key_bytes(arm: &ArmSpec) -> usize {
        if arm.id.contains("aes-128-xts") { 32 } else { 64 }
    }

    #[test]
    fn the_default_is_plain_twice_the_null_layer_and_aes_in_both_units() {
        assert_eq!(
            ids(&Selection::default()),
            [
                "plain",
                "plain-again",
                "builtin/null",
                "builtin/aes-256-xts/512",
                "builtin/aes-256-xts/4096"
            ]
        );
    }

    #[test]
    fn plain_alone_measures_the_noise() {
        assert_eq!(ids(&pick(&["plain"], &[], &[])), ["plain", "plain-again"]);
    }

    #[test]
    fn ciphers_and_units_narrow_the_choice() {
        assert_eq!(
            ids(&pick(&["builtin"], &["aes-128-xts"], &[4096])),
            ["plain", "plain-again", "builtin/null", "builtin/aes-128-xts/4096"]
        );
    }

    #[test]
    fn a_system_is_named_by_its_title_and_no_two_are_taken_for_one() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            meant(&names).map_err(|e| e.to_string())
        };
        let found = of(&["LUKS2", "luks2 (dm-crypt)", "VeraCrypt", "cryptbench mount", "ALL"]);
        assert_eq!(found.unwrap(), ["dm-crypt", "dm-crypt", "veracrypt", "builtin-mounted", "all"]);
        let several = of(&["luks"]).unwrap_err();
        assert_eq!(
            several,
            "\"luks\" matches several systems, choose one: dm-crypt, qemu-luks, nbdkit-luks"
        );
        let two = of(&["gocryptsf", "nosuch"]).unwrap_err();
        let begins =
            "unknown systems \"gocryptsf\" (did you mean gocryptfs?), \"nosuch\"; known: builtin";
        assert!(two.starts_with(begins) && two.contains("plain, "), "{two}");
        assert!(two.contains(" (can run here); ") && two.ends_with(" (only by name)"), "{two}");
        for none in ["2", "512", "2024-02-29"] {
            assert!(of(&[none]).is_err(), "{none}");
        }
    }

    #[test]
    fn ciphers_are_named_as_tables_have_them() {
        let of = |name: &str| meant_ciphers(&[name.to_owned()]).map_err(|e| e.to_string());
        for (asked, name) in [
            ("AES-256", "aes-256-xts"),
            ("AES-256-XTS", "aes-256-xts"),
            ("AES(Twofish)-XTS", "aes-twofish-xts"),
            ("BitLocker AES-128", "bitlocker-aes-128-xts"),
            ("XChaCha20-Poly1305", "xchacha20-poly1305"),
        ] {
            assert_eq!(of(asked), Ok(vec![name.to_owned()]), "{asked}");
        }
        assert!(of("256").is_err());
    }

    #[test]
    fn what_nobody_offers_is_refused_with_what_there_is() {
        let unknown =
            [pick(&["nosuch"], &[], &[]), pick(&[], &["rot13"], &[]), pick(&[], &[], &[1000])];
        let said = unknown.map(|selection| here(&selection).unwrap_err().to_string());
        insta::assert_snapshot!(said.join("\n"), @r#"
            unknown system "nosuch"; known: plain, builtin, builtin-mounted, builtin-raw, dm-crypt, qemu-luks, nbdkit-luks, veracrypt, truecrypt, bindfs, delay, serial, serial-mounted, pieces, pieces-mounted, gocryptfs, encfs, cryfs, securefs, rclone, fscrypt, ecryptfs, bitlocker, filevault2, zfs, bcachefs, opal, paired
            unknown cipher "rot13"; known: aes-128-xts, aes-256-xts, adiantum-12, camellia-256-xts, kuznyechik-xts, serpent-256-xts, twofish-256-xts, aes-twofish-xts, aes-twofish-serpent-xts, camellia-kuznyechik-xts, camellia-serpent-xts, kuznyechik-aes-xts, kuznyechik-serpent-camellia-xts, kuznyechik-twofish-xts, serpent-aes-xts, serpent-twofish-aes-xts, twofish-serpent-xts
            no chosen system offers a sector size of 1000 bytes; the supported sector sizes are 512 bytes (VeraCrypt) and 4096 bytes (LUKS2)
            "#);
    }

    #[test]
    fn a_sweep_takes_every_value_that_the_chosen_systems_have() {
        let mut all = pick(&["gocryptfs"], &[], &[]);
        sweep(&mut all, ["names"]).unwrap();
        assert_eq!(all.settings["names"], ["encrypted", "plain"]);
        let mut ours = pick(&[], &[], &[512]);
        sweep(&mut ours, ["cipher", "data-unit"]).unwrap();
        assert_eq!(ours.ciphers.len(), cryptbench_cipher::ciphers().len());
        assert!(ours.data_units.is_empty(), "all of them");
        insta::assert_snapshot!(sweep(&mut ours, ["colour"]).unwrap_err(), @r#"no chosen system offers a setting "colour"; settings to sweep over: cipher, data-unit, driver"#);
    }

    #[test]
    fn a_program_over_a_directory_brings_its_null_layer_where_that_can_run() {
        let abilities = Abilities::look();
        if !abilities.has(&GOCRYPTFS) || !abilities.has(&BINDFS) {
            eprintln!("SKIPPED: gocryptfs or bindfs cannot run here");
            return;
        }
        let arms = here(&pick(&["gocryptfs", "builtin"], &[], &[])).unwrap();
        let of = |id: &str| {
            let arm = arms.iter().find(|a| a.id == id).unwrap();
            null_layer_of(arm, &arms).map(|null| null.id.as_str())
        };
        assert_eq!(of("gocryptfs/aes-256-gcm"), Some("bindfs"));
        assert_eq!(of("builtin/aes-256-xts/512"), Some("builtin/null"));
        assert_eq!(of("bindfs"), None, "has nothing below it");
    }

    #[test]
    fn of_two_null_layers_the_one_that_differs_in_the_cipher_alone_counts() {
        let arm = |id: &str, role, system, unit: Option<u32>, settings: &[(&'static str, &str)]| {
            ArmSpec {
                id: id.to_owned(),
                label: id.to_owned(),
                role,
                system,
                target: Target::Plain,
                cipher: None,
                data_unit: unit,
                layout: None,
                settings: settings.iter().map(|(n, v)| (*n, (*v).to_owned())).collect(),
            }
        };
        let file = [("io-target", "file")];
        let arms = [
            arm("linear", Role::NullLayer, "dm-crypt", None, &file),
            arm("cipher-null", Role::NullLayer, "dm-crypt", Some(512), &file),
            arm("tc", Role::Encrypted, "truecrypt", Some(512), &file),
            arm("fscrypt/null", Role::NullLayer, "fscrypt", None, &[("on", "container")]),
            arm("in", Role::Encrypted, "fscrypt", None, &[("on", "container")]),
            arm("on", Role::Encrypted, "fscrypt", None, &[("on", "target")]),
        ];
        let of = |i: usize| null_layer_of(&arms[i], &arms).map(|null| null.id.as_str());
        assert_eq!([of(2), of(4), of(5)], [Some("cipher-null"), Some("fscrypt/null"), None]);
    }

    #[test]
    fn all_is_every_system_that_can_run_here_in_all_of_its_presets() {
        let abilities = Abilities::look();
        let arms = arms(&pick(&["all"], &[], &[]), &abilities).unwrap();
        let diagnostic = |arm: &ArmSpec| {
            [DELAY.name, "serial", "serial-mounted", "pieces", "pieces-mounted"]
                .contains(&arm.system)
        };
        assert!(!arms.iter().any(diagnostic), "no system that anybody could take");
        assert!(!DELAY.in_all && !BUILTIN_RAW.in_all);
        for system in systems().iter().filter(|s| abilities.has(s) && s.in_all) {
            assert!(arms.iter().any(|a| a.system == system.name()), "{}", system.name());
        }
        for arm in arms.iter().filter(|a| a.system == "encfs") {
            assert!(arms.iter().any(|a| a.id == "encfs/paranoia"), "{} alone", arm.id);
        }
    }

    #[test]
    fn the_catalogue_has_them_all_in_this_order() {
        let names: Vec<_> = systems().iter().map(|s| s.name()).collect();
        let known: Vec<_> = cryptbench_catalog::SYSTEMS.iter().map(|s| s.name).collect();
        assert_eq!(names, known);
    }
}
