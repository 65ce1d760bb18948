//! The table of systems, and the choice of arms from it.

use std::collections::BTreeMap;

use cryptbench_cipher::Tier;

use crate::adapter::{
    bcachefs::BCACHEFS, bindfs::BINDFS, bitlocker::BITLOCKER, builtin::Builtin, cryfs::CRYFS,
    dmcrypt::DmCrypt, ecryptfs::Ecryptfs, encfs::ENCFS, filevault::FILEVAULT, fscrypt::Fscrypt,
    gocryptfs::GOCRYPTFS, mounted::BuiltinMounted, nbdkit_luks::NBDKIT_LUKS, opal::OPAL,
    plain::Plain, qemu_luks::QemuLuks, securefs::SECUREFS, truecrypt::TRUECRYPT,
    veracrypt::VeraCrypt, zfs::ZFS,
};
use crate::{Attachment, Contender, Ground, SystemError, settings};

/// What an arm is compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Plain storage, the baseline.
    Plain,
    /// Plain storage again, for the noise floor.
    PlainAgain,
    /// The software path of a system without its cipher.
    NullLayer,
    /// Encrypted storage.
    Encrypted,
}

/// One contender, as a system offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmSpec {
    /// Identifier within a run, such as `builtin/aes-256-xts/512`.
    pub id: String,
    /// How tables call it.
    pub label: String,
    /// What it is compared as.
    pub role: Role,
    /// Name of the system in the registry.
    pub system: &'static str,
    /// Cipher and mode; `None` where nothing is encrypted.
    pub cipher: Option<&'static str>,
    /// Bytes under one tweak.
    pub data_unit: Option<u32>,
    /// The format whose sector layout is used.
    pub layout: Option<&'static str>,
    /// What the system is set to, where it has [settings](System::settings): name and value.
    pub settings: BTreeMap<&'static str, String>,
}

/// Something that a system can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name on the command line, such as `sector-size`.
    pub name: &'static str,
    /// What it decides, in one line.
    pub about: &'static str,
    /// The values there are, the system's own default first.
    pub values: &'static [&'static str],
}

/// Which of the registered contenders a user wants; an empty list means the default ones.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of systems.
    pub systems: Vec<String>,
    /// Names of ciphers.
    pub ciphers: Vec<String>,
    /// Data units in bytes.
    pub data_units: Vec<u32>,
    /// Values of settings by name: each makes an arm of its own. A system whose setting is not named runs
    /// with its default.
    pub settings: BTreeMap<String, Vec<String>>,
}

/// Whether a system can run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can; the text names its version.
    Available(String),
    /// It cannot, for this reason, and this would mend it.
    Unavailable {
        /// The exact reason.
        reason: String,
        /// What to do.
        remedy: String,
    },
}

impl Availability {
    /// It cannot run, for this reason, and this would mend it.
    pub(crate) fn without(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), remedy: remedy.into() }
    }
}

/// An encryption system (or plain storage, the one that encrypts nothing).
pub trait System: Sync {
    /// Name in the registry and on the command line.
    fn name(&self) -> &'static str;
    /// What it is, in one line.
    fn about(&self) -> &'static str;
    /// Whether it can run here.
    fn availability(&self) -> Availability;
    /// What it can be set to.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }
    /// The contenders that it offers for a choice of ciphers and data units.
    fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError>;
    /// How it comes between a workload and the storage.
    fn attachment(&self) -> Attachment;
    /// Sets `arm` up.
    fn provision(&self, arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError>;
    /// The cipher kernel that `arm` runs on at `tier`, where the system can tell.
    fn kernel_tier(&self, arm: &ArmSpec, tier: Tier) -> Option<String>;
}

/// Every system, in the order in which tables list them.
pub fn systems() -> &'static [&'static dyn System] {
    &[
        &Plain,
        &Builtin,
        &BuiltinMounted,
        &DmCrypt,
        &QemuLuks,
        &NBDKIT_LUKS,
        &VeraCrypt,
        &TRUECRYPT,
        &BINDFS,
        &GOCRYPTFS,
        &ENCFS,
        &CRYFS,
        &SECUREFS,
        &Fscrypt,
        &Ecryptfs,
        &BITLOCKER,
        &FILEVAULT,
        &ZFS,
        &BCACHEFS,
        &OPAL,
    ]
}

/// The system of that name.
pub fn find(name: &str) -> Result<&'static dyn System, SystemError> {
    systems().iter().copied().find(|s| s.name() == name).ok_or_else(|| {
        let known: Vec<_> = systems().iter().map(|s| s.name()).collect();
        SystemError::UnknownSystem { name: name.to_owned(), known: known.join(", ") }
    })
}

/// The systems of a selection, or the default ones.
fn chosen(selection: &Selection) -> Result<Vec<&'static dyn System>, SystemError> {
    match selection.systems.is_empty() {
        true => Ok(vec![find("builtin")?]),
        false => selection.systems.iter().map(|name| find(name)).collect(),
    }
}

/// Puts every value of the setting `name` that the chosen systems have into `selection`: a sweep. For the
/// built-in engine `cipher` and `data-unit` count as settings.
///
/// # Errors
/// [`SystemError::NothingSelected`] when none of them has such a setting.
pub fn sweep(selection: &mut Selection, name: &str) -> Result<(), SystemError> {
    let chosen = chosen(selection)?;
    let ours = chosen.iter().any(|s| s.name().starts_with("builtin"));
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
        false => format!("what they can be swept over is: {}", names.join(", ")),
    };
    Err(SystemError::NothingSelected { what: format!("a setting {name:?}"), hint })
}

/// The arms of a run: plain, plain again, then what the chosen systems offer.
pub fn arms(selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = Plain.arms(selection)?;
    let chosen = chosen(selection)?;
    settings::check(selection, &chosen)?;
    // Each system takes of the named ciphers those that it has.
    let foreign = settings::foreign_ciphers(selection, &chosen);
    if let (Some(name), true) = (foreign.first(), chosen.iter().all(|s| settings::has_cipher(*s))) {
        return Err(SystemError::NothingSelected {
            what: format!("the cipher {name:?}"),
            hint: format!("they have: {}", settings::ciphers(&chosen).join(", ")),
        });
    }
    for system in chosen {
        if let Availability::Unavailable { reason, remedy } = system.availability() {
            return Err(SystemError::Unavailable {
                name: system.name().to_owned(),
                reason,
                remedy,
            });
        }
        let mut selection = selection.clone();
        if !settings::has_cipher(system) {
            let ours = |name: &String| cryptbench_cipher::find(name).is_ok();
            selection.ciphers.retain(|name| ours(name) || foreign.contains(name));
        }
        for arm in system.arms(&selection)? {
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

    fn pick(systems: &[&str], ciphers: &[&str], data_units: &[u32]) -> Selection {
        Selection {
            systems: systems.iter().map(ToString::to_string).collect(),
            ciphers: ciphers.iter().map(ToString::to_string).collect(),
            data_units: data_units.to_vec(),
            ..Selection::default()
        }
    }

    fn ids(selection: &Selection) -> Vec<String> {
        arms(selection).unwrap().into_iter().map(|a| a.id).collect()
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
    fn what_nobody_offers_is_refused_with_what_there_is() {
        for (selection, expected) in [
            (pick(&["nosuch"], &[], &[]), "registered are: plain, builtin, builtin-mounted"),
            (pick(&[], &["rot13"], &[]), "rot13"),
            (pick(&[], &[], &[1000]), "1000"),
        ] {
            let error = arms(&selection).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_sweep_takes_every_value_that_the_chosen_systems_have() {
        let mut all = pick(&["gocryptfs"], &[], &[]);
        sweep(&mut all, "names").unwrap();
        assert_eq!(all.settings["names"], ["encrypted", "plain"]);
        let mut ours = pick(&[], &[], &[512]);
        sweep(&mut ours, "cipher").unwrap();
        assert_eq!(ours.ciphers.len(), cryptbench_cipher::ciphers().len());
        sweep(&mut ours, "data-unit").unwrap();
        assert!(ours.data_units.is_empty(), "all of them");
        let error = sweep(&mut ours, "colour").unwrap_err().to_string();
        assert!(error.contains("cipher, data-unit"), "{error}");
    }

    #[test]
    fn names_and_ids_are_unique() {
        let mut names: Vec<_> = systems().iter().map(|s| s.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), systems().len());
    }
}
