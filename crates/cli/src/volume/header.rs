//! `cryptbench volume header-backup` and `header-restore`.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice};
use cryptbench_os::files::Opening;
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::luks;
use cryptbench_volume::format::tcrypt::{self, HeaderSource};
use cryptbench_volume::{Access, VolumeError};

use super::args::{HeaderBackupArgs, HeaderRestoreArgs, UnlockArgs};
use super::confined::{self, Asking, Given, Task};
use super::dump::new_file;
use super::key::{header_options, whose};
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::Refusal;
use crate::say;

/// Most bytes of a VeraCrypt header backup: two areas of 64 KiB.
const TCRYPT_BACKUP: u64 = 128 << 10;

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
    let task = Task { unlock, access: Access::ReadOnly };
    let work = |given: Given| save(args, given, stop);
    if task.is_child() {
        return task.in_child(work, stop);
    }
    if args.output.exists() {
        return Err(Refusal::target(&args.output, "it exists; nothing is overwritten").into());
    }
    let secrets = |asks: Asking<'_>| {
        let asks = asks()?;
        if asks.luks || asks.bitlocker {
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
    new_file(&args.output, |file| task.run(Some(file), secrets, work, stop).map(drop))?;
    say::message(&format!(
        "saved to {}; anyone who has it and one of today's passphrases can open the volume",
        args.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn save(args: &HeaderBackupArgs, given: Given, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let mut file = given.other.context("no output came")?;
    let device = &*given.target.device;
    if target::is_changeable_luks(&given.target, unlock.format.as_deref())? {
        luks::backup_header(device, &mut file).map(drop).with_context(|| whose(unlock))?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = given.credentials.first().context("no credentials came")?;
    let options = header_options(unlock, stop)?;
    let bytes = tcrypt::backup_headers(device, own, given.credentials.get(1), &options)
        .with_context(|| whose(unlock))?;
    file.write_all(&bytes).context("writing the backup")?;
    Ok(ExitCode::SUCCESS)
}

pub fn restore(args: &HeaderRestoreArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_detached(unlock)?;
    if unlock.backup_header {
        bail!(VolumeError::Invalid(
            "--backup-header: restoring is from the backup by itself".to_owned()
        ));
    }
    let task = Task { unlock, access: Access::ReadWrite };
    let work = |given: Given| put_back(args, given, stop);
    if task.is_child() {
        return task.in_child(work, stop);
    }
    let backup = args.backup.as_deref().map(open_backup).transpose()?;
    let secrets = |asks: Asking<'_>| {
        // The header to repair may be damaged, so the backup determines the format.
        let of_backup = backup.as_ref().map(|file| confined::ask_file(unlock, file, stop));
        let luks = of_backup.transpose()?.is_some_and(|asks| asks.luks);
        let asks = asks()?;
        if luks || asks.luks || asks.bitlocker {
            return Ok(Vec::new());
        }
        let whose = whose(unlock);
        Ok(vec![secrets::read(&(&unlock.secret).into(), &whose, false, Prompt::Once, stop)?])
    };
    task.run(backup.as_ref(), secrets, work, stop)
}

fn put_back(args: &HeaderRestoreArgs, given: Given, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let device = &*given.target.device;
    let path = args.backup.as_deref().unwrap_or(Path::new(""));
    let backup = match (given.other, given.saved) {
        (None, _) => None,
        (Some(file), Some(device)) => Some(Backup { path, file, device }),
        (Some(_), None) => return Err(Refusal::input(path, "it is not a saved header").into()),
    };
    let luks = match (&unlock.format, &backup) {
        (None, Some(backup)) => {
            luks::info(&backup.device).is_ok() || target::is_changeable_luks(&given.target, None)?
        }
        (format, _) => target::is_changeable_luks(&given.target, format.as_deref())?,
    };
    if !luks {
        refuse_other_contents(args, device)?;
        let file = backup.as_ref().map(Backup::read).transpose()?;
        let source = file.as_deref().map_or(HeaderSource::Embedded, HeaderSource::File);
        let credentials = given.credentials.first().context("no credentials came")?;
        tcrypt::restore_headers(device, source, credentials, &header_options(unlock, stop)?)
            .with_context(|| whose(unlock))?;
    } else if let Some(backup) = &backup {
        luks::restore_header(device, &backup.device, args.force).with_context(|| whose(unlock))?;
    } else if !luks::repair(device, args.force).with_context(|| whose(unlock))? {
        say::message(&format!("both headers of {} are valid; nothing to do", whose(unlock)));
        return Ok(ExitCode::SUCCESS);
    }
    say::message(&format!("the header of {} is restored", whose(unlock)));
    Ok(ExitCode::SUCCESS)
}

/// Opened once, so that the file that was examined is the one that is restored.
fn open_backup(path: &Path) -> anyhow::Result<File> {
    // Not blocking: opening a pipe would wait for its other end.
    let file = Opening::to_read().without_waiting().open(path);
    Ok(file.map_err(|e| Refusal::input(path, &e.to_string()))?)
}

/// A header that opens does not prove that this is its disk, so it is not written over known contents.
fn refuse_other_contents(args: &HeaderRestoreArgs, device: &dyn BlockDevice) -> anyhow::Result<()> {
    let kind = detect(device)?.kind;
    let other = kind.is_plain() && kind != Kind::Zeros
        || matches!(kind, Kind::Luks { .. } | Kind::BitLocker { .. } | Kind::FileVault);
    if other && !args.force && !args.unlock.system {
        let reason = format!("it holds something else ({kind}); --force overwrites it");
        return Err(Refusal::target(&args.unlock.volume, &reason).into());
    }
    Ok(())
}

/// A saved header.
struct Backup<'a> {
    path: &'a Path,
    file: File,
    device: FileDevice,
}

impl Backup<'_> {
    /// The whole file, as VeraCrypt and TrueCrypt save headers.
    fn read(&self) -> anyhow::Result<Vec<u8>> {
        let fail = |e: std::io::Error| Refusal::input(self.path, &e.to_string());
        let mut file = &self.file;
        file.rewind().map_err(fail)?;
        let mut bytes = Vec::new();
        file.take(TCRYPT_BACKUP + 1).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > TCRYPT_BACKUP {
            bail!(VolumeError::NotThisFormat {
                format: "header backup",
                reason: format!("{} is longer than 128 KiB", self.path.display()),
            });
        }
        Ok(bytes)
    }
}
