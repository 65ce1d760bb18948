//! `cryptbench run --study`: runs a published study's protocol on this machine, and prints its tables.

mod in_ram;
mod protocol;
mod systems;

use std::process::ExitCode;

use cryptbench_load::Profile;
use cryptbench_os::{Details, FileType};
use cryptbench_record::{Event, InRam, Record, Sink as _};
use cryptbench_runner::{DryRun, wear};
use cryptbench_studies::here::Tested;
use cryptbench_studies::{Answer, Letter, Table};
use cryptbench_text::{chain, shown};
use cryptbench_view::columns::{hang, paragraph};
use serde::Serialize;
use serde_json::{Value, json};

use crate::dry_run;
use crate::output::Saved;
use crate::progress::Lines;
use crate::run::args::{ProgressArg, RunArgs};
use crate::run::{measure_with, request};
use crate::say::{print, print_json, terminal_style};
use crate::signal::Signal;
use crate::studies::from::Own;

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    study: Letter,
    remarks: Vec<String>,
    records: Vec<String>,
    /// Ciphers and key derivation; the records also contain them.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_ram: Option<InRam>,
    tables: Vec<Table>,
    /// The results of the study's models for these records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Answer>,
    /// The study's conclusions, tested on these records.
    conclusions: Vec<Tested>,
}

/// The plans of a study as JSON.
pub fn plan(args: &RunArgs, study: Letter) -> anyhow::Result<Value> {
    let (parts, remarks) = parts(args, study)?;
    let runs = predicted(&parts)?;
    let plans: Vec<Value> = runs.iter().map(dry_run::object).collect();
    Ok(json!({
        "schema": "cryptbench.study-dry-run/1",
        "study": study,
        "wear": wear(&runs),
        "remarks": remarks,
        "plans": plans,
    }))
}

/// What each run of a study would do.
fn predicted(parts: &[RunArgs]) -> anyhow::Result<Vec<DryRun>> {
    parts.iter().map(|part| dry_run::of(&request(part)?)).collect()
}

/// The runs of a study, and remarks about omitted or replaced parts.
fn parts(args: &RunArgs, study: Letter) -> anyhow::Result<(Vec<RunArgs>, Vec<String>)> {
    let protocol = protocol::protocol(study);
    let profiles = protocol.profiles_on(is_on_a_device(args));
    let (chosen, mut remarks) = systems::arguments(args, &protocol);
    let mut parts: Vec<RunArgs> = Vec::new();
    for profile in &profiles {
        match fits(args, profile) {
            Ok(()) => {
                let mut part = part(&chosen, profile);
                if protocol.places == Some(*profile) {
                    remarks.extend(systems::in_places(&mut part, is_on_a_device(args)));
                }
                parts.push(part);
            }
            Err(error) if profiles.len() == 1 => return Err(error),
            Err(error) => remarks.push(format!("{profile} is left out: {}", chain(&*error))),
        }
    }
    Ok((parts, remarks))
}

pub fn run(args: &RunArgs, study: Letter, signal: &Signal) -> anyhow::Result<ExitCode> {
    let protocol = protocol::protocol(study);
    let (parts, remarks) = parts(args, study)?;
    let width = terminal_style(false).width;
    let print_for_people = |text: &str| {
        if !args.shown.json {
            print(text);
        }
    };
    let say = |text: &str| print_for_people(&paragraph(text, width, 0));
    let profiles = protocol.profiles_on(is_on_a_device(args));
    // Anything impossible must be detected before the first measurement.
    let runs = predicted(&parts)?;
    let much = wear(&runs);
    much.iter().for_each(|much| say(&format!("{much}\n")));
    say(&format!("Study {study} on this machine: {}", profiles.join(", then ")));
    remarks.iter().for_each(|r| print_for_people(&hang("- ", r, width)));
    let mut lines = matches!(args.shown.progress, ProgressArg::Json).then(Lines::default);
    if args.result.dry_run && args.shown.json {
        print_json(&plan(args, study)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.result.dry_run {
        if protocol.in_ram {
            say(&in_ram::forecast(args));
        }
        for run in &runs {
            say("");
            print(&dry_run::words(run));
        }
        let in_ram = if protocol.in_ram { in_ram::total(args) } else { 0.0 };
        let seconds = runs.iter().map(|run| run.forecast.seconds).sum::<f64>() + in_ram;
        say(&format!("\nThe whole study would take about {}.", dry_run::time(seconds)));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(lines) = &mut lines {
        remarks.iter().cloned().for_each(|text| lines.take(&Event::Note { text, aside: false }));
    }
    let in_ram = match protocol.in_ram {
        true => Some(in_ram::in_ram(args, !args.shown.json)?),
        false => None,
    };
    let (mut records, mut places) = (Vec::<Record>::new(), Vec::new());
    let mut code = ExitCode::SUCCESS;
    for part in &parts {
        let measured = measure_with(part, signal, !args.shown.json, in_ram.clone())?;
        if let Saved::In(at) | Saved::Elsewhere(at, _) = &measured.saved {
            places.push(shown(at));
        }
        records.push(measured.record);
        if !measured.whole {
            code = measured.code;
            break;
        }
    }
    let own = Own::of(study, &records);
    if let Some(lines) = &mut lines {
        lines.take(&Event::Study {
            study: study.to_string(),
            tables: serde_json::to_value(own.tables())?,
        });
    }
    if args.shown.json {
        let schema = "cryptbench.study/1";
        let (tables, answers, conclusions) = own.into_parts();
        let document = Document {
            schema,
            study,
            remarks,
            records: places,
            in_ram,
            tables,
            answers,
            conclusions,
        };
        print_json(&document)?;
        return Ok(code);
    }
    let text = own.text(width);
    if !text.is_empty() {
        print(&format!("\n{text}"));
    }
    say(&format!(
        "\nThese figures follow the format of study {study}: means without intervals. The intervals are above and in \
         `cryptbench report`. For the study's own figures, use `cryptbench studies {study}`."
    ));
    Ok(code)
}

/// Whether the storage is a block device.
fn is_on_a_device(args: &RunArgs) -> bool {
    let plain = args.place.pair.first().unwrap_or(&args.place.target);
    args.place.emulate.is_none()
        && std::fs::metadata(plain)
            .is_ok_and(|found| Details::of(&found).kind == FileType::BlockDevice)
}

/// Checks that `--max-file` leaves some workloads of a profile.
fn fits(args: &RunArgs, profile: &str) -> anyhow::Result<()> {
    let mut profile = Profile::named(profile)?;
    if let Some(bytes) = args.what.max_file {
        profile.max_file(bytes)?;
    }
    Ok(())
}

fn part(args: &RunArgs, profile: &str) -> RunArgs {
    let mut part = args.clone();
    part.what.study = None;
    part.what.profile = profile.into();
    part.result.output = args.result.output.as_ref().map(|dir| dir.join(profile));
    part.shown.quiet |= args.shown.json;
    // The study's document is printed at the end; each record is in its own file.
    part.shown.json = false;
    part
}
