//! Programs that these commands install for their own use, with cargo or pip, below the target directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// The output of a successful program, without trailing white space.
///
/// # Errors
/// If it cannot be started; its error output if it fails.
pub fn said(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let done = Command::new(program).args(args).output();
    let done = done.with_context(|| format!("cannot start {program}"))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr);
        bail!("{program} {}: {}", args.join(" "), why.trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
}

/// The directory in which these programs are installed.
const TOOLS: &str = "target/tools";

/// A program that cargo installs. Its speed does not matter, so it is built in the fastest way.
pub struct Tool {
    name: &'static str,
    arguments: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
}

/// Without debugging information, because nobody debugs these programs.
const QUICKLY_BUILT: &[(&str, &str)] = &[("CARGO_PROFILE_DEV_DEBUG", "false")];

pub const CARGO_DEB: Tool =
    Tool { name: "cargo-deb", arguments: &["--debug"], settings: QUICKLY_BUILT };

pub const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    arguments: &[],
    settings: &[
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "256"),
        ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ],
};

pub const CARGO_SEMVER_CHECKS: Tool =
    Tool { name: "cargo-semver-checks", arguments: &["--debug"], settings: QUICKLY_BUILT };

pub const CARGO_CYCLONEDX: Tool =
    Tool { name: "cargo-cyclonedx", arguments: &["--debug"], settings: QUICKLY_BUILT };

pub const MDBOOK: Tool = Tool { name: "mdbook", arguments: &["--debug"], settings: QUICKLY_BUILT };

impl Tool {
    /// The path of the program. Installs it if it is neither on the path nor among cargo's
    /// programs.
    ///
    /// # Errors
    /// The reason why it cannot be installed. With `CRYPTBENCH_OFFLINE` in the environment, nothing
    /// is installed.
    pub fn path(&self) -> anyhow::Result<PathBuf> {
        let Self { name, arguments, settings } = self;
        if let Some(found) = find(name)? {
            return Ok(found);
        }
        let tools = std::path::absolute(TOOLS)?;
        if std::env::var_os("CRYPTBENCH_OFFLINE").is_some() {
            // A test of the package recognises this text and reports that it was skipped.
            bail!("there is no {name} (cargo install {name} --locked)");
        }
        println!("cargo install {name} --locked --root {}", tools.display());
        let done = Command::new(env!("CARGO"))
            .args(["install", name, "--locked", "--quiet", "--root"])
            .arg(&tools)
            .args(*arguments)
            .envs(settings.iter().copied())
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .context("cannot start cargo")?;
        if !done.status.success() {
            bail!("{name} cannot be installed: {}", reason(&String::from_utf8_lossy(&done.stderr)));
        }
        find(name)?.with_context(|| format!("{name} was installed, but is not in {TOOLS}"))
    }
}

/// The path of cargo-nextest.
///
/// # Errors
/// If it is not installed and, with `may_install`, cannot be installed.
pub fn cargo_nextest(may_install: bool) -> anyhow::Result<PathBuf> {
    const NAME: &str = "cargo-nextest";
    if !may_install {
        return find(NAME)?.with_context(|| format!("there is no {NAME}"));
    }
    from_pypi(NAME, Path::new("xtask/nextest.txt"))
}

/// The path of a program that PyPI distributes as a binary, because compiling it takes minutes. pip installs it
/// if it is missing. `packages` contains its version and the accepted hashes.
///
/// # Errors
/// If it cannot be installed. With `CRYPTBENCH_OFFLINE` in the environment, nothing is installed.
pub fn from_pypi(name: &str, packages: &Path) -> anyhow::Result<PathBuf> {
    if let Some(found) = find(name)? {
        return Ok(found);
    }
    if std::env::var_os("CRYPTBENCH_OFFLINE").is_some() {
        bail!("{name} is not installed ({})", packages.display());
    }
    let environment = std::path::absolute(TOOLS)?;
    let python = |program: &Path, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).stdin(Stdio::null()).output();
        let done = done.with_context(|| program.display().to_string())?;
        let said = String::from_utf8_lossy(&done.stderr);
        anyhow::ensure!(done.status.success(), "{}: {}", program.display(), reason(&said));
        anyhow::Ok(())
    };
    let (system, place) = (Path::new("python3"), environment.display().to_string());
    // Debian has venv in a separate package, and its pip refuses to install for the whole system.
    python(system, &["-m", "venv", &place])
        .or_else(|_| python(system, &["-m", "virtualenv", "--quiet", &place]))?;
    let pip = ["-m", "pip", "--quiet", "install", "--only-binary=:all:", "--require-hashes"];
    let list = packages.display().to_string();
    python(&environment.join("bin/python"), &[&pip[..], &["-r", &list]].concat())?;
    find(name)?.with_context(|| format!("{name} was installed, but is not in {TOOLS}"))
}

/// A program on the path, among cargo's programs, or among our own.
fn find(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let own = std::path::absolute(TOOLS)?;
    let own = home.into_iter().chain([own]).map(|place| place.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(own).map(|place| place.join(name));
    Ok(places.find(|path| path.is_file()))
}

/// The line of cargo's output that states the reason of the failure.
pub fn reason(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or("cargo gives no reason");
    lines.find(|line| line.starts_with("error")).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_line_that_says_what_went_wrong() {
        let said = "warning: spurious network error (3 tries remaining)\nerror: failed to download\n\nCaused by:\n  no host\n";
        assert_eq!(reason(said), "error: failed to download");
        assert_eq!(reason("\n  killed\n"), "killed");
        assert_eq!(reason(""), "cargo gives no reason");
    }
}
