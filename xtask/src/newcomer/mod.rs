//! `cargo xtask newcomer`: follows the README literally on new systems, and measures each step.
//!
//! The commands are those in the README for the system, so a failure here is a failure for a newcomer.

mod readme;
pub mod system;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::ValueEnum;

use self::system::{Distribution, Furniture, HOME, System};
use crate::packages::{self, Need};

const NEEDS: &[Need] = &[
    Need { file: "/usr/sbin/debootstrap", package: "debootstrap", reason: "a new Debian" },
    Need { file: "/usr/bin/unshare", package: "util-linux", reason: "mounts of its own" },
];

#[derive(clap::Args)]
pub struct Options {
    /// The systems; all in sequence if none is given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SYSTEM")]
    on: Vec<Distribution>,
    /// The installed software and the user; all in sequence if none is given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    with: Vec<Furniture>,
    /// The README's commands; both if none is given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "COMMAND")]
    only: Vec<Which>,
    /// Take this machine's compiler and downloaded crates, read-only, not those of the README
    #[arg(long)]
    share: bool,
    /// Directory for the new systems; kept and reused if named
    #[arg(long, value_name = "DIR")]
    place: Option<PathBuf>,
}

/// One of the README's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// The run
    Run,
    /// The tests
    Test,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("only root can enter a new system: run this with sudo");
    }
    packages::ensure_or_tell(NEEDS);
    if let Some(need) = NEEDS.iter().find(|n| !Path::new(n.file).exists()) {
        bail!("{} is missing: apt install {}", need.file, need.package);
    }
    let scratch;
    let place = match &options.place {
        Some(directory) => std::path::absolute(directory)?,
        None => {
            scratch = tempfile::Builder::new().prefix("newcomer").tempdir_in("/var/tmp")?;
            scratch.path().to_owned()
        }
    };
    let readme = fs::read_to_string("README.md")?;
    let mut failed = Vec::new();
    for distribution in chosen(&options.on) {
        let directory = place.join(distribution.name().replace(' ', "-"));
        let system = System { directory, shares: options.share };
        let mut steps = prepared(&system, distribution, &readme)?;
        for furniture in chosen(&options.with) {
            let what = format!("{} with {furniture:?}", distribution.name());
            match commands(&system, furniture, options, &readme) {
                Ok(more) => steps.extend(more),
                Err(why) => failed.push(format!("{what}: {why:#}")),
            }
        }
        println!("\n{}, {}", crate::bench::machine(), distribution.name());
        println!("\n| step | seconds |\n|---|---|");
        for (step, seconds) in &steps {
            println!("| {step} | {seconds:.0} |");
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("a newcomer fails:\n  {}", failed.join("\n  ")),
    }
}

/// The specified values, or all values if none are specified.
fn chosen<T: ValueEnum>(named: &[T]) -> Vec<T> {
    if named.is_empty() { T::value_variants() } else { named }.to_vec()
}

type Steps = Vec<(String, f64)>;

/// A system with the packages that the README lists, and with the sources.
fn prepared(system: &System, distribution: Distribution, readme: &str) -> anyhow::Result<Steps> {
    system.unpack(distribution, None)?;
    let sources = system.directory.join(HOME.trim_start_matches('/'));
    if sources.exists() {
        bail!("{} is not new: remove it, or name another --place", sources.display());
    }
    let mut packages = readme::for_packages(readme, distribution.in_readme())?;
    if system.shares {
        // It uses this machine's compiler.
        let lines = packages.split("; ").filter(|line| !line.contains("cargo-web"));
        let lines = lines.filter(|line| !line.starts_with("rustup "));
        packages = lines.collect::<Vec<_>>().join("; ").replace(" rustup", "");
    }
    // When it is installed, rustup immediately downloads files and bypasses this machine's proxy.
    let (first, rest) = packages
        .split_once("; rustup ")
        .map_or((&*packages, None), |(first, rest)| (first, Some(format!("rustup {rest}"))));
    let mut steps = vec![("packages".to_owned(), system.enter(Furniture::Bare, first)?)];
    system.trust()?;
    if let Some(rest) = rest {
        steps.push(("compiler".to_owned(), system.enter(Furniture::Bare, &rest)?));
    }
    system.clone_to(&sources)?;
    Ok(steps)
}

/// Runs the README's commands in a copy of the system, so that one command does not benefit from what the other
/// installed.
fn commands(
    system: &System,
    furniture: Furniture,
    options: &Options,
    readme: &str,
) -> anyhow::Result<Steps> {
    let place = system.directory.parent().expect("it lies in a place");
    let place = tempfile::Builder::new().prefix("copy-").tempdir_in(place)?;
    let system = system.copied(place.path())?;
    system.furnish(furniture)?;
    let [run, test] = readme::commands(readme)?;
    let mut steps = Steps::new();
    let mut step = |what: &str, command: &str| {
        let seconds = system.enter(furniture, &format!("cd {HOME}; {command}"))?;
        steps.push((format!("{furniture:?}: {what}"), seconds));
        anyhow::Ok(())
    };
    if wants(options, Which::Run) {
        let build = run.replace("cargo run", "cargo build");
        step("download and build", build.split(" -- ").next().unwrap_or_default())?;
        step("run", &run)?;
    }
    if wants(options, Which::Test) {
        step("tests", &test)?;
        // Files that they leave outside the build directory do not belong to any run.
        step("nothing is left in the sources", "test -z \"$(git status --porcelain)\"")?;
    }
    Ok(steps)
}

fn wants(options: &Options, which: Which) -> bool {
    options.only.is_empty() || options.only.contains(&which)
}
