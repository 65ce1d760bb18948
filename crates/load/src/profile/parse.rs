//! Parses TOML into a [`Profile`] and checks every value.

mod fields;
mod sweep;
mod template;
mod workload;

use std::collections::HashMap;

use super::size::format_size;
use super::{Estimator, Presentation, Profile, ProfileError, Work, WorkloadSpec};
use fields::{Fields, Source, Value};

/// Maximum length of a label, so that the layout of tables is preserved.
pub(super) const MAX_LABEL: usize = 22;

/// Maximum length of names, identifiers and descriptions, in characters.
pub(super) const MAX_ID: usize = 48;
pub(super) const MAX_DESCRIPTION: usize = 400;

/// Maximum number of workloads in a profile; iozone has 1,638.
pub(super) const MAX_WORKLOADS: usize = 5000;

/// A workload and the position of its identifier in the text.
struct Made {
    id_at: usize,
    spec: WorkloadSpec,
    from_sweep: bool,
}

pub(super) fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
    let source = Source { text, origin };
    let mut top = Fields::new(&source, "profile", 0, source.read()?);
    let name = top.required(Fields::text, "name")?;
    source.identifier("name", name.at, &name.value)?;
    let description = top.required(Fields::text, "description")?;
    source.words("description", description.at, &description.value, MAX_DESCRIPTION)?;
    let choices: Vec<_> = Presentation::ALL.iter().map(|p| (p.as_str(), *p)).collect();
    let presentation = top.choice("presentation", &choices)?.map(|p| p.value).unwrap_or_default();
    let choices: Vec<_> = Estimator::ALL.iter().map(|e| (e.as_str(), *e)).collect();
    let estimator = top.choice("estimator", &choices)?.map(|e| e.value);
    let buffered = top.flag("buffered")?.is_some_and(|b| b.value);
    let size = top.size("size", 512, 1 << 50)?;
    let trial_s = top.number("trial_s", 0.001, 86_400.0)?.map(|s| s.value);
    let trials = top.count("trials", 1, 10_000)?.map(|n| n.value);
    let ramp_s = top.number("ramp_s", 0.0, 3600.0)?.map(|s| s.value);
    let pause_s = top.number("pause_s", 0.0, 3600.0)?.map_or(0.0, |s| s.value);
    let round_pause_s = top.number("round_pause_s", 0.0, 3600.0)?.map_or(0.0, |s| s.value);

    let workload_at = top.at("workload");
    let mut parts = Vec::new();
    for key in ["workload", "sweep"] {
        for table in top.tables(key)? {
            parts.push((key, table));
        }
    }
    parts.sort_by_key(|(_, table)| table.at);
    top.finish()?;
    let mut made = Vec::new();
    for (key, table) in parts {
        let Value::Table(entries) = table.value else { continue };
        if key == "sweep" {
            sweep::expand(&source, table.at, entries, &mut made)?;
        } else {
            made.push(explicit(&mut Fields::new(&source, "workload", table.at, entries))?);
        }
    }
    if made.is_empty() {
        let remedy = "add at least one [[workload]] or [[sweep]]";
        return Err(source.invalid("workload", workload_at, "is empty", remedy));
    }
    unique(&source, &made)?;
    let workloads: Vec<_> = made.into_iter().map(|m| m.spec).collect();
    if let Some(size) = size {
        fits(&source, size.at, size.value, &workloads)?;
    }
    Ok(Profile {
        name: name.value,
        description: description.value,
        presentation,
        buffered,
        size: size.map(|s| s.value),
        trial_s,
        trials,
        ramp_s,
        pause_s,
        round_pause_s,
        estimator,
        workloads,
        remarks: Vec::new(),
    })
}

fn explicit(fields: &mut Fields<'_>) -> Result<Made, ProfileError> {
    let source = fields.source();
    let id = fields.required(Fields::text, "id")?;
    source.identifier("id", id.at, &id.value)?;
    let label = fields.required(Fields::text, "label")?;
    source.words("label", label.at, &label.value, MAX_LABEL)?;
    let (work, headline) = workload::read(fields)?;
    fields.finish()?;
    let spec = WorkloadSpec { id: id.value, label: label.value, work, headline };
    Ok(Made { id_at: id.at, spec, from_sweep: false })
}

fn unique(source: &Source<'_>, made: &[Made]) -> Result<(), ProfileError> {
    let mut seen = HashMap::new();
    for m in made {
        let id = &m.spec.id;
        let Some(first) = seen.insert(id.as_str(), m.id_at) else { continue };
        let (problem, remedy) = if first == m.id_at && m.from_sweep {
            let remedy = "use every list of the sweep in it, as in \"{operation}-{block_size}\"";
            (format!("produces '{id}' twice"), remedy)
        } else {
            let line = source.line(first);
            (format!("'{id}' is also used on line {line}"), "give each workload its own")
        };
        return Err(source.invalid("id", m.id_at, problem, remedy));
    }
    Ok(())
}

/// Checks that every workload fits into a scratch file of `size` bytes.
fn fits(
    source: &Source<'_>,
    at: usize,
    size: u64,
    workloads: &[WorkloadSpec],
) -> Result<(), ProfileError> {
    let span = |w: &WorkloadSpec| match &w.work {
        Work::Block(b) => b.scratch_span(),
        Work::Files(_) | Work::Unlock(_) => 0,
    };
    let Some(w) = workloads.iter().find(|w| span(w) > size) else { return Ok(()) };
    let problem = format!("is too small for workload '{}'", w.id);
    let remedy = format!("use at least {}", format_size(span(w)));
    Err(source.invalid("size", at, problem, remedy))
}

#[cfg(test)]
mod tests;
