//! Expands a `[[sweep]]` into workloads, one per combination of its values.
//!
//! In a sweep, a key of a workload may contain a list, or `{ from = "4KiB", to = "16MiB" }` for doubling sizes. The
//! first list varies most slowly. Each `[[sweep.grid]]` is combined with the sweep's own keys, one grid after another.
//! Each `[[sweep.case]]` is a named variant, which varies fastest. Combinations in which the block is larger than the
//! file are omitted.

use super::super::size::{format_size, parse_size};
use super::super::{ProfileError, WorkloadSpec};
use super::fields::{At, Entry, Fields, Source, Value};
use super::template::{Binding, Template};
use super::workload;
use super::{MAX_ID, MAX_LABEL, MAX_WORKLOADS, Made};

/// A key and its values in order.
struct Dimension {
    key: At<String>,
    values: Vec<At<Value>>,
}

struct Case {
    name: Option<String>,
    label: Option<String>,
    entries: Vec<Entry>,
}

/// Appends the workloads of one sweep to `made`.
pub(super) fn expand(
    source: &Source<'_>,
    at: usize,
    entries: Vec<Entry>,
    made: &mut Vec<Made>,
) -> Result<(), ProfileError> {
    let mut fields = Fields::new(source, "sweep", at, entries);
    let id = fields.required(Fields::text, "id")?;
    let label = fields.required(Fields::text, "label")?;
    let grids = fields.tables("grid")?;
    let cases = cases(source, fields.tables("case")?)?;
    let common = fields.rest();
    let id = Template::parse(source, "id", id)?;
    let label = Template::parse(source, "label", label)?;
    let before = made.len();
    let grids = if grids.is_empty() { vec![Vec::new()] } else { tables(grids) };
    for grid in grids {
        let keys = merged(source, common.clone(), grid)?;
        let (fixed, dimensions) = split(source, keys)?;
        let combinations =
            dimensions.iter().try_fold(cases.len(), |n, d| n.checked_mul(d.values.len()));
        if combinations.is_none_or(|n| made.len() + n > MAX_WORKLOADS) {
            let remedy = format!("a profile has at most {MAX_WORKLOADS}: use shorter lists");
            return Err(source.invalid("sweep", at, "produces too many workloads", remedy));
        }
        let mut odometer = vec![0; dimensions.len()];
        loop {
            let picked = dimensions
                .iter()
                .zip(&odometer)
                .map(|(d, i)| Entry { key: d.key.clone(), value: d.values[*i].clone() });
            let combination: Vec<_> = fixed.iter().cloned().chain(picked).collect();
            for case in &cases {
                let keys = varied(source, &combination, &dimensions, case)?;
                if !block_exceeds_file(&keys) {
                    made.push(one(source, at, keys, case, &id, &label)?);
                }
            }
            if !advance(&mut odometer, &dimensions) {
                break;
            }
        }
    }
    if made.len() == before {
        let remedy = "use files that are at least as large as the blocks";
        return Err(source.invalid("sweep", at, "produces no workload", remedy));
    }
    Ok(())
}

/// Advances to the next combination; the last dimension varies fastest. Returns false after the last combination.
fn advance(odometer: &mut [usize], dimensions: &[Dimension]) -> bool {
    for (i, d) in odometer.iter_mut().zip(dimensions).rev() {
        *i += 1;
        if *i < d.values.len() {
            return true;
        }
        *i = 0;
    }
    false
}

fn one(
    source: &Source<'_>,
    at: usize,
    keys: Vec<Entry>,
    case: &Case,
    id: &Template,
    label: &Template,
) -> Result<Made, ProfileError> {
    let binding = |case: Option<&String>, key: &str| {
        if key == "case" {
            return case.map(|c| Binding::Word(c.clone()));
        }
        let entry = keys.iter().find(|e| e.key.value == key)?;
        Some(match &entry.value.value {
            Value::Text(text) => match parse_size(text) {
                Some(bytes) => Binding::Size(bytes),
                None => Binding::Word(text.clone()),
            },
            Value::Integer(i) => Binding::Word(i.to_string()),
            Value::Number(f) => Binding::Word(f.to_string()),
            Value::Flag(flag) => Binding::Word(flag.to_string()),
            Value::List(_) | Value::Table(_) | Value::Other(_) => return None,
        })
    };
    let made_id = id.identifier(source, |key| binding(case.name.as_ref(), key))?;
    source.identifier("id", id.at, &made_id).map_err(|_| {
        let remedy = format!("it must be 1 to {MAX_ID} lower-case letters, digits and hyphens");
        source.invalid("id", id.at, format!("produces {made_id:?}"), remedy)
    })?;
    let made_label = label.words(source, |key| binding(case.label.as_ref(), key))?;
    source.words("label", label.at, &made_label, MAX_LABEL)?;
    let mut fields = Fields::new(source, "workload", at, keys);
    let (work, headline) = workload::read(&mut fields)?;
    fields.finish()?;
    let spec = WorkloadSpec { id: made_id, label: made_label, work, headline };
    Ok(Made { id_at: id.at, spec, from_sweep: true })
}

/// The cases of a sweep, or a single unnamed case if the sweep has no cases.
fn cases(source: &Source<'_>, tables: Vec<At<Value>>) -> Result<Vec<Case>, ProfileError> {
    if tables.is_empty() {
        return Ok(vec![Case { name: None, label: None, entries: Vec::new() }]);
    }
    let mut cases = Vec::new();
    for At { at, value } in tables {
        let Value::Table(entries) = value else { continue };
        let mut fields = Fields::new(source, "case", at, entries);
        let name = fields.required(Fields::text, "name")?.value;
        let label = fields.text("label")?.map_or_else(|| name.clone(), |l| l.value);
        let entries = fields.rest();
        if let Some(e) = entries.iter().find(|e| values_of(&e.value.value).is_some()) {
            let remedy = "move lists into the sweep itself";
            return Err(source.invalid(&e.key.value, e.value.at, "is a list in a case", remedy));
        }
        cases.push(Case { name: Some(name), label: Some(label), entries });
    }
    Ok(cases)
}

fn tables(list: Vec<At<Value>>) -> Vec<Vec<Entry>> {
    let table =
        |t: At<Value>| if let Value::Table(entries) = t.value { Some(entries) } else { None };
    list.into_iter().filter_map(table).collect()
}

/// Merges the keys of the sweep and one of its grids; a key must not be in both.
fn merged(
    source: &Source<'_>,
    mut common: Vec<Entry>,
    grid: Vec<Entry>,
) -> Result<Vec<Entry>, ProfileError> {
    for e in grid {
        if let Some(other) = common.iter().find(|c| c.key.value == e.key.value) {
            let problem = format!("is also on line {}", source.line(other.key.at));
            let remedy = "set it either in the sweep or in its grids";
            return Err(source.invalid(&e.key.value, e.key.at, problem, remedy));
        }
        common.push(e);
    }
    Ok(common)
}

/// Separates keys with a single value from keys with several values.
fn split(
    source: &Source<'_>,
    keys: Vec<Entry>,
) -> Result<(Vec<Entry>, Vec<Dimension>), ProfileError> {
    let (mut fixed, mut dimensions) = (Vec::new(), Vec::new());
    for e in keys {
        match values_of(&e.value.value) {
            None => fixed.push(e),
            Some(Values::List([])) => {
                let remedy = "add at least one value";
                return Err(source.invalid(&e.key.value, e.value.at, "is an empty list", remedy));
            }
            Some(Values::List(list)) => {
                dimensions.push(Dimension { key: e.key, values: list.to_vec() });
            }
            Some(Values::Doubling(range)) => {
                let values = doubling(source, e.value.at, range)?;
                dimensions.push(Dimension { key: e.key, values });
            }
        }
    }
    Ok((fixed, dimensions))
}

enum Values<'a> {
    List(&'a [At<Value>]),
    Doubling(&'a [Entry]),
}

fn values_of(value: &Value) -> Option<Values<'_>> {
    match value {
        Value::List(list) => Some(Values::List(list)),
        Value::Table(range) => Some(Values::Doubling(range)),
        _ => None,
    }
}

/// The values of `{ from, to }`: both ends and every doubling between them.
fn doubling(
    source: &Source<'_>,
    at: usize,
    range: &[Entry],
) -> Result<Vec<At<Value>>, ProfileError> {
    let mut fields = Fields::new(source, "range", at, range.to_vec());
    let from = fields.required(|f, key| f.size(key, 1, 1 << 50), "from")?;
    let to = fields.required(|f, key| f.size(key, 1, 1 << 50), "to")?;
    fields.finish()?;
    let steps = to.value / from.value;
    if !steps.is_power_of_two() || from.value * steps != to.value {
        let problem = format!("cannot be reached from {} by doubling", format_size(from.value));
        return Err(source.invalid("to", to.at, problem, "use another end, or a list"));
    }
    let sizes = (0..=steps.trailing_zeros()).map(|n| format_size(from.value << n));
    Ok(sizes.map(|size| At { at, value: Value::Text(size) }).collect())
}

/// The keys of a combination, together with the keys of the case.
fn varied(
    source: &Source<'_>,
    combination: &[Entry],
    dimensions: &[Dimension],
    case: &Case,
) -> Result<Vec<Entry>, ProfileError> {
    let mut keys = combination.to_vec();
    for e in &case.entries {
        if let Some(d) = dimensions.iter().find(|d| d.key.value == e.key.value) {
            let problem = format!("is swept on line {}", source.line(d.key.at));
            let remedy = "set it either in the sweep or in its cases";
            return Err(source.invalid(&e.key.value, e.key.at, problem, remedy));
        }
        keys.retain(|k| k.key.value != e.key.value);
        keys.push(e.clone());
    }
    Ok(keys)
}

fn block_exceeds_file(keys: &[Entry]) -> bool {
    let size = |key: &str| match &keys.iter().find(|e| e.key.value == key)?.value.value {
        Value::Text(text) => parse_size(text),
        _ => None,
    };
    matches!((size("block_size"), size("file_size")), (Some(block), Some(file)) if block > file)
}
