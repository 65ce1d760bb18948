//! `cryptbench volume mount`: a background process serves the volume until it is unmounted.
//!
//! Three processes take part. The process that the user started (in this file) checks the arguments, asks for secrets
//! and waits until the volume is mounted. The keeper (`keep.rs`, `volume keep`) keeps its privileges, sets everything
//! up, and cleans up at the end. The confined process (`serve.rs`) opens the volume and serves it.

mod keep;
mod serve;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_export::fuse::FuseOptions;
use cryptbench_os::{process, terminal, user};
use cryptbench_system::provision::mountinfo::mount_at;
use cryptbench_system::resource::cleanup;
use cryptbench_volume::{Access, Credentials, VolumeError};

pub use self::keep::{journal, keep};
use super::args::{MountArgs, Transport};
use super::confined::{self, Task};
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::{self, Refusal, Said};
use crate::say;

/// The line by which the keeper in the background reports that everything is set up.
const READY: &str = "ready\n";

/// How long a killed process may take to exit.
const DYING: Duration = Duration::from_secs(2);

/// Interval between checks for a signal, or for an unmount by another user.
const POLL: Duration = Duration::from_millis(50);

pub fn mount(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if confined::is_child() {
        return serve::serve(args, stop);
    }
    sweep(&std::path::absolute(&args.mountpoint)?);
    let found = std::fs::metadata(&args.mountpoint);
    if !found.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err(Refusal::target(&args.mountpoint, "the mount point is not a directory").into());
    }
    if matches!(args.transport, Transport::Ublk) && (args.raw || !user::is_root()) {
        let reason = "--transport ublk mounts a file system from a block device: it needs root and cannot be combined \
                      with --raw";
        return Err(Refusal::target(&args.mountpoint, reason).into());
    }
    let named = [Some(&args.unlock.volume), args.unlock.header.as_ref()];
    let is_own = |path: &&PathBuf| terminal::is_descriptor(path);
    if let Some(path) = named.into_iter().flatten().find(is_own).filter(|_| !args.foreground) {
        let reason = "it is a file descriptor of this process, which the background process does not have; use the \
                      file's path, or --foreground";
        return Err(Refusal::usage(path, reason).into());
    }
    if args.foreground {
        let up = secrets::in_tries(|| {
            let (credentials, protected) = ask(args, stop)?;
            keep::up_here(args, &credentials, protected.as_ref(), stop)
        })?;
        return keep::in_foreground(up, stop);
    }
    secrets::in_tries(|| {
        let (credentials, protected) = ask(args, stop)?;
        hand_over(&credentials, protected.as_ref(), stop)
    })
}

/// Removes the mount that a killed server left on this mount point. This can take several attempts, because the journal
/// of a killed process is released with a short delay.
fn sweep(place: &Path) {
    let until = Instant::now() + DYING;
    cleanup();
    while mount_at(place).is_some() && Instant::now() < until {
        std::thread::sleep(POLL);
        cleanup();
    }
}

fn ask(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<(Credentials, Option<Credentials>)> {
    // Opened briefly, so that a missing or busy volume is reported before the passphrase prompt.
    let volume = target::open_for_child(&args.unlock.volume, Access::ReadOnly)?;
    let asks = Task::on(&args.unlock, Access::ReadOnly).ask(&volume, None, stop)?;
    drop(volume);
    keep::check_place(args)?;
    let credentials = target::credentials(&args.unlock, asks, stop)?;
    let hidden = args.protect_hidden.then(|| {
        secrets::read(&(&args.protected).into(), "the hidden volume", false, Prompt::Once, stop)
    });
    Ok((credentials, hidden.transpose()?))
}

fn access(args: &MountArgs) -> Access {
    if args.read_only { Access::ReadOnly } else { Access::ReadWrite }
}

/// The mount's parameters for the kernel.
fn fuse(args: &MountArgs, read_only: bool) -> FuseOptions {
    FuseOptions {
        read_only,
        allow_other: args.allow_other,
        transport: args.transport.into(),
        ..FuseOptions::default()
    }
}

/// Starts the keeper in the background, with the secrets on its standard input.
fn hand_over(
    credentials: &Credentials,
    protected: Option<&Credentials>,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let mut child = process::this_program()?
        .args(super::arguments_as_keeper())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("cannot start the server process")?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) else {
        bail!("the server process has no pipes")
    };
    // A child that exited immediately has reported why: its exit code counts, not the broken pipe.
    let _ = secrets::send(&mut stdin, credentials)
        .and_then(|()| protected.map_or(Ok(()), |p| secrets::send(&mut stdin, p)));
    drop(stdin);
    let said = hear(&mut stdout, &child, stop);
    let ready = said.strip_suffix(READY);
    if let Some(what) = ready
        && !stop.load(Ordering::Relaxed)
    {
        say::message(what.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if ready.is_some() {
        // The signal arrived when the volume was already mounted, so the child now removes everything.
        child.wait()?;
        bail!(VolumeError::Stopped);
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    Err(Said(code.filter(|code| *code != 0).unwrap_or(exit::FAILURE)).into())
}

/// Reads the child's output until the volume is mounted or the child exits. Passes on a signal that only this
/// process received.
fn hear(stdout: &mut ChildStdout, child: &Child, stop: &AtomicBool) -> String {
    let (mut said, mut piece) = (Vec::new(), [0; 512]);
    let mut told = false;
    loop {
        if !told && stop.load(Ordering::Relaxed) {
            told = true;
            let _ = process::terminate(child);
        }
        if let Ok(false) = terminal::readable_within(stdout, POLL) {
            continue;
        }
        match stdout.read(&mut piece) {
            Ok(0) => break,
            Ok(got) => said.extend_from_slice(&piece[..got]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&said).into_owned()
}
