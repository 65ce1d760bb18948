//! `cargo xtask bench arm`: instructions and estimated cycles per byte on 64-bit ARM, for our ciphers and those
//! of other libraries.
//!
//! QEMU logs the executed instructions. The last of three passes over a buffer, which is between two calls of
//! `sched_yield`, is counted. LLVM's model of a CPU then processes its instructions in the order in which they
//! ran. The model includes ports and latencies, and assumes that all branches are predicted and all memory is
//! cached.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::arm;
use crate::audit::{Step, fetched, said};
use crate::cross::{System, cargo};
use crate::packages::{self, Need};

#[derive(clap::Args)]
pub struct Options {
    /// Only ciphers whose name contains this
    #[arg(long, default_value = "")]
    cipher: String,
    /// Size of the buffer in bytes: whole data units
    #[arg(long, default_value_t = 16384)]
    bytes: usize,
}

const MCA: &str = "/usr/bin/llvm-mca-22";
const DISASSEMBLER: &str = "/usr/bin/llvm-mc-22";

const NEEDS: &[Need] = &[
    Need {
        file: "/usr/lib/aarch64-linux-gnu/libcrypto.so.3",
        package: "libssl3:arm64",
        reason: "OpenSSL as a peer",
    },
    Need {
        file: "/usr/lib/aarch64-linux-gnu/libgcrypt.so.20",
        package: "libgcrypt20:arm64",
        reason: "libgcrypt as a peer",
    },
    Need { file: MCA, package: "llvm-22", reason: "models of processors" },
];

/// CPUs by LLVM's names, each with a separate model. Cortex-A72 to A78 use the model of Cortex-A57.
const MODELS: [&str; 2] = ["neoverse-n1", "cortex-a57"];

const CIPHERS: [&str; 5] =
    ["aes-256-xts", "serpent-256-xts", "twofish-256-xts", "camellia-256-xts", "kuznyechik-xts"];

const CODES: [&str; 3] = ["ours", "OpenSSL", "libgcrypt"];

pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(why) = arm::missing()? {
        bail!("nothing can be built for 64-bit ARM here: {why}");
    }
    let missing = packages::ensure(NEEDS);
    if !missing.is_empty() {
        bail!("{}", missing.join("; "));
    }
    let program = build()?;
    println!(
        "{}; under QEMU as neoverse-n1; passes over {} bytes\n",
        super::machine(),
        options.bytes
    );
    print!("| cipher | unit | code | instructions/byte |");
    MODELS.iter().for_each(|model| print!(" {model}, cycles/byte |"));
    println!("\n|---|---|---|---|{}", "---|".repeat(MODELS.len()));
    for cipher in CIPHERS.iter().filter(|name| name.contains(&options.cipher)) {
        for unit in [512, 4096] {
            for who in CODES {
                let Some(pass) = trace(&program, cipher, unit, who, options.bytes)? else {
                    continue;
                };
                let per_byte = |count: f64| count / options.bytes as f64;
                let count = pass.instructions.len() as f64;
                print!("| {cipher} | {unit} | {who} ({}) | {:.2} |", pass.code, per_byte(count));
                for model in MODELS {
                    print!(" {:.2} |", per_byte(cycles(&pass.instructions, model)?));
                }
                println!();
            }
        }
    }
    Ok(())
}

/// Builds the traced programs with the release profile. They load libraries, so they are not static.
fn build() -> anyhow::Result<PathBuf> {
    let manifest = "--manifest-path=bench-peers/Cargo.toml";
    let sources = said(cargo("fetch", System::Aarch64).args([manifest, "--quiet"]))?;
    if let Step::Skip(why) = fetched(&sources)? {
        bail!("the dependencies cannot be fetched: {why}");
    }
    let mut command = arm::build("build", arm::QEMU);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "");
    command.args([manifest, "--release", "--quiet", "--no-default-features"]);
    command.args(["--bin", "cryptbench-peers"]);
    if !command.status().context("cannot start Debian's cargo")?.success() {
        bail!("what is traced does not build");
    }
    let target = Path::new("target/cross").join(System::Aarch64.triple());
    Ok(target.join("release/cryptbench-peers"))
}

/// The instructions executed in the last pass.
struct Pass {
    /// The kernel, or the library's version.
    code: String,
    /// The instruction words, in the order of execution.
    instructions: Vec<u32>,
}

/// Runs our code or a library under QEMU; `None` if it does not have the cipher.
fn trace(
    program: &Path,
    cipher: &str,
    unit: usize,
    who: &str,
    bytes: usize,
) -> anyhow::Result<Option<Pass>> {
    let mut child = Command::new(arm::QEMU)
        .args(["-cpu", "neoverse-n1", "-strace", "-d", "in_asm,exec,nochain"])
        .arg(program)
        .args(["--traced", who, "--cipher", cipher])
        .args(["--unit", &unit.to_string(), "--bytes", &bytes.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context(arm::QEMU)?;
    let log = BufReader::new(child.stderr.take().context("no log")?);
    let mut trace = Trace::default();
    for line in log.split(b'\n') {
        trace.take(&String::from_utf8_lossy(&line?));
    }
    let done = child.wait_with_output()?;
    if !done.status.success() {
        return Ok(None);
    }
    let code = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    // The instructions between the last two calls.
    let [.., instructions, _] = &trace.parts[..] else { bail!("{who}: too few passes") };
    Ok(Some(Pass { code, instructions: instructions.clone() }))
}

/// QEMU's log, read line by line.
#[derive(Default)]
struct Trace {
    /// Instructions of each translated block by its address.
    blocks: HashMap<u64, Vec<u32>>,
    /// The block that is being listed.
    listed: Option<u64>,
    /// The instructions executed before the first call of `sched_yield`, and after each call.
    parts: Vec<Vec<u32>>,
}

impl Trace {
    fn take(&mut self, line: &str) {
        if self.parts.is_empty() {
            self.parts.push(Vec::new());
        }
        if line.starts_with("IN:") {
            self.listed = None;
        } else if let Some(rest) = line.strip_prefix("0x") {
            let Some((address, rest)) = rest.split_once(':') else { return };
            let address = u64::from_str_radix(address, 16);
            let word = u32::from_str_radix(rest.split_whitespace().next().unwrap_or(""), 16);
            let (Ok(address), Ok(word)) = (address, word) else { return };
            let block = *self.listed.get_or_insert_with(|| {
                self.blocks.insert(address, Vec::new());
                address
            });
            self.blocks.entry(block).or_default().push(word);
        } else if line.starts_with("Trace ") {
            let address =
                line.split('/').nth(1).and_then(|part| u64::from_str_radix(part, 16).ok());
            let block = address.and_then(|address| self.blocks.get(&address));
            if let (Some(block), Some(part)) = (block, self.parts.last_mut()) {
                part.extend(block);
            }
        } else if line.contains(" sched_yield(") {
            self.parts.push(Vec::new());
        }
    }
}

/// Cycles of the instructions in LLVM's CPU model.
fn cycles(instructions: &[u32], model: &str) -> anyhow::Result<f64> {
    let words: String = instructions
        .iter()
        .map(|word| {
            let [a, b, c, d] = word.to_le_bytes();
            format!("{a:#04x} {b:#04x} {c:#04x} {d:#04x}\n")
        })
        .collect();
    let target = ["-triple=aarch64-linux-gnu", "-mattr=+aes,+sha2,+lse,+rcpc"];
    let text = filter(DISASSEMBLER, &["--disassemble", target[0], target[1]], words.as_bytes())?;
    let model = format!("-mcpu={model}");
    let arguments = [
        "-mtriple=aarch64-linux-gnu",
        target[1],
        &model,
        "-iterations=1",
        "-instruction-info=false",
    ];
    let said = filter(MCA, &[&arguments[..], &["-resource-pressure=false"]].concat(), &text)?;
    let said = String::from_utf8_lossy(&said);
    let fields: BTreeMap<_, _> = said.lines().filter_map(|line| line.split_once(':')).collect();
    let total = fields.get("Total Cycles").with_context(|| format!("{MCA} says {said}"))?;
    Ok(total.trim().parse()?)
}

/// The output of a program for its input.
fn filter(program: &str, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| program.to_owned())?;
    let mut stdin = child.stdin.take().context("no input")?;
    let done = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output()
    })?;
    if !done.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(done.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_between_two_calls_is_found() {
        let mut trace = Trace::default();
        for line in [
            "----------------",
            "IN: start",
            "0x00000010:  d503201f  nop      ",
            "0x00000014:  d65f03c0  ret      ",
            "",
            "Trace 0: 0x7f00 [0000000000001001/0000000000000010/00000001/00000200] start",
            // QEMU prints six registers for a system call whose arguments it does not know.
            "12 sched_yield(1,90,-32,3,4,5) = 0",
            "Trace 0: 0x7f00 [0000000000001001/0000000000000010/00000001/00000200] start",
            "Trace 0: 0x7f00 [0000000000001001/0000000000000010/00000001/00000200] start",
            "12 sched_yield(0,90,-32,3,4,5) = 0",
        ] {
            trace.take(line);
        }
        let counts: Vec<_> = trace.parts.iter().map(Vec::len).collect();
        assert_eq!(counts, [2, 4, 0]);
        assert_eq!(trace.parts[1][1], 0xd65f_03c0);
    }
}
