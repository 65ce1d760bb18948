//! The display of a run on standard error while it is in progress.

mod board;
mod json;

use std::time::{Duration, Instant};

use board::Board;
use cryptbench_answer::quantity::share_words;
use cryptbench_record::{ArmId, ArmRole, Event, Plan, Sink, Target};
use cryptbench_text::{printable, printable_lines};
use cryptbench_view::wrap;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::run::args::ProgressArg;
use crate::{say, verbose};
pub use json::Lines;

/// Shows the events of a run: on a terminal as a table that is filled in; otherwise as a line at intervals, as JSON
/// lines, or not at all.
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
            // A table that is redrawn cannot be combined with other lines.
            ProgressArg::Auto if say::stderr_is_terminal() && !verbose::is_on() => {
                Self::Terminal(Live::new())
            }
            ProgressArg::Auto => Self::Log(Log::default()),
        }
    }

    /// Clears the drawing; later output stays on the terminal.
    pub fn end(&mut self) {
        if let Self::Terminal(live) = self {
            live.bar.finish_and_clear();
        }
    }
}

impl Sink for Progress {
    fn take(&mut self, event: &Event) {
        match self {
            Self::Terminal(live) => live.show(event),
            Self::Log(log) => log.show(event),
            Self::Json(lines) => lines.take(event),
            Self::Silent => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// A progress bar that is redrawn at most `hz` times per second, and only on a terminal. Dropping the bar clears it.
pub fn bar(length: u64, template: &str, hz: u8) -> ProgressBar {
    if !say::stderr_is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(hz))
        .with_style(style.progress_chars("█▌░"))
}

/// A progress bar for work on this many bytes.
pub fn of_bytes(all: u64) -> ProgressBar {
    bar(all, "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left", 8)
}

/// A progress bar for work with a known duration.
pub fn of_time(what: &str, samples: u32, time: Duration) -> ProgressBar {
    let about = format!("{what}, about {:.0} s in total", time.as_secs_f64().ceil());
    bar(samples.into(), "{bar:16} {msg}, {elapsed} elapsed", 8).with_message(about)
}

/// Shows the current trial and, below it, the table of estimates. Draws only between trials and at most twice a
/// second, so that it does not disturb the measurement.
pub struct Live {
    bar: ProgressBar,
    board: Board,
    table: String,
    laid_out: Option<Instant>,
}

/// Number of redraws of the terminal per second.
const DRAWN_HZ: u8 = 2;

impl Live {
    fn new() -> Self {
        let bar = bar(1, "{bar:16} {msg}", DRAWN_HZ);
        Self { bar, board: Board::default(), table: String::new(), laid_out: None }
    }

    /// Lays out the table again, if a redraw is due.
    fn lay_out(&mut self) {
        let every = Duration::from_secs(1) / u32::from(DRAWN_HZ);
        if self.laid_out.is_none_or(|at| at.elapsed() >= every) {
            self.table = self.board.text(say::terminal_style(false).width);
            self.laid_out = Some(Instant::now());
        }
    }

    /// The text is made printable here, because it is not printed through `say`.
    fn tell(&self, text: &str) {
        self.bar.set_message(printable_lines(text).into_owned());
    }

    fn line(&self, text: &str) {
        let width = say::terminal_style(false).width;
        self.bar.println(wrap(&printable(text), "", "  ", width));
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::Planned { plan, target } => {
                self.board = Board::of(plan);
                self.line(&format!(
                    "{}; Ctrl-C stops the run and keeps the results so far.",
                    planned(plan, target)
                ));
            }
            Event::Prepared { plan, .. } => self.board = Board::of(plan),
            Event::Filling { done, total } => {
                self.bar.set_length(*total);
                self.bar.set_position(*done);
                self.tell(&format!(
                    "filling the scratch file: {} of {} MiB",
                    done >> 20,
                    total >> 20
                ));
            }
            Event::Preparing { arm, what, number, of } => {
                self.tell(&setting_up(self.board.name_of(arm, what), *number, *of));
            }
            Event::Checking { arm } => self.tell(&checking(&self.board, arm)),
            Event::Begun { workload, arms, block, elapsed_s, budget_s, trials_done, trials } => {
                let (length, position) = match trials {
                    Some(all) => (u64::from(*all), u64::from(*trials_done)),
                    None => ((budget_s * 1e3) as u64, (elapsed_s * 1e3) as u64),
                };
                self.bar.set_length(length);
                self.bar.set_position(position);
                self.lay_out();
                self.tell(&format!(
                    "{}, {}: {}, {}\n{}",
                    left(*elapsed_s, *budget_s, (*trials_done, *trials)),
                    block.map_or("warming up".to_owned(), |b| format!("repeat {}", b + 1)),
                    self.board.workload(workload).name,
                    self.board.arms(arms).name,
                    self.table
                ));
            }
            Event::Estimate { workload, arm, kept, low, high } => {
                self.board.add(workload, arm, (*kept, *low, *high));
            }
            Event::Note { text, aside: false } => {
                self.line(&format!("Note: {}", self.board.reworded(text)));
            }
            _ => {}
        }
    }
}

/// A line at intervals, for logs.
#[derive(Default)]
pub struct Log {
    last: Option<Instant>,
    board: Board,
    estimate: String,
}

impl Log {
    const EVERY: Duration = Duration::from_secs(15);

    fn show(&mut self, event: &Event) {
        let due = self.last.is_none_or(|t| t.elapsed() >= Self::EVERY);
        match event {
            Event::Planned { plan, target } => {
                self.board = Board::of(plan);
                say::message(&planned(plan, target));
            }
            Event::Prepared { plan, .. } => self.board = Board::of(plan),
            Event::Begun { workload, arms, elapsed_s, budget_s, trials_done, trials, .. }
                if due =>
            {
                self.last = Some(Instant::now());
                say::message(&format!(
                    "{}: {}, {}{}{}",
                    left(*elapsed_s, *budget_s, (*trials_done, *trials)),
                    self.board.workload(workload).name,
                    self.board.arms(arms).name,
                    if self.estimate.is_empty() { "" } else { "; " },
                    self.estimate
                ));
            }
            Event::Preparing { arm, what, number, of } if due => {
                self.last = Some(Instant::now());
                say::message(&setting_up(self.board.name_of(arm, what), *number, *of));
            }
            Event::Checking { arm } if due => {
                self.last = Some(Instant::now());
                say::message(&checking(&self.board, arm));
            }
            Event::Filling { done, total } if due => {
                self.last = Some(Instant::now());
                say::message(&format!(
                    "filling the scratch file: {} of {} MiB",
                    done >> 20,
                    total >> 20
                ));
            }
            Event::Estimate { workload, arm, kept, low, high } => {
                let (workload, arm) =
                    (self.board.workload(workload).name, self.board.arm(arm).name);
                let share = share_words(*kept, *low, *high);
                self.estimate = format!("{workload}, {arm} so far: {share} % of plain");
            }
            Event::Note { text, aside: false } => {
                say::message(&format!("note: {}", self.board.reworded(text)));
            }
            _ => {}
        }
    }
}

fn setting_up(what: &str, number: usize, of: usize) -> String {
    format!("setting up {number} of {of}: {what}")
}

fn checking(board: &Board, arm: &ArmId) -> String {
    format!("checking the stored data: {}", board.arm(arm).name)
}

/// What is measured, where, and for how long.
fn planned(plan: &Plan, target: &Target) -> String {
    let encrypted = plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted).count();
    let counted = |n: usize, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    format!(
        "{}, plain and {} in {}, {}",
        counted(plan.workloads.len(), "workload", "workloads"),
        counted(encrypted, "choice", "choices"),
        target.directory,
        extent(plan),
    )
}

/// `1:05`.
fn clock(t: Duration) -> String {
    format!("{}:{:02}", t.as_secs() / 60, t.as_secs() % 60)
}

/// The planned amount: the number of trials if this is fixed, otherwise the time.
fn extent(plan: &Plan) -> String {
    match plan.fixed_trials() {
        Some(trials) => format!("{trials} trials"),
        None => format!("at most {}", clock(Duration::from_secs_f64(plan.budget_s))),
    }
}

/// The progress of the run: the remaining time, or the number of trials so far and the estimated time left.
fn left(elapsed_s: f64, budget_s: f64, trials: (u32, Option<u32>)) -> String {
    let (elapsed, budget) = (Duration::from_secs_f64(elapsed_s), Duration::from_secs_f64(budget_s));
    match trials {
        (done, Some(all)) if done > 0 => {
            let rest = elapsed.mul_f64(f64::from(all.saturating_sub(done)) / f64::from(done));
            format!("trial {} of {all}, about {} left", done + 1, clock(rest.min(budget)))
        }
        (done, Some(all)) => format!("trial {} of {all}", done + 1),
        (_, None) => format!("{} left", clock(budget.saturating_sub(elapsed))),
    }
}
