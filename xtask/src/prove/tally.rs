//! The counts for one commit, kept between runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use super::rows::{Least, Row};
use crate::tools::said;

/// The directory below the target directory with one file per commit, and the complete output.
const PLACE: &str = "target/prove";

#[derive(Default, Serialize, Deserialize)]
pub struct Tally {
    /// The commit, followed by `+` if files differ from it.
    pub commit: String,
    /// The day of the last run.
    pub date: String,
    pub machine: Vec<String>,
    pub versions: Vec<String>,
    /// Number of started cycles; each cycle uses its own seeds.
    pub cycles: u64,
    pub rows: BTreeMap<String, Counted>,
    /// The rows that this process counts. Another process may count others at the same time.
    #[serde(skip)]
    own: Vec<&'static str>,
    /// The counts of each test in this process.
    #[serde(skip)]
    counted: BTreeMap<String, BTreeSet<String>>,
}

/// The counts of a row.
#[derive(Default, Serialize, Deserialize)]
pub struct Counted {
    /// The number for each thing that was counted; its first word is the unit.
    pub counts: BTreeMap<String, u64>,
    pub skipped: BTreeSet<String>,
    /// The failed test, its seed, and its message.
    pub failures: Vec<String>,
    /// The deliberate fault, and the message of the check that found it.
    pub broken: BTreeMap<String, String>,
    /// Tests that run once and have run.
    pub done: BTreeSet<String>,
    pub seconds: f64,
    /// The commit of the counts, if that is an earlier commit.
    #[serde(default)]
    pub earlier: Option<String>,
}

impl Counted {
    /// Sums of the counts by their units.
    pub fn units(&self) -> BTreeMap<&str, u64> {
        let mut units = BTreeMap::new();
        for (what, count) in &self.counts {
            let unit = what.split([' ', ':']).next().unwrap_or_default();
            *units.entry(unit).or_default() += count;
        }
        units
    }
}

impl Tally {
    /// The tally for the current commit: an earlier one to which counts are added, or a new one. `own` lists
    /// the rows to count.
    pub fn open(earlier: bool, own: Vec<&'static str>) -> anyhow::Result<Self> {
        let commit = commit()?;
        let mut tally = if earlier { Self::read(&commit)? } else { Self::default() };
        tally.own = own;
        let Self { date, machine, versions, .. } = &mut tally;
        *date = super::page::date()?;
        *machine = super::page::machine();
        *versions = super::page::versions();
        tally.commit = commit;
        Ok(tally)
    }

    /// The counts for a commit, from all processes.
    fn read(commit: &str) -> anyhow::Result<Self> {
        let path = place(commit, "json");
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("cannot read {}", path.display())),
            Err(_) => Ok(Self::default()),
        }
    }

    /// Copies rows that were not counted for this commit from an earlier one, and marks them.
    pub fn take_missing(&mut self, commit: &str) -> anyhow::Result<()> {
        let earlier = Self::read(commit)?;
        if earlier.rows.is_empty() {
            bail!("nothing was counted for {commit}");
        }
        for (name, mut row) in earlier.rows {
            row.earlier.get_or_insert_with(|| commit.to_owned());
            if !self.rows.get(&name).is_some_and(|own| own.seconds > 0.0) {
                self.rows.insert(name, row);
            }
        }
        Ok(())
    }

    /// Time in seconds for which tests ran.
    pub fn seconds(&self) -> f64 {
        self.rows.values().map(|row| row.seconds).sum()
    }

    pub fn row(&mut self, name: &str) -> &mut Counted {
        self.rows.entry(name.to_owned()).or_default()
    }

    pub fn begin_cycle(&mut self) -> anyhow::Result<()> {
        self.cycles += 1;
        self.save()
    }

    /// The first seed of this cycle.
    pub const fn seed(&self) -> u64 {
        self.cycles * 1_000_000 + 1
    }

    pub fn took(&mut self, row: &str, time: Duration) {
        self.row(row).seconds += time.as_secs_f64();
    }

    pub fn save(&mut self) -> anyhow::Result<()> {
        let path = place(&self.commit, "json");
        fs::create_dir_all(PLACE)?;
        // Another process may have counted other rows in the meantime.
        for (name, row) in Self::read(&self.commit)?.rows {
            if !self.own.contains(&name.as_str()) {
                self.rows.insert(name, row);
            }
        }
        // The file must never be partial, because a run may be stopped at any time.
        let new = path.with_extension(format!("new-{}", std::process::id()));
        fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&new, &path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Appends to the complete output.
    pub fn log(&self, text: &str) -> anyhow::Result<()> {
        use std::io::Write as _;
        fs::create_dir_all(PLACE)?;
        let path = place(&self.commit, "log");
        let mut log = fs::File::options().create(true).append(true).open(&path)?;
        log.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Adds to the counts of a row's test.
    pub fn count(&mut self, row: &str, test: &str, number: u64, what: &str) {
        *self.row(row).counts.entry(what.to_owned()).or_default() += number;
        self.counted.entry(test.to_owned()).or_default().insert(what.to_owned());
    }

    /// Whether a count of a test is below its minimum; unknown for a test that has not run.
    pub fn lacks(&self, row: &Row, test: &str) -> Option<bool> {
        let Least::OfEach(least) = row.least else { return Some(false) };
        let counts = &self.rows.get(row.name)?.counts;
        let counted = self.counted.get(test)?;
        Some(counted.iter().any(|what| counts.get(what).is_some_and(|n| *n < least)))
    }

    /// Why these counts prove less than they should.
    pub fn faults(&self, rows: &[&Row]) -> Vec<String> {
        let mut faults = Vec::new();
        let none = Counted::default();
        for row in rows {
            let counted = self.rows.get(row.name).unwrap_or(&none);
            let mut fault = |text: String| faults.push(format!("{}: {text}", row.name));
            for failure in &counted.failures {
                fault(failure.clone());
            }
            for broken in row.broken {
                if !counted.broken.contains_key(broken.what) {
                    fault(format!("not seen to fail: {}", broken.what));
                }
            }
            if counted.counts.is_empty() && counted.skipped.is_empty() {
                fault("nothing was counted".to_owned());
            }
            match row.least {
                Least::OfAll(unit, least) => {
                    let there = counted.units().get(unit).copied().unwrap_or(0);
                    if there < least {
                        fault(format!("{there} {unit}, and at least {least} are wanted"));
                    }
                }
                Least::OfEach(least) => {
                    for (what, there) in counted.counts.iter().filter(|(_, n)| **n < least) {
                        fault(format!("{there} {what}, and at least {least} are wanted"));
                    }
                }
            }
        }
        faults
    }
}

fn place(commit: &str, extension: &str) -> PathBuf {
    PathBuf::from(PLACE).join(format!("{commit}.{extension}"))
}

/// The current commit. docs/reliability.md is written by this command, so it does not count as a change.
fn commit() -> anyhow::Result<String> {
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"])?;
    let changed = said("git", &["status", "--porcelain", "--", ".", ":!docs/reliability.md"])?;
    Ok(if changed.is_empty() { commit } else { format!("{commit}+") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::rows::ROWS;

    #[test]
    fn a_test_lacks_what_its_lines_lack() {
        let bytes = ROWS.iter().find(|row| row.name == "bytes").unwrap();
        let mut tally = Tally::default();
        assert_eq!(tally.lacks(bytes, "bytes::cryfs"), None);
        tally.count("bytes", "bytes::cryfs", 1 << 29, "bytes through cryfs");
        assert_eq!(tally.lacks(bytes, "bytes::cryfs"), Some(true));
        tally.count("bytes", "bytes::cryfs", 1 << 29, "bytes through cryfs");
        assert_eq!(tally.lacks(bytes, "bytes::cryfs"), Some(false));
    }

    fn row_of_faults(tally: &mut Tally) {
        tally.row("devices").counts.insert("faults: Full below a mount".to_owned(), 3);
    }

    #[test]
    fn what_is_too_little_failed_or_never_seen_to_fail_is_a_fault() {
        let kills = ROWS.iter().find(|row| row.name == "kills").unwrap();
        let mut tally = Tally::default();
        assert!(tally.faults(&[kills]).iter().any(|f| f.contains("nothing was counted")));
        let row = tally.row("kills");
        row.counts.insert("kills of gocryptfs".to_owned(), 150);
        row.counts.insert("kills of encfs".to_owned(), 60);
        for broken in kills.broken {
            row.broken.insert(broken.what.to_owned(), "said".to_owned());
        }
        assert_eq!(tally.rows["kills"].units()["kills"], 210);
        row_of_faults(&mut tally);
        assert_eq!(tally.rows["devices"].units()["faults"], 3);
        assert_eq!(tally.faults(&[kills]), Vec::<String>::new());
        tally.row("kills").failures.push("x".to_owned());
        tally.row("kills").counts.insert("kills of encfs".to_owned(), 1);
        assert_eq!(tally.faults(&[kills]).len(), 2);
    }
}
