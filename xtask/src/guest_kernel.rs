//! A Debian kernel for guests: fetched and unpacked below the target directory, and never installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::packages::mirror;

/// Modules that a guest needs in addition to those built in: for disks, for dm-crypt, and for what dm-crypt is
/// compared with.
const MODULES: &[&str] =
    &["virtio_blk", "ublk_drv", "loop", "dm-crypt", "ecb", "xts", "aesni-intel", "crypto_null"];

/// The package that depends on the newest kernel, and its origin. Debian 12's own kernel does not support ublk.
const PACKAGE: &str = "linux-image-cloud-amd64";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const SUITE: &str = "trixie main";

/// Ensures that `guest-kernel` in the target directory contains `vmlinuz` and `modules/`, and returns its path.
///
/// # Errors
/// The reason why that failed.
pub fn ensure() -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let place = std::path::absolute(Path::new(&target).join("guest-kernel"))?;
    let list = place.join("modules.list");
    let wanted = MODULES.join("\n");
    let is_there = place.join("vmlinuz").exists()
        && fs::read_to_string(&list).is_ok_and(|there| there == wanted);
    if !cfg!(target_arch = "x86_64") || is_there {
        return Ok(place);
    }
    let work = tempfile::tempdir()?;
    let package = fetch(work.path())?;
    let unpacked = work.path().join("unpacked");
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
    let modules = place.join("modules");
    let _ = fs::remove_dir_all(&modules);
    fs::create_dir_all(&modules)?;
    let mut done = Vec::new();
    for name in MODULES {
        unpack(name, &unpacked, &modules, &mut done)
            .with_context(|| format!("{name} of {}", package.display()))?;
    }
    // Written last, so an existing file means that everything is complete.
    let kernel = find(&unpacked.join("boot"), "vmlinuz").context("no kernel in its package")?;
    fs::copy(kernel, place.join("vmlinuz.part"))?;
    fs::rename(place.join("vmlinuz.part"), place.join("vmlinuz"))?;
    fs::write(list, wanted)?;
    Ok(place)
}

/// Unpacks a module, and before it the modules that it needs. Their names state the order in which they are
/// loaded. Modules that are not in the package are built in.
fn unpack(name: &str, package: &Path, to: &Path, done: &mut Vec<String>) -> anyhow::Result<()> {
    if done.iter().any(|known| known == name) {
        return Ok(());
    }
    done.push(name.to_owned());
    let alike = |name: &str| find(package, &format!("{name}.ko.xz"));
    let Some(packed) = alike(name).or_else(|| alike(&name.replace('_', "-"))) else {
        return Ok(());
    };
    let needs = run(Command::new("modinfo").args(["--field", "depends"]).arg(&packed))?;
    for needed in String::from_utf8_lossy(&needs).trim().split(',').filter(|n| !n.is_empty()) {
        unpack(needed, package, to, done)?;
    }
    let bytes = run(Command::new("xz").args(["--decompress", "--stdout"]).arg(packed))?;
    let number = fs::read_dir(to)?.count();
    fs::write(to.join(format!("{number:02}-{name}.ko")), bytes)?;
    Ok(())
}

/// Downloads the package with separate package lists, so that nothing on this system changes.
fn fetch(work: &Path) -> anyhow::Result<PathBuf> {
    for directory in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(work.join(directory))?;
    }
    let sources = work.join("sources.list");
    let archive = mirror("Debian")?;
    fs::write(&sources, format!("deb [arch=amd64 signed-by={KEYS}] {archive} {SUITE}\n"))?;
    let apt = |program: &str, arguments: &[&str]| {
        let option = |name: &str, path: &Path| format!("{name}={}", path.display());
        let mut command = Command::new(program);
        for option in [
            option("Dir::Etc::sourcelist", &sources),
            option("Dir::Etc::sourceparts", Path::new("/dev/null")),
            option("Dir::State::lists", &work.join("lists")),
            option("Dir::Cache", &work.join("cache")),
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        run(command.args(arguments).current_dir(work))
    };
    apt("apt-get", &["-qq", "update"])?;
    let depends = apt("apt-cache", &["depends", PACKAGE])?;
    let depends = String::from_utf8_lossy(&depends);
    let newest = depends.split_whitespace().find(|word| word.starts_with("linux-image-6."));
    let newest = newest.with_context(|| format!("{PACKAGE} names no kernel"))?;
    apt("apt-get", &["-qq", "download", newest])?;
    find(work, newest).with_context(|| format!("{newest} did not come"))
}

/// The first file below `place` with this prefix.
fn find(place: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(place).ok()?;
    entries.flatten().map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return find(&path, name);
        }
        path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(name)).then_some(path)
    })
}

fn run(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.output().with_context(|| format!("{program} cannot be started"))?;
    if !done.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(done.stdout)
}
