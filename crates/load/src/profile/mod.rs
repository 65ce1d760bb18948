//! Workload profiles: the workloads of well-known benchmarks, as data.
//!
//! A profile is a TOML file; `profiles/` contains the built-in profiles.

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

/// The built-in profiles: name and text. To add a profile, add a file, and a line to this list.
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
    /// Whether requests go through the page cache unless the user chooses otherwise.
    pub buffered: bool,
    /// Size of the scratch file in bytes; if `None`, the size depends on the free space.
    pub size: Option<u64>,
    /// Measured time of a timed trial in seconds; if `None`, the time depends on the budget.
    pub trial_s: Option<f64>,
    /// Trials per workload and arm; if `None`, as many as are needed for narrow intervals.
    pub trials: Option<u32>,
    /// Unmeasured time before each timed trial in seconds; if `None`, the runner chooses this time.
    pub ramp_s: Option<f64>,
    /// Pause before each trial, in seconds.
    pub pause_s: f64,
    /// Pause between two rounds of all workloads in seconds (for iozone, between two series).
    pub round_pause_s: f64,
    /// The estimator of its users.
    pub estimator: Option<Estimator>,
    /// At least one workload; the identifiers are unique.
    pub workloads: Vec<WorkloadSpec>,
    /// Differences from the original meaning of the profile, in sentences (for fio job files).
    pub remarks: Vec<String>,
}

/// One workload of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Unique within the profile: lower-case letters, digits and hyphens.
    pub id: String,
    /// The workload's name in tables; at most 22 characters.
    pub label: String,
    /// The work.
    pub work: Work,
    /// The figure that is usually quoted for the workload.
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

    /// The name of the built-in profile to which the user's text refers. The case is ignored, and a unique part of the
    /// name is sufficient.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] if the text matches no profile, or more than one profile.
    pub fn meant(asked: &str) -> Result<&'static str, ProfileError> {
        let all = built_in();
        let found =
            named("profile", &[asked], &all, || keys(&all)).map_err(ProfileError::Unknown)?;
        Ok(found[0])
    }

    /// Parses a profile; errors refer to it as `origin`.
    ///
    /// # Errors
    /// [`ProfileError::Syntax`] or [`ProfileError::Invalid`], with the line.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ProfileError> {
        parse::parse(text, origin)
    }

    /// Parses a fio job file (docs/profiles.md lists the options); errors refer to it as `origin`, which also
    /// provides the profile's name.
    ///
    /// # Errors
    /// [`ProfileError::Invalid`] with the line, if an option is not supported or cannot be executed.
    pub fn from_fio(text: &str, origin: &str) -> Result<Self, ProfileError> {
        fio::parse(text, origin)
    }

    /// Reads and parses a profile. The file is parsed as a fio job file if its name ends in `.fio` or `.ini` or its
    /// text looks like a fio job file, otherwise as TOML.
    ///
    /// # Errors
    /// The errors of [`from_toml`](Self::from_toml) and [`from_fio`](Self::from_fio); [`ProfileError::Read`] or
    /// [`ProfileError::TooLarge`] if the file cannot be read.
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
