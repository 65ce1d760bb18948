//! The confined part of `volume mount`: opens the volume and serves it.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use cryptbench_blockdev::BlockDevice as _;
use cryptbench_export::Prepared;
use cryptbench_export::fuse::{FuseOptions, serve_mounted};
use cryptbench_export::ublk;
use cryptbench_os::confine::Needs;

use super::{access, fuse};
use crate::volume::args::{MountArgs, Transport};
use crate::volume::confined::{self, Here, On};

/// Opens the volume, reports that it is open, and serves it on the files that the keeper sends.
pub fn serve(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let options = fuse(args, args.read_only);
    let prepare = || {
        let prepared = match args.transport {
            Transport::Device => Prepared::nothing(),
            _ => Prepared::rings(options.threads),
        };
        (Needs { sockets: false, rings: prepared.has_rings() }, prepared)
    };
    let begun = confined::begin(&args.unlock, access(args), prepare, stop)?;
    let Some((mut here, prepared)) = begun else { return Ok(ExitCode::SUCCESS) };
    let Some((on, mut files)) = here.wait()? else { return Ok(ExitCode::SUCCESS) };
    let volume = Arc::clone(&here.volume);
    if on == On::Disk {
        let connection = files.pop().context("no block device was received")?;
        let read_only = volume.is_read_only();
        let server = ublk::serve(Arc::clone(&volume) as _, connection, read_only, prepared)?;
        until_the_end(&mut here, stop, || server.has_ended())?;
        server.stop();
        return confined::flush(&volume);
    }
    let options =
        FuseOptions { read_only: here.volume.is_read_only(), owner: Some(here.owner), ..options };
    let server = serve_mounted(Arc::clone(&volume) as _, files, &options, prepared)?;
    until_the_end(&mut here, stop, || server.has_ended())?;
    server.stop();
    confined::flush(&volume)
}

fn until_the_end(
    here: &mut Here,
    stop: &AtomicBool,
    ended: impl Fn() -> bool,
) -> anyhow::Result<()> {
    here.is_up()?;
    while here.goes_on(stop, &ended)? {}
    Ok(())
}
