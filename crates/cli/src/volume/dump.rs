//! `cryptbench volume dump`: the whole plaintext, in a file that appears only once it is complete.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{AlignedBuf, BlockDevice};
use cryptbench_cipher::tier;
use cryptbench_os::terminal;
use cryptbench_volume::{Access, OpenOptions, VolumeError};

use super::args::DumpArgs;
use super::confined::{self, Asking, Given, Task};
use super::partial::Partial;
use super::{effort, target};
use crate::exit::Refusal;
use crate::say;

/// Bytes per read.
const PIECE: usize = 4 << 20;

pub fn dump(args: &DumpArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let task = Task::on(&args.unlock, Access::ReadOnly);
    let work = |given: Given| {
        let mut to = given.other.context("no output came")?;
        let options = OpenOptions::new(tier()?, effort(stop)?);
        let header = given.header.as_ref().map(|header| header as &dyn BlockDevice);
        let volume = &given.target.device;
        let credentials = given.credentials.first().context("no credentials came")?;
        let volume =
            target::unlock(&args.unlock, Arc::clone(volume), header, credentials, &options)?;
        copy(&volume, &mut to, &args.output, stop).map(|()| ExitCode::SUCCESS)
    };
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    let secrets = |asks: Asking<'_>| Ok(vec![target::credentials(&args.unlock, asks()?, stop)?]);
    if args.output == Path::new("-") {
        if say::stdout_is_terminal() {
            let reason = "standard output is a terminal; redirect it, or name a new file";
            return Err(Refusal::usage(&args.output, reason).into());
        }
        return task.run(Some(&terminal::unbuffered_output()?), secrets, work, stop);
    }
    if args.output.exists() {
        return Err(Refusal::target(&args.output, "it exists; nothing is overwritten").into());
    }
    new_file(&args.output, |file| task.run(Some(file), secrets, work, stop).map(drop))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that only this user can read, and that gets its name only when it is complete and on the disk.
pub fn new_file(
    path: &Path,
    write: impl FnOnce(&mut std::fs::File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut partial = Partial::beside(path)?;
    write(partial.file())?;
    partial.appear(path)
}

fn copy(
    volume: &dyn BlockDevice,
    to: &mut impl Write,
    output: &Path,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut piece = AlignedBuf::zeroed(PIECE);
    let mut offset = 0;
    while offset < volume.size() {
        if stop.load(Ordering::Relaxed) {
            bail!(VolumeError::Stopped);
        }
        let len = (volume.size() - offset).min(PIECE as u64) as usize;
        volume
            .read_at(offset, &mut piece[..len])
            .map_err(|source| VolumeError::Io { doing: "reading the volume", source })?;
        match to.write_all(&piece[..len]) {
            // Whoever reads has enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|e| unwritten(&e, output))?,
        }
        offset += len as u64;
    }
    to.flush().map_err(|e| unwritten(&e, output))
}

fn unwritten(e: &io::Error, output: &Path) -> anyhow::Error {
    match output == Path::new("-") {
        true => anyhow::anyhow!("cannot write standard output: {e}"),
        false => Refusal::target(output, &e.to_string()).into(),
    }
}
