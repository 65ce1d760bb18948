//! `cryptbench studies`: replays published studies from their figures, and compares them with a record.

pub mod from;
#[cfg(test)]
mod items_page;
pub mod text;

use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_answer::names::relabelled;
use cryptbench_studies::beside::{Beside, beside};
use cryptbench_studies::{Answer, Files, Replay, items, own, replay};
use serde::Serialize;
use serde_json::json;

use crate::args::{StudiesArgs, StudyFormatArg};
use crate::exit::Refusal;
use crate::last;
use crate::say::{print, print_json, terminal_style};

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    studies: Vec<Replay>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Beside>,
    /// The results of a study's models for the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Answer>,
}

pub fn studies(args: &StudiesArgs) -> anyhow::Result<ExitCode> {
    if let (Some(study), false) = (args.study, args.from.is_empty()) {
        return from::print_again(args, study.into());
    }
    let asked: Vec<_> = args.study.map(Into::into).into_iter().collect();
    let studies = replay(&Files::published(), &asked).context("the published numbers")?;
    if args.items {
        let all = items::items(&Files::published(), &studies).context("the items")?;
        if args.json {
            print_json(&json!({ "schema": "cryptbench.study-items/1", "items": all }))?;
            return Ok(ExitCode::SUCCESS);
        }
        return from::print_tables(args, &[items::table(&all)], None);
    }
    let (mut near, mut answers) = (Vec::new(), Vec::new());
    if let Some(path) = &args.beside {
        let mut records = Vec::new();
        for path in last::records(path)? {
            records.push(relabelled(&cryptbench_record::read(&path)?).0);
        }
        near = records.iter().flat_map(|record| beside(record, &studies)).collect();
        near.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        answers =
            studies.iter().flat_map(|study| own::answers(study.about.letter, &records)).collect();
        if near.is_empty() {
            let reason = "none of its workloads corresponds to a published plain speed; use profile `atto` for \
            study A, dd-removable for B or dd-copy for C (D published none)";
            return Err(Refusal::input(path, reason).into());
        }
    }
    if args.json {
        print_json(&Document { schema: "cryptbench.studies/1", studies, beside: near, answers })?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.format != StudyFormatArg::Text || args.output.is_some() {
        let width = terminal_style(false).width;
        let text = studies.iter().map(|study| text::study(study, width)).collect();
        let tables: Vec<_> = studies.into_iter().flat_map(|study| study.tables).collect();
        return from::print_tables(args, &tables, Some(text));
    }
    let width = terminal_style(false).width;
    if args.beside.is_some() {
        print(&text::beside(&near, width));
        for answer in &answers {
            print(&format!("\n{}", text::answered(answer, width)));
        }
    } else if asked.is_empty() {
        print(&text::list(&studies, width));
    } else {
        for study in &studies {
            print(&text::study(study, width));
        }
    }
    Ok(ExitCode::SUCCESS)
}
