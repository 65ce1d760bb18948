//! Programs for 64-bit ARM, built by Debian's compiler and run under QEMU: `cargo xtask cross aarch64`.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::audit::Step;
use crate::cross::{STATIC, System, cargo, prepared};
use crate::packages::{Need, ensure};

/// The emulator for 64-bit ARM CPUs, for programs that use this machine's kernel.
pub const QEMU: &str = "/usr/bin/qemu-aarch64";

/// The crates with kernels for ARM, and the crate whose volumes need all of these kernels. They are built once
/// for all runs.
const TESTED: [&str; 4] =
    ["cryptbench-cpu", "cryptbench-cipher", "cryptbench-kdf", "cryptbench-volume"];

/// CPUs with and without SHA-512 instructions, and the tests to omit on each. Volumes created by other programs
/// need all kernels and take the longest, so they are opened only once.
const PROCESSORS: [(&str, &[&str]); 2] =
    [("max,sve=off,sme=off", &["images::"]), ("neoverse-n1", &[])];

/// Tests that cannot run on an emulated CPU. One starts its own program again, which this machine's kernel
/// cannot do for another CPU. One tries every derivation of two products, which other tests cover.
const NOT_EMULATED: [&str; 2] =
    ["the_environment_masks_the_tier", "an_unknown_product_and_derivation"];

/// Runs the tests of ciphers, key derivation and volumes; returns the skipped ones and the reasons.
///
/// # Errors
/// If the code does not build or a test fails.
pub fn emulate(filter: Option<&str>) -> anyhow::Result<Vec<String>> {
    if let Some(why) = missing()? {
        return Ok(vec![why]);
    }
    let mut skipped = BTreeSet::new();
    for (processor, left_out) in PROCESSORS {
        let began = Instant::now();
        let mut command = build("test", &format!("{QEMU} -cpu {processor}"));
        command.args(TESTED.map(|name| format!("--package={name}")));
        command.args(["--lib", "--tests", "--"]).args(filter);
        // The output of a passing test would be lost.
        command.arg("--nocapture").stderr(Stdio::piped());
        command.args(NOT_EMULATED.iter().chain(left_out).flat_map(|name| ["--skip", name]));
        let mut child = command.spawn().context("cannot start Debian's cargo")?;
        let said = BufReader::new(child.stderr.take().context("cargo says nothing")?);
        for line in said.split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            eprintln!("{line}");
            if let Some((_, why)) = line.split_once("SKIPPED: ") {
                skipped.insert(format!("{} ({processor}): {why}", System::Aarch64.triple()));
            }
        }
        if !child.wait()?.success() {
            bail!("tests fail on an emulated {processor}");
        }
        println!("{processor}: passed in {:.0} s", began.elapsed().as_secs_f64());
    }
    Ok(skipped.into_iter().collect())
}

/// Why programs for ARM cannot be built or run here, if so. Installs missing packages if it may.
pub fn missing() -> anyhow::Result<Option<String>> {
    let why = "runs programs for ARM";
    let mut missing = ensure(&[Need { file: QEMU, package: "qemu-user", reason: why }]);
    if missing.is_empty() {
        match prepared(System::Aarch64)? {
            Step::Go => return Ok(None),
            Step::Skip(why) => missing.push(why),
        }
    }
    Ok(Some(format!("{}: {}", System::Aarch64.triple(), missing.join("; "))))
}

/// A command for Debian's cargo that produces static programs and runs them with `runner`.
pub fn build(what: &str, runner: &str) -> Command {
    let mut command = cargo(what, System::Aarch64);
    command.arg("--offline");
    let setting = |name: &str| format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{name}");
    command.env(setting("LINKER"), "aarch64-linux-gnu-gcc");
    // QEMU 7.2 hangs when a dynamically linked program starts a thread.
    command.env(setting("RUSTFLAGS"), STATIC);
    command.env(setting("RUNNER"), runner);
    command
}
