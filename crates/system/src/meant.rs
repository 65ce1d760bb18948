//! Finds the settings and values that a user means: any name that the program prints, in upper or lower case, or a part
//! of such a name.

use std::collections::BTreeSet;
use std::fmt;

use cryptbench_text::human;
use cryptbench_text::names::{Named, Unknown, keys, named};

use crate::SystemError;
use crate::registry::{ALL, find, systems, titles_of_cipher};
use crate::settings::{CIPHER, FORMER};
use crate::system::{Setting, System};

/// The kind of name, for errors.
const KIND: &str = "setting";

/// A setting, and the values that were chosen for it.
pub type Chosen = (String, Vec<String>);

/// Unknown or ambiguous names of settings, and unknown or ambiguous values with their settings.
#[derive(Debug)]
pub struct UnknownSettings(Vec<(Option<&'static str>, Unknown)>);

impl fmt::Display for UnknownSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.0.iter().map(|(setting, unknown)| match setting {
            Some(setting) => format!("for {setting}: {unknown}"),
            None => unknown.to_string(),
        });
        f.write_str(&each.collect::<Vec<_>>().join("; "))
    }
}

/// The settings and values of these `systems` that a user means; of all systems if none are specified.
///
/// # Errors
/// [`SystemError::UnknownSettings`] with all names and values that are unknown or ambiguous.
pub fn meant_settings(systems: &[String], asked: &[Chosen]) -> Result<Vec<Chosen>, SystemError> {
    let settings = settings_of(systems);
    let all = by_name(&settings);
    if all.is_empty() {
        // The caller's error message then states that these systems have no settings.
        return Ok(asked.to_vec());
    }
    let names: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
    let mut unknown = Vec::new();
    if let Err(names) = named(KIND, &names, &all, || keys(&all)) {
        unknown.push((None, names));
    }
    let mut meant = Vec::new();
    for (name, values) in asked {
        let Ok(name) = named(KIND, &[name], &all, String::new) else { continue };
        let there = values_of(&settings, name[0]);
        match named("value", values.as_slice(), &there, || keys(&there)) {
            Ok(values) => {
                let values = values.into_iter().map(str::to_owned).collect();
                meant.push((name[0].to_owned(), values));
            }
            Err(values) => unknown.push((Some(name[0]), values)),
        }
    }
    match unknown.is_empty() {
        true => Ok(meant),
        false => Err(SystemError::UnknownSettings(UnknownSettings(unknown))),
    }
}

/// The settings of these `systems` over which the user wants to sweep.
///
/// # Errors
/// As for [`meant_settings`].
pub fn meant_sweeps(systems: &[String], asked: &[String]) -> Result<Vec<String>, SystemError> {
    let mut all = by_name(&settings_of(systems));
    if chosen(systems).iter().any(|system| system.has_our_ciphers) {
        for own in [CIPHER, "data-unit", "sector-size"] {
            if all.iter().all(|named| named.it != own) {
                all.push(Named::new(own, own, []));
            }
        }
    }
    if all.is_empty() {
        return Ok(asked.to_vec());
    }
    let found = named(KIND, asked, &all, || keys(&all));
    let found = found.map_err(|names| UnknownSettings(vec![(None, names)]));
    let found = found.map_err(SystemError::UnknownSettings)?;
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// The systems with these names; all systems if no name is given or the names include [`ALL`](crate::ALL).
fn chosen(names: &[String]) -> Vec<&'static System> {
    match names.is_empty() || names.iter().any(|name| name == ALL) {
        true => systems().to_vec(),
        false => names.iter().filter_map(|name| find(name).ok()).collect(),
    }
}

fn settings_of(names: &[String]) -> Vec<&'static Setting> {
    chosen(names).into_iter().flat_map(System::settings).collect()
}

fn by_name(settings: &[&'static Setting]) -> Vec<Named<&'static str>> {
    let mut seen = BTreeSet::new();
    let names = settings.iter().map(|setting| setting.name).filter(|name| seen.insert(*name));
    let called = names.map(|name| {
        let former = FORMER.iter().filter(|(_, now)| *now == name);
        Named::new(name, name, former.map(|(former, _)| (*former).to_owned()))
    });
    called.collect()
}

fn values_of(settings: &[&'static Setting], name: &str) -> Vec<Named<&'static str>> {
    let mut seen = BTreeSet::new();
    let values = settings.iter().filter(|setting| setting.name == name);
    let values = values.flat_map(|setting| setting.values.iter().copied());
    let values = values.filter(|value| seen.insert(*value));
    values.map(|value| Named::new(value, value, also(name, value))).collect()
}

/// Other names of a value in tables: the titles of ciphers, and sizes in bytes or with a unit.
fn also(setting: &str, value: &str) -> Vec<String> {
    match value.parse() {
        _ if setting == CIPHER => titles_of_cipher(value),
        Ok(bytes) if setting.ends_with("size") => vec![format!("{bytes} B"), human(bytes)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(systems: &[&str], asked: &[(&str, &[&str])]) -> Result<Vec<Chosen>, String> {
        let words = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let asked: Vec<Chosen> = asked.iter().map(|(n, v)| ((*n).to_owned(), words(v))).collect();
        meant_settings(&words(systems), &asked).map_err(|e| e.to_string())
    }

    #[test]
    fn a_setting_and_its_values_have_any_name_that_is_printed() {
        for (asked, name, value) in [
            (("Sector Size", "4096"), "sector-size", "4096"),
            (("sector_size", "4 KiB"), "sector-size", "4096"),
            (("sector", "512 B"), "sector-size", "512"),
            (("FORMAT", "LUKS1"), "format", "luks1"),
            (("surface", "Device"), "io-target", "device"),
            (("Cipher", "AES-256"), "cipher", "aes-256-xts"),
        ] {
            let found = of(&["dm-crypt"], &[(asked.0, &[asked.1])]);
            assert_eq!(found, Ok(vec![(name.to_owned(), vec![value.to_owned()])]), "{asked:?}");
        }
        let both = of(&["gocryptfs", "encfs"], &[("Preset", &["Paranoia", "standard"])]).unwrap();
        assert_eq!(both[0].1, ["paranoia", "standard"]);
        assert!(of(&[], &[("preset", &["paranoia"])]).is_ok(), "those of any system");
    }

    #[test]
    fn all_that_means_nothing_is_told_at_once_with_the_nearest() {
        let said = [
            of(&["encfs"], &[("colour", &["red"]), ("prest", &["lax"]), ("preset", &["paranoid"])]),
            of(&["gocryptfs"], &[("names", &["plian", "both", "plain"]), ("cipher", &["aes"])]),
        ];
        let said = said.map(|found| found.expect_err("it means nothing"));
        insta::assert_snapshot!(said.join("\n"), @r#"
            unknown settings "colour", "prest" (did you mean preset?); known: preset; for preset: unknown value "paranoid" (did you mean paranoia?); known: standard, paranoia
            for names: unknown values "plian" (did you mean plain?), "both"; known: encrypted, plain; for cipher: "aes" matches several values, choose one: aes-256-gcm, aes-256-siv
            "#);
        assert_eq!(of(&["plain"], &[("x", &["y"])]).unwrap().len(), 1, "refused later");
    }

    #[test]
    fn sweeps_are_forgiven_as_well() {
        let of = |system: &str, asked: &str| {
            let found = meant_sweeps(&[system.to_owned()], &[asked.to_owned()]);
            found.map(|found| found[0].clone()).map_err(|e| e.to_string())
        };
        assert_eq!(of("builtin", "Data unit"), Ok("data-unit".to_owned()));
        assert_eq!(of("dm-crypt", "Workqueues"), Ok("workqueues".to_owned()));
        insta::assert_snapshot!(of("builtin", "colour").unwrap_err(), @r#"unknown setting "colour"; known: driver, cipher, data-unit, sector-size"#);
    }
}
