//! The settings of a dm-crypt arm, and the arms for a selection.

use cryptbench_catalog::{AES_256_XTS, Cipher, DM_CRYPT_CIPHERS, DM_CRYPT_NAMES};
use cryptbench_text::shown;

use crate::kind::place::ON;
use crate::settings::{Choice as Values, choices, identifier, in_words};
use crate::system::{ArmSpec, Role, Setting, System};
use crate::{Features, Selected, Selection, SystemError};

/// The settings, each of which can be swept.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "format",
        about: "header format; plain dm-crypt has no header",
        values: &["luks2", "luks1", "plain"],
    },
    Setting {
        name: "cipher",
        about: "cipher, mode and key size; the last three are authenticated modes, for integrity = aead",
        values: DM_CRYPT_NAMES,
    },
    Setting {
        name: "sector-size",
        about: "bytes encrypted with one tweak (LUKS1: only 512); if not set, cryptsetup chooses it for LUKS2",
        values: &["512", "4096", "1024", "2048"],
    },
    Setting {
        name: "workqueues",
        about: "requests that bypass the kcryptd queues and are processed synchronously",
        values: &["default", "no-read", "no-write", "no-read-write"],
    },
    Setting {
        name: "same-cpu",
        about: "whether encryption stays on the CPU that issued the request",
        values: &["no", "yes"],
    },
    Setting {
        name: "integrity",
        about: "tags per sector (LUKS2 only): a separate MAC, an authenticated cipher, or checksums of the ciphertext",
        values: &["none", "hmac-sha256", "aead", "crc32c"],
    },
    Setting {
        name: "integrity-journal",
        about: "how tags and data stay consistent: a journal of both, nothing, or a bitmap (crc32c only)",
        values: &["data", "none", "bitmap"],
    },
    Setting {
        name: "inline-crypto",
        about: "whether the device encrypts, or the block layer if the device cannot \
            (dm-inlinecrypt, Linux from mid-2026; only format = plain)",
        values: &["no", "yes"],
    },
    Setting {
        name: "max-read-size",
        about: "largest read in bytes that is not split across CPUs (Linux 6.11); a module parameter, set for this choice's trials",
        values: SIZES,
    },
    Setting { name: "max-write-size", about: "the same for writes", values: SIZES },
    Setting {
        name: "io-target",
        about: "where requests go: to a file in ext4 on the mapped device, or to the device itself",
        values: &["file", "device"],
    },
    ON,
];

/// Sizes in bytes at which requests may be split; the module's default is 128 KiB (Linux,
/// drivers/md/dm-crypt.c).
const SIZES: &[&str] = &["default", "16384", "65536", "262144", "1048576"];

/// The settings that are module parameters, with the names of their files.
pub(super) const PARAMETERS: [(&str, &str); 2] =
    [("max-read-size", "max_read_size"), ("max-write-size", "max_write_size")];

/// The part of an identifier that means dm-crypt without a cipher.
const CIPHER_NULL: &str = "cipher-null";

/// The cipher, or its replacement in a null layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Crypt(&'static Cipher),
    /// dm-crypt with a cipher that does not change the data.
    CipherNull,
    /// dm-linear instead of dm-crypt: maps each sector to itself.
    Linear,
}

/// The settings of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) format: &'static str,
    pub(super) target: Target,
    /// `None` if cryptsetup chooses it.
    pub(super) sector: Option<u32>,
    pub(super) workqueues: &'static str,
    pub(super) same_cpu: bool,
    pub(super) integrity: &'static str,
    pub(super) journal: &'static str,
    /// In the order of [`PARAMETERS`].
    pub(super) sizes: [&'static str; 2],
    /// Whether dm-inlinecrypt is used instead of dm-crypt.
    pub(super) inline: bool,
    pub(super) on_device: bool,
    /// The location of its disk, as in [`ON`].
    pub(super) on: &'static str,
}

impl Choice {
    /// Whether dm-crypt supports this combination.
    fn exists(&self) -> bool {
        let authenticates =
            matches!(self.target, Target::Crypt(Cipher { authenticates: Some(_), .. }));
        (self.format != "luks1" || self.sector == Some(512))
            && (self.integrity == "none" || self.format == "luks2")
            && authenticates == (self.integrity == "aead")
            && (self.journal == "data" || self.integrity != "none")
            // A bitmap marks regions whose tags must be recalculated, and dm-integrity cannot calculate
            // dm-crypt's tags (dm-integrity.rst).
            && (self.journal != "bitmap" || self.integrity == "crc32c")
            && (!self.inline || self.can_be_inline())
    }

    /// Whether dm-inlinecrypt supports this combination: it has one cipher and none of dm-crypt's queues, and
    /// no program writes a header for it (Documentation/admin-guide/device-mapper/dm-inlinecrypt.rst).
    fn can_be_inline(&self) -> bool {
        let is_aes = |target: &Target| matches!(target, Target::Crypt(c) if **c == AES_256_XTS);
        self.format == "plain"
            && is_aes(&self.target)
            && (self.workqueues, self.same_cpu) == ("default", false)
            && self.sizes == ["default"; 2]
    }

    /// Whether the kernel has the module parameters for the chosen settings.
    fn has_parameters(&self, features: &Features) -> bool {
        let set = PARAMETERS.iter().zip(self.sizes).filter(|(_, size)| *size != "default");
        set.into_iter().all(|((_, file), _)| features.dm_crypt_parameters.iter().any(|f| f == file))
    }

    /// A choice with these values of the settings, but with `target` instead of their cipher.
    fn with(values: &Values, target: Target) -> Self {
        let value = |setting: &str| {
            let known = SETTINGS.iter().find(|s| s.name == setting).expect("it is in the table");
            values.get(setting).copied().unwrap_or(known.values[0])
        };
        Self {
            format: value("format"),
            target,
            sector: values.get("sector-size").and_then(|size| size.parse().ok()),
            workqueues: value("workqueues"),
            same_cpu: value("same-cpu") == "yes",
            integrity: value("integrity"),
            journal: value("integrity-journal"),
            sizes: PARAMETERS.map(|(setting, _)| value(setting)),
            inline: value("inline-crypto") == "yes",
            on_device: value("io-target") == "device",
            on: value(ON.name),
        }
    }

    /// The choice of `arm`, which [`arms`] created.
    pub(super) fn of(arm: &ArmSpec) -> Self {
        let known = |setting: &Setting| {
            let chosen = arm.settings.get(setting.name)?;
            let value = setting.values.iter().find(|v| *v == chosen)?;
            Some((setting.name, *value))
        };
        let target = match arm.cipher.and_then(Cipher::of_dm_crypt) {
            Some(cipher) => Target::Crypt(cipher),
            // dm-linear has none of dm-crypt's own settings.
            None if arm.settings.contains_key("same-cpu") => Target::CipherNull,
            None => Target::Linear,
        };
        Self::with(&SETTINGS.iter().filter_map(known).collect(), target)
    }
}

/// The arm for a cipher.
fn encrypted(system: &System, values: &Values, choice: &Choice, cipher: &Cipher) -> ArmSpec {
    let mut label = format!("{} {}", layout(choice.format), cipher.label);
    if let Some(sector) = choice.sector {
        label.push_str(&format!(" {sector} B"));
    }
    match choice.integrity {
        "hmac-sha256" => label.push_str(", HMAC-SHA256"),
        "crc32c" => label.push_str(", CRC-32C below"),
        _ => {}
    }
    match choice.journal {
        "none" => label.push_str(" without journal"),
        "bitmap" => label.push_str(" with bitmap"),
        _ => {}
    }
    if choice.inline {
        label.push_str(", inline crypto");
    }
    for (what, size) in ["reads", "writes"].iter().zip(choice.sizes) {
        if size != "default" {
            label.push_str(&format!(", {what} split at {size} B"));
        }
    }
    label.push_str(&words(choice));
    ArmSpec {
        cipher: Some(cipher.name),
        data_unit: choice.sector,
        layout: Some(layout(choice.format)),
        settings: in_words(values),
        ..system.arm(identifier(system, values), label, Role::Encrypted)
    }
}

/// The settings that differ from their defaults, for a label.
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
    if choice.on != ON.values[0] {
        text.push_str(&format!(", on a {}", choice.on));
    }
    text
}

/// A null layer of the same stack; `kept` lists the settings that apply to it.
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
        // Even without encryption, requests must be at least as large as a sector.
        data_unit: choice.sector.filter(|_| target == Target::CipherNull),
        settings: in_words(&values),
        ..system.arm(id, format!("{label}{}", words(&choice)), Role::NullLayer)
    }
}

/// The name in tables for dm-crypt without a cipher.
fn no_cipher(system: &System) -> String {
    format!("{} without a cipher", system.name)
}

fn layout(format: &str) -> &'static str {
    match format {
        "luks2" => "LUKS2",
        "luks1" => "LUKS1",
        _ => "plain dm-crypt",
    }
}

/// The null layers of the first choice, then every choice that dm-crypt supports.
///
/// A sweep does not multiply the null layers: one of each kind per I/O target is enough to separate the cost of the
/// layer from the cost of the cipher.
pub(super) fn arms(
    system: &System,
    selection: &Selection,
    features: &Features,
) -> Result<Vec<ArmSpec>, SystemError> {
    let selection = &with_sectors(system, selection)?;
    let all = choices(system, selection);
    let (mut nulls, mut arms) = (Vec::<ArmSpec>::new(), Vec::<ArmSpec>::new());
    let (mut without_parameters, mut without_inline) = (false, false);
    let cryptsetup_chooses = !selection.settings.contains_key("sector-size");
    for mut values in all {
        let integrity = values.get("integrity").copied().unwrap_or_default();
        if cryptsetup_chooses && values["format"] == "luks2" && integrity == "none" {
            values.remove("sector-size");
        }
        let mut cipher =
            values.get("cipher").and_then(|name| Cipher::of_dm_crypt(name)).unwrap_or(&AES_256_XTS);
        // Uses the default authenticating cipher instead of the default cipher.
        if integrity == "aead" && !names_a_cipher(selection) {
            cipher = DM_CRYPT_CIPHERS
                .into_iter()
                .find(|c| c.authenticates.is_some())
                .expect("there is one");
            values.insert("cipher", cipher.name);
        }
        let choice = Choice::with(&values, Target::Crypt(cipher));
        if !choice.exists() {
            continue;
        }
        if !choice.has_parameters(features) {
            without_parameters = true;
            continue;
        }
        if choice.inline && !features.has_inline_crypto {
            without_inline = true;
            continue;
        }
        let is_alike = |null: &ArmSpec| {
            let same = |name: &&str| {
                null.settings.get(*name).map(String::as_str) == values.get(*name).copied()
            };
            ["io-target", ON.name].iter().all(same)
        };
        if !nulls.iter().any(is_alike) {
            let linear = ("linear", "dm-linear");
            nulls.push(null(system, &values, Target::Linear, linear, &["io-target", ON.name]));
            let kept = ["io-target", ON.name, "sector-size", "workqueues", "same-cpu"];
            let without = no_cipher(system);
            let without = (CIPHER_NULL, without.as_str());
            nulls.push(null(system, &values, Target::CipherNull, without, &kept));
        }
        arms.push(encrypted(system, &values, &choice, cipher));
    }
    if arms.is_empty() && without_parameters {
        return Err(SystemError::Unavailable {
            name: format!("{} with max-read-size or max-write-size", system.name),
            reason: format!("{} has neither", shown(&features.dm_crypt)),
            remedy: "run Linux 6.11 or later, and modprobe dm_crypt".into(),
        });
    }
    if arms.is_empty() && without_inline {
        return Err(SystemError::Unavailable {
            name: format!("{} with inline-crypto", system.name),
            reason: "this kernel has no dm-inlinecrypt".to_owned(),
            remedy: "run a kernel from mid-2026 or later with CONFIG_DM_INLINECRYPT, and modprobe dm_inlinecrypt".into(),
        });
    }
    if arms.is_empty() {
        return Err(SystemError::NothingSelected {
            of: Selected::System,
            what: "this combination of cipher, format, sector size and integrity".to_owned(),
            hint: hint(system),
        });
    }
    nulls.extend(arms);
    Ok(nulls)
}

/// The arm with the sector size that cryptsetup chose, as if it had been specified; `None` if it was specified.
pub(super) fn with_sector(system: &System, arm: &ArmSpec, sector: u32) -> Option<ArmSpec> {
    let choice = Choice::of(arm);
    if choice.sector.is_some() || choice.target == Target::Linear {
        return None;
    }
    let size = sector.to_string();
    let known = SETTINGS.iter().find(|s| s.name == "sector-size")?;
    let size = known.values.iter().find(|value| **value == size)?;
    let mut values = crate::settings::of_arm(system, arm);
    values.insert("sector-size", size);
    let choice = Choice::with(&values, choice.target);
    Some(match choice.target {
        Target::Crypt(cipher) => encrypted(system, &values, &choice, cipher),
        target => {
            let kept: Vec<_> = arm.settings.keys().copied().chain(["sector-size"]).collect();
            null(system, &values, target, (CIPHER_NULL, &no_cipher(system)), &kept)
        }
    })
}

fn names_a_cipher(selection: &Selection) -> bool {
    let setting = selection.settings.get("cipher");
    let mut named = selection.ciphers.iter().chain(setting.into_iter().flatten());
    named.any(|name| Cipher::of_dm_crypt(name).is_some())
}

fn hint(system: &System) -> String {
    let names = |with: bool| {
        let of_kind = DM_CRYPT_CIPHERS.iter().filter(|c| c.authenticates.is_some() == with);
        of_kind.map(|c| c.name).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{} offers {} and, with integrity = aead, {}; integrity requires LUKS2, its bitmap requires crc32c, LUKS1 has \
         512-byte sectors, and inline-crypto requires aes-256-xts, format = plain and no other setting",
        system.name,
        names(false),
        names(true)
    )
}

/// The selection with its data units as sector sizes, if it specifies data units but not the sector size.
fn with_sectors(system: &System, selection: &Selection) -> Result<Selection, SystemError> {
    let mut selection = selection.clone();
    if selection.settings.contains_key("sector-size") || selection.data_units.is_empty() {
        return Ok(selection);
    }
    let sizes = SETTINGS.iter().find(|s| s.name == "sector-size").map_or(&[][..], |s| s.values);
    let units = selection.data_units.iter().map(ToString::to_string);
    let units: Vec<_> = units.filter(|unit| sizes.contains(&unit.as_str())).collect();
    if units.is_empty() {
        let asked: Vec<_> = selection.data_units.iter().map(ToString::to_string).collect();
        return Err(SystemError::NothingSelected {
            of: Selected::DataUnit,
            what: format!("a sector size of {} bytes", asked.join(" or ")),
            hint: format!("{} offers {}", system.name, sizes.join(", ")),
        });
    }
    selection.settings.insert("sector-size".to_owned(), units);
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::super::DM_CRYPT;
    use super::*;
    use crate::machine::Machine;

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
    fn where_cryptsetup_chose_the_sector_size_the_arm_is_the_one_that_has_it() {
        for size in ["512", "4096"] {
            let sector = size.parse().unwrap();
            for settings in [&[][..], &[("workqueues", &["no-read"][..])]] {
                let asked =
                    DM_CRYPT.arms(&select(&[], &[settings, &[("sector-size", &[size])]].concat()));
                let open = DM_CRYPT.arms(&select(&[], settings)).unwrap();
                assert!(open.iter().all(|arm| arm.data_unit.is_none()));
                assert!(!open[2].label.contains(" B"), "{}", open[2].label);
                for (open, asked) in open.iter().zip(asked.unwrap()) {
                    let found = with_sector(&DM_CRYPT, open, sector);
                    let expected = (asked.id != "dm-crypt/linear").then_some(&asked);
                    assert_eq!(found.as_ref(), expected);
                    assert_eq!(with_sector(&DM_CRYPT, &asked, 1024), None, "it was asked for");
                }
            }
        }
        let others = select(&[], &[("format", &["luks1", "plain"])]);
        let others = DM_CRYPT.arms(&others).unwrap();
        assert!(others[2..].iter().all(|arm| arm.data_unit == Some(512)));
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
                // LUKS1 does not support larger sectors.
                "dm-crypt/format=luks1/aes-256-xts",
            ]
        );
        let queues = select(
            &[],
            &[
                ("workqueues", &["default", "no-read-write"]),
                ("same-cpu", &["no", "yes"]),
                ("io-target", &["device"]),
            ],
        );
        assert_eq!(
            ids(&queues),
            [
                "dm-crypt/linear/io-target=device",
                "dm-crypt/cipher-null/io-target=device",
                "dm-crypt/aes-256-xts/io-target=device",
                "dm-crypt/aes-256-xts/same-cpu=yes/io-target=device",
                "dm-crypt/aes-256-xts/workqueues=no-read-write/io-target=device",
                "dm-crypt/aes-256-xts/workqueues=no-read-write/same-cpu=yes/io-target=device",
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
                ("integrity", &["none", "hmac-sha256", "aead", "crc32c"]),
                ("integrity-journal", &["data", "none", "bitmap"]),
                ("io-target", &["file", "device"]),
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
    fn parameters_of_the_module_are_swept_where_it_has_them() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("max_read_size"), "0\n").unwrap();
        let pretend = |dm_crypt: &std::path::Path| {
            let machine = Machine { dm_crypt: dm_crypt.to_owned(), ..Machine::this() };
            Machine::pretend(Some(machine));
        };
        let swept = select(&[], &[("max-read-size", SIZES)]);
        pretend(place.path());
        let with = ids(&swept);
        pretend(&place.path().join("none"));
        let without = ids(&swept);
        let refused = DM_CRYPT.arms(&select(&[], &[("max-read-size", &["65536"])])).unwrap_err();
        Machine::pretend(None);
        assert_eq!(with.len(), 2 + SIZES.len());
        assert_eq!(with[3], "dm-crypt/aes-256-xts/max-read-size=16384");
        assert_eq!(without[2..], ["dm-crypt/aes-256-xts"]);
        let refused = refused.to_string().replace(&place.path().display().to_string(), "DIR");
        insta::assert_snapshot!(refused, @"dm-crypt with max-read-size or max-write-size is not available here: DIR/none has neither; run Linux 6.11 or later, and modprobe dm_crypt");
    }

    #[test]
    fn inline_crypto_is_there_where_the_kernel_has_it_and_else_left_out_of_a_sweep() {
        let loaded = tempfile::tempdir().unwrap();
        let pretend = |loaded: &std::path::Path| {
            let (loaded, modules) = (loaded.to_owned(), loaded.to_owned());
            Machine::pretend(Some(Machine { loaded, modules, ..Machine::this() }));
        };
        pretend(loaded.path());
        let sweep = [("format", &["plain"][..]), ("inline-crypto", &["no", "yes"][..])];
        assert_eq!(ids(&select(&[], &sweep))[2..], ["dm-crypt/format=plain/aes-256-xts"]);
        let alone = [sweep[0], ("inline-crypto", &["yes"][..])];
        insta::assert_snapshot!(DM_CRYPT.arms(&select(&[], &alone)).unwrap_err(), @"dm-crypt with inline-crypto is not available here: this kernel has no dm-inlinecrypt; run a kernel from mid-2026 or later with CONFIG_DM_INLINECRYPT, and modprobe dm_inlinecrypt");
        std::fs::create_dir(loaded.path().join("dm_inlinecrypt")).unwrap();
        assert_eq!(
            ids(&select(&[], &sweep))[2..],
            [
                "dm-crypt/format=plain/aes-256-xts",
                "dm-crypt/format=plain/aes-256-xts/inline-crypto=yes",
            ]
        );
        // dm-inlinecrypt has neither headers nor other ciphers, and none of dm-crypt's queues.
        let refused = [
            ("format", &["luks2"][..]),
            ("cipher", &["serpent-256-xts"]),
            ("workqueues", &["no-read"]),
        ]
        .map(|more| {
            let all = [&[("format", &["plain"][..])][..], &[alone[1], more]].concat();
            DM_CRYPT.arms(&select(&[], &all)).unwrap_err().to_string()
        });
        insta::assert_snapshot!(refused.join("\n"), @"
            no chosen system offers this combination of cipher, format, sector size and integrity; dm-crypt offers aes-256-xts, aes-128-xts, camellia-256-xts, serpent-256-xts, twofish-256-xts, aes-256-cbc-essiv, adiantum, adiantum-12 and, with integrity = aead, aes-256-gcm, aegis-128, chacha20-poly1305; integrity requires LUKS2, its bitmap requires crc32c, LUKS1 has 512-byte sectors, and inline-crypto requires aes-256-xts, format = plain and no other setting
            no chosen system offers this combination of cipher, format, sector size and integrity; dm-crypt offers aes-256-xts, aes-128-xts, camellia-256-xts, serpent-256-xts, twofish-256-xts, aes-256-cbc-essiv, adiantum, adiantum-12 and, with integrity = aead, aes-256-gcm, aegis-128, chacha20-poly1305; integrity requires LUKS2, its bitmap requires crc32c, LUKS1 has 512-byte sectors, and inline-crypto requires aes-256-xts, format = plain and no other setting
            no chosen system offers this combination of cipher, format, sector size and integrity; dm-crypt offers aes-256-xts, aes-128-xts, camellia-256-xts, serpent-256-xts, twofish-256-xts, aes-256-cbc-essiv, adiantum, adiantum-12 and, with integrity = aead, aes-256-gcm, aegis-128, chacha20-poly1305; integrity requires LUKS2, its bitmap requires crc32c, LUKS1 has 512-byte sectors, and inline-crypto requires aes-256-xts, format = plain and no other setting
            ");
        Machine::pretend(None);
    }

    #[test]
    fn a_bitmap_is_of_checksums_below_alone() {
        let all = [("integrity", &["hmac-sha256", "crc32c"][..])];
        let journals = ("integrity-journal", &["data", "none", "bitmap"][..]);
        assert_eq!(
            ids(&select(&[], &[&all[..], &[journals]].concat()))[2..],
            [
                "dm-crypt/aes-256-xts/integrity=hmac-sha256",
                "dm-crypt/aes-256-xts/integrity=hmac-sha256/integrity-journal=none",
                "dm-crypt/aes-256-xts/integrity=crc32c",
                "dm-crypt/aes-256-xts/integrity=crc32c/integrity-journal=none",
                "dm-crypt/aes-256-xts/integrity=crc32c/integrity-journal=bitmap",
            ]
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (selection, expected) in [
            (select(&["aes-256-gcm"], &[]), "with integrity = aead"),
            (select(&["serpent-256-xts"], &[("integrity", &["aead"])]), "with integrity = aead"),
            (select(&[], &[("integrity", &["aead"]), ("format", &["luks1"])]), "requires LUKS2"),
            (select(&[], &[("format", &["luks1"]), ("sector-size", &["4096"])]), "512-byte"),
            (Selection { data_units: vec![8192], ..Selection::default() }, "512, 4096"),
        ] {
            let error = DM_CRYPT.arms(&selection).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_ciphers_that_the_engine_has_as_well_are_the_same_there() {
        let shared = |cipher: &&&Cipher| cryptbench_cipher::find(cipher.name).is_ok();
        for cipher in DM_CRYPT_CIPHERS.iter().filter(shared) {
            let ours = cryptbench_cipher::find(cipher.name).unwrap();
            assert_eq!((ours.key_bytes, ours.label), (cipher.key_bytes(), cipher.label));
        }
        assert_eq!(DM_CRYPT_CIPHERS.iter().filter(shared).count(), 6);
    }
}
