//! What a machine told about its steps, and what is wrong with it.

use std::collections::BTreeSet;

/// Begins each line of the script's own.
const MARK: char = '\u{1e}';

/// A step that came to its end.
#[derive(Debug, Default)]
pub struct Step {
    pub name: String,
    pub code: i32,
    /// Until the prompt, by the machine's clock.
    pub seconds: f64,
    /// What it printed on standard output.
    pub lines: usize,
    /// Its last line on standard error.
    pub last_error: String,
    /// The systems of which it has a figure.
    pub systems: BTreeSet<String>,
    /// Cells of systems and of the cipher alone: those that are decided, and all.
    pub decided: usize,
    pub cells: usize,
    /// What it left behind.
    pub left: Vec<String>,
    /// What the kernel said meanwhile, warnings and worse.
    pub kernel: Vec<String>,
}

/// The steps in turn, and whether the last one is there.
pub fn steps(told: &str) -> (Vec<Step>, bool) {
    let (mut steps, mut is_done) = (Vec::new(), false);
    let mut step = Step::default();
    let mut part = String::new();
    for line in told.lines() {
        if let Some(said) = line.strip_prefix(MARK) {
            let mut words = said.split(' ');
            part = words.next().unwrap_or_default().to_owned();
            let words: Vec<_> = words.collect();
            match (&*part, &*words) {
                ("step", [name, code, began, ended]) => {
                    let number = |word: &str| word.parse::<f64>().unwrap_or(f64::NAN);
                    step = Step {
                        name: (*name).to_owned(),
                        code: code.parse().unwrap_or(-1),
                        seconds: number(ended) - number(began),
                        ..Step::default()
                    };
                }
                ("end", _) => steps.push(std::mem::take(&mut step)),
                ("done", _) => is_done = true,
                _ => {}
            }
            continue;
        }
        match &*part {
            "step" => step.lines += 1,
            "err" if !line.trim().is_empty() => line.trim().clone_into(&mut step.last_error),
            "cells" => step.take(line),
            "left" => step.left.push(line.to_owned()),
            "kernel" => step.kernel.push(line.to_owned()),
            _ => {}
        }
    }
    (steps, is_done)
}

impl Step {
    /// Takes a cell: its system, and its verdict if there are enough repeats for one.
    fn take(&mut self, cell: &str) {
        let (system, verdict) = cell.split_once(' ').unwrap_or((cell, ""));
        self.cells += 1;
        let is_figure = !["", "too-few-pairs"].contains(&verdict);
        let is_open = ["inconclusive", "within-noise", "cached"].contains(&verdict);
        self.decided += usize::from(is_figure && !is_open);
        if is_figure && system != "builtin" {
            self.systems.insert(system.to_owned());
        }
    }

    /// Whether it answers a question about systems.
    fn measures(&self) -> bool {
        ["root", "user", "all", "existing"].contains(&&*self.name)
    }

    /// What is wrong with it.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.code != 0 {
            faults.push(format!("exit code {}: {}", self.code, self.last_error));
        }
        if self.measures() && self.systems.is_empty() {
            faults.push("no system was measured".to_owned());
        }
        faults.extend(self.left.iter().map(|what| format!("left behind: {what}")));
        faults
    }

    /// Its line of the table, behind the machine's name.
    pub fn line(&self) -> String {
        let systems = self.systems.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let decided = match self.measures() {
            true => format!("{} of {}", self.decided, self.cells),
            false => String::new(),
        };
        let faults = self.faults();
        let faults = if faults.is_empty() { "passed".to_owned() } else { cell(&faults) };
        let kernel = match self.kernel.len() {
            0 => "nothing".to_owned(),
            _ => cell(&without_times(&self.kernel)),
        };
        format!(
            "{} | {:.0} | {systems} | {decided} | {} | {} | {faults} | {kernel}",
            self.name,
            self.seconds,
            self.lines,
            self.left.len(),
        )
    }
}

/// What others said, in a cell of a table.
fn cell(said: &[String]) -> String {
    said.join("; ").replace('|', "\\|")
}

/// Each message of the kernel's once, without its time.
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

    const TOLD: &str = "boot\n\u{1e}step root 0 10.50 131.00\nHeadline.\nTable.\n\u{1e}err\nsetting up\n\u{1e}cells\n\
        builtin costs\ndm-crypt costs\ndm-crypt inconclusive\ndm-crypt cached\ngocryptfs \n\
        \u{1e}left\n\u{1e}kernel\n[  12.3] loop0: x\n[  13.3] loop0: x\n\u{1e}end\n\
        \u{1e}step killed 1 1 2\n\u{1e}err\nwhy\n\u{1e}left\nmount: a\n\u{1e}kernel\n\u{1e}end\n";

    #[test]
    fn steps_and_cells_are_read() {
        let (steps, is_done) = steps(TOLD);
        assert!(!is_done);
        let [root, killed] = &*steps else { panic!("{steps:?}") };
        assert_eq!((root.lines, root.seconds), (2, 120.5));
        assert!(root.faults().is_empty());
        assert_eq!(root.line(), "root | 120 | dm-crypt | 2 of 5 | 2 | 0 | passed | loop0: x");
        assert_eq!(killed.faults(), ["exit code 1: why", "left behind: mount: a"]);
        assert!(super::steps(&format!("{TOLD}\u{1e}done\n")).1);
        let odd = Step { left: vec!["mount: a|b".to_owned()], ..Step::default() };
        assert!(odd.line().contains(r"left behind: mount: a\|b"), "{}", odd.line());
    }

    #[test]
    fn a_run_without_a_system_is_a_fault() {
        for cells in ["", "builtin costs\nbuiltin equivalent\n", "gocryptfs \n"] {
            let told = format!("\u{1e}step user 0 1 2\n\u{1e}cells\n{cells}\u{1e}end\n");
            assert_eq!(steps(&told).0[0].faults(), ["no system was measured"]);
        }
    }
}
