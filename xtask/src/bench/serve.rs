//! `cargo xtask bench serve`: measures whether watching a run with pages changes its results.
//!
//! One server starts all runs. Each pair has one run without pages and one with pages (clients that
//! receive and read all events), in alternating order.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_record::{ArmRole, Cell, Record};
use cryptbench_stats::{estimate, median};
use rustix::process::{Pid, Signal, kill_process};

use super::{build_release, machine};

#[derive(clap::Args)]
pub struct Options {
    /// Number of pairs of runs, at least 3
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..))]
    pairs: u32,
    /// Number of watching pages
    #[arg(long, default_value_t = 2)]
    pages: u32,
    /// Seconds that each run may take
    #[arg(long, default_value_t = 60)]
    budget: u32,
    /// Directory on the disk to measure
    #[arg(long, default_value = ".")]
    target: PathBuf,
    /// Measure with this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize()?,
        None => build_release(&["--package", "cryptbench"])?.join("cryptbench"),
    };
    let home = tempfile::tempdir()?;
    let server = Server::start(&binary, home.path())?;
    let target = options.target.canonicalize()?;
    println!("{}", machine());
    println!(
        "{} pairs of runs of `--profile quick --budget {}s`, with nobody and with {} pages watching\n",
        options.pairs, options.budget, options.pages
    );
    let mut pairs = Vec::new();
    for pair in 0..options.pairs {
        let measured = |watched: bool| {
            let pages = if watched { options.pages } else { 0 };
            server.measure(&target, options.budget, pages, home.path())
        };
        let watched_first = pair % 2 == 1;
        let first = measured(watched_first)?;
        let second = measured(!watched_first)?;
        pairs.push(if watched_first { (second, first) } else { (first, second) });
        eprintln!("pair {} of {}", pair + 1, options.pairs);
    }
    let (alone, watched): (Vec<f64>, Vec<f64>) =
        pairs.iter().map(|(a, w)| (a.processor_s, w.processor_s)).unzip();
    let runs: Vec<(Record, Record)> =
        pairs.into_iter().map(|(a, w)| (a.record, w.record)).collect();
    print(&runs)?;
    println!(
        "Server and pages took {:.2} s of processor time in a run that is watched, {:.2} s in one that is not (medians).",
        median(&watched).context("no pairs")?,
        median(&alone).context("no pairs")?
    );
    Ok(())
}

/// A run, and the load that the pages caused during it.
struct Measured {
    record: Record,
    /// CPU time of the server and of the pages (that is, of this program) in seconds.
    processor_s: f64,
}

/// The /proc directory of the process that `pid` started; a server has only one run.
fn child_of(pid: u32) -> Option<PathBuf> {
    let parent = format!("PPid:\t{pid}");
    std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|e| e.path()).find(|path| {
        std::fs::read_to_string(path.join("status"))
            .is_ok_and(|status| status.lines().any(|line| line == parent))
    })
}

/// Prints the speed of plain storage, and for each other arm the percentage that watched runs reach relative to
/// unwatched ones: the geometric mean over the pairs with its 95 % interval, and the noise of the mean that the
/// runs themselves measured.
fn print(pairs: &[(Record, Record)]) -> anyhow::Result<()> {
    println!(
        "| workload | arm | figure | watched / alone [95 %] | noise of the mean in a run | below it |"
    );
    println!("|---|---|---|---|---|---|");
    let first = &pairs.first().context("no pairs")?.0;
    let (mut below, mut excluded, mut all) = (0, 0, 0);
    for workload in &first.plan.workloads {
        for arm in first.plan.arms.iter().filter(|a| a.role != ArmRole::PlainAgain) {
            let plain = arm.role == ArmRole::Plain;
            let figure = |r: &Record| {
                let cell = cell(r, &workload.id, &arm.id)?;
                let value = if plain { cell.bandwidth } else { cell.kept?.ratio };
                (value > 0.0).then(|| value.ln())
            };
            let d: Vec<f64> =
                pairs.iter().filter_map(|(a, w)| Some(figure(w)? - figure(a)?)).collect();
            let Some(e) = estimate(&d, 0.95) else { continue };
            let noise: Vec<f64> = pairs
                .iter()
                .flat_map(|(a, w)| [a, w])
                .filter_map(|r| noise_of_mean(r, &workload.id))
                .collect();
            let noise = median(&noise).context("no run found its noise floor")?;
            let ok = e.mean.abs() < noise;
            (below, all) = (below + u32::from(ok), all + 1);
            excluded += u32::from(e.low > 0.0 || e.high < 0.0);
            println!(
                "| {} | {} | {} | {:.4} [{:.4}, {:.4}] | {:.4} | {} |",
                workload.label,
                arm.label,
                if plain { "speed" } else { "kept of plain" },
                e.mean.exp(),
                e.low.exp(),
                e.high.exp(),
                noise,
                if ok { "yes" } else { "no" }
            );
        }
    }
    println!(
        "\n{below} of {all} figures differ by less than the noise of the mean of one run; {excluded} of {all} intervals \
         exclude equality (about 5 % are expected where pages change nothing)."
    );
    Ok(())
}

fn cell<'a>(record: &'a Record, workload: &str, arm: &str) -> Option<&'a Cell> {
    let cells = &record.results.as_ref()?.cells;
    cells.iter().find(|c| c.workload == workload && c.arm == arm)
}

/// The noise as a difference on the log scale; cells store it as a loss of speed.
fn noise_of_mean(record: &Record, workload: &str) -> Option<f64> {
    let cells = &record.results.as_ref()?.cells;
    let loss = cells.iter().find(|c| c.workload == workload)?.noise_of_mean?;
    Some(-(1.0 - loss).ln())
}

/// `cryptbench serve` with its own directory for records.
struct Server {
    child: Child,
    host: String,
    path: String,
}

impl Server {
    fn start(binary: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(binary)
            .arg("serve")
            .env("XDG_DATA_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let first = lines.next().context("the server says nothing")??;
        std::thread::spawn(move || lines.for_each(drop));
        let address = first.split("http://").nth(1).context("no address")?;
        let (host, path) = address.trim_end_matches('/').split_once('/').context("no token")?;
        Ok(Self { child, host: host.to_owned(), path: format!("/{path}") })
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        write!(
            stream,
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.path,
            self.host,
            body.len()
        )?;
        Ok(stream)
    }

    /// CPU seconds of the server and of this program.
    fn processor_s(&self) -> anyhow::Result<f64> {
        let of = |process| cryptbench_os::process::cpu_s(process).context("no such process");
        Ok(of(self.child.id())? + of(std::process::id())?)
    }

    /// Measures a run with `pages` pages.
    fn measure(
        &self,
        target: &Path,
        budget: u32,
        pages: u32,
        home: &Path,
    ) -> anyhow::Result<Measured> {
        let processor_before = self.processor_s()?;
        let runs = home.join("cryptbench/runs");
        let before = names(&runs);
        let order = serde_json::json!({
            "target": target, "options": { "profile": ["quick"], "budget": [format!("{budget}s")] }
        });
        let mut answer = String::new();
        self.ask("POST", "/api/run", &order.to_string())?.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 202") {
            bail!("the run does not start: {answer}");
        }
        let pages: Vec<TcpStream> =
            (0..pages).map(|_| self.ask("GET", "/api/events", "")).collect::<Result<_, _>>()?;
        for page in &pages {
            let mut page = page.try_clone()?;
            std::thread::spawn(move || std::io::copy(&mut page, &mut std::io::sink()));
        }
        let run = child_of(self.child.id());
        // Sends no requests to the server during the run, because a run without pages does not cause any.
        let longest = std::time::Instant::now() + Duration::from_secs(u64::from(budget) * 3 + 120);
        let record = loop {
            std::thread::sleep(Duration::from_secs(1));
            let running = run.as_deref().is_some_and(Path::exists);
            let new = names(&runs).into_iter().find(|name| !before.contains(name));
            let file = new.map(|name| runs.join(name).join("report.html"));
            // The page is the last file that a run writes.
            if let Some(page) = file.filter(|f| f.metadata().is_ok_and(|m| m.len() > 0)) {
                break cryptbench_record::read(&page.with_file_name("record.json"))?;
            }
            if !running {
                bail!("the run ended without a page: is {budget} s enough for it?");
            }
            if std::time::Instant::now() > longest {
                bail!("the run does not end");
            }
        };
        for page in pages {
            let _ = page.shutdown(std::net::Shutdown::Both);
        }
        // The process of the run exits a moment after its record appears.
        std::thread::sleep(Duration::from_secs(2));
        Ok(Measured { record, processor_s: self.processor_s()? - processor_before })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
        let _ = self.child.wait();
    }
}

fn names(directory: &Path) -> Vec<std::ffi::OsString> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.file_name()).collect()
}
