//! Parses the output of a test binary: how many tests passed, which failed, and how long each took.

/// The counts of one binary or of all.
#[derive(Default)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
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
    /// Counts from the output of the binary `name`.
    pub fn of(output: &str, name: &str) -> Self {
        let mut counts = Self { broken: 1, ..Self::default() };
        for line in output.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                counts.broken = 0;
                counts.passed += count(result, "passed");
                counts.failed += count(result, "failed");
                counts.ignored += count(result, "ignored");
            } else if let Some(test) = line.strip_prefix("test ") {
                counts.times.extend(time(test).map(|(s, test)| (s, format!("{name}: {test}"))));
                if test.contains(" ... FAILED") || test.contains("FAILED <") {
                    counts.failures.push(line.to_owned());
                    counts.failed_tests.extend(test.split(" ... ").next().map(str::to_owned));
                }
            } else if line.contains("panicked at") {
                counts.failures.push(line.to_owned());
            }
        }
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
        let counts = Counts::of(OUTPUT, "x unit");
        assert_eq!((counts.passed, counts.failed, counts.ignored, counts.broken), (1, 1, 1, 0));
        assert_eq!(counts.failures.len(), 2);
        assert_eq!(counts.failed_tests, ["c"]);
        assert_eq!(counts.times[0], (1.5, "x unit: a::b".to_owned()));
    }

    #[test]
    fn a_binary_that_dies_is_no_success() {
        assert_eq!(Counts::of("running 3 tests\ntest a ... ok <0.1s>\n", "x").broken, 1);
    }
}
