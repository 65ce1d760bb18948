//! Programs for 64-bit ARM, built by Debian's compiler and run under QEMU: `cargo xtask cross aarch64`.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::audit::Step;
use crate::cross::{STATIC, System, cargo, prepared};
use crate::packages::{Need, ensure};

/// The emulator of 64-bit ARM's processors, for programs that ask this machine's kernel.
pub const QEMU: &str = "/usr/bin/qemu-aarch64";

/// The crates with kernels for ARM, and the one whose volumes need them all.
const TESTED: [&str; 4] =
    ["cryptbench-cpu", "cryptbench-cipher", "cryptbench-kdf", "cryptbench-volume"];

/// Tests that start their own program once more, which this machine's kernel cannot do with another processor's.
const NOT_EMULATED: &str = "the_environment_masks_the_tier";

/// Processors with SHA-512 among their instructions and without it.
const PROCESSORS: [&str; 2] = ["max,sve=off,sme=off", "neoverse-n1"];

/// Runs the tests of ciphers, key derivation and volumes, or returns why it cannot.
///
/// # Errors
/// If the code does not build or a test fails.
pub fn emulate(filter: Option<&str>) -> anyhow::Result<Option<String>> {
    if let Some(why) = missing()? {
        return Ok(Some(why));
    }
    for processor in PROCESSORS {
        let began = Instant::now();
        let mut command = build("test", &format!("{QEMU} -cpu {processor}"));
        command.args(TESTED.map(|name| format!("--package={name}")));
        command.args(["--lib", "--tests", "--"]).args(filter).args(["--skip", NOT_EMULATED]);
        if !command.status().context("cannot start Debian's cargo")?.success() {
            bail!("tests fail on an emulated {processor}");
        }
        println!("{processor}: passed in {:.0} s", began.elapsed().as_secs_f64());
    }
    Ok(None)
}

/// Why nothing can be built and run here, if so; installs what it may.
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

/// A command of Debian's cargo whose programs need no library, and run in this way.
pub fn build(what: &str, runner: &str) -> Command {
    let mut command = cargo(what, System::Aarch64);
    command.arg("--offline");
    let setting = |name: &str| format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{name}");
    command.env(setting("LINKER"), "aarch64-linux-gnu-gcc");
    // QEMU 7.2 hangs where a dynamic program starts a thread.
    command.env(setting("RUSTFLAGS"), STATIC);
    command.env(setting("RUNNER"), runner);
    command
}
