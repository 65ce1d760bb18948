//! The findings as data: `--json` prints them, and the text is generated from the same data.

use cryptbench_catalog::{Manager, Remedy};
use serde::{Serialize, Serializer};

/// The complete diagnosis.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    pub schema: &'static str,
    pub program_version: &'static str,
    /// As given in os-release.
    pub distribution: String,
    pub kernel: String,
    /// The directory that `cryptbench run` would measure, as an absolute path if the directory exists.
    pub directory: String,
    /// Whether `cryptbench run` can measure this directory.
    pub can_run: bool,
    pub why_not: Option<String>,
    /// The exit code with which `cryptbench run` would refuse the directory; 0 if the directory would be accepted.
    #[serde(rename = "exit_code")]
    pub code: u8,
    pub sections: Vec<Section>,
    pub install: Install,
}

cryptbench_catalog::named! {
    /// The subject of a section, which is also its title.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Topic {
        Processor = "CPU",
        Storage = "Storage",
        Rights = "Privileges and kernel",
        Systems = "Systems",
        Disturbances = "Possible disturbances",
    }
}

impl Serialize for Topic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A group of related findings.
#[derive(Debug, Serialize)]
pub struct Section {
    #[serde(rename = "title")]
    pub topic: Topic,
    pub findings: Vec<Finding>,
}

impl Section {
    pub fn new(topic: Topic, findings: Vec<Finding>) -> Self {
        Self { topic, findings }
    }
}

/// One examined property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub name: String,
    pub state: State,
    /// Describes the finding, without a full stop.
    pub says: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The missing component, which several systems may require.
    #[serde(skip)]
    pub lack: Option<Lack>,
}

/// What is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Lack {
    pub reason: String,
    pub remedy: Remedy,
    /// The package manager whose package names the remedy uses.
    pub manager: Option<Manager>,
}

/// The meaning of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As expected, or neutral information.
    Ok,
    /// A missing component; everything else works without it.
    Lacking,
    /// Degrades measurements or changes their meaning.
    Warning,
    /// A problem that must be solved before anything can be measured.
    Fatal,
}

impl Finding {
    pub fn new(name: &str, state: State, says: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, says: says.into(), remedy: None, lack: None }
    }

    pub fn ok(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, State::Ok, says)
    }

    pub fn lacking(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, State::Lacking, says)
    }

    /// Unavailable because `lack` is missing; `says` contains the reason.
    pub fn without(name: &str, says: impl Into<String>, lack: Lack) -> Self {
        let remedy = lack.remedy.told(lack.manager);
        Self { lack: Some(lack), ..Self::lacking(name, says).remedy(remedy) }
    }

    pub fn warning(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, State::Warning, says)
    }

    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// The packages that would make more systems available.
#[derive(Debug, Serialize)]
pub struct Install {
    /// Whether this distribution's package names are known to this program.
    #[serde(skip)]
    pub names_known: bool,
    /// The installation command, if the distribution is known and provides at least one of the packages.
    pub command: Option<String>,
    /// Components for which no package is known on this distribution, with the places to get them. If the distribution
    /// is unknown: all components, under their Debian names.
    pub without_package: Vec<String>,
}
