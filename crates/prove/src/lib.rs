//! Code shared by tests and `cargo xtask`: seeds, counts, deliberate faults, and a guest with another kernel.
//!
//! An ordinary test run uses the first few seeds. Under `cargo xtask prove` a test continues with new seeds until
//! its time is up, and prints how many inputs it has survived.
#![forbid(unsafe_code)]

mod damage;
mod guest;
mod python;
mod schema;
mod watch;

use std::time::{Duration, Instant};

pub use damage::{Random, damage, damage_text};
pub use guest::Guest;
pub use python::python;
pub use schema::Schema;
pub use watch::Watch;

/// Environment variable with the number of seconds for which a test continues.
pub const SECONDS: &str = "CRYPTBENCH_PROVE_SECONDS";
/// Variable with the first seed.
pub const SEED: &str = "CRYPTBENCH_PROVE_SEED";
/// Environment variable with the name of a deliberate fault: a check that passes despite the fault is useless.
pub const BROKEN: &str = "CRYPTBENCH_PROVE_BROKEN";
/// Variable with a folder of further volumes, laid out like ../shared/data/volumes.
pub const IMAGES: &str = "CRYPTBENCH_PROVE_IMAGES";
/// The prefix of a line with a count; the number and what was counted follow.
pub const COUNTED: &str = "COUNTED ";

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Whether `cargo xtask prove` started this test.
pub fn is_asked() -> bool {
    number(SECONDS).is_some()
}

/// Whether the developer asked for this part to be broken on purpose.
pub fn is_broken(what: &str) -> bool {
    std::env::var(BROKEN).is_ok_and(|broken| broken == what)
}

/// Prints the number of inputs, or of other things, that the test has survived.
pub fn count(number: u64, what: &str) {
    if is_asked() {
        eprintln!("{COUNTED}{number} {what}");
    }
}

/// The seeds of a test: `usual` of them or, under `cargo xtask prove`, as many as time allows, but at least one.
pub fn seeds(usual: u64) -> Seeds {
    let first = number(SEED).unwrap_or(1);
    let until = number(SECONDS).map(|s| Instant::now() + Duration::from_secs(s));
    Seeds { first, next: first, usual, until }
}

/// See [`seeds`].
#[derive(Debug)]
pub struct Seeds {
    first: u64,
    next: u64,
    usual: u64,
    until: Option<Instant>,
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let done = self.next - self.first;
        let goes_on = match self.until {
            Some(until) => done == 0 || Instant::now() < until,
            None => done < self.usual,
        };
        goes_on.then(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_run_takes_the_first_seeds_and_a_run_with_time_at_least_one() {
        assert_eq!(
            Seeds { first: 1, next: 1, usual: 3, until: None }.collect::<Vec<_>>(),
            [1, 2, 3]
        );
        let over = Some(Instant::now());
        let seeds = Seeds { first: 7, next: 7, usual: 3, until: over };
        assert_eq!(seeds.collect::<Vec<_>>(), [7]);
    }
}
