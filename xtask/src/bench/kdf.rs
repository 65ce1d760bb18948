//! `cargo xtask bench kdf`: compares our key derivation with that of other libraries, interleaved.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::{build_release, machine};
use crate::packages::{self, Need};

#[derive(clap::Args)]
pub struct Options {
    /// Rounds; each visits every arm once
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only functions whose name contains this
    #[arg(long, default_value = "")]
    prf: String,
    /// Highest tier of our kernels: soft, aesni, avx2 or avx512; lower ones are shown as well
    #[arg(long, default_value = "avx512")]
    tier: String,
    /// VeraCrypt's `src`, built by `make NOGUI=1`, as a peer
    #[arg(long, value_name = "DIR")]
    veracrypt: Option<PathBuf>,
    /// Everything measured, as JSON
    #[arg(long)]
    json: bool,
}

/// Libraries found at run time; the Rust ones are linked.
const LIBRARIES: &[Need] = &[
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        package: "libssl3",
        reason: "OpenSSL's PBKDF2 as a peer",
    },
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libgcrypt.so.20",
        package: "libgcrypt20",
        reason: "libgcrypt's PBKDF2 and Argon2 as a peer",
    },
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libbotan-2.so.19",
        package: "libbotan-2-19",
        reason: "Botan's PBKDF2 and Argon2 as a peer",
    },
    Need {
        file: "/usr/lib/x86_64-linux-gnu/libargon2.so.1",
        package: "libargon2-1",
        reason: "the reference Argon2, which cryptsetup uses, as a peer",
    },
];

pub fn run(options: &Options) -> anyhow::Result<()> {
    packages::ensure_or_tell(LIBRARIES);
    let mut directory = build_release(&[
        "--manifest-path",
        "bench-peers/Cargo.toml",
        "--no-default-features",
        "--bin",
        "cryptbench-kdf-peers",
    ])?;
    // Not a member of the workspace, so it has its own target directory unless CARGO_TARGET_DIR is
    // set.
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        directory = std::path::absolute("bench-peers/target/release")?;
    }
    let mut command = Command::new(directory.join("cryptbench-kdf-peers"));
    command
        .args(["--rounds", &options.rounds.to_string()])
        .args(["--prf", &options.prf, "--tier", &options.tier])
        .args(["--machine", &machine()]);
    if let Some(source) = &options.veracrypt {
        let library = directory.join("veracrypt.so");
        link(source, &library)?;
        command.arg("--veracrypt").arg(library);
    }
    if options.json {
        command.arg("--json");
    }
    let status = command.status()?;
    if !status.success() {
        bail!("the comparison failed: {status}");
    }
    Ok(())
}

/// Links the objects of VeraCrypt's key derivation into a library.
fn link(source: &Path, library: &Path) -> anyhow::Result<()> {
    let folder = source.join("Crypto");
    let mut objects = vec![source.join("Common/Pkcs5.o")];
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let part = ["sha", "blake2s", "whirlpool", "streebog", "cpu."];
        // Object files for one instruction set have its name after the `o`.
        let is_object = name.rsplit('.').next().is_some_and(|ending| ending.starts_with('o'));
        if is_object && part.iter().any(|part| name.starts_with(part)) {
            objects.push(path);
        }
    }
    // The objects were not compiled for a library, so their symbols are bound to one another.
    let status = Command::new("gcc")
        .args(["-shared", "-Wl,-Bsymbolic", "-o"])
        .arg(library)
        .args(&objects)
        .status()
        .context("cannot start gcc")?;
    if !status.success() {
        bail!("{} has not been built by `make NOGUI=1`", source.display());
    }
    Ok(())
}
