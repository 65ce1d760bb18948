//! What a run shows on standard error while it goes on.

mod json;

use std::path::Path;
use std::time::{Duration, Instant};

use cryptbench_record::Plan;
use cryptbench_runner::{Event, Observer};
use cryptbench_text::printable_lines;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::ProgressArg;
use crate::say;
use json::Lines;

/// Shows the events of a run: a moving line on a terminal, a line now and then elsewhere, lines of JSON, or
/// nothing.
pub enum Progress {
    Terminal(Live),
    Log(Log),
    Json(Lines),
    Silent,
}

impl Progress {
    pub fn new(how: ProgressArg, quiet: bool) -> Self {
        match how {
            ProgressArg::Json => Self::Json(Lines::default()),
            ProgressArg::None => Self::Silent,
            ProgressArg::Auto if quiet => Self::Silent,
            ProgressArg::Auto if say::stderr_is_terminal() => Self::Terminal(Live::new()),
            ProgressArg::Auto => Self::Log(Log::default()),
        }
    }

    /// Nothing more is drawn: what follows is for the reader to keep.
    pub fn end(&mut self) {
        if let Self::Terminal(live) = self {
            live.bar.finish_and_clear();
        }
    }

    /// The record is there.
    pub fn saved(&mut self, directory: &Path) {
        if let Self::Json(lines) = self {
            lines.saved(directory);
        }
    }
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match self {
            Self::Terminal(live) => live.show(&event),
            Self::Log(log) => log.show(&event),
            Self::Json(lines) => lines.show(&event),
            Self::Silent => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// Two lines that are drawn again: what runs now, and the newest estimate.
pub struct Live {
    bar: ProgressBar,
    estimate: String,
}

impl Live {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{bar:16} {msg}")
            .expect("the template is well-formed")
            .progress_chars("█▌░");
        bar.set_style(style);
        Self { bar, estimate: String::new() }
    }

    /// Drawn by another's hand, and so made printable here.
    fn tell(&self, text: &str) {
        self.bar.set_message(printable_lines(text).into_owned());
    }

    fn line(&self, text: &str) {
        self.bar.println(printable_lines(text));
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { plan, target } => {
                self.line(&format!(
                    "{} workloads x {} arms in {}, {}; Ctrl-C keeps what was measured.",
                    plan.workloads.len(),
                    plan.arms.len(),
                    target.directory,
                    extent(plan),
                ));
            }
            Event::Filling { done, total } => {
                self.bar.set_length(*total);
                self.bar.set_position(*done);
                self.tell(&format!(
                    "filling the scratch file: {} of {} MiB",
                    done >> 20,
                    total >> 20
                ));
            }
            Event::Preparing { what } => self.tell(&format!("setting up {what}")),
            Event::Checking { what } => {
                self.tell(&format!("looking at what lies on the disk: {what}"));
            }
            Event::Trial { workload, arm, block, elapsed, budget, trials } => {
                let (length, position) = match trials {
                    (done, Some(all)) => (u64::from(*all), u64::from(*done)),
                    _ => (budget.as_millis() as u64, elapsed.as_millis() as u64),
                };
                self.bar.set_length(length);
                self.bar.set_position(position);
                self.tell(&format!(
                    "{}, {}: {workload}, {arm}\n{}",
                    left(*elapsed, *budget, *trials),
                    block.map_or("warming up".to_owned(), |b| format!("pair {}", b + 1)),
                    self.estimate
                ));
            }
            Event::Estimate { workload, arm, kept, low, high } => {
                self.estimate = estimate(workload, arm, *kept, *low, *high);
            }
            Event::Note(note) => self.line(&format!("Note: {note}")),
        }
    }
}

/// A line now and then, for logs.
#[derive(Default)]
pub struct Log {
    last: Option<Instant>,
    estimate: String,
}

impl Log {
    const EVERY: Duration = Duration::from_secs(15);

    fn show(&mut self, event: &Event<'_>) {
        let due = self.last.is_none_or(|t| t.elapsed() >= Self::EVERY);
        match event {
            Event::Planned { plan, target } => say::message(&format!(
                "{} workloads x {} arms in {}, {}",
                plan.workloads.len(),
                plan.arms.len(),
                target.directory,
                extent(plan),
            )),
            Event::Trial { workload, arm, elapsed, budget, trials, .. } if due => {
                self.last = Some(Instant::now());
                say::message(&format!(
                    "{}: {workload}, {arm}{}{}",
                    left(*elapsed, *budget, *trials),
                    if self.estimate.is_empty() { "" } else { "; " },
                    self.estimate
                ));
            }
            Event::Preparing { what } if due => {
                self.last = Some(Instant::now());
                say::message(&format!("setting up {what}"));
            }
            Event::Checking { what } if due => {
                self.last = Some(Instant::now());
                say::message(&format!("looking at what lies on the disk: {what}"));
            }
            Event::Filling { done, total } if due => {
                self.last = Some(Instant::now());
                say::message(&format!("filling, {} of {} MiB", done >> 20, total >> 20));
            }
            Event::Estimate { workload, arm, kept, low, high } => {
                self.estimate = estimate(workload, arm, *kept, *low, *high);
            }
            Event::Note(note) => say::message(&format!("note: {note}")),
            _ => {}
        }
    }
}

fn estimate(workload: &str, arm: &str, kept: f64, low: f64, high: f64) -> String {
    format!(
        "so far {arm} keeps {:.0} % [{:.0}, {:.0}] of {workload}",
        100.0 * kept,
        100.0 * low,
        100.0 * high
    )
}

/// `1:05`.
fn clock(t: Duration) -> String {
    format!("{}:{:02}", t.as_secs() / 60, t.as_secs() % 60)
}

/// How much is planned: a number of trials where it is fixed, a time where it is not.
fn extent(plan: &Plan) -> String {
    match plan.fixed_trials() {
        Some(trials) => format!("{trials} trials"),
        None => format!("at most {}", clock(Duration::from_secs_f64(plan.budget_s))),
    }
}

/// How far the run is: what is left of its time, or its trials and the time that they will take at the
/// pace so far.
fn left(elapsed: Duration, budget: Duration, trials: (u32, Option<u32>)) -> String {
    match trials {
        (done, Some(all)) if done > 0 => {
            let rest = elapsed.mul_f64(f64::from(all.saturating_sub(done)) / f64::from(done));
            format!("trial {} of {all}, about {} left", done + 1, clock(rest.min(budget)))
        }
        (done, Some(all)) => format!("trial {} of {all}", done + 1),
        (_, None) => format!("{} left", clock(budget.saturating_sub(elapsed))),
    }
}
