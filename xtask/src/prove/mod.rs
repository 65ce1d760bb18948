//! `cargo xtask prove`: counts the failures that the program survives, and writes docs/reliability.md.
//!
//! Each row of the table consists of tests that the quick tier runs with a few seeds. This command repeats them
//! with new seeds until their time is up. Each check must first fail on a deliberate fault.

mod binaries;
mod broken;
mod page;
mod rows;
mod sanitized;
mod steps;
mod tally;

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use self::rows::{ROWS, Row};
use self::steps::Programs;
use self::tally::Tally;
use crate::packages;

#[derive(clap::Args)]
pub struct Options {
    /// Minutes for the tests that continue as long as there is time; tests that run once are additional
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Only the rows with these names; with --add, several processes may count other rows in parallel
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Add to the earlier counts for this commit
    #[arg(long)]
    add: bool,
    /// A folder laid out as ../shared/data/volumes, instead of that
    #[arg(long, value_name = "DIR")]
    images: Option<std::path::PathBuf>,
    /// Show rows that were not counted for this commit with their counts for that one, and say so
    #[arg(long, value_name = "COMMIT", requires = "show")]
    with: Option<String>,
    /// Only print the table of the counts, and write the page
    #[arg(long)]
    show: bool,
}

/// Length of a cycle, in which every row gets its share of time. A run that is stopped early therefore has
/// counts for all rows.
const CYCLE: Duration = Duration::from_secs(12 * 60);

pub fn run(options: &Options) -> anyhow::Result<()> {
    let rows: Vec<&Row> = ROWS
        .iter()
        .filter(|row| options.only.is_empty() || options.only.iter().any(|name| name == row.name))
        .collect();
    if rows.len() < options.only.len() {
        let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        bail!("--only takes the names of rows: {}", names.join(", "));
    }
    let mut tally =
        Tally::open(options.add || options.show, rows.iter().map(|row| row.name).collect())?;
    if let Some(commit) = &options.with {
        tally.take_missing(commit)?;
    }
    if !options.show {
        packages::ensure_or_tell(packages::FOR_TESTS);
        let programs = Programs::build(&rows, options.images.as_deref())?;
        for row in &rows {
            println!("{}: {}", row.name, row.what);
            broken::see_it_fail(row, &programs, &mut tally)?;
            steps::once(row, &programs, &mut tally)?;
        }
        go_on(&rows, &programs, Duration::from_secs(options.minutes * 60), &mut tally)?;
    }
    if !options.show {
        tally.save()?;
    }
    page::write(&tally)?;
    let faults = tally.faults(&rows);
    for fault in &faults {
        println!("{fault}");
    }
    if !faults.is_empty() {
        bail!("not proved: {}", faults.len());
    }
    Ok(())
}

/// Processes all rows in each cycle until the time is up.
fn go_on(
    rows: &[&Row],
    programs: &Programs,
    time: Duration,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let until = Instant::now() + time;
    let shares: u32 = rows.iter().map(|row| row.share).sum();
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|_| shares > 0) {
        let cycle = CYCLE.min(left);
        tally.begin_cycle()?;
        for row in rows.iter().filter(|row| row.share > 0) {
            let seconds = cycle.mul_f64(f64::from(row.share) / f64::from(shares));
            steps::again(row, programs, seconds, tally).with_context(|| row.name)?;
        }
    }
    Ok(())
}
