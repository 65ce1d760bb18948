//! `cargo xtask newcomer`: follows the README literally on a new Debian, and measures each step.
//!
//! A new system is unpacked below a directory and entered with chroot(8), with mounts that no other
//! process sees. The commands are the README's lines for that system: what fails there fails for a
//! newcomer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::packages::{self, Need};

const NEEDS: &[Need] = &[
    Need { file: "/usr/sbin/debootstrap", package: "debootstrap", reason: "a new Debian" },
    Need { file: "/usr/bin/unshare", package: "util-linux", reason: "mounts of its own" },
];

const RELEASE: &str = "bookworm";
const NAMED: &str = "Debian 12";
const MIRROR: &str = "http://deb.debian.org/debian";
/// Sources of later fixes, as on an installed system.
const FIXES: &str = "deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
";

/// What a new system lacks compared with a newcomer's: consent to install, and sudo, which root
/// does not need.
const HABITS: &str = "set -e; sudo() { \"$@\"; }; export DEBIAN_FRONTEND=noninteractive";

#[derive(clap::Args)]
pub struct Options {
    /// Directory for the new system; kept and reused if named
    #[arg(long, value_name = "DIR")]
    system: Option<PathBuf>,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("only root can enter a new system: run this with sudo");
    }
    packages::ensure_or_tell(NEEDS);
    if let Some(need) = NEEDS.iter().find(|n| !Path::new(n.file).exists()) {
        bail!("{} is missing: apt install {}", need.file, need.package);
    }
    let readme = fs::read_to_string("README.md")?;
    let (packages, first) = (for_packages(&readme)?, first_command(&readme)?);
    let scratch;
    let system = match &options.system {
        Some(directory) => std::path::absolute(directory)?,
        None => {
            scratch = tempfile::Builder::new().prefix("newcomer").tempdir_in("/var/tmp")?;
            scratch.path().to_owned()
        }
    };
    if !system.join("etc/debian_version").exists() {
        unpack(&system)?;
    }
    let home = system.join("root/cryptbench");
    if home.exists() {
        bail!("{} is not new: remove it, or name another --system", home.display());
    }
    let mut steps = Vec::new();
    steps.push(("packages", enter(&system, &format!("apt-get -q update; {packages}"))?));
    trust(&system)?;
    steps.push(("clone", enter(&system, "git clone -q /mnt/source ~/cryptbench")?));
    let build = first.replace("cargo run", "cargo build");
    let build = build.split(" -- ").next().unwrap_or_default();
    steps.push(("download and build", enter(&system, &format!("cd ~/cryptbench; {build}"))?));
    steps.push(("run", enter(&system, &format!("cd ~/cryptbench; {first}"))?));
    println!("\n{}, {NAMED} new from {MIRROR}", crate::bench::machine());
    println!("\n| step | seconds |\n|---|---|");
    for (step, seconds) in &steps {
        println!("| {step} | {seconds:.0} |");
    }
    let all: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
    println!("| **from a new system to the answer** | **{all:.0}** ({:.1} minutes) |", all / 60.0);
    Ok(())
}

fn unpack(system: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(system)?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", RELEASE]).arg(system).arg(MIRROR);
    said_well(debootstrap.stdout(Stdio::null()), "debootstrap")?;
    let sources = system.join("etc/apt/sources.list");
    fs::write(&sources, fs::read_to_string(&sources)? + FIXES)?;
    fs::write(system.join("etc/apt/apt.conf.d/90yes"), "APT::Get::Assume-Yes \"true\";\n")?;
    for file in ["resolv.conf", "hosts"] {
        fs::copy(Path::new("/etc").join(file), system.join("etc").join(file))?;
    }
    Ok(())
}

/// Copies this machine's certificate authorities: nothing else works behind a proxy with its own
/// certificate.
fn trust(system: &Path) -> anyhow::Result<()> {
    let authorities = "etc/ssl/certs/ca-certificates.crt";
    let here = Path::new("/").join(authorities);
    if here.exists() {
        fs::copy(here, system.join(authorities))?;
    }
    Ok(())
}

/// Runs `script` in the new system like a login shell, and returns the seconds that it took.
fn enter(system: &Path, script: &str) -> anyhow::Result<f64> {
    // Makes the root a mount point, so that programs inside find their file system.
    const MOUNTS: &str = r#"
        mount --bind "$1" "$1"
        mount --bind /proc "$1/proc"; mount --bind /sys "$1/sys"; mount --rbind /dev "$1/dev"
        mkdir -p "$1/mnt/source"; mount --bind . "$1/mnt/source"
        exec chroot "$1" /usr/bin/env -i HOME=/root TERM=xterm PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' bash -c "$2""#;
    println!("\n# {script}");
    let begun = Instant::now();
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "--propagation", "private", "sh", "-ec", MOUNTS, "sh"]);
    shell.arg(system).arg(format!("{HABITS}; {script}"));
    said_well(shell.stdin(Stdio::null()), script)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn said_well(command: &mut Command, what: &str) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {what}"))?;
    if !status.success() {
        bail!("{what}: {status}");
    }
    Ok(())
}

/// The blocks of shell commands.
fn blocks(readme: &str) -> impl Iterator<Item = &str> {
    readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// The commands that install packages: the block after the name of the system.
fn for_packages(readme: &str) -> anyhow::Result<String> {
    let after = readme.split_once(NAMED).map(|(_, rest)| rest).unwrap_or_default();
    let block = blocks(after).next();
    let block = block.with_context(|| format!("README.md has no commands for {NAMED}"))?;
    Ok(block.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; "))
}

/// The main command: the first cargo command.
fn first_command(readme: &str) -> anyhow::Result<String> {
    let mut lines = blocks(readme).flat_map(str::lines);
    let line = lines.find(|line| line.starts_with("cargo "));
    let line = line.context("README.md has no command of cargo")?;
    Ok(line.split(" # ").next().unwrap_or(line).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_tells_what_to_type() {
        let readme = fs::read_to_string(crate::root().join("README.md")).unwrap();
        let packages = for_packages(&readme).unwrap();
        assert!(packages.contains("build-essential") && packages.contains("cargo-web"));
        assert!(!packages.contains("rustup"), "{packages}");
        assert_eq!(first_command(&readme).unwrap(), "cargo run --release -- run");
    }

    #[test]
    fn blocks_for_other_systems_are_left_out() {
        let readme = "Debian 13:\n```sh\nz\n```\nDebian 12:\n```sh\nx y\n\nw\n```\nb\n```sh\ncargo a    # all\nrest\n```\n";
        assert_eq!(for_packages(readme).unwrap(), "x y; w");
        assert_eq!(first_command(readme).unwrap(), "cargo a");
        assert!(for_packages("").is_err() && first_command("```sh\na\n```").is_err());
    }
}
