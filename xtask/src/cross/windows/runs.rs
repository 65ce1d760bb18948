//! Short runs of cryptbench.exe under Wine. This machine's program reads their results, and nothing remains of
//! them, however they end.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::{Wine, passed, read};

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Options for a short run.
const SHORT: [&str; 7] = ["--trial", "0.1s", "--trials", "2", "--size", "64MiB", "--builtin-only"];

/// Options for a run that continues until it is stopped.
const LONG: [&str; 5] = ["--trial", "0.1s", "--size", "64MiB", "--builtin-only"];

/// Queries without measurements, to which both programs give the same answer.
const QUESTIONS: [&str; 7] = [
    "schema",
    "profiles small-files",
    "studies A",
    "studies B --json",
    "predict --cipher-rate 1000,900 --per-request 10 --device crates/cli/tests/fixtures/ranked.json",
    "compare crates/foreign/tests/fixtures/fio/plain crates/foreign/tests/fixtures/fio/layered",
    "report crates/cli/tests/fixtures/ranked.json --format csv",
];

/// The directories that are measured, and the location of the records.
struct Place<'a> {
    wine: &'a Wine,
    /// The path on this machine; in Windows it is `C:\measured`.
    path: PathBuf,
}

/// Executes all of them.
pub(super) fn all(wine: &Wine) -> anyhow::Result<()> {
    let mut build = Command::new(env!("CARGO"));
    passed(build.args(["build", "--locked", "--package=cryptbench"]), "this machine's program")?;
    let place = Place::new(wine)?;
    let began = Instant::now();
    let done = |what: &str| println!("  {what}: {:.0} s", began.elapsed().as_secs_f64());
    place.answers_as_here()?;
    done("answers");
    place.measures("alone", &[], &[r"C:\measured\plain"])?;
    done("a directory");
    place.measures("pair", &[], &["--pair", r"C:\measured\plain", r"C:\measured\encrypted"])?;
    done("a pair");
    place.measures_small_files()?;
    done("small files");
    place.is_interrupted()?;
    done("interrupted in good order");
    place.is_killed()?;
    done("killed, and cleaned up");
    place.refuses()?;
    done("refusals");
    Ok(())
}

impl<'a> Place<'a> {
    fn new(wine: &'a Wine) -> anyhow::Result<Self> {
        let path = wine.prefix.join("drive_c/measured");
        let _ = fs::remove_dir_all(&path);
        for directory in ["plain", "encrypted"] {
            fs::create_dir_all(path.join(directory))?;
        }
        Ok(Self { wine, path })
    }

    /// A run with these options that has not been started.
    fn run(&self, name: &str, options: &[&str], target: &[&str]) -> Command {
        let mut command = self.wine.program();
        command.args(["run", "--output", &format!(r"C:\measured\{name}")]);
        command.args(options).args(target);
        command
    }

    /// A complete run; both programs render its record.
    fn measures(&self, name: &str, options: &[&str], target: &[&str]) -> anyhow::Result<()> {
        let options = [&SHORT, options].concat();
        passed(&mut self.run(name, &options, target), name)?;
        self.left_nothing()?;
        let there = format!(r"C:\measured\{name}");
        passed(
            self.wine.program().args(["report", &there]).stdout(std::process::Stdio::null()),
            "report",
        )?;
        self.is_read_here(name)
    }

    /// Results that are computed from files are the same on both systems, except for path separators.
    fn answers_as_here(&self) -> anyhow::Result<()> {
        let said = |mut command: Command, question: &str| -> anyhow::Result<String> {
            // Not a pipe, because the services that Wine starts with its first program would keep it open.
            let mut said = tempfile::tempfile()?;
            let status = command.args(question.split(' ')).stdout(said.try_clone()?).status()?;
            ensure!(status.success(), "{question}: {status}");
            Ok(read(&mut said)?.replace('\\', "/"))
        };
        for question in QUESTIONS {
            let there = said(self.wine.program(), question)?;
            ensure!(!there.is_empty(), "{question}: no answer");
            ensure!(
                there == said(here(), question)?,
                "{question}: another answer than here: {there}"
            );
        }
        Ok(())
    }

    /// This machine's program reads a record and renders its page.
    fn is_read_here(&self, name: &str) -> anyhow::Result<()> {
        let record = self.path.join(name);
        let said = here().arg("report").arg(&record).arg("--full").output()?;
        let text = String::from_utf8_lossy(&said.stdout);
        ensure!(
            said.status.success() && text.contains("completion port") && text.contains("Wine"),
            "the record of {name} is not rendered here: {text}{}",
            String::from_utf8_lossy(&said.stderr)
        );
        Ok(())
    }

    /// The profile for small files, with fewer files.
    fn measures_small_files(&self) -> anyhow::Result<()> {
        const MANY: &str = "count = 10_000";
        let whole = fs::read_to_string("crates/load/profiles/small-files.toml")?;
        ensure!(whole.contains(MANY), "small-files.toml has another number of files");
        fs::write(self.path.join("fewer.toml"), whole.replace(MANY, "count = 200"))?;
        let pair = ["--pair", r"C:\measured\plain", r"C:\measured\encrypted"];
        self.measures("files", &["--profile", r"C:\measured\fewer.toml"], &pair)
    }

    /// Ctrl-C, as Wine passes it on: only the record is kept.
    fn is_interrupted(&self) -> anyhow::Result<()> {
        let mut run = self.started("interrupted")?;
        kill_process(number(&run)?, Signal::INT)?;
        let status = ended(&mut run)?;
        ensure!(status.code() == Some(130), "an interrupted run ended with {status}");
        self.left_nothing()?;
        self.is_read_here("interrupted")
    }

    /// The scratch file disappears with the process; cleanup removes the rest.
    fn is_killed(&self) -> anyhow::Result<()> {
        let mut run = self.started("killed")?;
        kill_process(number(&run)?, Signal::KILL)?;
        ended(&mut run)?;
        let began = Instant::now();
        // Wine's server closes the handles of a process only after it has exited.
        while self.left()?.iter().any(|path| path.extension().is_some_and(|e| e == "scratch")) {
            ensure!(began.elapsed() < PATIENCE, "a killed run left its scratch file");
            std::thread::sleep(Duration::from_millis(100));
        }
        passed(self.wine.program().arg("cleanup"), "cleanup")?;
        self.left_nothing()
    }

    /// A volume, or a file that is not specified twice, is not overwritten.
    fn refuses(&self) -> anyhow::Result<()> {
        let data = [7; 1 << 20];
        for name in ["mine", "other"] {
            fs::write(self.path.join(name), data)?;
        }
        let (mine, other) = (r"C:\measured\mine", r"C:\measured\other");
        let cases: [&[&str]; 4] = [
            &[r"\\.\C:", "--destroy", r"\\.\C:"],
            &[mine],
            &[mine, "--destroy", other],
            &[r"C:\gone"],
        ];
        for words in cases {
            let status = self.run("refused", &SHORT, words).status()?;
            ensure!(status.code() == Some(3), "{words:?} ended with {status}");
        }
        for name in ["mine", "other"] {
            ensure!(fs::read(self.path.join(name))? == data, "{name} was overwritten");
        }
        Ok(())
    }

    /// A run that has completed its first trials.
    fn started(&self, name: &str) -> anyhow::Result<Child> {
        let target = [r"C:\measured\plain"];
        let mut run = self.run(name, &LONG, &target).spawn().context("cannot start Wine")?;
        let log = self.path.join(name).join("trials.jsonl");
        let began = Instant::now();
        while fs::read_to_string(&log).unwrap_or_default().matches("\"measured\"").count() < 2 {
            if let Some(status) = run.try_wait()? {
                bail!("the run {name} ended with {status} before it was ended");
            }
            ensure!(began.elapsed() < PATIENCE, "the run {name} measures nothing");
            std::thread::sleep(Duration::from_millis(50));
        }
        ensure!(!self.left()?.is_empty(), "the run {name} measures on nothing");
        Ok(run)
    }

    /// The contents of the measured directories.
    fn left(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for directory in ["plain", "encrypted"] {
            for entry in fs::read_dir(self.path.join(directory))? {
                all.push(entry?.path());
            }
        }
        Ok(all)
    }

    fn left_nothing(&self) -> anyhow::Result<()> {
        let left = self.left()?;
        ensure!(left.is_empty(), "a run left {left:?}");
        Ok(())
    }
}

/// This machine's program, which `all` built.
fn here() -> Command {
    Command::new("target/debug/cryptbench")
}

fn number(run: &Child) -> anyhow::Result<Pid> {
    Pid::from_raw(run.id().cast_signed()).context("a process without a number")
}

/// Waits for a run that was asked to stop.
fn ended(run: &mut Child) -> anyhow::Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = run.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > PATIENCE {
            let _ = run.kill();
            bail!("a run did not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
