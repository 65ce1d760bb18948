//! A machine's report on its steps, and the faults in it.

use std::collections::BTreeSet;

use crate::budgets::MOST;

/// Marks the lines that the script itself writes.
const MARK: char = '\u{1e}';

/// A step that was started.
#[derive(Debug, Default)]
pub struct Step {
    pub name: String,
    /// How the step ended; `None` if the machine stopped before that.
    pub ended: Option<Ended>,
    /// Number of lines on its standard output.
    pub lines: usize,
    /// The step's last line on standard error.
    pub last_error: String,
    /// The systems for which the step has a figure.
    pub systems: BTreeSet<String>,
    /// Number of decided cells, and number of all cells, of systems and of the cipher alone.
    pub decided: usize,
    pub cells: usize,
    /// What the step left behind.
    pub left: Vec<String>,
    /// Messages of the kernel during the step: warnings and more severe ones.
    pub kernel: Vec<String>,
}

/// The end of a step.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    /// Time in seconds until the prompt, by the machine's clock.
    pub seconds: f64,
    /// The budget of the step's run, if there is a record of the run.
    pub budget_s: Option<f64>,
}

impl Ended {
    /// The share of the budget that the step used.
    fn share(&self) -> Option<f64> {
        self.budget_s.map(|budget_s| self.seconds / budget_s)
    }
}

/// The steps in order, and whether all of them were completed.
pub fn steps(told: &str) -> (Vec<Step>, bool) {
    let (mut steps, mut is_done) = (Vec::<Step>::new(), false);
    let mut part = String::new();
    for line in told.lines() {
        if let Some(said) = line.strip_prefix(MARK) {
            let words: Vec<_> = said.split(' ').collect();
            words[0].clone_into(&mut part);
            match *words {
                ["step", name] => {
                    steps.push(Step { name: name.to_owned(), ..Step::default() });
                }
                ["ended", code, began, ended, ref budget @ ..] => {
                    let number = |word: &str| word.parse::<f64>().ok();
                    let seconds = number(ended).zip(number(began)).map_or(f64::NAN, |(e, b)| e - b);
                    if let Some(step) = steps.last_mut() {
                        step.ended = Some(Ended {
                            code: code.parse().unwrap_or(-1),
                            seconds,
                            budget_s: budget.first().and_then(|word| number(word)),
                        });
                    }
                }
                ["done"] => is_done = true,
                _ => {}
            }
            continue;
        }
        let Some(step) = steps.last_mut() else { continue };
        match &*part {
            "ended" => step.lines += 1,
            "err" if !line.trim().is_empty() => line.trim().clone_into(&mut step.last_error),
            "cells" => step.take(line),
            "left" => step.left.push(line.to_owned()),
            "kernel" => step.kernel.push(line.to_owned()),
            _ => {}
        }
    }
    (steps, is_done)
}

/// The version that the program printed.
pub fn program(told: &str) -> Option<&str> {
    let mut said = told.lines().filter_map(|line| line.strip_prefix(MARK));
    said.find_map(|said| said.strip_prefix("program "))
}

impl Step {
    /// Adds a cell: its system, and its verdict if there are enough repeats for a verdict.
    fn take(&mut self, cell: &str) {
        let (system, verdict) = cell.split_once(' ').unwrap_or((cell, ""));
        self.cells += 1;
        self.decided += usize::from(["costs", "gains", "equivalent"].contains(&verdict));
        let is_figure = !["", "too-few-pairs"].contains(&verdict);
        if is_figure && system != "builtin" {
            self.systems.insert(system.to_owned());
        }
    }

    /// Whether the step answers a question about systems.
    fn measures(&self) -> bool {
        ["root", "user", "all", "existing", "server"].contains(&&*self.name)
    }

    /// Its faults.
    pub fn faults(&self) -> Vec<String> {
        let Some(ended) = &self.ended else { return vec!["did not end".to_owned()] };
        let mut faults = Vec::new();
        if ended.code != 0 {
            faults.push(format!("exit code {}: {}", ended.code, self.last_error));
        }
        if let Some(share) = ended.share().filter(|share| *share > MOST) {
            faults.push(format!("took {share:.2} of its budget"));
        }
        if self.measures() && ended.budget_s.is_none() {
            faults.push("its budget is not known".to_owned());
        }
        if self.measures() && self.systems.is_empty() {
            faults.push("no system was measured".to_owned());
        }
        faults.extend(self.left.iter().map(|what| format!("left behind: {what}")));
        faults
    }

    /// The step's row of the table, after the machine's name.
    pub fn line(&self) -> String {
        let systems = self.systems.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let decided = match self.measures() {
            true => format!("{} of {}", self.decided, self.cells),
            false => String::new(),
        };
        let ended = self.ended.as_ref();
        let seconds = ended.map_or(String::new(), |ended| format!("{:.0}", ended.seconds));
        let share = ended.and_then(Ended::share);
        let share = share.map_or(String::new(), |share| format!("{share:.2}"));
        let faults = self.faults();
        let faults = if faults.is_empty() { "passed".to_owned() } else { cell(&faults) };
        let kernel = match self.kernel.len() {
            0 => "nothing".to_owned(),
            _ => cell(&without_times(&self.kernel)),
        };
        format!(
            "{} | {seconds} | {share} | {systems} | {decided} | {} | {} | {faults} | {kernel}",
            self.name,
            self.lines,
            self.left.len(),
        )
    }
}

/// Messages of other programs, formatted for a table cell.
fn cell(said: &[String]) -> String {
    said.join("; ").replace('|', "\\|")
}

/// The kernel's messages without duplicates and without their times.
fn without_times(lines: &[String]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in lines {
        let line = line.split_once("] ").map_or(&**line, |(_, line)| line);
        if !said.iter().any(|earlier| earlier == line) {
            said.push(line.to_owned());
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "boot\n\u{1e}program cryptbench 0.1.0\n\u{1e}step root\n\u{1e}ended 0 10.50 131.00 120.0\nHeadline.\nTable.\n\u{1e}err\nsetting up\n\
        \u{1e}cells\nbuiltin costs\ndm-crypt costs\ndm-crypt inconclusive\ndm-crypt likely-costs\ngocryptfs \n\
        \u{1e}left\n\u{1e}kernel\n[  12.3] loop0: x\n[  13.3] loop0: x\n\u{1e}end\n\
        \u{1e}step killed\n\u{1e}ended 1 1 2 \n\u{1e}err\nwhy\n\u{1e}left\nmount: a\n\u{1e}kernel\n\u{1e}end\n";

    #[test]
    fn steps_and_cells_are_read() {
        assert_eq!(program(TOLD), Some("cryptbench 0.1.0"));
        let (steps, is_done) = steps(TOLD);
        assert!(!is_done);
        let [root, killed] = &*steps else { panic!("{steps:?}") };
        assert_eq!(root.lines, 2);
        assert!(root.faults().is_empty());
        assert_eq!(
            root.line(),
            "root | 120 | 1.00 | dm-crypt | 2 of 5 | 2 | 0 | passed | loop0: x"
        );
        assert_eq!(killed.faults(), ["exit code 1: why", "left behind: mount: a"]);
        assert!(super::steps(&format!("{TOLD}\u{1e}done\n")).1);
        let ended = Some(Ended { code: 0, seconds: 1.0, budget_s: None });
        let odd = Step { ended, left: vec!["mount: a|b".to_owned()], ..Step::default() };
        assert!(odd.line().contains(r"left behind: mount: a\|b"), "{}", odd.line());
    }

    #[test]
    fn a_run_without_a_system_is_a_fault() {
        for cells in ["", "builtin costs\nbuiltin equivalent\n", "gocryptfs \n"] {
            let told =
                format!("\u{1e}step user\n\u{1e}ended 0 1 2 120\n\u{1e}cells\n{cells}\u{1e}end\n");
            assert_eq!(steps(&told).0[0].faults(), ["no system was measured"]);
        }
    }

    #[test]
    fn a_run_that_takes_longer_than_its_budget_is_a_fault() {
        let of = |seconds: u32| {
            let told = format!("\u{1e}step volume\n\u{1e}ended 0 1 {} 120\n", seconds + 1);
            steps(&told).0.remove(0)
        };
        assert!(of(138).faults().is_empty());
        assert_eq!(of(150).faults(), ["took 1.25 of its budget"]);
    }

    #[test]
    fn a_step_without_an_end_has_its_line() {
        let (steps, _) =
            steps("\u{1e}step doctor\n\u{1e}ended 0 1 2\n\u{1e}end\n\u{1e}step root\n");
        assert_eq!(steps[1].line(), "root |  |  |  | 0 of 0 | 0 | 0 | did not end | nothing");
    }
}
