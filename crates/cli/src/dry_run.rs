//! `cryptbench run --dry-run`.

use std::process::ExitCode;
use std::time::Duration;

use cryptbench_answer::names::Names;
use cryptbench_runner::{DryRun, Request, dry_run, wear};
use cryptbench_text::human;
use serde_json::{Value, json};

use crate::output::runs_directory;
use crate::say::{print, print_json};

const WIDTH: usize = 80;

pub fn show(request: &Request, json: bool) -> anyhow::Result<ExitCode> {
    let dry = of(request)?;
    if json {
        print_json(&object(&dry))?;
    } else {
        if let Some(much) = wear(std::slice::from_ref(&dry)) {
            print(&format!("{}\n", textwrap::fill(&much, WIDTH)));
        }
        print(&words(&dry));
    }
    Ok(ExitCode::SUCCESS)
}

/// The prediction of a run.
pub fn of(request: &Request) -> anyhow::Result<DryRun> {
    Ok(dry_run(request, runs_directory().as_deref())?)
}

/// The plan as JSON.
pub fn object(dry: &DryRun) -> Value {
    let DryRun { plan, forecast, scratch, .. } = dry;
    let names = Names::of(plan);
    json!({
        "schema": "cryptbench.dry-run/1",
        "profile": plan.profile,
        "workloads": plan.workloads.iter().map(|w| &w.label).collect::<Vec<_>>(),
        "arms": plan.arms.iter().map(|a| &a.label).collect::<Vec<_>>(),
        "names": {
            "workloads": plan.workloads.iter().map(|w| names.workload(w)).collect::<Vec<_>>(),
            "arms": plan.arms.iter().map(|a| names.arm(a)).collect::<Vec<_>>(),
        },
        "set": plan.set,
        "left_out": plan.left_out,
        "trials": plan.fixed_trials(),
        "directory": dry.directory,
        "storage": dry.storage,
        "paired": dry.paired.first(),
        "also_paired": dry.paired.get(1..).unwrap_or_default(),
        "scratch_bytes": scratch.0,
        "scratch_reason": scratch.1,
        "bytes_written": forecast.bytes_written,
        "bytes_read": forecast.bytes_read,
        "bytes_taken_up": forecast.scratch_bytes,
        "wear": wear(std::slice::from_ref(dry)),
        "seconds": forecast.seconds,
        "budget_s": plan.budget_s,
        "speeds_from": dry.measured.as_ref().map(|rates| &rates.run_id),
        "remarks": dry.remarks,
    })
}

/// The prediction as lines of text.
pub fn words(dry: &DryRun) -> String {
    let DryRun { plan, forecast, scratch, .. } = dry;
    let names = Names::of(plan);
    let arms: Vec<_> = plan.arms.iter().map(|arm| names.arm(arm)).collect();
    // Some names contain a comma.
    let between = if arms.iter().any(|arm| arm.contains(", ")) { "; " } else { ", " };
    let mut ciphers: Vec<&str> = Vec::new();
    for cipher in plan.arms.iter().filter_map(|arm| arm.cipher.as_deref()) {
        if !ciphers.contains(&cipher) {
            ciphers.push(cipher);
        }
    }
    let trials = match plan.fixed_trials() {
        Some(_) => format!("{} per workload and choice", plan.max_pairs),
        None => format!(
            "{} to {} per workload and choice, until the intervals are within ±{:.1} %",
            plan.min_pairs,
            plan.max_pairs,
            plan.target_half_width * 100.0
        ),
    };
    let speeds = match &dry.measured {
        Some(rates) => {
            format!("based on the speeds that run {} measured on {}", rates.run_id, rates.device)
        }
        None if dry.is_emulated => "based on the model's speeds".to_owned(),
        None => "based on the speeds of a SATA SSD, because this disk has not been measured yet"
            .to_owned(),
    };
    let mut lines = vec![
        format!("profile     {}, {} workloads", plan.profile, plan.workloads.len()),
        format!("choices     {}", arms.join(between)),
        format!("ciphers     {}", ciphers.join(", ")),
        format!("trials      {trials}"),
        format!("storage     {}, in {}", dry.storage, dry.directory),
    ];
    let beside = dry.paired.iter();
    lines.extend(
        beside.map(|(directory, storage)| format!("paired with {storage}, in {directory}")),
    );
    lines.extend([
        format!("scratch     {} ({})", human(scratch.0), scratch.1),
        format!(
            "would write {}, read {}, and occupy up to {} at a time",
            human(forecast.bytes_written),
            human(forecast.bytes_read),
            human(forecast.scratch_bytes)
        ),
        format!("would take  about {}, {speeds}", time(forecast.seconds)),
    ]);
    lines.extend(
        plan.left_out
            .iter()
            .map(|left| format!("left out    {}: {}; {}", left.system, left.reason, left.remedy)),
    );
    lines.extend(dry.remarks.iter().map(|r| format!("remark      {r}")));
    lines.push("Nothing was written. To measure, omit --dry-run.".to_owned());
    lines.retain(|line| line.trim_end() != "ciphers");
    let options = textwrap::Options::new(WIDTH)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .subsequent_indent("            ");
    lines.iter().map(|line| textwrap::fill(line, &options)).collect::<Vec<_>>().join("\n")
}

/// `45 s`, `12 min`, `3 h 20 min`.
pub fn time(seconds: f64) -> String {
    let whole = Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs().max(1);
    match whole {
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}
