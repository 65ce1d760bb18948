//! The table of systems, and the choice of arms from it.

use cryptbench_blockdev::Surface;
use cryptbench_cipher::Tier;

use crate::SystemError;
use crate::adapter::{builtin::Builtin, plain::Plain};

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

/// An encryption system (or plain storage, the one that encrypts nothing).
pub trait System: Sync {
    /// Name in the registry and on the command line.
    fn name(&self) -> &'static str;
    /// What it is, in one line.
    fn about(&self) -> &'static str;
    /// Whether it can run here.
    fn availability(&self) -> Availability;
    /// The contenders that it offers for a choice of ciphers and data units.
    fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError>;
    /// Turns the plain surface into that of `arm`; `tier` is the cipher kernels to use.
    fn surface(&self, arm: &ArmSpec, plain: &Surface, tier: Tier) -> Result<Surface, SystemError>;
    /// The cipher kernel that `arm` runs on at `tier`, where the system can tell.
    fn kernel_tier(&self, arm: &ArmSpec, tier: Tier) -> Option<String>;
}

/// Every system, in the order in which tables list them.
pub fn systems() -> &'static [&'static dyn System] {
    &[&Plain, &Builtin]
}

/// The system of that name.
pub fn find(name: &str) -> Result<&'static dyn System, SystemError> {
    systems().iter().copied().find(|s| s.name() == name).ok_or_else(|| {
        let known: Vec<_> = systems().iter().map(|s| s.name()).collect();
        SystemError::UnknownSystem { name: name.to_owned(), known: known.join(", ") }
    })
}

/// The arms of a run: plain, plain again, then what the chosen systems offer.
pub fn arms(selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
    let mut arms = Plain.arms(selection)?;
    let chosen: Vec<_> = if selection.systems.is_empty() {
        vec![find("builtin")?]
    } else {
        selection.systems.iter().map(|name| find(name)).collect::<Result<_, _>>()?
    };
    for system in chosen {
        if let Availability::Unavailable { reason, remedy } = system.availability() {
            return Err(SystemError::Unavailable {
                name: system.name().to_owned(),
                reason,
                remedy,
            });
        }
        for arm in system.arms(selection)? {
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
            (pick(&["nosuch"], &[], &[]), "registered are: plain, builtin"),
            (pick(&[], &["rot13"], &[]), "rot13"),
            (pick(&[], &[], &[1000]), "1000"),
        ] {
            let error = arms(&selection).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn names_and_ids_are_unique() {
        let mut names: Vec<_> = systems().iter().map(|s| s.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), systems().len());
    }
}
