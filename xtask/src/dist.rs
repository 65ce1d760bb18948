//! `cargo xtask dist`: builds the files to distribute: a reproducible release build, the Debian package, a
//! static binary, the files for Windows, or all files of a release.

mod release;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::audit::Step;
use crate::cross::{STATIC, STD, System, cargo, prepared};
use crate::tools::said;
use crate::{arm, package};

/// Output directory. It does not depend on CARGO_TARGET_DIR, because the package's assets contain its path.
const OUT: &str = "target/dist";

const MUSL: &str = "x86_64-unknown-linux-musl";

#[derive(clap::Args)]
pub struct Options {
    /// Build everything that a release contains, start each program, and write the hashes
    #[arg(long, conflicts_with_all = ["binary", "musl", "reproducible", "arm64", "windows"])]
    all: bool,
    /// Build twice, in two directories, and compare the hashes
    #[arg(long, conflicts_with = "binary")]
    reproducible: bool,
    /// Build a static binary against musl, and no package
    #[arg(long, conflicts_with = "binary")]
    musl: bool,
    /// Build a static binary and a package for 64-bit ARM, with Debian's compiler for it
    #[arg(long, conflicts_with_all = ["binary", "musl", "reproducible"])]
    arm64: bool,
    /// Build a static program for Windows and a zip of it, with Debian's compiler for it
    #[arg(long, conflicts_with_all = ["binary", "musl", "reproducible", "arm64"])]
    windows: bool,
    /// Future location of the zip for Windows: writes a manifest for winget with it
    #[arg(long, value_name = "URL", requires = "windows")]
    url: Option<String>,
    /// Package this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where to put the package and the binary
    #[arg(long, value_name = "DIR", default_value = OUT)]
    out: PathBuf,
    /// Build this package of the workspace, to try the flags on a smaller one: xtask
    #[arg(long, value_name = "NAME", default_value = "cryptbench", hide = true)]
    package: String,
    /// Build with the development profile, to try the flags
    #[arg(long, hide = true)]
    dev: bool,
    /// Compress the package little: for tests, because good compression takes most of the time
    #[arg(long, hide = true)]
    fast: bool,
}

impl Options {
    /// Options for building a package twice.
    fn of(package: &str, dev: bool) -> Self {
        Self { reproducible: true, package: package.to_owned(), dev, ..Self::single() }
    }

    /// Options for building the Debian package.
    fn single() -> Self {
        Self {
            all: false,
            reproducible: false,
            musl: false,
            arm64: false,
            windows: false,
            url: None,
            binary: None,
            out: OUT.into(),
            package: "cryptbench".to_owned(),
            dev: false,
            fast: false,
        }
    }
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let out = std::path::absolute(&options.out)?;
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    if options.reproducible {
        return reproducible(options).map(drop);
    }
    if options.all {
        return release::all(options, &out);
    }
    let root = std::env::current_dir()?;
    if options.arm64
        && let Some(why) = arm::missing()?
    {
        bail!("nothing can be built for 64-bit ARM here: {why}");
    }
    if options.windows
        && let Step::Skip(why) = prepared(System::Windows)?
    {
        bail!("nothing can be built for Windows here: {why}");
    }
    let built = match &options.binary {
        Some(binary) => binary.clone(),
        None => build(options, &root, &root.join(OUT).join("build"))?,
    };
    if options.musl {
        let to = out.join(format!("cryptbench-{MUSL}"));
        fs::copy(&built, &to)?;
        tell(&to)?;
        return is_static(&to);
    }
    if options.windows {
        return windows::pack(&built, &out, options.url.as_deref());
    }
    if options.arm64 {
        let to = out.join(format!("cryptbench-{}", System::Aarch64.triple()));
        fs::copy(&built, &to)?;
        tell(&to)?;
        is_static(&to)?;
    }
    package::deb(&built, &root.join(OUT).join("stage"), &out, options.fast, options.arm64)
}

/// Builds the sources in `source` below `target` and returns the binary. The result does not depend on the
/// path, the time or the machine.
fn build(options: &Options, source: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    let mut cargo = if options.arm64 {
        arm::build("build", arm::QEMU)
    } else if options.windows {
        let mut cargo = cargo("build", System::Windows);
        cargo.args([STD, "--offline"]);
        cargo
    } else {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked"]);
        cargo
    };
    cargo.args(["--quiet", "--package", &options.package]);
    if options.package == "cryptbench" {
        cargo.arg("--all-features");
    }
    let mut place = target.to_owned();
    if options.musl {
        cargo.args(["--target", MUSL]);
        place.push(MUSL);
    }
    if options.arm64 {
        place.push(System::Aarch64.triple());
    }
    if options.windows {
        place.push(System::Windows.triple());
    }
    place.push(if options.dev { "debug" } else { "release" });
    if !options.dev {
        cargo.arg("--release");
    }
    let flags = remapped(source)?;
    // C flags are separated by spaces and cannot contain a path with a space.
    let c_flags: Vec<String> = flags
        .iter()
        .filter(|(from, _)| !from.contains(' '))
        .map(|(from, to)| format!("-ffile-prefix-map={from}={to}"))
        .collect();
    let mut rust_flags: Vec<String> =
        flags.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    if options.arm64 {
        // These replace the flags that the command would use for its target.
        rust_flags.push(STATIC.to_owned());
    }
    if options.windows {
        rust_flags.push(STATIC.to_owned());
    }
    let status = cargo
        .current_dir(source)
        .env("CARGO_TARGET_DIR", target)
        // Separated by a byte that does not occur in paths.
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\u{1f}"))
        .env_remove("RUSTFLAGS")
        // SQLite is built from its C source.
        .env("CFLAGS", c_flags.join(" "))
        .env("SOURCE_DATE_EPOCH", date_of_sources()?)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the build failed");
    }
    let exe = if options.windows { ".exe" } else { "" };
    let built = place.join(format!("{}{exe}", options.package));
    if !built.is_file() {
        bail!("{} has no binary of that name", options.package);
    }
    Ok(built)
}

/// Paths on this machine and their replacements: the paths of the sources, of cargo's registry and of the standard
/// library.
fn remapped(source: &Path) -> anyhow::Result<Vec<(String, &'static str)>> {
    let sysroot = said("rustc", &["--print", "sysroot"])?;
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .context("neither CARGO_HOME nor HOME is set")?;
    // The most general path comes first, because the last match applies.
    Ok(vec![(home, "/cargo"), (sysroot, "/rust"), (source.display().to_string(), "/cryptbench")])
}

/// Time of the last commit in seconds since 1970, which is used as the timestamp in archives.
pub(crate) fn date_of_sources() -> anyhow::Result<String> {
    if let Ok(asked) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(asked);
    }
    // A tarball has no history; a fixed date is equally reproducible.
    Ok(said("git", &["log", "-1", "--format=%ct"]).unwrap_or_else(|_| "0".to_owned()))
}

/// Builds copies of the sources from scratch in two directories of different depth, and returns the hash that
/// both have.
fn reproducible(options: &Options) -> anyhow::Result<String> {
    let scratch = tempfile::tempdir()?;
    let mut hashes = Vec::new();
    for place in ["a", "another/place/with-a-longer-name"] {
        let directory = scratch.path().join(place);
        let source = directory.join("source");
        copy_sources(&source)?;
        let built = build(options, &source, &directory.join("target"))?;
        let hash = sha256(&built)?;
        println!("{hash}  {} ({} bytes)", built.display(), fs::metadata(&built)?.len());
        if hashes.iter().any(|known| *known != hash) {
            let kept = scratch.keep();
            bail!("the two builds differ; both are kept in {}", kept.display());
        }
        hashes.push(hash);
    }
    println!("both builds are the same");
    hashes.pop().context("nothing was built")
}

/// Copies the files that git tracks, and those that it would add, to `to`.
pub(crate) fn copy_sources(to: &Path) -> anyhow::Result<()> {
    let files = said("git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    // Skips files that git lists but that were deleted, and everything that is not a regular file.
    for file in files.lines().map(Path::new).filter(|f| f.is_file()) {
        let to = to.join(file);
        fs::create_dir_all(to.parent().expect("in the copy"))?;
        fs::copy(file, &to).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// The hash of two builds of the program.
pub(crate) fn two_builds() -> anyhow::Result<String> {
    reproducible(&Options::of("cryptbench", false))
}

/// Builds a program twice that contains the path of its sources, and returns the report.
pub(crate) fn differs_by_its_path() -> anyhow::Result<String> {
    match reproducible(&Options::of("xtask", true)) {
        Err(e) if e.to_string().contains("the two builds differ") => {
            let said = e.to_string();
            if let Some((_, kept)) = said.split_once("kept in ") {
                let _ = fs::remove_dir_all(kept);
            }
            Ok("the two builds differ".to_owned())
        }
        Err(e) => Err(e),
        Ok(hash) => bail!("both are {hash}"),
    }
}

/// Checks that a binary needs no libraries of the machine.
fn is_static(binary: &Path) -> anyhow::Result<()> {
    let headers =
        said("readelf", &["--program-headers", "--dynamic", &binary.display().to_string()])?;
    if headers.contains("INTERP") || headers.contains("(NEEDED)") {
        bail!("{} needs a loader or libraries:\n{headers}", binary.display());
    }
    println!("it needs no library");
    Ok(())
}

/// The SHA-256 hash of a file, in hexadecimal.
fn sha256(file: &Path) -> anyhow::Result<String> {
    let printed = said("sha256sum", &[&file.display().to_string()])?;
    let hash = printed.split_whitespace().next().context("sha256sum printed nothing")?;
    Ok(hash.to_owned())
}

pub(crate) fn tell(file: &Path) -> anyhow::Result<()> {
    let bytes = fs::metadata(file)?.len();
    println!("{} ({:.1} MiB)", file.display(), bytes as f64 / f64::from(1u32 << 20));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_the_paths_comes_last() {
        let home = std::env::var("HOME").unwrap_or_default();
        let flags = remapped(Path::new(&format!("{home}/src"))).unwrap();
        assert_eq!(flags.last().unwrap().1, "/cryptbench");
        assert!(flags.iter().all(|(from, _)| Path::new(from).is_absolute()), "{flags:?}");
    }
}
