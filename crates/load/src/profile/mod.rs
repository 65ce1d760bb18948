//! Workload profiles: the workloads whose results people quote, as data.
//!
//! A profile is a TOML file; `profiles/` contains the built-in ones.

mod error;
mod fio;
mod forecast;
mod parse;
mod size;
mod span;
mod work;

use cryptbench_text::names::{Named, Unknown, keys, named};
use cryptbench_text::shown;
use std::path::Path;

pub use cryptbench_catalog::Headline;
pub use cryptbench_catalog::{Estimator, Presentation};
pub use error::ProfileError;
pub use forecast::{Assumptions, Forecast, Rates};
pub use work::{
    BlockWork, Cache, FileAction, FileSizes, FileUse, FileWork, UnlockWork, Work, WorkAmount,
};

/// The built-in profiles: name and text. To add one, add a file and its line here.
const BUILTIN: &[(&str, &str)] = &[
    ("quick", include_str!("../../profiles/quick.toml")),
    ("atto", include_str!("../../profiles/atto.toml")),
    ("anvil", include_str!("../../profiles/anvil.toml")),
    ("hdtune", include_str!("../../profiles/hdtune.toml")),
    ("hdtune-whole", include_str!("../../profiles/hdtune-whole.toml")),
    ("dd-removable", include_str!("../../profiles/dd-removable.toml")),
    ("dd-copy", include_str!("../../profiles/dd-copy.toml")),
    ("iozone", include_str!("../../profiles/iozone.toml")),
    ("crystaldiskmark", include_str!("../../profiles/crystaldiskmark.toml")),
    ("crystaldiskmark-nvme", include_str!("../../profiles/crystaldiskmark-nvme.toml")),
    ("server", include_str!("../../profiles/server.toml")),
    ("small-files", include_str!("../../profiles/small-files.toml")),
    ("fsync", include_str!("../../profiles/fsync.toml")),
    ("sweep", include_str!("../../profiles/sweep.toml")),
    ("mount", include_str!("../../profiles/mount.toml")),
];

/// Largest profile file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A named list of workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// The familiar form of the results.
    pub presentation: Presentation,
    /// Whether requests go through the page cache unless the user decides otherwise.
    pub buffered: bool,
    /// Size of the scratch file in bytes; if `None`, chosen from the free space.
    pub size: Option<u64>,
    /// Measured seconds of a timed trial; if `None`, chosen from the budget.
    pub trial_s: Option<f64>,
    /// Trials per workload and arm; if `None`, as many as narrow intervals need.
    pub trials: Option<u32>,
    /// Unmeasured seconds before each timed trial; if `None`, the runner chooses.
    pub ramp_s: Option<f64>,
    /// Seconds of pause before each trial.
    pub pause_s: f64,
    /// Seconds of pause between two rounds of all workloads (between two series of iozone).
    pub round_pause_s: f64,
    /// The estimator of its users.
    pub estimator: Option<Estimator>,
    /// At least one; identifiers are unique.
    pub workloads: Vec<WorkloadSpec>,
    /// Differences from the meaning at the profile's origin, in sentences (fio job files).
    pub remarks: Vec<String>,
}

/// One workload of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Unique within the profile: lower-case letters, digits and hyphens.
    pub id: String,
    /// Its name in tables; at most 22 characters.
    pub label: String,
    /// The work.
    pub work: Work,
    /// The figure that people quote for it.
    pub headline: Headline,
}

fn built_in() -> Vec<Named<&'static str>> {
    BUILTIN.iter().map(|(name, _)| Named::new(*name, name, [])).collect()
}

impl Profile {
    /// The built-in profiles: name and TOML text.
    pub fn builtin() -> &'static [(&'static str, &'static str)] {
        BUILTIN
    }

    /// A built-in profile.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] if no profile has this name.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        match BUILTIN.iter().find(|(n, _)| *n == name) {
            Some((_, text)) => Self::from_toml(text, name),
            None => Err(ProfileError::Unknown(Unknown::of("profile", name, &built_in()))),
        }
    }

    /// The name of the built-in profile that a user means, in upper or lower case or by a unique part.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] if the text matches no profile, or several.
    pub fn meant(asked: &str) -> Result<&'static str, ProfileError> {
        let all = built_in();
        let found =
            named("profile", &[asked], &all, || keys(&all)).map_err(ProfileError::Unknown)?;
        Ok(found[0])
    }

    /// Parses a profile; `origin` is its name in errors.
    ///
    /// # Errors
    /// [`ProfileError::Syntax`] or [`ProfileError::Invalid`], with the line.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        parse::parse(text, origin)
    }

    /// Parses a fio job file (docs/profiles.md lists the options); `origin` is its name in errors and gives the
    /// profile its name.
    ///
    /// # Errors
    /// [`ProfileError::Invalid`] with the line, for an option that is not supported or cannot be executed here.
    pub fn from_fio(text: &str, origin: &str) -> Result<Self, ProfileError> {
        fio::parse(text, origin)
    }

    /// Reads and parses a profile. It is a fio job file if its name ends in `.fio` or `.ini` or if
    /// its text looks like one, otherwise TOML.
    ///
    /// # Errors
    /// Those of [`from_toml`](Self::from_toml) and [`from_fio`](Self::from_fio);
    /// [`ProfileError::Read`] or [`ProfileError::TooLarge`] if the file cannot be read.
    pub fn from_file(path: &Path) -> Result<Self, ProfileError> {
        let text = cryptbench_os::read_text(path, MAX_FILE).map_err(|source| {
            let path = path.to_owned();
            match source.kind() {
                std::io::ErrorKind::FileTooLarge => ProfileError::TooLarge { path },
                _ => ProfileError::Read { path, source },
            }
        })?;
        let origin = shown(path);
        let is_fio = match path.extension().and_then(|e| e.to_str()) {
            Some("fio" | "ini") => true,
            Some("toml") => false,
            _ => fio::looks_like(&text),
        };
        if is_fio { Self::from_fio(&text, &origin) } else { Self::from_toml(&text, &origin) }
    }
}

#[cfg(test)]
mod tests;
