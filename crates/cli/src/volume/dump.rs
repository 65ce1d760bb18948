//! `cryptbench volume dump`: the whole plaintext, in a file that appears only once it is complete.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use cryptbench_blockdev::{AlignedBuf, BlockDevice};
use cryptbench_cipher::tier;
use cryptbench_volume::{Access, OpenOptions, VolumeError};

use super::args::DumpArgs;
use super::partial::Partial;
use super::{effort, target};
use crate::exit::Refusal;

/// Bytes per read.
const PIECE: usize = 4 << 20;

pub fn dump(args: &DumpArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if args.output != Path::new("-") && args.output.exists() {
        return Err(Refusal::target(&args.output, "it exists; nothing is overwritten").into());
    }
    let target = target::open(&args.unlock.volume, Access::ReadOnly, false)?;
    let options = OpenOptions::new(tier()?, effort(stop)?);
    let volume = target::unlock(&args.unlock, &target, &options, stop)?;
    if args.output == Path::new("-") {
        copy(&volume, &mut io::stdout().lock(), stop)?;
        return Ok(ExitCode::SUCCESS);
    }
    new_file(&args.output, |file| copy(&volume, file, stop))?;
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

fn copy(volume: &dyn BlockDevice, to: &mut impl Write, stop: &AtomicBool) -> anyhow::Result<()> {
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
        to.write_all(&piece[..len]).map_err(|e| unwritten(&e))?;
        offset += len as u64;
    }
    Ok(to.flush().map_err(|e| unwritten(&e))?)
}

fn unwritten(e: &io::Error) -> Refusal {
    Refusal::target(Path::new("the output"), &e.to_string())
}
