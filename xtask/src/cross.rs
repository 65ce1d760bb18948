//! `cargo xtask cross check`: type-checks the program for Windows and for a static build with musl, and
//! everything for 64-bit ARM. `cargo xtask cross aarch64` runs the tests of the crates with ARM kernels under
//! QEMU, `cargo xtask cross windows` the program and the portable crates' tests under Wine
//! (`cross/windows.rs`).
//!
//! The project's toolchain contains the standard library only for this machine; the others come from a server
//! outside Debian. Debian's own compiler `rustc-web`, which is as new as browsers require, is used instead. Its
//! package for ARM contains the compiled standard library; for Windows it is built from `rust-web-src`.

pub mod windows;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use crate::arm;
use crate::audit::{Step, fetched, said};
use crate::packages::{Need, ensure};

/// Another system to build for
#[derive(clap::Subcommand)]
pub enum Cross {
    /// Type-check for another system; missing tools are reported as skipped
    Check {
        /// The system; without it each in turn
        system: Option<System>,
    },
    /// Run the tests of ciphers, key derivation and volumes for 64-bit ARM under QEMU
    Aarch64 {
        /// Only tests whose names contain this
        filter: Option<String>,
    },
    /// Build the program for Windows; run it and the portable crates' tests under Wine
    Windows {
        /// Only tests whose names contain this
        filter: Option<String>,
    },
}

/// An operating system and a CPU that the program may support one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum System {
    /// Windows on x86-64
    Windows,
    /// Linux on 64-bit ARM
    Aarch64,
    /// Linux on x86-64 with musl instead of glibc, for a program that needs no library
    Musl,
}

/// The portable crates, in which `os` and `blockdev` provide everything that is system-specific.
pub const PORTABLE: &[&str] = &[
    "blockdev",
    "answer",
    "catalog",
    "cipher",
    "cpu",
    "devices",
    "estimate",
    "fleet",
    "foreign",
    "history",
    "kdf",
    "load",
    "microbench",
    "os",
    "record",
    "serve",
    "stats",
    "studies",
    "text",
    "view",
    "volume",
];

/// Options for static programs.
pub const STATIC: &str = "-Ctarget-feature=+crt-static";

/// The standard library, built for Windows or musl from its source.
pub const STD: &str = "-Zbuild-std=std,panic_abort";

/// Debian's compiler. A file with the same name elsewhere on the path is another compiler.
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";

const COMPILER: &str = "Debian's compiler, which has other systems' standard libraries";

const FOR_ALL: [Need; 2] = [
    Need { file: "/usr/share/doc/rustc-web/copyright", package: "rustc-web", reason: COMPILER },
    Need { file: "/usr/share/doc/cargo-web/copyright", package: "cargo-web", reason: COMPILER },
];

const SOURCE: Need = Need {
    file: "/usr/share/doc/rust-web-src/copyright",
    package: "rust-web-src",
    reason: "the standard library's source, built for Windows and for musl",
};

const FOR_MUSL: [Need; 2] = [
    SOURCE,
    Need { file: "/usr/bin/musl-gcc", package: "musl-tools", reason: "SQLite's C with musl" },
];

const FOR_WINDOWS: [Need; 2] = [
    SOURCE,
    Need {
        file: "/usr/bin/x86_64-w64-mingw32-gcc",
        package: "gcc-mingw-w64-x86-64-win32",
        reason: "SQLite's C for Windows",
    },
];

const FOR_AARCH64: [Need; 3] = [
    Need {
        file: "/usr/lib/rustlib/aarch64-unknown-linux-gnu",
        package: "libstd-rust-web-dev:arm64",
        reason: "the standard library for ARM",
    },
    Need {
        file: "/usr/bin/aarch64-linux-gnu-gcc",
        package: "gcc-aarch64-linux-gnu",
        reason: "SQLite's C for ARM",
    },
    Need {
        file: "/usr/aarch64-linux-gnu/include/stdio.h",
        package: "libc6-dev-arm64-cross",
        reason: "SQLite's C for ARM",
    },
];

impl System {
    pub const fn triple(self) -> &'static str {
        match self {
            Self::Windows => "x86_64-pc-windows-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::Musl => "x86_64-unknown-linux-musl",
        }
    }

    fn needs(self) -> Vec<Need> {
        match self {
            Self::Windows => FOR_ALL.into_iter().chain(FOR_WINDOWS).collect(),
            Self::Aarch64 => FOR_ALL.into_iter().chain(FOR_AARCH64).collect(),
            Self::Musl => FOR_ALL.into_iter().chain(FOR_MUSL).collect(),
        }
    }

    /// The crates to check, and the source of their standard library.
    fn arguments(self) -> Vec<String> {
        match self {
            // The program with all crates from which it is built.
            Self::Windows | Self::Musl => {
                vec![STD.to_owned(), "--package=cryptbench".to_owned()]
            }
            Self::Aarch64 => vec!["--workspace".to_owned()],
        }
    }
}

pub fn run(command: &Cross) -> anyhow::Result<()> {
    match command {
        Cross::Check { system: Some(system) } => tell(check(*system)?),
        Cross::Check { system: None } => check_all()?.into_iter().map(Some).for_each(tell),
        Cross::Aarch64 { filter } => {
            arm::emulate(filter.as_deref())?.into_iter().map(Some).for_each(tell);
        }
        Cross::Windows { filter } => tell(windows::run(filter.as_deref())?),
    }
    Ok(())
}

/// Prints a reason for a skip in the form that tests use.
fn tell(skipped: Option<String>) {
    if let Some(why) = skipped {
        println!("SKIPPED: {why}");
    }
}

/// Checks for each system in turn, and returns why some could not be checked.
///
/// # Errors
/// If the code does not build for one of them.
pub fn check_all() -> anyhow::Result<Vec<String>> {
    let skipped = System::value_variants().iter().map(|system| check(*system));
    skipped.filter_map(Result::transpose).collect()
}

/// Checks for one system, or returns why it cannot.
fn check(system: System) -> anyhow::Result<Option<String>> {
    let began = Instant::now();
    let triple = system.triple();
    if let Step::Skip(why) = prepared(system)? {
        return Ok(Some(format!("{triple}: {why}")));
    }
    let mut command = cargo("check", system);
    // Warnings are errors here, as with clippy, which does not check code for other systems.
    command.args(["-Zwarnings", "--config", "build.warnings='deny'", "--offline"]);
    let status = command.args(system.arguments()).status();
    if !status.context("cannot start Debian's cargo")?.success() {
        bail!("does not build for {triple}");
    }
    println!("{triple}: checked in {:.0} s", began.elapsed().as_secs_f64());
    Ok(None)
}

/// Installs and fetches what a check needs.
pub fn prepared(system: System) -> anyhow::Result<Step> {
    let missing = ensure(&system.needs());
    if !missing.is_empty() {
        return Ok(Step::Skip(missing.join("; ")));
    }
    let version = said(Command::new(RUSTC).arg("--version"))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let least = env!("CARGO_PKG_RUST_VERSION");
    if number(version.trim_start_matches("rustc ")) < number(least) {
        return Ok(Step::Skip(format!("Debian's {version} is older than {least}")));
    }
    let mut fetch = cargo("fetch", system);
    if system != System::Aarch64 {
        let library = Path::new("/usr/lib/rustlib/src/rust/library/std");
        if !library.is_dir() {
            return Ok(Step::Skip(format!("{version} has no source at {}", library.display())));
        }
        fetch.arg(STD);
    }
    fetched(&said(fetch.arg("--quiet"))?)
}

/// Debian's cargo with a separate target directory, because its compiler would otherwise rebuild everything
/// there.
pub fn cargo(what: &str, system: System) -> Command {
    let mut command = Command::new(CARGO);
    command.args([what, "--locked", "--target", system.triple()]);
    command.env("RUSTC", RUSTC).env("CARGO_TARGET_DIR", "target/cross");
    // Only build scripts and compiler plug-ins run.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_INCREMENTAL", "0");
    // The -Z options are not yet stable.
    command.env("RUSTC_BOOTSTRAP", "1");
    for name in ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// The first two numbers of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(number("1.96.0 (ac68faa20 2026-05-25)"), Some((1, 96)));
        assert!(number("1.100.0") > number("1.89"));
        assert!(number("1.89.0") >= number("1.89"));
        // An unreadable version counts as older than any other.
        assert!(number("nightly") < number("1.0"));
    }

    #[test]
    fn portable_crates_are_crates_of_ours() {
        for name in PORTABLE {
            let manifest = format!("{}/../crates/{name}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
            assert!(Path::new(&manifest).is_file(), "{name}");
        }
    }
}
