//! From TOML to a [`Profile`] whose every value makes sense.

use std::collections::HashMap;

use serde::Deserialize;
use toml::Spanned;

use super::size::parse_size;
use super::{Headline, Profile, ProfileError, WorkloadSpec};
use crate::{MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, Operation, Pattern, SECTOR};

/// Longest label, so that tables keep their shape.
const MAX_LABEL: usize = 22;

/// Longest name, identifier and description.
const MAX_ID: usize = 48;
const MAX_DESCRIPTION: usize = 400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileText {
    name: Spanned<String>,
    description: Spanned<String>,
    workload: Spanned<Vec<WorkloadText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadText {
    id: Spanned<String>,
    label: Spanned<String>,
    operation: Operation,
    pattern: Pattern,
    block_size: Spanned<String>,
    queue_depth: Spanned<i64>,
    headline: Headline,
}

pub(super) fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
    let profile: ProfileText = toml::from_str(text).map_err(|e| ProfileError::Syntax {
        origin: origin.to_owned(),
        message: e.to_string().trim_end().to_owned(),
    })?;
    let checker = Checker { text, origin };
    checker.identifier("name", &profile.name)?;
    checker.words("description", &profile.description, MAX_DESCRIPTION)?;
    if profile.workload.get_ref().is_empty() {
        return Err(checker.invalid(
            "workload",
            &profile.workload,
            "is empty",
            "give at least one [[workload]]",
        ));
    }
    let mut seen = HashMap::new();
    let mut workloads = Vec::new();
    for w in profile.workload.into_inner() {
        checker.identifier("id", &w.id)?;
        if let Some(line) = seen.insert(w.id.get_ref().clone(), checker.line(&w.id)) {
            let problem = format!("'{}' is that of line {line} too", w.id.get_ref());
            return Err(checker.invalid("id", &w.id, problem, "give each workload its own"));
        }
        checker.words("label", &w.label, MAX_LABEL)?;
        workloads.push(WorkloadSpec {
            block_size: checker.block_size(&w.block_size)?,
            queue_depth: checker.queue_depth(&w.queue_depth)?,
            id: w.id.into_inner(),
            label: w.label.into_inner(),
            operation: w.operation,
            pattern: w.pattern,
            headline: w.headline,
        });
    }
    Ok(Profile {
        name: profile.name.into_inner(),
        description: profile.description.into_inner(),
        workloads,
    })
}

struct Checker<'a> {
    text: &'a str,
    origin: &'a str,
}

impl Checker<'_> {
    fn line<T>(&self, value: &Spanned<T>) -> usize {
        let before = self.text.as_bytes().iter().take(value.span().start);
        1 + before.filter(|&&b| b == b'\n').count()
    }

    fn invalid<T>(
        &self,
        field: &'static str,
        value: &Spanned<T>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ProfileError {
        ProfileError::Invalid {
            origin: self.origin.to_owned(),
            line: self.line(value),
            field,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    fn identifier(&self, field: &'static str, value: &Spanned<String>) -> Result<(), ProfileError> {
        let id = value.get_ref();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || id.len() > MAX_ID || !id.chars().all(allowed) {
            let remedy = format!("use 1 to {MAX_ID} lower-case letters, digits and hyphens");
            return Err(self.invalid(field, value, format!("{id:?} is no identifier"), remedy));
        }
        Ok(())
    }

    fn words(
        &self,
        field: &'static str,
        value: &Spanned<String>,
        longest: usize,
    ) -> Result<(), ProfileError> {
        let words = value.get_ref();
        let n = words.chars().count();
        if words.trim().is_empty() {
            return Err(self.invalid(field, value, "is empty", "say what it is"));
        }
        if words.chars().any(char::is_control) {
            let remedy = "write it on one line";
            return Err(self.invalid(field, value, "holds control characters", remedy));
        }
        if n > longest {
            let remedy = format!("use {longest} at most");
            return Err(self.invalid(field, value, format!("has {n} characters"), remedy));
        }
        Ok(())
    }

    fn block_size(&self, value: &Spanned<String>) -> Result<u64, ProfileError> {
        const FIELD: &str = "block_size";
        let text = value.get_ref();
        let size = parse_size(text).ok_or_else(|| {
            let remedy = "write a whole number with B, KiB, MiB or GiB, such as \"4KiB\"";
            self.invalid(FIELD, value, format!("{text:?} is no size"), remedy)
        })?;
        let problem = if size == 0 {
            "is zero"
        } else if !size.is_multiple_of(SECTOR as u64) {
            "is not a multiple of 512 bytes"
        } else if size > MAX_BLOCK_SIZE {
            "is larger than 1 GiB"
        } else {
            return Ok(size);
        };
        let remedy = "give a multiple of 512B up to 1GiB";
        Err(self.invalid(FIELD, value, format!("{text:?} {problem}"), remedy))
    }

    fn queue_depth(&self, value: &Spanned<i64>) -> Result<u32, ProfileError> {
        let depth = *value.get_ref();
        match u32::try_from(depth) {
            Ok(d) if (1..=MAX_QUEUE_DEPTH).contains(&d) => Ok(d),
            _ => {
                let remedy = format!("give 1 to {MAX_QUEUE_DEPTH}");
                Err(self.invalid("queue_depth", value, format!("{depth} is out of range"), remedy))
            }
        }
    }
}

#[cfg(test)]
mod tests;
