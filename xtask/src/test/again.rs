//! Runs the few tests that failed once more, each binary alone: what passes then depends on what runs beside it.

use super::binaries::Binary;
use super::counts::Counts;
use super::schedule::{Ended, How, run};

/// More failures than this are no accident.
const FEW: usize = 3;

/// The tests that failed, by binary.
#[derive(Default)]
pub struct Failed<'a>(Vec<(&'a Binary, Vec<String>)>);

impl<'a> Failed<'a> {
    /// Notes what failed in a binary that has ended.
    pub fn take(&mut self, binary: &'a Binary, counts: &Counts) {
        if counts.failed > 0 {
            self.0.push((binary, counts.failed_tests.clone()));
        }
    }

    /// Runs them again if they are few, and counts those as passed that pass, by name as `FLAKY`.
    pub fn again(
        &self,
        how: &How<'_>,
        all: &mut Counts,
        mut log: impl FnMut(&Ended<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if !worth_it(all) {
            return Ok(());
        }
        // The examples in the documentation are cargo's to name.
        for (binary, names) in self.0.iter().filter(|(binary, _)| binary.times) {
            let ended = run(binary, how, names)?;
            log(&ended)?;
            let counts = Counts::of(&ended.output, &binary.name);
            let passed = names.iter().filter(|name| !counts.failed_tests.contains(name));
            if counts.broken > 0 || counts.passed + counts.failed != names.len() {
                continue;
            }
            for name in passed {
                println!("FLAKY, passed when it ran again alone: {} {name}", binary.name);
                all.failed -= 1;
                all.passed += 1;
            }
        }
        Ok(())
    }
}

fn worth_it(all: &Counts) -> bool {
    all.broken == 0 && (1..=FEW).contains(&all.failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_failures_and_binaries_that_died_are_no_accidents() {
        let of = |failed, broken| Counts { failed, broken, ..Counts::default() };
        assert!(worth_it(&of(1, 0)) && worth_it(&of(3, 0)));
        assert!(!worth_it(&of(0, 0)) && !worth_it(&of(4, 0)) && !worth_it(&of(1, 1)));
    }
}
