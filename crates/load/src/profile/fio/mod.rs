//! Reads fio job files as profiles: the common options with fio's meaning, and an error for all other options.
//!
//! Options, units and defaults follow fio's manual (HOWTO, fio 3.33). Options that cannot be implemented exactly are
//! refused, or the profile's remarks list the differences.

mod ini;
mod job;
mod options;
mod reader;
mod value;
mod writes;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use super::parse::{MAX_DESCRIPTION, MAX_ID, MAX_LABEL, MAX_WORKLOADS};
use super::{Presentation, Profile, ProfileError, WorkloadSpec};
use ini::Section;
use job::Job;

/// The text of a job file, and its name in errors.
#[derive(Clone, Copy)]
struct Source<'a> {
    origin: &'a str,
}

impl Source<'_> {
    fn invalid(
        &self,
        field: impl Into<String>,
        line: usize,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ProfileError {
        ProfileError::Invalid {
            origin: self.origin.to_owned(),
            line,
            field: field.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// Whether a text looks like a job file: it begins with a section whose name is not a possible start of a TOML
/// profile.
pub(super) fn looks_like(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|l| !l.is_empty() && !l.starts_with(['#', ';']));
    first.is_some_and(|l| l.starts_with('[') && !l.starts_with("[["))
        || text.lines().any(|l| l.trim_start().starts_with(';'))
}

pub(super) fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
    let source = Source { origin };
    let mut jobs: Vec<(Section, Job)> = Vec::new();
    let mut remarks = Remarks::default();
    for section in ini::sections(&source, text)? {
        if jobs.len() == MAX_WORKLOADS {
            let remedy = format!("a profile has at most {MAX_WORKLOADS}");
            return Err(source.invalid("job", section.line, "exceeds the limit", remedy));
        }
        let job = job::read(&source, &section, &mut remarks)?;
        if !jobs.is_empty() && !job.stonewall {
            let remedy =
                "add stonewall to it or to [global], so that each job waits for the previous one";
            let problem = format!("[{}] would run in parallel with the jobs above", section.name);
            return Err(source.invalid("job", section.line, problem, remedy));
        }
        jobs.push((section, job));
    }
    if jobs.is_empty() {
        return Err(source.invalid("job", 1, "is missing", "add a section such as [randread]"));
    }
    let direct = same(&source, &jobs, "direct", |j| Some(j.direct))?;
    let trial_s = same(&source, &jobs, "runtime", |j| j.runtime_s)?;
    let ramp_s = same(&source, &jobs, "ramp_time", |j| j.ramp_s)?;
    let size = jobs.iter().filter_map(|(_, j)| j.size).max();
    let description = jobs.iter().find_map(|(_, j)| j.description.clone());
    let description = description.unwrap_or_else(|| {
        let names: Vec<_> = jobs.iter().map(|(s, _)| s.name.as_str()).collect();
        format!("fio jobs: {}.", names.join(", "))
    });
    Ok(Profile {
        name: profile_name(origin),
        description: shortened(&description, MAX_DESCRIPTION),
        presentation: Presentation::Table,
        buffered: direct == Some(false),
        size,
        trial_s,
        trials: None,
        ramp_s,
        pause_s: 0.0,
        round_pause_s: 0.0,
        estimator: None,
        workloads: named(jobs),
        remarks: remarks.sentences,
    })
}

/// Sentences in order of their first appearance, without repetitions.
#[derive(Default)]
struct Remarks {
    sentences: Vec<String>,
}

impl Remarks {
    fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }
}

/// A setting for the whole run: all jobs that specify it must agree.
fn same<T: PartialEq + Copy>(
    source: &Source<'_>,
    jobs: &[(Section, Job)],
    option: &str,
    of: impl Fn(&Job) -> Option<T>,
) -> Result<Option<T>, ProfileError> {
    let mut found: Option<(T, &Section)> = None;
    for (section, job) in jobs {
        let Some(value) = of(job) else { continue };
        match found {
            Some((first, before)) if first != value => {
                let problem =
                    format!("of [{}] differs from that of [{}]", section.name, before.name);
                let line = section.line_of(option);
                let remedy = "a run can have only one: put the jobs into separate files";
                return Err(source.invalid(option, line, problem, remedy));
            }
            Some(_) => {}
            None => found = Some((value, section)),
        }
    }
    Ok(found.map(|(value, _)| value))
}

/// Derives identifiers and labels from the names of the jobs.
fn named(jobs: Vec<(Section, Job)>) -> Vec<WorkloadSpec> {
    let mut taken = HashSet::new();
    let name = |(section, job): (Section, Job)| {
        let stem = identifier(&section.name, MAX_ID - 5, "job");
        let mut id = stem.clone();
        for n in 2.. {
            if taken.insert(id.clone()) {
                break;
            }
            id = format!("{stem}-{n}");
        }
        WorkloadSpec {
            id,
            label: shortened(&section.name, MAX_LABEL),
            work: super::Work::Block(job.work),
            headline: job.headline,
        }
    };
    jobs.into_iter().map(name).collect()
}

/// The file name without folder and extension, as an identifier.
fn profile_name(origin: &str) -> String {
    let stem = Path::new(origin).file_stem().and_then(OsStr::to_str);
    identifier(stem.unwrap_or(origin), MAX_ID, "fio")
}

/// The lower-case letters, digits and hyphens of `text`, at most `longest` characters; `otherwise` if none remain.
fn identifier(text: &str, longest: usize, otherwise: &str) -> String {
    let mut id = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            id.push(c);
        } else if !id.is_empty() && !id.ends_with('-') {
            id.push('-');
        }
        if id.len() == longest {
            break;
        }
    }
    let id = id.trim_end_matches('-');
    if id.is_empty() { otherwise.to_owned() } else { id.to_owned() }
}

fn shortened(text: &str, longest: usize) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.trim();
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests;
