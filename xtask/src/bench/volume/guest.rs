//! The same benchmark in a guest: this program, fio and the servers run under Debian's kernel in QEMU.

use std::path::Path;

use super::Options;
use crate::bench::guest::{Boot, work};

pub fn run(options: &Options, serve: &Path) -> anyhow::Result<()> {
    let work = work()?;
    let mut programs = vec![
        ("serve", serve),
        ("fio", Path::new("/usr/bin/fio")),
        ("losetup", Path::new("/sbin/losetup")),
    ];
    let mut disks = Vec::new();
    match &options.against {
        _ if options.is_against_dm_crypt() => {
            programs.push(("dmsetup", Path::new("/sbin/dmsetup")));
            programs.push(("blockdev", Path::new("/sbin/blockdev")));
            disks.push(work.path().join("raw"));
            super::fill(&disks[0], options.size)?;
        }
        Some(against) => programs.push(("against", against)),
        None => {}
    }
    let boot = Boot {
        qemu: options.qemu.as_deref(),
        needs: &[("/sbin/dmsetup", "dmsetup")],
        programs,
        work: work.path(),
        disks,
        // The data file, and space for the file system.
        mib: options.size + 128,
        memory: 1536,
    };
    boot.run(&command(options))
}

/// The command that the guest's shell runs.
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
