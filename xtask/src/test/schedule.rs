//! Runs test binaries in parallel, longest first, except those that measure time.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{Read as _, Seek as _};
use std::panic::resume_unwind;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::TIER;
use super::binaries::Binary;
use super::counts::Counts;

/// Binaries with the longest run time, longest first: if one of them started last, a core would be
/// idle at the end.
const LONGEST: &[&str] = &[
    "cli integration",
    "cli guest",
    "system integration",
    "volume integration",
    "system unit",
    "report integration",
    "all documentation",
    "runner integration",
    "serve integration",
];

/// Binaries with a test that measures a time, which other load must not affect.
const ALONE: &[&str] = &["load integration", "load unit", "devices integration", "runner unit"];

/// Binaries that compute on one core and touch no disk: they run beside those, if there is a core for each.
const COMPUTING: &[&str] = &["stats integration", "kdf integration"];

const ONE_THREAD: &str = "--test-threads=1";

/// Binaries whose tests mostly wait for disks and other programs, and how many of these run in
/// parallel on two cores.
const WAITING: &[(&str, &str)] =
    &[("cli integration", "--test-threads=4"), ("cli guest", "--test-threads=3")];

/// The settings for all binaries.
pub struct How<'a> {
    pub tier: &'a str,
    pub filter: Option<&'a str>,
    /// A directory for the state of programs.
    pub state: tempfile::TempDir,
    /// Programs in front of those in the search path.
    pub programs: Option<tempfile::TempDir>,
}

impl How<'_> {
    fn path(&self) -> anyhow::Result<OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = self.programs.iter().map(|programs| programs.path().to_owned());
        Ok(std::env::join_paths(own.chain(std::env::split_paths(&path)))?)
    }
}

/// A binary that has ended.
pub struct Ended<'a> {
    pub binary: &'a Binary,
    pub status: ExitStatus,
    /// Standard output and standard error.
    pub output: String,
    pub took: Duration,
}

impl Ended<'_> {
    pub fn counts(&self) -> Counts {
        let Binary { name, times, .. } = self.binary;
        Counts::of(&self.output, name, self.status.success(), !times)
    }
}

/// Runs all `binaries`, and passes each to `take` when it has ended.
pub fn run_all<'a>(
    binaries: &'a [Binary],
    how: &How<'_>,
    mut take: impl FnMut(Ended<'a>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (alone, computing, beside) = order(binaries, cores);
    std::thread::scope(|scope| {
        let computed = scope.spawn(|| {
            computing.into_iter().map(|binary| run(binary, how, None)).collect::<Vec<_>>()
        });
        alone.into_iter().try_for_each(|binary| take(run(binary, how, None)?))?;
        let computed = computed.join().unwrap_or_else(|panic| resume_unwind(panic));
        computed.into_iter().try_for_each(|ended| take(ended?))
    })?;
    let queue = Mutex::new(VecDeque::from(beside));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (report, ended) = channel();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let (report, next) = (report.clone(), &next);
            scope.spawn(move || {
                while let Some(binary) = next() {
                    if report.send(run(binary, how, None)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(report);
        ended.iter().try_for_each(|ended| take(ended?))
    })
}

/// The binaries that run alone, those that compute beside them, and the others, longest first.
fn order(binaries: &[Binary], cores: usize) -> (Vec<&Binary>, Vec<&Binary>, Vec<&Binary>) {
    let is = |names: &[&str], binary: &Binary| names.contains(&binary.name.as_str());
    let (alone, others): (Vec<_>, Vec<_>) = binaries.iter().partition(|one| is(ALONE, one));
    let (computing, mut beside): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|one| cores > 1 && is(COMPUTING, one));
    let rank = |binary: &&Binary| {
        LONGEST.iter().position(|name| *name == binary.name).unwrap_or(LONGEST.len())
    };
    beside.sort_by_key(rank);
    (alone, computing, beside)
}

/// The setting for the number of threads of a binary, if the test runner is not to choose it.
fn threads(binary: &Binary) -> Option<&'static str> {
    let waiting = WAITING.iter().find(|(name, _)| *name == binary.name);
    let computes = COMPUTING.contains(&binary.name.as_str());
    waiting.map(|(_, threads)| *threads).or(computes.then_some(ONE_THREAD))
}

/// Runs a binary, or only its test of this name.
pub fn run<'a>(
    binary: &'a Binary,
    how: &How<'_>,
    name: Option<&String>,
) -> anyhow::Result<Ended<'a>> {
    let began = Instant::now();
    // One file for both streams, which keeps their order.
    let mut output = tempfile::tempfile()?;
    let root = std::env::current_dir()?;
    let status = Command::new(&binary.program)
        .args(&binary.arguments)
        .args(how.filter.filter(|_| name.is_none()))
        .args(name)
        .args(name.map(|_| "--exact"))
        // Passing tests report what they skipped, too.
        .arg("--show-output")
        .args(threads(binary))
        .args(binary.times.then_some(["-Zunstable-options", "--report-time"]).into_iter().flatten())
        .current_dir(&binary.directory)
        .env("CARGO", env!("CARGO"))
        .env("CARGO_MANIFEST_DIR", root.join(&binary.directory))
        .env("INSTA_WORKSPACE_ROOT", &root)
        // Enables the report of times in the test runner of a stable compiler.
        .envs(binary.times.then_some(("RUSTC_BOOTSTRAP", "1")))
        // Keeps what one binary leaves behind on purpose from the cleanup of another.
        .env("XDG_STATE_HOME", how.state.path().join(binary.name.replace(' ', "-")))
        .env("PATH", how.path()?)
        .env(TIER, how.tier)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .status()
        .with_context(|| format!("cannot start {}", binary.program.display()))?;
    let took = began.elapsed();
    output.rewind()?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    Ok(Ended { binary, status, output: String::from_utf8_lossy(&bytes).into_owned(), took })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_begin_first_and_timed_ones_run_alone() {
        let binary = |name: &str| Binary {
            name: name.to_owned(),
            program: "x".into(),
            arguments: Vec::new(),
            directory: ".".into(),
            times: true,
        };
        let all = ["text unit", "load unit", "cli guest", "stats integration", "cli integration"];
        let all = all.map(binary);
        let names = |some: Vec<&Binary>| some.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
        let (alone, computing, beside) = order(&all, 2);
        assert_eq!(names(alone), ["load unit"]);
        assert_eq!(names(computing), ["stats integration"]);
        assert_eq!(names(beside), ["cli integration", "cli guest", "text unit"]);
        let (_, computing, beside) = order(&all, 1);
        assert!(computing.is_empty() && beside.len() == 4, "one core is for what is timed");
    }
}
