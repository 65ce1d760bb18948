//! The same benchmark in a guest: this program, fio and the servers under Debian's kernel in QEMU.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_prove::Guest;

use super::{Options, machine, version};
use crate::guest_kernel;
use crate::packages::{self, Need};

const LIMIT: Duration = Duration::from_secs(3600);

pub fn run(options: &Options, serve: &Path) -> anyhow::Result<()> {
    if !cfg!(target_arch = "x86_64") {
        bail!("the guest's kernel is for x86 only");
    }
    let needs = Guest::NEEDS.into_iter().chain([("/sbin/dmsetup", "dmsetup")]);
    let needs: Vec<_> =
        needs.map(|(file, package)| Need { file, package, reason: "the guest" }).collect();
    if let Some(missing) = packages::ensure(&needs).first() {
        bail!("{missing}");
    }
    let kernel = guest_kernel::ensure()?;
    let qemu = options.qemu.as_deref().unwrap_or(Path::new(Guest::QEMU));
    let name = version(&qemu.to_string_lossy()).context("QEMU does not start")?;
    println!("{name}, which emulates the CPU, on {}", machine());
    std::fs::create_dir_all("target")?;
    let work = tempfile::tempdir_in("target")?;
    let work = std::path::absolute(work.path())?;
    // The file of data, and room for the file system.
    let disk = work.join("disk");
    File::create(&disk)?.set_len((options.size + 128) << 20)?;
    let made = Command::new("/sbin/mkfs.ext4").args(["-q", "-F"]).arg(&disk).status()?;
    if !made.success() {
        bail!("mkfs.ext4 failed");
    }
    let this = std::env::current_exe()?;
    let mut programs = vec![
        ("xtask", this.as_path()),
        ("serve", serve),
        ("fio", Path::new("/usr/bin/fio")),
        ("losetup", Path::new("/sbin/losetup")),
    ];
    let mut disks = vec![disk];
    match &options.against {
        _ if options.is_against_dm_crypt() => {
            programs.push(("dmsetup", Path::new("/sbin/dmsetup")));
            programs.push(("blockdev", Path::new("/sbin/blockdev")));
            disks.push(work.join("raw"));
            super::fill(&disks[1], options.size)?;
        }
        Some(against) => programs.push(("against", against)),
        None => {}
    }
    let disks: Vec<_> =
        disks.iter().map(|path| format!("file={},cache=none,aio=native", path.display())).collect();
    let guest = Guest {
        qemu,
        kernel: &kernel,
        work: &work,
        programs: &programs,
        disks: &disks,
        memory: 1536,
    };
    // This program works in the project's directory.
    let here = std::env::current_dir()?;
    let script = format!(
        "mkdir -p '{}'\nmount -t ext4 /dev/vda /mnt\n{}\n",
        here.display(),
        command(options)
    );
    // Kernel messages begin with the time.
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

/// The command of the guest, for its shell.
fn command(options: &Options) -> String {
    let Options { rounds, seconds, size, rest, transport, .. } = options;
    let against = match &options.against {
        _ if options.is_against_dm_crypt() => "--against dm-crypt --disk /dev/vdb",
        Some(_) => "--against /bin/against",
        None => "",
    };
    format!(
        "xtask bench volume --rounds {rounds} --seconds {seconds} --size {size} --rest {rest} \
         --transport {transport} --rows '{}' --jobs '{}' --serve /bin/serve {against} --target /mnt",
        options.rows.join(","),
        options.jobs.join(","),
    )
}
