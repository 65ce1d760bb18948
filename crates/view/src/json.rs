//! The answer as JSON, for front ends that display it.

use std::path::Path;

use cryptbench_answer::answer::Open;
use cryptbench_answer::figure::{Columns, Figure, Ladder, Mark, Rung};
use cryptbench_answer::kinds::sizes_explained;
use cryptbench_answer::opening::OpeningRow;
use cryptbench_answer::quantity::{FINE_BELOW, NONE, cpu, fraction, kept_spread};
use cryptbench_answer::surroundings::meta;
use cryptbench_answer::{Report, figure};
use cryptbench_estimate::ranking::Mean;
use cryptbench_record::Record;
use serde_json::{Value, json};

use crate::drawing::hues;

/// Percentages below which a mean over several workloads is shown with a decimal.
const FINE_MEAN: f64 = 19.95;

/// Headline, table, what to use and what to avoid, the bottleneck of each choice, and open questions. `here` is
/// the directory in which the user will type commands, and `run` that of the run.
pub fn render(report: &Report<'_>, here: Option<&Path>, run: Option<&str>) -> Value {
    let Report { record, answer, .. } = report;
    let command = |open: &Open| open.command.as_ref().map(|command| command.typed_of(here, run));
    let open = |open: &Open| json!({ "text": open.text, "command": command(open) });
    json!({
        "schema": "cryptbench.answer/1",
        "run": record.run_id,
        "title": record.title,
        "measured": meta(record),
        "headline": answer.headline,
        "table": match &answer.figure {
            Figure::Columns(columns) => of_columns(columns, record),
            Figure::Ladder(ladder) => of_ladder(ladder, record),
            Figure::Openings(rows) => of_openings(rows, record),
            Figure::Nothing => Value::Null,
        },
        "take": answer.take,
        "avoid": answer.avoid,
        "why": answer.why,
        "open": answer.open.iter().map(open).collect::<Vec<_>>(),
    })
}

/// A field of a table: a share of plain speed with its interval. The text is the same as in the terminal.
pub fn share(kept: f64, low: f64, high: f64) -> Value {
    field(Mean { ratio: kept, low, high }, FINE_BELOW)
}

fn field(mean: Mean, fine_below: f64) -> Value {
    let (value, spread) = kept_spread(mean.ratio, mean.low, mean.high, fine_below);
    let Mean { ratio, low, high } = mean;
    json!({ "text": format!("{value} {spread}"), "kept": ratio, "low": low, "high": high })
}

fn words(text: &str) -> Value {
    json!({ "text": text })
}

fn value(value: &figure::Value, fine_below: f64, margin: f64) -> Value {
    match (value.mark, value.kept) {
        (Mark::Cached, _) => words("cache"),
        (Mark::Compressed, _) => words("packed"),
        (_, None) => words(NONE),
        (mark, Some(mean)) => {
            let mut field = field(mean, fine_below);
            if mark.char() != ' ' {
                field["mark"] = mark.char().to_string().into();
                field["verdict"] = mark.words(margin).into();
            }
            field
        }
    }
}

fn of_columns(columns: &Columns, record: &Record) -> Value {
    let margin = record.plan.margin();
    let has_choice = columns.columns.iter().any(|c| !c.is_engine);
    let names = columns.columns.iter().map(|column| match (&columns.title, column.is_floor) {
        (Some(_), _) => format!("{} sectors", column.name),
        (None, true) if has_choice => format!("floor: {}", column.name),
        _ => column.name.clone(),
    });
    let headings: Vec<String> =
        columns.before.iter().map(|column| column.heading.clone()).chain(names).collect();
    let rows = columns.rows.iter().enumerate().map(|(i, row)| {
        let before = columns.before.iter().map(|column| words(&column.fields[i]));
        let values = row.values.iter().map(|v| value(v, FINE_BELOW, margin));
        let values = before.chain(values).collect::<Vec<_>>();
        json!({ "name": row.name, "values": values, "noise": row.noise })
    });
    let no_loss = columns.rows.iter().flat_map(|r| &r.values).any(|v| v.mark == Mark::NoLoss);
    let mut notes = Vec::new();
    if no_loss {
        notes.push(format!("No mark: {}.", Mark::NoLoss.words(margin)));
    }
    notes.push(sizes_explained(&record.plan.workloads));
    if columns.columns.iter().any(|c| c.is_engine) {
        notes.push("The cipher alone is not a system.".to_owned());
    }
    let title = match &columns.title {
        Some(title) => format!("{title}, % of plain speed"),
        None => "% of plain speed".to_owned(),
    };
    let rows: Vec<Value> = rows.collect();
    let mut table = table(&caption(&title, record), "Workload", &headings, &rows, &notes);
    let hollow: Vec<bool> = columns.columns.iter().map(|c| c.is_engine).collect();
    let arms = columns.columns.iter().map(|column| column.arm.as_str());
    table["colours"] = hues(&record.plan.arms, arms).into();
    // For each of the last headings, which share a scale: whether its column is only the cipher, not a system.
    table["hollow"] = hollow.into();
    table
}

fn of_ladder(ladder: &Ladder<'_>, record: &Record) -> Value {
    let margin = record.plan.margin();
    let mut headings = vec!["average".to_owned()];
    headings.extend(ladder.kinds.iter().cloned());
    headings.push("CPU s/GiB".to_owned());
    let row = |rung: &Rung<'_>| {
        let name = match (rung.place, rung.unranked) {
            (Some(place), _) => format!("{place}. {}", rung.name),
            (None, Some(why)) => format!("{} (not ranked: {})", rung.name, why.words()),
            (None, None) => rung.name.clone(),
        };
        let mean = rung.all.map_or_else(|| words(NONE), |mean| field(mean, FINE_MEAN));
        let kinds = rung.kinds.iter().map(|v| value(v, FINE_MEAN, margin));
        let cpu = rung.cpu.map_or_else(|| words(NONE), |seconds| words(&cpu(seconds)));
        let values: Vec<Value> = std::iter::once(mean).chain(kinds).chain([cpu]).collect();
        json!({ "name": name, "values": values })
    };
    let rows: Vec<Value> = ladder.rungs.iter().chain(&ladder.floor).map(row).collect();
    let mut notes = vec![format!(
        "Same rank: no difference found. Average: geometric mean of {} of {} workloads.",
        ladder.over, ladder.workloads
    )];
    if let Some(floor) = &ladder.floor {
        let what = if ladder.is_floor {
            "the minimum cost (only the cipher, on one core)"
        } else {
            "one core"
        };
        notes.push(format!("{}: {what}, not a system.", floor.name));
    }
    table(&caption("% of plain speed", record), "Choice", &headings, &rows, &notes)
}

fn of_openings(rows: &[OpeningRow], record: &Record) -> Value {
    let headings = ["opens in", "interval", "key derivation"].map(str::to_owned);
    let rows = rows.iter().map(|row| {
        let keys = row.keys.as_deref().unwrap_or(NONE);
        json!({ "name": row.name, "values": [words(&row.time), words(&row.interval), words(keys)] })
    });
    table(&caption("Time to open", record), "Volume", &headings, &rows.collect::<Vec<_>>(), &[])
}

fn caption(title: &str, record: &Record) -> String {
    format!("{title}, with {} interval", fraction(record.plan.confidence))
}

/// A table of fields. `corner` is the heading of its row names.
pub fn table(
    caption: &str,
    corner: &str,
    headings: &[String],
    rows: &[Value],
    notes: &[String],
) -> Value {
    json!({ "caption": caption, "corner": corner, "headings": headings, "rows": rows, "notes": notes })
}
