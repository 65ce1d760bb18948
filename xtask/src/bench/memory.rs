//! `cargo xtask bench memory`: the largest resident size of our processes in a default run and in a mount.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_record::ArmRole;

use super::{build_release, guest, machine, version};
use crate::interrupted::Interrupted;

/// Promised limits for the largest process of a run, and for all processes of a mount, in KiB.
const PROMISED: (u64, u64) = (64 << 10, 96 << 10);

/// Number of bytes that are written through the mount and then read.
const BYTES: usize = 256 << 20;

#[derive(clap::Args)]
pub struct Options {
    /// Directory on the disk to measure
    #[arg(long, value_name = "DIR", default_value = "target")]
    target: PathBuf,
    /// Budget of the run
    #[arg(long, default_value = "120s")]
    budget: String,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// In a guest under a kernel of Debian's, which has ublk; QEMU emulates its CPU
    #[arg(long, conflicts_with = "target")]
    guest: bool,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => fs::canonicalize(binary)?,
        None => fs::canonicalize(build_release(&["--package", "cryptbench"])?.join("cryptbench"))?,
    };
    if options.guest {
        return in_guest(options, &binary);
    }
    fs::create_dir_all(&options.target)?;
    let place = tempfile::tempdir_in(&options.target)?;
    let interrupted = Interrupted::watch()?;
    println!("{}; {}\n", machine(), version(&binary.display().to_string()).unwrap_or_default());
    println!("| command | largest process, MiB | all at once, MiB |\n|---|--:|--:|");
    let run = watched(&binary, || {
        let mut run = Command::new(&binary);
        run.args(["run", "--quiet", "--budget", &options.budget, "--output"]);
        said(&interrupted, run.arg(place.path().join("run")).arg(place.path()))
    })?;
    interrupted.go_on()?;
    let record = cryptbench_record::read(&place.path().join("run/record.json"))?;
    let arms = record.plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted);
    let mut systems: Vec<_> = arms.map(|arm| arm.system.as_str()).collect();
    systems.dedup();
    row(&format!("run --budget {} of {}", options.budget, systems.join(", ")), &run);
    fs::write(place.path().join("passphrase"), "not a secret")?;
    let mut create = volume(&binary, place.path(), "create");
    said(&interrupted, create.args(["--size", "320MiB", "--mkfs", "ext4"]))?;
    let mount = watched(&binary, || mount(&binary, place.path(), &interrupted))?;
    row("volume mount, 256 MiB written and read", &mount);
    if run.largest > PROMISED.0 || mount.together > PROMISED.1 {
        bail!("promised are {} and {} KiB at most", PROMISED.0, PROMISED.1);
    }
    Ok(())
}

/// The same measurement in a guest, in which the run's own mount and `volume mount` use ublk devices.
fn in_guest(options: &Options, binary: &Path) -> anyhow::Result<()> {
    let work = guest::work()?;
    let boot = guest::Boot {
        qemu: None,
        needs: &[("/sbin/mkfs.ext4", "e2fsprogs")],
        programs: vec![("cryptbench", binary), ("mkfs.ext4", Path::new("/sbin/mkfs.ext4"))],
        work: work.path(),
        disks: Vec::new(),
        mib: 4 << 10,
        memory: 1536,
    };
    let budget = &options.budget;
    boot.run(&format!(
        "xtask bench memory --binary /bin/cryptbench --budget {budget} --target /mnt"
    ))
}

/// `cryptbench volume`, on a volume in `place`.
fn volume(binary: &Path, place: &Path, what: &str) -> Command {
    let mut command = Command::new(binary);
    command.args(["volume", what]).arg(place.join("volume"));
    // An emulated CPU derives keys slowly.
    command.args(["--pim", "1", "--passphrase-file"]).arg(place.join("passphrase"));
    command
}

/// Mounts the volume, writes a file to the volume and reads the file back.
fn mount(binary: &Path, place: &Path, interrupted: &Interrupted) -> anyhow::Result<()> {
    let point = place.join("mount");
    fs::create_dir(&point)?;
    said(interrupted, volume(binary, place, "mount").arg(&point))?;
    let used = use_file(&point.join("file"));
    // Not through `interrupted`: the volume is also unmounted after a signal.
    let out = Command::new(binary).args(["volume", "umount"]).arg(&point).output()?;
    used?;
    succeeded("volume umount", &out)
}

fn use_file(path: &Path) -> anyhow::Result<()> {
    let block = vec![1_u8; BYTES / 256];
    let mut file = fs::File::create(path)?;
    for _ in 0..256 {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    std::io::copy(&mut fs::File::open(path)?, &mut std::io::sink())?;
    Ok(())
}

fn said(interrupted: &Interrupted, command: &mut Command) -> anyhow::Result<()> {
    let out = interrupted.output(command.stdin(Stdio::null()))?;
    succeeded(&format!("{command:?}"), &out)
}

fn succeeded(what: &str, out: &Output) -> anyhow::Result<()> {
    if !out.status.success() {
        bail!("{what}: {}", String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}

/// Peaks in KiB.
#[derive(Clone, Copy, Default)]
struct Peaks {
    /// The largest peak of one process.
    largest: u64,
    /// The sum over the processes that existed at one time.
    together: u64,
}

/// The memory of `binary`'s processes while `work` runs.
fn watched(binary: &Path, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Peaks> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peaks = Peaks::default();
            while !done.load(Ordering::Relaxed) {
                let now = sizes(binary);
                peaks.largest = peaks.largest.max(now.iter().copied().max().unwrap_or_default());
                peaks.together = peaks.together.max(now.iter().sum());
                thread::sleep(Duration::from_millis(20));
            }
            peaks
        });
        let worked = work();
        done.store(true, Ordering::Relaxed);
        let peaks = watcher.join().ok().context("the watcher failed")?;
        worked.map(|()| peaks)
    })
}

/// The peak size of each existing process, `VmHWM` of proc_pid_status(5).
fn sizes(binary: &Path) -> Vec<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = processes
        .filter(|entry| fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == binary));
    ours.filter_map(|entry| largest(&fs::read_to_string(entry.path().join("status")).ok()?))
        .collect()
}

fn largest(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn row(command: &str, peaks: &Peaks) {
    let [largest, together] = [peaks.largest, peaks.together].map(|kib| kib as f64 / 1024.0);
    println!("| {command} | {largest:.1} | {together:.1} |");
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_peak_is_read() {
        let status = "Name:\tcryptbench\nVmPeak:\t  900 kB\nVmHWM:\t   49152 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(super::largest(status), Some(49_152));
        assert_eq!(super::largest("Name:\tkthreadd\n"), None);
    }
}
