//! `cryptbench volume header-backup` and `header-restore`.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_os::files::Opening;
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::luks;
use cryptbench_volume::format::tcrypt::{self, HeaderSource};
use cryptbench_volume::{Access, VolumeError};

use super::args::{HeaderBackupArgs, HeaderRestoreArgs, UnlockArgs};
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
    let device = &*target.device;
    let backup = args.backup.as_deref().map(Backup::open).transpose()?;
    // The header to repair may be damaged, so the backup determines the format.
    let luks = match (&unlock.format, &backup) {
        (None, Some(backup)) => {
            luks::info(&backup.device).is_ok() || target::is_changeable_luks(&target, None)?
        }
        (format, _) => target::is_changeable_luks(&target, format.as_deref())?,
    };
    if unlock.backup_header {
        bail!(VolumeError::Invalid(
            "--backup-header: restoring is from the backup by itself".to_owned()
        ));
    }
    if !luks {
        refuse_other_contents(args, device)?;
        let file = backup.as_ref().map(Backup::read).transpose()?;
        let source = file.as_deref().map_or(HeaderSource::Embedded, HeaderSource::File);
        let credentials =
            secrets::read(&(&unlock.secret).into(), &whose(unlock), false, Prompt::Once, stop)?;
        tcrypt::restore_headers(device, source, &credentials, &header_options(unlock, stop)?)
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

/// A saved header, opened once, so that the file that was examined is the one that is restored.
struct Backup<'a> {
    path: &'a Path,
    file: File,
    device: FileDevice,
}

impl<'a> Backup<'a> {
    fn open(path: &'a Path) -> anyhow::Result<Self> {
        let fail = |e: std::io::Error| Refusal::input(path, &e.to_string());
        // Not blocking: opening a pipe would wait for its other end.
        let file = Opening::to_read().without_waiting().open(path).map_err(fail)?;
        let same = file.try_clone().map_err(fail)?;
        let device = FileDevice::from_file(same, IoMode::Buffered, true).map_err(fail)?;
        Ok(Self { path, file, device })
    }

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
