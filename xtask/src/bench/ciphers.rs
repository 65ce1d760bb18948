//! `cargo xtask bench ciphers`: compares our cipher kernels with those of other libraries, interleaved.

use std::process::Command;

use anyhow::bail;

use super::{build_release, machine};
use crate::packages::{self, Need};

#[derive(clap::Args)]
pub struct Options {
    /// Rounds; each visits every arm once
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only ciphers whose name contains this
    #[arg(long, default_value = "")]
    cipher: String,
    /// Highest tier of our kernels: soft, aesni, avx2 or avx512; lower tiers are shown as well
    #[arg(long, default_value = "avx512")]
    tier: String,
    /// Measure as on a CPU without AVX-512: our tier avx2, and the peers with their own settings to disable it
    #[arg(long, conflicts_with = "tier")]
    no_avx512: bool,
    /// Print all measurements as JSON
    #[arg(long)]
    json: bool,
    /// Print a row for each of our kernels as CSV: docs/benchmarks/ciphers.csv
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Leave out AWS-LC, which is built from source
    #[arg(long)]
    no_aws_lc: bool,
}

/// The settings that disable AVX-512 (F, DQ, IFMA, CD, BW, VL) in OpenSSL and AWS-LC, and in libgcrypt. Botan 2
/// does not use AVX-512 in the compared ciphers, and RustCrypto's AES uses 256 bits.
const MASKS: [(&str, &str); 2] =
    [("OPENSSL_ia32cap", ":~0xd0230000"), ("GCRYPT_DISABLE_HWF", "intel-avx512")];

/// Libraries found at run time; the Rust ones and AWS-LC are linked.
const LIBRARIES: &[Need] = &[
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        package: "libssl3",
        reason: "OpenSSL's AES-XTS as a peer",
    },
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libgcrypt.so.20",
        package: "libgcrypt20",
        reason: "libgcrypt's XTS as a peer",
    },
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libbotan-2.so.19",
        package: "libbotan-2-19",
        reason: "Botan's XTS as a peer",
    },
];

pub fn run(options: &Options) -> anyhow::Result<()> {
    packages::ensure_or_tell(LIBRARIES);
    let mut arguments = vec!["--manifest-path", "bench-peers/Cargo.toml"];
    if options.no_aws_lc {
        arguments.push("--no-default-features");
    }
    // Not a member of the workspace, so it has its own target directory unless CARGO_TARGET_DIR is
    // set.
    let mut directory = build_release(&arguments)?;
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        directory = std::path::absolute("bench-peers/target/release")?;
    }
    let mut command = Command::new(directory.join("cryptbench-peers"));
    let tier = if options.no_avx512 { "avx2" } else { &options.tier };
    if options.no_avx512 {
        command.envs(MASKS);
    }
    command
        .args(["--rounds", &options.rounds.to_string()])
        .args(["--cipher", &options.cipher, "--tier", tier])
        .args(["--machine", &machine()]);
    if options.json {
        command.arg("--json");
    }
    if options.csv {
        command.arg("--csv");
    }
    let status = command.status()?;
    if !status.success() {
        bail!("the comparison failed: {status}");
    }
    Ok(())
}
