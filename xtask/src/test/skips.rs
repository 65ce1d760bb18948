//! What tests skipped and why: each reason once, by what could be done about it.

use std::collections::BTreeMap;

/// How tests say that they did nothing, or less.
const SAID: &str = "SKIPPED: ";

/// Reasons with the number of times that they were given.
#[derive(Default)]
pub struct Skips {
    /// What this processor lacks.
    processor: BTreeMap<String, usize>,
    /// What is not here: a program, a kernel's facility, a right.
    machine: BTreeMap<String, usize>,
    /// Packages that could not be installed.
    not_installed: Vec<String>,
}

impl Skips {
    pub fn not_installed(&mut self, what: String) {
        self.not_installed.push(what);
    }

    /// Takes the reasons out of the output of a binary.
    pub fn take(&mut self, output: &str) {
        for why in output.lines().filter_map(|line| line.trim_start().strip_prefix(SAID)) {
            let by = match lacks(why) {
                true => &mut self.processor,
                false => &mut self.machine,
            };
            *by.entry(why.to_owned()).or_default() += 1;
        }
    }

    /// How many times something was skipped.
    pub fn tests(&self) -> usize {
        self.processor.values().chain(self.machine.values()).sum()
    }

    pub fn print(&self) {
        let counted = |why: &str, times: usize| match times {
            1 => why.to_owned(),
            _ => format!("{why} ({times} times)"),
        };
        for (why, times) in &self.processor {
            println!("SKIPPED, not in this processor: {}", counted(why, *times));
        }
        for (why, times) in &self.machine {
            println!("SKIPPED, not on this machine: {}", counted(why, *times));
        }
        for what in &self.not_installed {
            println!("NOT INSTALLED: {what}");
        }
    }
}

/// Whether a reason is that the processor lacks an instruction.
fn lacks(why: &str) -> bool {
    why.starts_with("this CPU has no")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once_and_by_its_kind() {
        let mut skips = Skips::default();
        skips.take("test a ... ok\n  SKIPPED: this CPU has no GFNI\nSKIPPED: no fio\n");
        skips.take("SKIPPED: this CPU has no GFNI\nnot SKIPPED: at all\n");
        assert_eq!(
            skips.processor.into_iter().collect::<Vec<_>>(),
            [("this CPU has no GFNI".to_owned(), 2)]
        );
        assert_eq!(skips.machine.into_iter().collect::<Vec<_>>(), [("no fio".to_owned(), 1)]);
    }
}
