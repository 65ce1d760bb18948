//! `cryptbench volume header-backup` and `header-restore`.
#![expect(clippy::disallowed_methods, reason = "a backup, checked once it is open")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use cryptbench_os::files::Opening;
use cryptbench_volume::format::luks;
use cryptbench_volume::format::tcrypt::{self, HeaderOptions};
use cryptbench_volume::{Access, Credentials, Restored, VolumeError};

use super::args::{HeaderBackupArgs, HeaderRestoreArgs, UnlockArgs};
use super::confined::{self, Asking, Given, Task};
use super::dump::new_file;
use super::key::{header_options, whose};
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::Refusal;
use crate::say;

/// A detached header is itself a file, which can be copied or specified as the volume.
fn refuse_detached(unlock: &UnlockArgs) -> anyhow::Result<()> {
    if unlock.header.is_some() {
        let reason =
            "--header cannot be used here: specify the detached header file as the volume instead";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    Ok(())
}

/// Refuses options whose data a backup would not include.
fn refuse_ignored(unlock: &UnlockArgs) -> anyhow::Result<()> {
    let given = [
        (
            unlock.hidden,
            "--hidden cannot be used here, because a backup begins with the outer volume's header: specify the outer \
             volume's credentials, and use --with-hidden to also back up the hidden volume's header",
        ),
        (
            unlock.system,
            "--system cannot be used here, because the header of system encryption is sector 62 of the disk; back it \
             up with `dd if=DISK of=FILE \
             bs=512 skip=62 count=1`",
        ),
        (
            unlock.backup_header,
            "--backup-header cannot be used here, because only the primary header is backed up; if it is damaged, \
             repair it first with `header-restore`",
        ),
        (
            unlock.key_slot.is_some(),
            "--key-slot cannot be used here, because a header backup always contains all keyslots",
        ),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, reason)) => bail!(VolumeError::Invalid((*reason).to_owned())),
        None => Ok(()),
    }
}

pub fn backup(args: &HeaderBackupArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_detached(unlock)?;
    refuse_ignored(unlock)?;
    let task = Task::on(unlock, Access::ReadOnly);
    let work = |given: Given| save(args, given, stop);
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    if args.output.exists() {
        return Err(
            Refusal::target(&args.output, "already exists and will not be overwritten").into()
        );
    }
    let secrets = |asks: Asking<'_>| {
        let asks = asks()?;
        if asks.luks || asks.recovery {
            return Ok(Vec::new());
        }
        let own =
            secrets::read(&(&unlock.secret).into(), &whose(unlock), false, Prompt::Once, stop);
        let hidden = args.with_hidden.then(|| {
            let whose = "the hidden volume";
            secrets::read(&(&args.hidden_secret).into(), whose, false, Prompt::Once, stop)
        });
        [own].into_iter().chain(hidden).collect()
    };
    new_file(&args.output, |make| task.run_into(make, secrets, work, stop).map(drop))?;
    say::message(&format!(
        "saved to {}; anyone with this backup and a passphrase that is valid now can open the volume",
        args.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn save(args: &HeaderBackupArgs, given: Given, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let mut file = given.other.context("no output file was received")?;
    let device = &*given.target.device;
    if target::is_saved_as_luks(&given.target, unlock.format.as_deref())
        .with_context(|| whose(unlock))?
    {
        if args.with_hidden {
            let reason = "--with-hidden cannot be used with LUKS, which has no hidden volumes";
            bail!(VolumeError::Invalid(reason.to_owned()));
        }
        luks::backup_header(device, &mut file).map(drop).with_context(|| whose(unlock))?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = given.credentials.first().context("no credentials were received")?;
    let options = header_options(unlock, stop)?;
    let bytes = tcrypt::backup_headers(device, own, given.credentials.get(1), &options)
        .with_context(|| whose(unlock))?;
    file.write_all(&bytes).context("cannot write the header backup")?;
    Ok(ExitCode::SUCCESS)
}

pub fn restore(args: &HeaderRestoreArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_detached(unlock)?;
    if unlock.backup_header {
        bail!(VolumeError::Invalid(
            "--backup-header is not needed: `header-restore` always uses a backup".to_owned()
        ));
    }
    let task = Task { restores: true, ..Task::on(unlock, Access::ReadWrite) };
    let work = |given: Given| put_back(args, &given, stop);
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    let backup = args.backup.as_deref().map(open_backup).transpose()?;
    let secrets = |asks: Asking<'_>| match asks()?.nothing {
        true => Ok(Vec::new()),
        false => {
            let whose = whose(unlock);
            Ok(vec![secrets::read(&(&unlock.secret).into(), &whose, false, Prompt::Once, stop)?])
        }
    };
    task.run(backup.as_ref(), secrets, work, stop)
}

fn put_back(
    args: &HeaderRestoreArgs,
    given: &Given,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let restore = given.restore(unlock)?;
    let options = HeaderOptions { force: args.force, ..header_options(unlock, stop)? };
    let none = Credentials::default();
    let credentials = given.credentials.first().unwrap_or(&none);
    say::message(&match restore.run(credentials, &options).with_context(|| whose(unlock))? {
        Restored::Written => format!("restored the header of {}", whose(unlock)),
        Restored::NothingToDo => {
            format!("both headers of {} are valid; nothing to do", whose(unlock))
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Opens a header backup only once, so that the examined file is the one that is restored.
fn open_backup(path: &Path) -> anyhow::Result<File> {
    // Non-blocking: opening a pipe would wait for another process to open its other end.
    let file = Opening::to_read().without_waiting().open(path);
    Ok(file.map_err(|e| Refusal::input(path, &e.to_string()))?)
}
