//! `cryptbench volume`: creates, opens, mounts and serves encrypted volumes.

pub mod args;
pub mod confined;
mod cost;
mod create;
mod dump;
mod export;
#[cfg(test)]
mod formats_page;
mod header;
mod info;
mod key;
mod lower;
mod mount;
mod partial;
mod secrets;
pub mod target;
mod umount;
mod weak;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Once;
use std::sync::atomic::AtomicBool;

use cryptbench_blockdev::locking_failed;
use cryptbench_cipher::tier;
use cryptbench_kdf::{Effort, KdfError};
use cryptbench_os::process::{keep_from_dumps, keep_from_swap};
use cryptbench_text::chain;
use cryptbench_volume::format::luks::Resources;
use cryptbench_volume::{Volume, VolumeError};

use self::args::VolumeCommand;
use crate::exit;
use crate::say;
use crate::signal::Signal;

pub fn volume(command: &VolumeCommand) -> anyhow::Result<ExitCode> {
    // Keys remain in this process's memory for as long as it serves a volume.
    keep_from_dumps();
    keep_keys_from_swap();
    // The signal handler is installed before anything else, so that everything set up later is removed again.
    let signal = Signal::watch()?;
    let stop = &signal.stop;
    let code = match command {
        VolumeCommand::Create(args) => create::create(args, stop),
        VolumeCommand::Info(args) => info::info(args, stop),
        VolumeCommand::Dump(args) => dump::dump(args, stop),
        VolumeCommand::Mount(args) => mount::mount(args, stop),
        VolumeCommand::Keep(args) => mount::keep(args, stop),
        VolumeCommand::Umount(args) => umount::umount(args),
        VolumeCommand::Key(args) => key::key(args, stop),
        VolumeCommand::HeaderBackup(args) => header::backup(args, stop),
        VolumeCommand::HeaderRestore(args) => header::restore(args, stop),
        VolumeCommand::Export(args) => export::export(args, stop),
    };
    // For other commands, the confined process prints this warning.
    if matches!(command, VolumeCommand::Create(_)) {
        warn_of_swap();
    }
    match (code, signal.number()) {
        // Work that was stopped by a signal has returned an error.
        (Err(error), Some(number)) if was_stopped(&error) => {
            say::message(&chain(error.as_ref()));
            Ok(ExitCode::from(exit::SIGNAL + number))
        }
        (result, _) => result,
    }
}

/// The command line of the keeper that a mount leaves in the background: this process's command line with another
/// command.
fn arguments_as_keeper() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(command) = words.iter_mut().find(|word| *word == "mount") {
        *command = "keep".into();
    }
    words
}

fn was_stopped(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        matches!(e.downcast_ref(), Some(VolumeError::Stopped))
            || matches!(e.downcast_ref(), Some(KdfError::Stopped))
    })
}

/// Prevents the current memory from being swapped out, whatever is stored in it later. Called before a passphrase is
/// read, and again once the keys of a volume that stays open are in memory.
///
/// This is possible only for users who may lock all memory of a process, such as root. For other users, only secrets
/// and keys are locked, when they are created ([`LockedBytes`](cryptbench_blockdev::LockedBytes)). Memory for data and
/// for Argon2 is mapped for each use, and can be swapped out.
fn keep_keys_from_swap() {
    keep_from_swap();
}

/// Like [`keep_keys_from_swap`], for a volume that stays open.
fn keep_open_keys_from_swap(volume: &Volume) {
    keep_keys_from_swap();
    volume.lock_keys();
    warn_of_swap();
}

/// Warns once that secrets could not be locked.
fn warn_of_swap() {
    static ONCE: Once = Once::new();
    if locking_failed() {
        ONCE.call_once(|| {
            say::message("warning: some passphrases and keys could not be locked in memory and may be written to swap \
                 space; raise the limit (`ulimit -l`, in KiB) or encrypt the swap space");
        });
    }
}

/// The resources for key derivations: all CPUs, until a signal arrives.
fn effort(stop: &AtomicBool) -> anyhow::Result<Effort<'_>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Effort::new(tier()?, threads).stopped_by(stop))
}

fn resources(stop: &AtomicBool) -> anyhow::Result<Resources<'_>> {
    Ok(Resources::new(tier()?, effort(stop)?))
}
