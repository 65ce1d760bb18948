//! Parses the output of a test binary: how many tests passed, which failed, and how long each took.

/// The counts of one binary or of all.
#[derive(Default)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
    /// Tests that failed and passed when they ran again alone; they are among those that passed.
    pub flaky: usize,
    /// Binaries that ended without a result.
    pub broken: usize,
    /// Lines about failures.
    pub failures: Vec<String>,
    /// The names of the tests that failed.
    pub failed_tests: Vec<String>,
    /// Seconds and names of tests.
    pub(super) times: Vec<(f64, String)>,
}

impl Counts {
    /// Counts from the output of the binary `name`, which ended with `success` or not. `several`: cargo tests one crate
    /// after the other, and each has a result.
    ///
    /// Some tests start this program once more, and what it says then is in the output of the test, between the list of
    /// tests and the result.
    pub fn of(output: &str, name: &str, success: bool, several: bool) -> Self {
        let mut counts = Self::default();
        let mut results = Vec::new();
        let (mut begun, mut listing) = (false, false);
        for line in output.lines() {
            if line.starts_with("running ") {
                listing |= several || !begun;
                begun = true;
            } else if matches!(line, "successes:" | "failures:") {
                listing = false;
            }
            if let Some(result) = line.strip_prefix("test result: ") {
                results.push(result);
            } else if let Some(test) = line.strip_prefix("test ").filter(|_| listing) {
                counts.times.extend(time(test).map(|(s, test)| (s, format!("{name}: {test}"))));
                if test.contains(" ... FAILED") || test.contains("FAILED <") {
                    counts.failures.push(line.to_owned());
                    counts.failed_tests.extend(test.split(" ... ").next().map(str::to_owned));
                }
            } else if line.contains("panicked at") {
                counts.failures.push(line.to_owned());
            }
        }
        let own = if several { 0 } else { results.len().saturating_sub(1) };
        for result in &results[own..] {
            counts.passed += count(result, "passed");
            counts.failed += count(result, "failed");
            counts.ignored += count(result, "ignored");
        }
        counts.broken = usize::from(results.is_empty() || success != (counts.failed == 0));
        if counts.failed == 0 && counts.broken == 0 {
            // A panic that a test expects.
            counts.failures.clear();
        }
        counts
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.flaky += other.flaky;
        self.broken += other.broken;
        self.times.extend(other.times);
    }

    pub fn print_slowest(&mut self, most: usize) {
        self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (seconds, test) in self.times.iter().take(most) {
            println!("slowest: {seconds:6.1} s  {test}");
        }
    }
}

/// The number before `word` in `ok. 3 passed; 0 failed; ...`.
fn count(line: &str, word: &str) -> usize {
    let parts: Vec<_> = line.split_whitespace().collect();
    parts
        .windows(2)
        .find(|w| w[1].trim_end_matches(';') == word)
        .and_then(|w| w[0].parse().ok())
        .unwrap_or(0)
}

/// Seconds and name in `a::b ... ok <1.234s>`.
fn time(line: &str) -> Option<(f64, &str)> {
    let (name, rest) = line.split_once(" ... ")?;
    let (_, time) = rest.split_once('<')?;
    Some((time.trim_end().strip_suffix("s>")?.parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test a::b ... ok <1.500s>
test c ... FAILED <0.100s>
test d ... ignored, takes hours

thread 'c' (7) panicked at src/lib.rs:1:1:
test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.60s
";

    #[test]
    fn results_failures_and_times_are_read() {
        let counts = Counts::of(OUTPUT, "x unit", false, false);
        assert_eq!((counts.passed, counts.failed, counts.ignored, counts.broken), (1, 1, 1, 0));
        assert_eq!(counts.failures.len(), 2);
        assert_eq!(counts.failed_tests, ["c"]);
        assert_eq!(counts.times[0], (1.5, "x unit: a::b".to_owned()));
    }

    #[test]
    fn a_binary_that_dies_is_no_success() {
        let begun = "running 3 tests\ntest a ... ok <0.1s>\n";
        assert_eq!(Counts::of(begun, "x", false, false).broken, 1);
        let child = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(Counts::of(&format!("{begun}{child}"), "x", false, false).broken, 1);
        assert_eq!(Counts::of(child, "x", true, false).broken, 0);
    }

    /// A test in the guest starts its own program there and shows what it said.
    #[test]
    fn what_a_test_starts_is_not_counted() {
        let output = "
running 1 test
test outer ... ok <2.000s>

successes:

---- outer stdout ----
running 1 test
test inner ... FAILED <1.000s>
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 4 filtered out

successes:
    outer

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.00s
";
        let counts = Counts::of(output, "x", true, false);
        assert_eq!((counts.passed, counts.failed, counts.broken), (1, 0, 0));
        assert!(counts.failed_tests.is_empty());
        assert_eq!(counts.times, [(2.0, "x: outer".to_owned())]);
    }

    #[test]
    fn the_examples_of_all_crates_are_added_up() {
        let one = "running 2 tests\ntest src/lib.rs - (line 4) ... ok\n\ntest result: ok. 2 passed; 0 failed\n";
        let counts = Counts::of(&one.repeat(2), "all", true, true);
        assert_eq!((counts.passed, counts.broken), (4, 0));
    }
}
