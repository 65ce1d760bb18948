//! `cryptbench kdf`: how long deriving keys from passphrases takes, for their owner and for an attacker.

mod answer;
mod bootloader;
mod data;
mod page;
pub mod parse;
mod study;
mod table;
mod wording;

use std::process::ExitCode;
use std::time::Duration;

use cryptbench_microbench::kdf::{KdfRequest, KdfSpeeds, plan};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::KdfArgs;
use crate::say::{
    print, print_styled, print_text, stderr_is_terminal, stdout_is_terminal, terminal_style,
};
use study::Study;

pub fn kdf(args: &KdfArgs) -> anyhow::Result<ExitCode> {
    if let Some(volume) = &args.bootloader {
        return bootloader::answer(volume.as_deref(), &args.confinement, args.json);
    }
    let study = study(args)?;
    if args.json {
        print_text(&data::json(&study));
    } else if args.csv {
        print_text(&data::csv(&study));
    } else if args.html {
        print_text(&page::page(&study));
    } else if !args.full {
        print(&answer::render(&study, terminal_style(false).width));
    } else {
        print_full(&study);
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures what was asked for.
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
    let bar = progress(plan.samples(), plan.time());
    let speeds = plan.run(|| bar.inc(1));
    bar.finish_and_clear();
    Ok(speeds?)
}

/// A moving line on a terminal, nothing elsewhere.
fn progress(samples: u32, time: Duration) -> ProgressBar {
    if !stderr_is_terminal() {
        return ProgressBar::hidden();
    }
    let target = ProgressDrawTarget::stderr_with_hz(8);
    let bar = ProgressBar::with_draw_target(Some(samples.into()), target);
    let style = ProgressStyle::with_template("{bar:16} {msg}, {elapsed} gone")
        .expect("the template is well-formed")
        .progress_chars("█▌░");
    bar.set_style(style);
    bar.set_message(format!("deriving keys, about {:.0} s in all", time.as_secs_f64().ceil()));
    bar
}
