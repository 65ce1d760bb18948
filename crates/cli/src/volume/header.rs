//! `cryptbench volume header-backup` and `header-restore`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_os::files::Opening;
use cryptbench_volume::format::luks;
use cryptbench_volume::format::tcrypt::{self, HeaderOptions};
use cryptbench_volume::{Access, Credentials, Restore, Restored, VolumeError};

use super::args::{HeaderBackupArgs, HeaderRestoreArgs, UnlockArgs};
use super::dump::new_file;
use super::key::{header_options, whose};
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::Refusal;
use crate::say;

/// A detached header is itself a file, which can be copied or named as the volume.
fn refuse_detached(unlock: &UnlockArgs) -> anyhow::Result<()> {
    if unlock.header.is_some() {
        let reason = "name the file that holds the header as the volume";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    Ok(())
}

pub fn backup(args: &HeaderBackupArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_detached(unlock)?;
    if args.output.exists() {
        return Err(Refusal::target(&args.output, "it exists; nothing is overwritten").into());
    }
    let target = target::open(&unlock.volume, Access::ReadOnly, false)?;
    let device = &*target.device;
    if target::is_changeable_luks(&target, unlock.format.as_deref())? {
        new_file(&args.output, |file| {
            luks::backup_header(device, file).map(drop).with_context(|| whose(unlock))
        })?;
    } else {
        let credentials =
            secrets::read(&(&unlock.secret).into(), &whose(unlock), false, Prompt::Once, stop)?;
        let hidden = args.with_hidden.then(|| {
            secrets::read(
                &(&args.hidden_secret).into(),
                "the hidden volume",
                false,
                Prompt::Once,
                stop,
            )
        });
        let hidden = hidden.transpose()?;
        let options = header_options(unlock, stop)?;
        let bytes = tcrypt::backup_headers(device, &credentials, hidden.as_ref(), &options)
            .with_context(|| whose(unlock))?;
        new_file(&args.output, |file| file.write_all(&bytes).context("writing the backup"))?;
    }
    say::message(&format!(
        "saved to {}; anyone who has it and one of today's passphrases can open the volume",
        args.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}

pub fn restore(args: &HeaderRestoreArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_detached(unlock)?;
    let target = target::open(&unlock.volume, Access::ReadWrite, false)?;
    let backup = args.backup.as_deref().map(open_backup).transpose()?;
    if unlock.backup_header {
        bail!(VolumeError::Invalid(
            "--backup-header: restoring is from the backup by itself".to_owned()
        ));
    }
    let saved = backup.as_ref().map(|backup| backup as &dyn BlockDevice);
    let restore = Restore::new(&*target.device, saved, unlock.format.as_deref())
        .with_context(|| whose(unlock))?;
    let credentials = if restore.needs_credentials() {
        secrets::read(&(&unlock.secret).into(), &whose(unlock), false, Prompt::Once, stop)?
    } else {
        Credentials::default()
    };
    let options = HeaderOptions { force: args.force, ..header_options(unlock, stop)? };
    say::message(&match restore.run(&credentials, &options).with_context(|| whose(unlock))? {
        Restored::Written => format!("the header of {} is restored", whose(unlock)),
        Restored::NothingToDo => {
            format!("both headers of {} are valid; nothing to do", whose(unlock))
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Opens a saved header, once, so that the file that was examined is the one that is restored.
fn open_backup(path: &Path) -> anyhow::Result<FileDevice> {
    let fail = |e: std::io::Error| Refusal::input(path, &e.to_string());
    // Not blocking: opening a pipe would wait for its other end.
    let file = Opening::to_read().without_waiting().open(path).map_err(fail)?;
    Ok(FileDevice::from_file(file, IoMode::Buffered, true).map_err(fail)?)
}
