//! Runs the few tests that failed once more, one after the other: what passes then depends on what runs beside it.

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
            for name in names {
                let ended = run(binary, how, Some(name))?;
                log(&ended)?;
                if passed(ended.status.success(), &ended.counts()) {
                    println!("FLAKY, passed when it ran again alone: {} {name}", binary.name);
                    all.failed -= 1;
                    all.passed += 1;
                    all.flaky += 1;
                }
            }
        }
        Ok(())
    }
}

fn worth_it(all: &Counts) -> bool {
    all.broken == 0 && (1..=FEW).contains(&all.failed)
}

/// Whether exactly one test ran and passed: a name that fits no test, or one that is not run unless asked for, is no success.
fn passed(success: bool, counts: &Counts) -> bool {
    success && (counts.passed, counts.failed, counts.broken) == (1, 0, 0)
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

    #[test]
    fn only_a_test_that_ran_and_passed_has_passed() {
        let of = |passed, failed, broken| Counts { passed, failed, broken, ..Counts::default() };
        assert!(passed(true, &of(1, 0, 0)));
        assert!(!passed(false, &of(1, 0, 0)) && !passed(true, &of(0, 0, 0)));
        assert!(!passed(true, &of(2, 0, 0)) && !passed(true, &of(1, 0, 1)));
        assert!(!passed(false, &of(0, 1, 0)));
    }
}
