//! `cryptbench volume dump`: the whole plaintext, in a file that appears only once it is complete.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{AlignedBuf, BlockDevice};
use cryptbench_cipher::tier;
use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::{Directory, FileIdentity, terminal};
use cryptbench_text::shown;
use cryptbench_volume::{Access, OpenOptions, VolumeError};

use super::args::DumpArgs;
use super::confined::{self, Asking, Given, Task};
use super::partial::Partial;
use super::{effort, lower, target};
use crate::exit::Refusal;
use crate::say;

/// Bytes per read.
const PIECE: usize = 4 << 20;

pub fn dump(args: &DumpArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if !confined::is_child() {
        if lower::is_meant(&args.unlock) {
            return lower::dump(args, stop);
        }
        lower::refuse_files(&args.unlock, args.wrapped_passphrase.as_deref(), args.list)?;
    }
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let task = Task::on(&args.unlock, Access::ReadOnly);
    let work = |given: Given| {
        let mut to = given.other.context("no output file was received")?;
        let options = OpenOptions::new(tier()?, effort(stop)?);
        let header = given.header.as_ref().map(|header| header as &dyn BlockDevice);
        let volume = &given.target.device;
        let credentials = given.credentials.first().context("no credentials were received")?;
        let volume =
            target::unlock(&args.unlock, Arc::clone(volume), header, credentials, &options)?;
        let from = match args.resume {
            true => resumed_at(&volume, &mut to, output)?,
            false => 0,
        };
        copy(&volume, from, &mut to, output, stop).map(|()| ExitCode::SUCCESS)
    };
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    let secrets = |asks: Asking<'_>| Ok(vec![target::credentials(&args.unlock, asks()?, stop)?]);
    if output == Path::new("-") {
        if args.resume {
            let reason = "--resume cannot be used with standard output; specify a file";
            return Err(Refusal::usage(output, reason).into());
        }
        if say::stdout_is_terminal() {
            let reason = "standard output is a terminal; redirect it, or specify a new file";
            return Err(Refusal::usage(output, reason).into());
        }
        return task.run(Some(&terminal::unbuffered_output()?), secrets, work, stop);
    }
    if output.exists() {
        return Err(Refusal::target(output, "already exists and will not be overwritten").into());
    }
    let task = Task { grows: true, ..task };
    let write = |make: Make<'_>| task.run_into(make, secrets, work, stop).map(drop);
    if args.resume {
        resumable(output, write)?;
    } else {
        new_file(output, write)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates the file to write.
pub type Make<'a> = &'a mut dyn FnMut() -> anyhow::Result<File>;

/// Lets `write` write a file that is called `path` with the suffix `.partial` until it is complete.
fn resumable(
    path: &Path,
    write: impl FnOnce(Make<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    let (directory, name) = Directory::of(path).map_err(fail)?;
    let mut partial = name.clone();
    partial.push(".partial");
    let beside = path.with_file_name(&partial);
    let mut made = None;
    let written = write(&mut || {
        let file = match directory.open_own_to_write(&partial) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => directory.create_file(&partial, 0o600),
            opened => opened,
        };
        let file = file.map_err(|e| Refusal::target(&beside, &e.to_string()))?;
        if !is_locked(&file, &directory, &partial) {
            return Err(Refusal::target(path, "another process is writing to it").into());
        }
        Ok(made.insert(file).try_clone().map_err(fail)?)
    });
    let Some(file) = made else { return written };
    if let Err(error) = written {
        if file.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = directory.remove_file(&partial);
        } else {
            say::message(&format!(
                "the partial output is in {}; repeat the command to continue",
                shown(&beside)
            ));
        }
        return Err(error);
    }
    file.sync_all().map_err(fail)?;
    directory.rename_to_new(&partial, &name).map_err(fail)?;
    Ok(directory.sync().map_err(fail)?)
}

/// Locks a file that was opened under this name. False if another process holds the lock, or has completed the file in
/// the meantime.
fn is_locked(file: &File, directory: &Directory, name: &OsStr) -> bool {
    let is_there = || {
        let named = directory.entry(name).ok()??.identity;
        Some(FileIdentity::of(file).ok()? == named)
    };
    lock_within(file, Lock::Exclusive, Duration::ZERO).is_ok() && is_there() == Some(true)
}

/// The offset at which an interrupted dump continues. The partial file must first be identified as this volume's, by
/// its first piece, which contains the UUIDs of file systems, by its last whole piece, and by the data after that
/// piece.
fn resumed_at(volume: &dyn BlockDevice, to: &mut File, output: &Path) -> anyhow::Result<u64> {
    let failed = |e: io::Error| unwritten(&e, output);
    let other = |reason: &str| Refusal::target(output, &format!("{reason}; remove it"));
    let kept = to.seek(SeekFrom::End(0)).map_err(failed)?;
    if kept > volume.size() {
        return Err(other("OUTPUT.partial is longer than this volume").into());
    }
    let done = kept / PIECE as u64 * PIECE as u64;
    let (mut ours, mut theirs) = (AlignedBuf::zeroed(PIECE), AlignedBuf::zeroed(PIECE));
    for at in BTreeSet::from([0, done.saturating_sub(PIECE as u64), done]) {
        let there = (volume.size() - at).min(PIECE as u64) as usize;
        let len = there.min((kept - at) as usize);
        volume
            .read_at(at, &mut theirs[..there])
            .map_err(|source| VolumeError::Io { doing: "reading the volume", source })?;
        to.seek(SeekFrom::Start(at)).map_err(failed)?;
        to.read_exact(&mut ours[..len]).map_err(failed)?;
        if ours[..len] != theirs[..len] {
            return Err(other("OUTPUT.partial does not match the start of this volume").into());
        }
    }
    to.seek(SeekFrom::Start(done)).map_err(failed)?;
    Ok(done)
}

/// Lets `write` write a file that only this user can read. The file gets its name only when it is complete and on
/// the disk.
pub fn new_file(
    path: &Path,
    write: impl FnOnce(Make<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let fail = |e: io::Error| Refusal::target(path, &e.to_string());
    let mut partial = None;
    write(&mut || Ok(partial.insert(Partial::beside(path)?).file().try_clone().map_err(fail)?))?;
    partial.map_or(Ok(()), |partial: Partial| partial.appear(path))
}

fn copy(
    volume: &dyn BlockDevice,
    mut offset: u64,
    to: &mut impl Write,
    output: &Path,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut piece = AlignedBuf::zeroed(PIECE);
    while offset < volume.size() {
        if stop.load(Ordering::Relaxed) {
            bail!(VolumeError::Stopped);
        }
        let len = (volume.size() - offset).min(PIECE as u64) as usize;
        volume
            .read_at(offset, &mut piece[..len])
            .map_err(|source| VolumeError::Io { doing: "reading the volume", source })?;
        match to.write_all(&piece[..len]) {
            // The reader has enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|e| unwritten(&e, output))?,
        }
        offset += len as u64;
    }
    to.flush().map_err(|e| unwritten(&e, output))
}

fn unwritten(e: &io::Error, output: &Path) -> anyhow::Error {
    match output == Path::new("-") {
        true => anyhow::anyhow!("cannot write to standard output: {e}"),
        false => Refusal::target(output, &e.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_dump_finished_is_not_gone_on_with() {
        let place = tempfile::tempdir().unwrap();
        let (directory, _) = Directory::of(&place.path().join("output")).unwrap();
        let (partial, output) = (OsStr::new("output.partial"), OsStr::new("output"));
        let opened = directory.create_file(partial, 0o600).unwrap();
        let held = directory.open_own_to_write(partial).unwrap();
        assert!(is_locked(&held, &directory, partial));
        assert!(!is_locked(&opened, &directory, partial), "another process writes it");
        directory.rename_to_new(partial, output).unwrap();
        drop(held);
        assert!(!is_locked(&opened, &directory, partial), "it has its name by now");
    }
}
