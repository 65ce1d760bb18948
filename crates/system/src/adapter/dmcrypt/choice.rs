//! What a dm-crypt arm is set to, and the arms that a selection makes.

use super::ciphers::{CIPHERS, KernelCipher, find};
use crate::settings::{Choice as Values, choices, identifier, in_words};
use crate::system::{ArmSpec, Role, Setting, System};
use crate::{Selection, SystemError};

/// What can be swept.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "format",
        about: "what the header looks like; plain dm-crypt has none",
        values: &["luks2", "luks1", "plain"],
    },
    Setting {
        name: "cipher",
        about: "cipher, mode and key size; the last three authenticate, for integrity = aead",
        values: &[
            "aes-256-xts",
            "aes-128-xts",
            "camellia-256-xts",
            "serpent-256-xts",
            "twofish-256-xts",
            "aes-256-cbc-essiv",
            "adiantum",
            "adiantum-12",
            "aes-256-gcm",
            "aegis-128",
            "chacha20-poly1305",
        ],
    },
    Setting {
        name: "sector-size",
        about: "bytes under one tweak (LUKS1 has 512 alone)",
        values: &["512", "4096", "1024", "2048"],
    },
    Setting {
        name: "workqueues",
        about: "which requests skip the kcryptd queues and are encrypted where they are issued",
        values: &["default", "no-read", "no-write", "no-read-write"],
    },
    Setting {
        name: "same-cpu",
        about: "whether encryption stays on the processor that issued the request",
        values: &["no", "yes"],
    },
    Setting {
        name: "integrity",
        about: "authentication of sectors (LUKS2 alone): a MAC beside the cipher, or a cipher that has one",
        values: &["none", "hmac-sha256", "aead"],
    },
    Setting {
        name: "surface",
        about: "what requests go to: a file in ext4 on the mapped device, or that device itself",
        values: &["file", "device"],
    },
];

/// What encrypts, or stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Crypt(&'static KernelCipher),
    /// dm-crypt with a cipher that changes nothing.
    CipherNull,
    /// No dm-crypt at all: a mapping from sectors to the same sectors.
    Linear,
}

/// What an arm is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) format: &'static str,
    pub(super) target: Target,
    pub(super) sector: u32,
    pub(super) workqueues: &'static str,
    pub(super) same_cpu: bool,
    pub(super) integrity: &'static str,
    pub(super) on_device: bool,
}

impl Choice {
    /// Whether dm-crypt has it.
    fn exists(&self) -> bool {
        let authenticates =
            matches!(self.target, Target::Crypt(KernelCipher { authenticates: Some(_), .. }));
        (self.format != "luks1" || self.sector == 512)
            && (self.integrity == "none" || self.format == "luks2")
            && authenticates == (self.integrity == "aead")
    }

    /// With these values of the settings; `target` is what stands in the place of their cipher.
    fn with(values: &Values, target: Target) -> Self {
        let value = |setting: &str| {
            let known = SETTINGS.iter().find(|s| s.name == setting).expect("it is in the table");
            values.get(setting).copied().unwrap_or(known.values[0])
        };
        Self {
            format: value("format"),
            target,
            sector: value("sector-size").parse().expect("the table has numbers"),
            workqueues: value("workqueues"),
            same_cpu: value("same-cpu") == "yes",
            integrity: value("integrity"),
            on_device: value("surface") == "device",
        }
    }

    /// What `arm`, which [`arms`] made, is set to.
    pub(super) fn of(arm: &ArmSpec) -> Self {
        let known = |setting: &Setting| {
            let chosen = arm.settings.get(setting.name)?;
            let value = setting.values.iter().find(|v| *v == chosen)?;
            Some((setting.name, *value))
        };
        let target = match arm.cipher.and_then(find) {
            Some(cipher) => Target::Crypt(cipher),
            None if arm.data_unit.is_some() => Target::CipherNull,
            None => Target::Linear,
        };
        Self::with(&SETTINGS.iter().filter_map(known).collect(), target)
    }
}

/// The arm of a cipher.
fn encrypted(system: &System, values: &Values, choice: &Choice, cipher: &KernelCipher) -> ArmSpec {
    let mut label = format!("{} {} {} B", layout(choice.format), cipher.label, choice.sector);
    if choice.integrity == "hmac-sha256" {
        label.push_str(", HMAC-SHA256");
    }
    label.push_str(&words(choice));
    ArmSpec {
        cipher: Some(cipher.name),
        data_unit: Some(choice.sector),
        layout: Some(layout(choice.format)),
        settings: in_words(values),
        ..system.arm(identifier(system, values), label, Role::Encrypted)
    }
}

/// What a label says of settings that are not at their defaults.
fn words(choice: &Choice) -> String {
    let mut text = match choice.workqueues {
        "no-read" => ", no read workqueue".to_owned(),
        "no-write" => ", no write workqueue".to_owned(),
        "no-read-write" => ", no workqueues".to_owned(),
        _ => String::new(),
    };
    if choice.same_cpu {
        text.push_str(", same CPU");
    }
    if choice.on_device {
        text.push_str(", device");
    }
    text
}

/// A null layer of the same stack; `kept` are the settings that mean something to it.
fn null(
    system: &System,
    values: &Values,
    target: Target,
    (name, label): (&str, &str),
    kept: &[&str],
) -> ArmSpec {
    let values: Values =
        values.iter().filter(|(name, _)| kept.contains(name)).map(|(n, v)| (*n, *v)).collect();
    let choice = Choice::with(&values, target);
    let (id, own) = (identifier(system, &values), system.name);
    let id = id.replacen(own, &format!("{own}/{name}"), 1);
    ArmSpec {
        // Smaller requests than a sector cannot be made, whether or not something is encrypted.
        data_unit: (target == Target::CipherNull).then_some(choice.sector),
        settings: in_words(&values),
        ..system.arm(id, format!("{label}{}", words(&choice)), Role::NullLayer)
    }
}

fn layout(format: &str) -> &'static str {
    match format {
        "luks2" => "LUKS2",
        "luks1" => "LUKS1",
        _ => "plain dm-crypt",
    }
}

/// The null layers of the first choice, then the choices, as far as dm-crypt has them.
///
/// A sweep does not multiply the null layers: they tell the layer from the cipher once, for each I/O target.
pub(super) fn arms(system: &System, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
    let all = choices(system, &with_sectors(system, selection)?);
    let (mut nulls, mut arms) = (Vec::<ArmSpec>::new(), Vec::<ArmSpec>::new());
    for mut values in all {
        let integrity = values.get("integrity").copied().unwrap_or_default();
        let mut cipher = values.get("cipher").and_then(|name| find(name)).unwrap_or(&CIPHERS[0]);
        // The default cipher gives way to the default of those that authenticate.
        if integrity == "aead" && !names_a_cipher(selection) {
            cipher = CIPHERS.iter().find(|c| c.authenticates.is_some()).expect("there is one");
            values.insert("cipher", cipher.name);
        }
        let choice = Choice::with(&values, Target::Crypt(cipher));
        if !choice.exists() {
            continue;
        }
        let io_target = values.get("surface");
        if !nulls
            .iter()
            .any(|n| n.settings.get("surface").map(String::as_str) == io_target.copied())
        {
            let linear = ("linear", "dm-linear");
            nulls.push(null(system, &values, Target::Linear, linear, &["surface"]));
            let kept = ["surface", "sector-size", "workqueues", "same-cpu"];
            let without = ("cipher-null", "dm-crypt without a cipher");
            nulls.push(null(system, &values, Target::CipherNull, without, &kept));
        }
        arms.push(encrypted(system, &values, &choice, cipher));
    }
    if arms.is_empty() {
        return Err(SystemError::NothingSelected {
            what: "this cipher, format, sector size and integrity together".to_owned(),
            hint: hint(system),
        });
    }
    nulls.extend(arms);
    Ok(nulls)
}

fn names_a_cipher(selection: &Selection) -> bool {
    let setting = selection.settings.get("cipher");
    let mut named = selection.ciphers.iter().chain(setting.into_iter().flatten());
    named.any(|name| find(name).is_some())
}

fn hint(system: &System) -> String {
    let names = |with: bool| {
        let of_kind = CIPHERS.iter().filter(|c| c.authenticates.is_some() == with);
        of_kind.map(|c| c.name).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{} has {} and, with integrity = aead, {}; integrity is LUKS2's, and LUKS1 has sectors of 512 \
         bytes",
        system.name,
        names(false),
        names(true)
    )
}

/// The selection with data units as sector sizes, where those are named and the setting is not.
fn with_sectors(system: &System, selection: &Selection) -> Result<Selection, SystemError> {
    let mut selection = selection.clone();
    if selection.settings.contains_key("sector-size") || selection.data_units.is_empty() {
        return Ok(selection);
    }
    let sizes = SETTINGS.iter().find(|s| s.name == "sector-size").map_or(&[][..], |s| s.values);
    let units = selection.data_units.iter().map(ToString::to_string);
    let units: Vec<_> = units.filter(|unit| sizes.contains(&unit.as_str())).collect();
    if units.is_empty() {
        return Err(SystemError::NothingSelected {
            what: format!("a data unit of {:?} bytes", selection.data_units),
            hint: format!("{} has {}", system.name, sizes.join(", ")),
        });
    }
    selection.settings.insert("sector-size".to_owned(), units);
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::super::DM_CRYPT;
    use super::*;

    fn select(ciphers: &[&str], settings: &[(&str, &[&str])]) -> Selection {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        Selection {
            ciphers: owned(ciphers),
            settings: settings.iter().map(|(n, v)| ((*n).to_owned(), owned(v))).collect(),
            ..Selection::default()
        }
    }

    fn ids(selection: &Selection) -> Vec<String> {
        DM_CRYPT.arms(selection).unwrap().into_iter().map(|arm| arm.id).collect()
    }

    #[test]
    fn the_default_is_two_null_layers_and_one_arm() {
        assert_eq!(
            ids(&Selection::default()),
            ["dm-crypt/linear", "dm-crypt/cipher-null", "dm-crypt/aes-256-xts"]
        );
    }

    #[test]
    fn a_sweep_is_the_cross_product_of_what_there_is() {
        let both = select(
            &["aes-256-xts"],
            &[("sector-size", &["512", "4096"]), ("format", &["luks2", "luks1"])],
        );
        assert_eq!(
            ids(&both)[2..],
            [
                "dm-crypt/aes-256-xts",
                "dm-crypt/aes-256-xts/sector-size=4096",
                // LUKS1 has no larger sectors.
                "dm-crypt/format=luks1/aes-256-xts",
            ]
        );
        let queues = select(
            &[],
            &[
                ("workqueues", &["default", "no-read-write"]),
                ("same-cpu", &["no", "yes"]),
                ("surface", &["device"]),
            ],
        );
        assert_eq!(
            ids(&queues),
            [
                "dm-crypt/linear/surface=device",
                "dm-crypt/cipher-null/surface=device",
                "dm-crypt/aes-256-xts/surface=device",
                "dm-crypt/aes-256-xts/same-cpu=yes/surface=device",
                "dm-crypt/aes-256-xts/workqueues=no-read-write/surface=device",
                "dm-crypt/aes-256-xts/workqueues=no-read-write/same-cpu=yes/surface=device",
            ]
        );
        let integrity = select(&[], &[("integrity", &["none", "hmac-sha256", "aead"])]);
        assert_eq!(
            ids(&integrity)[2..],
            [
                "dm-crypt/aes-256-xts",
                "dm-crypt/aes-256-xts/integrity=hmac-sha256",
                "dm-crypt/aes-256-gcm/integrity=aead",
            ]
        );
    }

    #[test]
    fn data_units_stand_for_sector_sizes() {
        let selection = Selection { data_units: vec![4096], ..Selection::default() };
        let arms = DM_CRYPT.arms(&selection).unwrap();
        assert_eq!(arms[2].id, "dm-crypt/aes-256-xts/sector-size=4096");
        assert_eq!(arms[1].data_unit, Some(4096));
        assert_eq!(arms[0].data_unit, None);
    }

    #[test]
    fn an_arm_says_all_that_it_is_set_to() {
        let all = select(
            &["aes-256-xts", "serpent-256-xts", "aes-256-gcm"],
            &[
                ("format", &["luks2", "luks1", "plain"]),
                ("sector-size", &["512", "4096"]),
                ("workqueues", &["default", "no-read", "no-write", "no-read-write"]),
                ("same-cpu", &["no", "yes"]),
                ("integrity", &["none", "hmac-sha256", "aead"]),
                ("surface", &["file", "device"]),
            ],
        );
        let arms = DM_CRYPT.arms(&all).unwrap();
        for arm in &arms {
            let choice = Choice::of(arm);
            let Target::Crypt(cipher) = choice.target else {
                assert_eq!(arm.role, Role::NullLayer, "{}", arm.id);
                continue;
            };
            let known = |s: &Setting| {
                let value = arm.settings.get(s.name).expect("every setting is told");
                (s.name, *s.values.iter().find(|v| *v == value).unwrap())
            };
            let values: Values = SETTINGS.iter().map(known).collect();
            assert_eq!(encrypted(&DM_CRYPT, &values, &choice, cipher), *arm);
        }
        let mut ids: Vec<_> = arms.iter().map(|arm| &arm.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), arms.len());
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (selection, expected) in [
            (select(&["aes-256-gcm"], &[]), "with integrity = aead"),
            (select(&["serpent-256-xts"], &[("integrity", &["aead"])]), "with integrity = aead"),
            (select(&[], &[("integrity", &["aead"]), ("format", &["luks1"])]), "LUKS2's"),
            (select(&[], &[("format", &["luks1"]), ("sector-size", &["4096"])]), "512 bytes"),
            (Selection { data_units: vec![8192], ..Selection::default() }, "512, 4096"),
        ] {
            let error = DM_CRYPT.arms(&selection).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_setting_and_the_table_have_the_same_ciphers() {
        let setting = SETTINGS.iter().find(|s| s.name == "cipher").unwrap();
        let table: Vec<_> = CIPHERS.iter().map(|c| c.name).collect();
        assert_eq!(setting.values, table);
    }
}
