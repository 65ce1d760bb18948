//! `cargo xtask weight`: measures how much there is to read, download, build and distribute, compared with
//! another commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::bench::median;
use crate::tidy::sources::{of_the_program, without_tests};

#[derive(clap::Args)]
pub struct Options {
    /// A commit to compare with
    #[arg(long, value_name = "COMMIT")]
    against: Option<String>,
    /// Rebuild the program this often, both versions alternately, and count CPU time (minutes each)
    #[arg(long, value_name = "TIMES", default_value_t = 0)]
    builds: u32,
}

/// A checkout, and its build directory.
struct Tree {
    name: String,
    root: PathBuf,
    target: PathBuf,
    seconds: Vec<f64>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir_in("target")?;
    let here = std::env::current_dir()?;
    let mut trees = vec![Tree::new("this", here, scratch.path())];
    if let Some(commit) = &options.against {
        let root = scratch.path().join("source");
        unpack(commit, &root)?;
        trees.insert(0, Tree::new(commit, root, scratch.path()));
    }
    for _ in 0..options.builds {
        for tree in &mut trees {
            tree.build()?;
        }
    }
    println!("| | {} |", trees.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(trees.len()));
    row(&trees, "lines of crates/*/src without tests", |tree| {
        Ok(source_lines(&tree.root)?.to_string())
    })?;
    row(&trees, "locked packages", |tree| Ok(packages(&tree.root)?.to_string()))?;
    if options.builds > 0 {
        row(&trees, "processor time of a release build, median", |tree| {
            Ok(format!("{:.0} s", tree.median()))
        })?;
        row(&trees, "program", |tree| Ok(format!("{:.1} MB", tree.program_mb()?)))?;
        if let [before, after] = &trees[..] {
            println!("processor time: {:.2} of before", after.median() / before.median());
        }
    }
    Ok(())
}

fn row(
    trees: &[Tree],
    what: &str,
    cell: impl Fn(&Tree) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let cells: Vec<_> = trees.iter().map(cell).collect::<anyhow::Result<_>>()?;
    println!("| {what} | {} |", cells.join(" | "));
    Ok(())
}

impl Tree {
    fn new(name: &str, root: PathBuf, scratch: &Path) -> Self {
        let target = scratch.join(format!("target-{name}"));
        Self { name: name.to_owned(), root, target, seconds: Vec::new() }
    }

    fn build(&mut self) -> anyhow::Result<()> {
        let _ = fs::remove_dir_all(&self.target);
        let before = childrens_seconds()?;
        let arguments = ["build", "--release", "--locked", "--package", "cryptbench"];
        let mut cargo = Command::new("cargo");
        cargo.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        checked(cargo.stderr(Stdio::null()))?;
        self.seconds.push(childrens_seconds()? - before);
        Ok(())
    }

    fn median(&self) -> f64 {
        median(self.seconds.iter().copied())
    }

    fn program_mb(&self) -> anyhow::Result<f64> {
        Ok(fs::metadata(self.target.join("release/cryptbench"))?.len() as f64 / 1e6)
    }
}

fn checked(command: &mut Command) -> anyhow::Result<()> {
    match command.status().with_context(|| format!("{command:?}"))?.success() {
        true => Ok(()),
        false => bail!("{command:?} failed"),
    }
}

fn unpack(commit: &str, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let git = Command::new("git").args(["archive", commit]).stdout(Stdio::piped()).spawn();
    let mut git = git.context("git")?;
    let from = git.stdout.take().context("git says nothing")?;
    let mut tar = Command::new("tar");
    checked(tar.arg("-x").current_dir(to).stdin(from))?;
    if !git.wait()?.success() {
        bail!("there is no commit {commit}");
    }
    Ok(())
}

/// CPU seconds of this process's children, once they have exited.
fn childrens_seconds() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').context("/proc/self/stat")?.1.split_whitespace();
    // cutime and cstime (proc(5)), in ticks of 10 ms.
    let ticks: Vec<f64> = fields.skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn packages(root: &Path) -> anyhow::Result<usize> {
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    Ok(lock.lines().filter(|line| *line == "[[package]]").count())
}

/// Lines of all sources of the crates, without tests.
fn source_lines(root: &Path) -> anyhow::Result<usize> {
    let mut files = Vec::new();
    below(root, Path::new("crates"), &mut files)?;
    let texts = of_the_program(root, &files)?;
    Ok(texts.iter().map(|(_, text)| without_tests(text).count()).sum())
}

/// The Rust files in a directory of `root`.
fn below(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            below(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
