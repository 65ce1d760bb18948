//! One boot of a machine: QEMU's command line, the job that the machine finds on a disk, and its reports.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use super::image::Image;
use super::rows::{Processor, Row};
use crate::tools::said;

/// The result of a boot.
pub struct Booted {
    /// The machine's reports until it powered off or reached its limit.
    pub told: String,
    /// The host's maximum load during that time.
    pub load: f64,
}

/// Boots the machine and lets it run its steps with this program. Its console is in `work`.
///
/// # Errors
/// If QEMU cannot be started, or a file cannot be read or written.
pub fn run(
    row: &Row,
    image: &Image,
    program: &Path,
    work: &Path,
    limit: Duration,
) -> anyhow::Result<Booted> {
    let root = work.join("root");
    let of = image.0.join("root").display().to_string();
    let copy = ["create", "-q", "-f", "qcow2", "-F", "raw", "-b", &of];
    said("qemu-img", &[&copy[..], &[&root.display().to_string()]].concat())?;
    let job = job(row, program, work)?;
    let spare = work.join("spare");
    File::create(&spare)?.set_len(1 << 30)?;
    // The machine exits with this process, however this process exits.
    let mut qemu = Command::new("setpriv");
    qemu.args(["--pdeathsig", "TERM", "timeout", "--foreground", &limit.as_secs().to_string()]);
    let console = match row.processor {
        Processor::X86 => {
            qemu.arg(super::X86);
            "ttyS0"
        }
        Processor::Arm => {
            qemu.args([super::ARM, "-machine", "virt"]);
            "ttyAMA0"
        }
    };
    let drive = |name: &str, file: &Path, more: &str| {
        format!("if=none,id={name},file={},{more}", file.display())
    };
    qemu.args(["-accel", "tcg,thread=multi", "-cpu", row.model])
        .args(["-smp", &row.cpus.to_string(), "-m", &row.memory.to_string()])
        .args(["-nodefaults", "-display", "none", "-no-reboot"])
        .arg("-serial")
        .arg(format!("file:{}", work.join("console").display()))
        .arg("-kernel")
        .arg(image.0.join("vmlinuz"))
        .arg("-initrd")
        .arg(image.0.join("initrd"))
        .args(["-append", &format!("root=/dev/vda rw quiet console={console}")])
        .args(["-drive", &drive("root", &root, "format=qcow2")])
        .args(["-device", "virtio-blk-pci,drive=root"])
        .args(["-drive", &drive("job", &job, "format=raw,read-only=on")])
        .args(["-device", "virtio-blk-pci,drive=job,serial=job"])
        .args(["-drive", &drive("spare", &spare, "format=raw,discard=unmap")])
        .args(["-device", "virtio-blk-pci,drive=spare,serial=spare"])
        .args(["-device", "virtio-rng-pci", "-device", "virtio-serial-pci"])
        // Has no input, because the machine could not write anything after the end of an input.
        .args(["-chardev", "file,id=told,path=/dev/fd/1"])
        .args(["-device", "virtserialport,chardev=told,name=job"]);
    if let Some(disk) = &row.disk {
        let file = work.join("disk");
        let path = file.display().to_string();
        said("mke2fs", &["-q", "-t", "ext4", "-L", "place", &path, "4G"])?;
        qemu.args(["-drive", &drive("place", &file, &format!("format=raw,{}", disk.drive))]);
        qemu.args(["-device", &format!("{},drive=place", disk.device)]);
    }
    let mut child = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("QEMU")?;
    let told = BufReader::new(child.stdout.take().context("QEMU tells nothing")?);
    let mut booted = Booted { told: String::new(), load: 0.0 };
    for line in told.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        println!("    {line}");
        booted.told += line;
        booted.told.push('\n');
        booted.load = booted.load.max(load()?);
    }
    child.wait()?;
    fs::write(work.join("told"), &booted.told)?;
    Ok(booted)
}

/// The load average of the last five minutes.
fn load() -> anyhow::Result<f64> {
    let averages = fs::read_to_string("/proc/loadavg")?;
    averages.split(' ').nth(1).and_then(|of| of.parse().ok()).context("/proc/loadavg")
}

/// An archive that serves as a disk of the machine: the script, its steps and the program.
fn job(row: &Row, program: &Path, work: &Path) -> anyhow::Result<PathBuf> {
    let files = work.join("job");
    fs::create_dir_all(&files)?;
    fs::write(files.join("script"), include_str!("guest.sh"))?;
    fs::write(files.join("steps"), row.steps.join("\n") + "\n")?;
    fs::copy(program, files.join("cryptbench")).with_context(|| program.display().to_string())?;
    let archive = work.join("job.tar");
    let place = archive.display().to_string();
    said("tar", &["-C", &files.display().to_string(), "-cf", &place, "."])?;
    // A disk must consist of whole sectors.
    let file = File::options().append(true).open(&archive)?;
    file.set_len(file.metadata()?.len().next_multiple_of(1 << 20))?;
    Ok(archive)
}
