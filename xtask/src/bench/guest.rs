//! A benchmark in a guest: this program and the measured programs under Debian's kernel in QEMU.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_prove::Guest;

use super::{machine, version};
use crate::guest_kernel;
use crate::packages::{self, Need};

const LIMIT: Duration = Duration::from_secs(3600);

/// The settings for the guest.
pub struct Boot<'a> {
    /// The emulator, if not Debian's.
    pub qemu: Option<&'a Path>,
    /// Programs of the host that the guest needs, and their packages.
    pub needs: &'a [(&'static str, &'static str)],
    /// Programs in its `/bin`, in addition to this one as `xtask`.
    pub programs: Vec<(&'a str, &'a Path)>,
    /// Directory for its disks.
    pub work: &'a Path,
    /// Disks in addition to the one with a file system, which is `/dev/vda`.
    pub disks: Vec<PathBuf>,
    /// Size of the file system at `/mnt`, MiB.
    pub mib: u64,
    /// Its memory, MiB.
    pub memory: u32,
}

impl Boot<'_> {
    /// Runs a command in the guest and prints its output.
    pub fn run(self, command: &str) -> anyhow::Result<()> {
        if !cfg!(target_arch = "x86_64") {
            bail!("the guest's kernel is for x86 only");
        }
        let needs = Guest::NEEDS.iter().chain(self.needs);
        let needs: Vec<_> =
            needs.map(|&(file, package)| Need { file, package, reason: "the guest" }).collect();
        if let Some(missing) = packages::ensure(&needs).first() {
            bail!("{missing}");
        }
        let kernel = guest_kernel::ensure()?;
        let qemu = self.qemu.unwrap_or(Path::new(Guest::QEMU));
        let name = version(&qemu.to_string_lossy()).context("QEMU does not start")?;
        println!("{name}, which emulates the CPU, on {}", machine());
        let disk = self.work.join("disk");
        File::create(&disk)?.set_len(self.mib << 20)?;
        let made = Command::new("/sbin/mkfs.ext4").args(["-q", "-F"]).arg(&disk).status()?;
        if !made.success() {
            bail!("mkfs.ext4 failed");
        }
        let disks: Vec<_> = [&disk]
            .into_iter()
            .chain(&self.disks)
            .map(|path| format!("file={},cache=none,aio=native", path.display()))
            .collect();
        let this = std::env::current_exe()?;
        let mut programs = self.programs;
        programs.push(("xtask", this.as_path()));
        let guest = Guest {
            qemu,
            kernel: &kernel,
            work: self.work,
            programs: &programs,
            disks: &disks,
            memory: self.memory,
        };
        // This program works in the project's directory.
        let here = std::env::current_dir()?;
        let script =
            format!("mkdir -p '{}'\nmount -t ext4 /dev/vda /mnt\n{command}\n", here.display());
        // The kernel's messages start with a time.
        let mut say = |line: &str| {
            if !line.starts_with("[ ") {
                println!("{line}");
            }
        };
        if !guest.run(&script, LIMIT, &mut say)? {
            bail!("the benchmark in the guest failed");
        }
        Ok(())
    }
}

/// A directory for the guest's files below the target directory.
pub fn work() -> anyhow::Result<tempfile::TempDir> {
    std::fs::create_dir_all("target")?;
    Ok(tempfile::tempdir_in(std::path::absolute("target")?)?)
}
