//! `cryptbench kdf`: how long it takes the owner and an attacker to derive keys from passphrases.

mod answer;
mod bootloader;
mod data;
mod page;
pub mod parse;
mod study;
mod table;
mod wording;

use std::process::ExitCode;

use cryptbench_microbench::kdf::{KdfRequest, KdfSpeeds, plan};

use crate::args::KdfArgs;
use crate::progress;
use crate::say::{print, print_styled, print_text, stdout_is_terminal, terminal_style};
use study::Study;

pub fn kdf(args: &KdfArgs) -> anyhow::Result<ExitCode> {
    if let Some(volume) = &args.bootloader {
        return bootloader::answer(volume.as_deref(), &args.confinement, args.form.json);
    }
    let study = study(args)?;
    if args.form.json {
        print_text(&data::json(&study));
    } else if args.form.csv {
        print_text(&data::csv(&study));
    } else if args.form.html {
        print_text(&page::page(&study));
    } else if !args.full {
        print(&answer::render(&study, terminal_style(false).width));
    } else {
        print_full(&study);
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures the requested functions.
pub fn study(args: &KdfArgs) -> anyhow::Result<Study> {
    let question = study::question(args)?;
    Ok(Study::new(measure(args, &question)?, question))
}

/// Prints all tables.
pub fn print_full(study: &Study) {
    let style = terminal_style(stdout_is_terminal());
    print_styled(&format!("{}\n", table::render(study, style).trim_end()), style);
}

fn measure(args: &KdfArgs, question: &study::Question) -> anyhow::Result<KdfSpeeds> {
    let plan = plan(&KdfRequest {
        functions: args.prf.clone(),
        volume: question.volume,
        pims: question.pims.clone(),
        threads: args.threads,
        rounds: args.rounds,
        time: args.seconds,
        seed: None,
    })?;
    let bar = progress::of_time("deriving keys", plan.samples(), plan.time());
    let speeds = plan.run(|| bar.inc(1));
    bar.finish_and_clear();
    Ok(speeds?)
}
