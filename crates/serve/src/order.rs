//! The order of a page, and its conversion to a command line: each field is checked, and no shell
//! is involved.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::Catalogue;

/// Longest path that the kernel accepts.
const PATH_MAX: usize = 4096;
/// Longest duration of a run in seconds, the same as for `run --budget`.
const LONGEST: u64 = 30 * 86_400;
/// Largest scratch file, in MiB.
const LARGEST: u64 = 1 << 30;
/// Most signatures of one device.
const MOST_SIGNATURES: usize = 16;

/// The form as sent by the page.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Order {
    /// A directory, or the file or device to overwrite.
    pub target: String,
    /// The target to overwrite, typed a second time.
    pub confirm: String,
    /// Signatures on it that may be erased.
    pub erase: Vec<String>,
    /// Systems; an empty list selects the program's default.
    pub systems: Vec<String>,
    /// Ciphers; an empty list selects the program's default.
    pub ciphers: Vec<String>,
    /// Workload profile.
    pub profile: String,
    /// Longest duration of the run, in seconds.
    pub budget_s: Option<u64>,
    /// Size of the scratch file, in MiB.
    pub size_mib: Option<u64>,
}

/// Why an order is refused, and which field of the form is to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Invalid {
    /// Name of the field.
    pub field: &'static str,
    /// The problem, as a sentence.
    pub problem: String,
}

impl Order {
    /// The arguments of `run`, without those that control its output.
    ///
    /// # Errors
    /// A field has a value that `catalogue` does not offer, or the order would overwrite something
    /// whose name was not typed again.
    pub fn arguments(&self, catalogue: &Catalogue) -> Result<Vec<OsString>, Invalid> {
        let mut arguments: Vec<OsString> =
            vec!["--profile".into(), self.profile(catalogue)?.into()];
        let systems = catalogue.systems.iter().filter(|s| s.version.is_some());
        let systems: Vec<&str> = systems.map(|s| s.name.as_str()).collect();
        for name in &self.systems {
            among("systems", name, &systems)?;
            arguments.extend(["--system".into(), name.into()]);
        }
        let ciphers: Vec<&str> = catalogue.ciphers.iter().map(|c| c.name.as_str()).collect();
        for name in &self.ciphers {
            among("ciphers", name, &ciphers)?;
            arguments.extend(["--cipher".into(), name.into()]);
        }
        if let Some(seconds) = within("budget_s", self.budget_s, LONGEST, "s")? {
            arguments.extend(["--budget".into(), format!("{seconds}s").into()]);
        }
        if let Some(mib) = within("size_mib", self.size_mib, LARGEST, "MiB")? {
            arguments.extend(["--size".into(), format!("{mib}MiB").into()]);
        }
        self.consent(&mut arguments)?;
        arguments.extend(["--".into(), self.target.clone().into()]);
        Ok(arguments)
    }

    fn profile(&self, catalogue: &Catalogue) -> Result<&str, Invalid> {
        let names: Vec<&str> = catalogue.profiles.iter().map(|p| p.name.as_str()).collect();
        among("profile", &self.profile, &names)?;
        Ok(&self.profile)
    }

    /// Checks consent. An existing target that is not a directory would be overwritten, so the user
    /// must type its exact name again. Whether it may be overwritten at all is decided by the run,
    /// which examines everything below, beside and above it.
    fn consent(&self, arguments: &mut Vec<OsString>) -> Result<(), Invalid> {
        let target = Path::new(&self.target);
        if self.target.len() >= PATH_MAX || self.target.contains('\0') {
            return Err(invalid("target", "That is not a path."));
        }
        // Consent depends on the name, so each place must have only one.
        let plain = target.components().all(|c| !matches!(c, Component::ParentDir));
        if !target.is_absolute() || !plain {
            return Err(invalid("target", "Name the target by its whole path, without `..`."));
        }
        let overwrites = fs::metadata(target).is_ok_and(|found| !found.is_dir());
        let asked = !self.confirm.is_empty() || !self.erase.is_empty();
        if !overwrites {
            return match asked {
                true => Err(invalid(
                    "target",
                    "Nothing of that name exists, so nothing can be overwritten.",
                )),
                false => Ok(()),
            };
        }
        if self.confirm != self.target {
            let problem = "Everything on it would be overwritten. Type its name again, exactly.";
            return Err(invalid("confirm", problem));
        }
        arguments.extend(["--destroy".into(), self.target.clone().into()]);
        let is_name = |s: &String| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            (1..=40).contains(&s.len()) && s.chars().all(fits) && !s.starts_with('-')
        };
        if self.erase.len() > MOST_SIGNATURES || !self.erase.iter().all(is_name) {
            return Err(invalid("erase", "Name signatures as blkid does: ext4, crypto_LUKS."));
        }
        for signature in &self.erase {
            arguments.extend(["--yes-erase".into(), signature.into()]);
        }
        Ok(())
    }
}

fn invalid(field: &'static str, problem: impl Into<String>) -> Invalid {
    Invalid { field, problem: problem.into() }
}

fn among(field: &'static str, name: &str, names: &[&str]) -> Result<(), Invalid> {
    let problem = || invalid(field, format!("{name:?} cannot be chosen here."));
    names.contains(&name).then_some(()).ok_or_else(problem)
}

fn within(
    field: &'static str,
    asked: Option<u64>,
    most: u64,
    unit: &str,
) -> Result<Option<u64>, Invalid> {
    match asked {
        Some(n) if n == 0 || n > most => {
            Err(invalid(field, format!("Choose from 1 to {most} {unit}.")))
        }
        other => Ok(other),
    }
}
