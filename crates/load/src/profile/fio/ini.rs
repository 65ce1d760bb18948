//! The sections and options of a job file, each with its line.

use super::super::ProfileError;
use super::Source;
use super::options;

/// One option as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    /// Canonical name.
    pub(super) name: &'static str,
    /// The text after the `=`; `None` if the option has no value.
    pub(super) value: Option<String>,
    pub(super) line: usize,
}

/// A job: the options of its own section, preceded by the options of the `[global]` sections before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) line: usize,
    settings: Vec<Setting>,
}

impl Section {
    /// The last setting of the option. Later settings override earlier settings, so the settings of a job override
    /// those in `[global]`.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|s| s.name == name)
    }

    /// The line of the option, or of the section if the option is missing.
    pub(super) fn line_of(&self, name: &str) -> usize {
        self.get(name).map_or(self.line, |s| s.line)
    }

    /// Whether `a` was set after `b`, or `b` was not set.
    pub(super) fn later(&self, a: &str, b: &str) -> bool {
        let place = |name| self.settings.iter().rposition(|s| s.name == name);
        place(a) > place(b)
    }

    /// All settings, including overridden ones.
    pub(super) fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }
}

/// Splits a job file into jobs; refuses unknown options.
pub(super) fn sections(source: &Source<'_>, text: &str) -> Result<Vec<Section>, ProfileError> {
    let mut jobs: Vec<Section> = Vec::new();
    let mut global = Vec::new();
    let mut in_global = None;
    for (n, line) in text.lines().enumerate() {
        let n = n + 1;
        // As in fio, an option may be followed by a comment.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let Some(name) = name else {
                let remedy = "write a name in brackets, such as [randread]";
                return Err(source.invalid("section", n, format!("{line:?} has no name"), remedy));
            };
            in_global = Some(name == "global");
            if name != "global" {
                jobs.push(Section { name: name.to_owned(), line: n, settings: global.clone() });
            }
            continue;
        }
        let setting = setting(source, n, line)?;
        match (in_global, jobs.last_mut()) {
            (Some(true), _) => global.push(setting),
            (Some(false), Some(job)) => job.settings.push(setting),
            _ => {
                let remedy = "begin with [global] or a job such as [randread]";
                return Err(source.invalid(setting.name, n, "comes before any section", remedy));
            }
        }
    }
    Ok(jobs)
}

fn setting(source: &Source<'_>, line: usize, text: &str) -> Result<Setting, ProfileError> {
    let (word, value) = match text.split_once('=') {
        Some((word, value)) => (word.trim(), Some(value.trim().to_owned())),
        None => (text, None),
    };
    let shown: String = word.chars().take(40).collect();
    let Some(option) = options::find(word) else {
        let remedy = format!("supported are {}", options::names());
        return Err(source.invalid(shown, line, "is not a supported option", remedy));
    };
    if value.as_deref() == Some("") {
        return Err(source.invalid(option, line, "has no value", "write one after the '='"));
    }
    if value.as_deref().is_some_and(|v| v.contains('$')) {
        let remedy = "write its value instead";
        return Err(source.invalid(
            option,
            line,
            "contains a variable, which cryptbench does not expand",
            remedy,
        ));
    }
    Ok(Setting { name: option, value, line })
}
