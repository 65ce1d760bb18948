//! The settings of systems, and all combinations of the values that a user chooses.

use std::collections::BTreeMap;

use crate::system::{ArmSpec, Role, Setting, System};
use crate::{Selected, Selection, SystemError};

/// The setting whose values can also be chosen as ciphers of a [`Selection`].
pub(crate) const CIPHER: &str = "cipher";

/// The setting that replaces a set of other settings, as recommended by a system's documentation.
pub(crate) const PRESET: &str = "preset";

/// Former names of settings, and their current names.
pub(crate) const FORMER: [(&str, &str); 1] = [("surface", "io-target")];

/// The settings that are always part of an identifier, because they define the system.
const NAMING: [&str; 2] = [CIPHER, PRESET];

/// A value for each setting of a system.
pub(crate) type Choice = BTreeMap<&'static str, &'static str>;

/// Every combination of the chosen values, in the order of their declaration. A setting keeps its default if no
/// value is chosen for it, or only values that this system does not have.
pub(crate) fn choices(system: &System, selection: &Selection) -> Vec<Choice> {
    let mut all = vec![Choice::new()];
    for setting in system.settings() {
        let wanted = |value: &&&str| {
            let among = |values: &Vec<String>| values.iter().any(|v| v == *value);
            selection.settings.get(setting.name).is_some_and(among)
                || setting.name == CIPHER && among(&selection.ciphers)
        };
        let mut values: Vec<&'static str> = setting.values.iter().filter(wanted).copied().collect();
        if values.is_empty() {
            values.extend(setting.values.first());
        }
        let more = |choice: &Choice| {
            let with = |value: &&'static str| {
                let mut choice = choice.clone();
                choice.insert(setting.name, *value);
                choice
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(more).collect();
    }
    all
}

/// The part of an arm's identifier that represents a choice: the cipher or preset, and every other setting that
/// is not at its default.
pub(crate) fn identifier(system: &System, choice: &Choice) -> String {
    let mut id = system.name().to_owned();
    for setting in system.settings() {
        let Some(value) = choice.get(setting.name) else { continue };
        if NAMING.contains(&setting.name) {
            id = format!("{id}/{value}");
        } else if setting.values.first() != Some(value) {
            id = format!("{id}/{}={value}", setting.name);
        }
    }
    id
}

/// Refuses names and values that none of the chosen systems has; the error lists the valid ones.
pub(crate) fn check(selection: &Selection, chosen: &[&System]) -> Result<(), SystemError> {
    let known = || chosen.iter().flat_map(|system| system.settings());
    for (name, values) in &selection.settings {
        let mut there: Vec<&str> =
            known().filter(|s| s.name == name).flat_map(|s| s.values.iter().copied()).collect();
        if there.is_empty() {
            let mut names: Vec<_> = known().map(|s| s.name).collect();
            names.sort_unstable();
            names.dedup();
            let hint = match names.join(", ") {
                none if none.is_empty() => "they have no settings".to_owned(),
                names => format!("their settings are: {names}"),
            };
            return Err(SystemError::NothingSelected {
                of: Selected::Setting,
                what: format!("a setting {name:?}"),
                hint,
            });
        }
        if let Some(unknown) = values.iter().find(|v| !there.contains(&v.as_str())) {
            there.sort_unstable();
            there.dedup();
            return Err(SystemError::NothingSelected {
                of: Selected::Setting,
                what: format!("{unknown:?} for the setting {name}"),
                hint: format!("its values are: {}", there.join(", ")),
            });
        }
    }
    Ok(())
}

/// Whether this system has the cipher as a setting.
pub(crate) fn has_cipher(system: &System) -> bool {
    system.settings().iter().any(|s| s.name == CIPHER)
}

/// The ciphers that are settings of the chosen systems.
pub(crate) fn ciphers(chosen: &[&System]) -> Vec<&'static str> {
    let settings = chosen.iter().flat_map(|system| system.settings());
    let mut names: Vec<_> =
        settings.filter(|s| s.name == CIPHER).flat_map(|s| s.values.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The ciphers of a selection that are not a setting of any chosen system.
pub(crate) fn foreign_ciphers(selection: &Selection, chosen: &[&System]) -> Vec<String> {
    let known = ciphers(chosen);
    selection.ciphers.iter().filter(|name| !known.contains(&name.as_str())).cloned().collect()
}

/// The settings of an arm, with defaults for those that it does not contain.
pub(crate) fn of_arm(system: &System, arm: &ArmSpec) -> Choice {
    let value = |setting: &Setting| {
        let set = arm.settings.get(setting.name);
        let known = setting.values.iter().find(|v| set.is_some_and(|s| s == *v));
        Some((setting.name, *known.or_else(|| setting.values.first())?))
    };
    system.settings().iter().filter_map(value).collect()
}

/// The arm for `choice`, labelled `name`; it has no cipher yet.
pub(crate) fn arm(system: &System, name: &str, role: Role, choice: &Choice) -> ArmSpec {
    let settings = in_words(choice);
    ArmSpec {
        settings,
        ..system.arm(identifier(system, choice), label(system, name, choice), role)
    }
}

/// The arms of a program with LUKS1 in user space: the null layer and each cipher, for each I/O target.
/// `program` is used in labels. `null` contains the null layer's part of the identifier, and its label.
pub(crate) fn luks_arms(
    system: &System,
    selection: &Selection,
    program: &str,
    null: (&str, &str),
) -> Vec<ArmSpec> {
    let arm = |values: &Choice, role, label: &str| {
        let device = if values["io-target"] == "device" { ", device" } else { "" };
        let label = format!("{program} {label}{device}");
        ArmSpec {
            settings: in_words(values),
            ..system.arm(identifier(system, values), label, role)
        }
    };
    let mut arms = Vec::<ArmSpec>::new();
    for values in choices(system, selection) {
        let io_target = Choice::from([("io-target", values["io-target"])]);
        let mut without = arm(&io_target, Role::NullLayer, null.1);
        without.id = without.id.replacen(system.name, &format!("{}/{}", system.name, null.0), 1);
        if !arms.iter().any(|a| a.id == without.id) {
            arms.push(without);
        }
        let cipher = values["cipher"];
        let label = cryptbench_cipher::find(cipher).map_or(cipher, |info| info.label);
        arms.push(ArmSpec {
            cipher: Some(cipher),
            data_unit: Some(512),
            layout: Some("LUKS1"),
            ..arm(&values, Role::Encrypted, &format!("LUKS1 {label}"))
        });
    }
    arms
}

/// The arms of a program with ciphers of the built-in engine and 512-byte data units, one for each choice.
/// Labels consist of the layout and the cipher.
pub(crate) fn volume_arms(
    system: &System,
    selection: &Selection,
    layout: &'static str,
) -> Result<Vec<ArmSpec>, SystemError> {
    choices(system, selection)
        .into_iter()
        .map(|values| volume_arm(system, &values, layout, ""))
        .collect()
}

/// The arm for one such choice; its label ends with `more`.
pub(crate) fn volume_arm(
    system: &System,
    values: &Choice,
    layout: &'static str,
    more: &str,
) -> Result<ArmSpec, SystemError> {
    let info = cryptbench_cipher::find(values["cipher"])?;
    let device = if values["io-target"] == "device" { ", device" } else { "" };
    let place = match values.get("on") {
        Some(&"container") | None => String::new(),
        Some(place) => format!(", on a {place}"),
    };
    let label = format!("{layout} {}{more}{device}{place}", info.label);
    Ok(ArmSpec {
        cipher: Some(info.name),
        data_unit: Some(512),
        layout: Some(layout),
        settings: in_words(values),
        ..system.arm(identifier(system, values), label, Role::Encrypted)
    })
}

/// A choice in the form in which arms store it.
pub(crate) fn in_words(choice: &Choice) -> BTreeMap<&'static str, String> {
    choice.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

/// The label of a choice: the system, the cipher, and every other value that is not the default.
pub(crate) fn label(system: &System, name: &str, choice: &Choice) -> String {
    let mut label = name.to_owned();
    for setting in system.settings() {
        let Some(value) = choice.get(setting.name) else { continue };
        if NAMING.contains(&setting.name) {
            label = format!("{label} {value}");
        } else if setting.values.first() != Some(value) {
            label = format!("{label}, {} {value}", setting.name);
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::encfs::ENCFS;
    use crate::adapter::gocryptfs::GOCRYPTFS;

    fn selection(settings: &[(&str, &[&str])]) -> Selection {
        let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
        Selection {
            settings: settings.iter().map(|(n, v)| ((*n).to_owned(), owned(v))).collect(),
            ..Selection::default()
        }
    }

    fn ids(selection: &Selection) -> Vec<String> {
        let choices = choices(&GOCRYPTFS, selection);
        choices.iter().map(|c| identifier(&GOCRYPTFS, c)).collect()
    }

    #[test]
    fn chosen_values_are_multiplied_and_defaults_stand_for_the_rest() {
        assert_eq!(ids(&Selection::default()), ["gocryptfs/aes-256-gcm"]);
        let both: (&str, &[&str]) = ("cipher", &["xchacha20-poly1305", "aes-256-gcm"]);
        assert_eq!(
            ids(&selection(&[both, ("names", &["encrypted", "plain"])])),
            [
                "gocryptfs/aes-256-gcm",
                "gocryptfs/aes-256-gcm/names=plain",
                "gocryptfs/xchacha20-poly1305",
                "gocryptfs/xchacha20-poly1305/names=plain",
            ]
        );
        let named = Selection { ciphers: vec!["aes-256-siv".into()], ..Selection::default() };
        assert_eq!(ids(&named), ["gocryptfs/aes-256-siv"]);
    }

    #[test]
    fn what_no_chosen_system_has_is_refused_with_what_there_is() {
        let chosen: [&System; 2] = [&GOCRYPTFS, &ENCFS];
        let refuse = |s: &Selection| check(s, &chosen).unwrap_err().to_string();
        let name = refuse(&selection(&[("colour", &["red"])]));
        let value = refuse(&selection(&[("preset", &["standard", "lax"])]));
        insta::assert_snapshot!([name, value].join("\n"), @r#"
            no chosen system offers a setting "colour"; their settings are: cipher, names, preset
            no chosen system offers "lax" for the setting preset; its values are: paranoia, standard
            "#);
        check(&selection(&[("names", &["plain"]), ("preset", &["paranoia"])]), &chosen).unwrap();
    }

    #[test]
    fn an_arm_says_what_it_is_set_to() {
        let all = choices(&GOCRYPTFS, &selection(&[("names", &["plain"])]));
        let arms = GOCRYPTFS.arms(&selection(&[("names", &["plain"])])).unwrap();
        assert_eq!(of_arm(&GOCRYPTFS, &arms[0]), all[0]);
        assert_eq!(arms[0].label, "gocryptfs aes-256-gcm, names plain");
        assert_eq!(arms[0].cipher, Some("aes-256-gcm"));
    }
}
