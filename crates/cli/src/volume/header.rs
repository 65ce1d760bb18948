//! `cryptbench volume header-backup` and `header-restore`.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::luks;
use cryptbench_volume::format::tcrypt::{self, HeaderSource};
use cryptbench_volume::{Access, VolumeError};

use super::args::{HeaderBackupArgs, HeaderRestoreArgs};
use super::dump::new_file;
use super::key::{header_options, whose};
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::Refusal;

/// Most bytes of a VeraCrypt header backup: two areas of 64 KiB.
const TCRYPT_BACKUP: u64 = 128 << 10;

pub fn backup(args: &HeaderBackupArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    if args.output.exists() {
        return Err(Refusal::target(&args.output, "it exists; nothing is overwritten").into());
    }
    let target = target::open(&unlock.volume, Access::ReadOnly, false)?;
    let device = &*target.device;
    if target::is_luks(&target, unlock.format.as_deref())? {
        new_file(&args.output, |file| {
            luks::backup_header(device, file).map(drop).with_context(|| whose(unlock))
        })?;
    } else {
        let credentials =
            secrets::read(&(&unlock.secret).into(), &whose(unlock), false, Prompt::Once)?;
        let hidden = args.with_hidden.then(|| {
            secrets::read(&(&args.hidden_secret).into(), "the hidden volume", false, Prompt::Once)
        });
        let hidden = hidden.transpose()?;
        let options = header_options(unlock, stop)?;
        let bytes = tcrypt::backup_headers(device, &credentials, hidden.as_ref(), &options)
            .with_context(|| whose(unlock))?;
        new_file(&args.output, |file| file.write_all(&bytes).context("writing the backup"))?;
    }
    eprintln!(
        "cryptbench: saved to {}; whoever has it and a passphrase of today opens the volume",
        args.output.display()
    );
    Ok(ExitCode::SUCCESS)
}

pub fn restore(args: &HeaderRestoreArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let target = target::open(&unlock.volume, Access::ReadWrite, false)?;
    let device = &*target.device;
    // A damaged header may be what is to be mended: then the backup tells the format.
    let luks = match (&unlock.format, &args.backup) {
        (None, Some(path)) => is_luks_backup(path)? || target::is_luks(&target, None)?,
        (format, _) => target::is_luks(&target, format.as_deref())?,
    };
    if unlock.backup_header {
        bail!(VolumeError::Invalid(
            "--backup-header: restoring is from the backup by itself".to_owned()
        ));
    }
    if !luks {
        refuse_other_contents(args, device)?;
        let file = args.backup.as_deref().map(read_backup).transpose()?;
        let source = file.as_deref().map_or(HeaderSource::Embedded, HeaderSource::File);
        let credentials =
            secrets::read(&(&unlock.secret).into(), &whose(unlock), false, Prompt::Once)?;
        tcrypt::restore_headers(device, source, &credentials, &header_options(unlock, stop)?)
            .with_context(|| whose(unlock))?;
    } else if let Some(path) = &args.backup {
        let backup = FileDevice::open(path, IoMode::Buffered, true)
            .map_err(|e| Refusal::input(path, &e.to_string()))?;
        luks::restore_header(device, &backup, args.force).with_context(|| whose(unlock))?;
    } else if !luks::repair(device, args.force).with_context(|| whose(unlock))? {
        eprintln!("cryptbench: both headers of {} are valid; nothing to do", whose(unlock));
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("cryptbench: the header of {} is restored", whose(unlock));
    Ok(ExitCode::SUCCESS)
}

/// A header that opens does not prove that this is its disk: over known contents it is not written.
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

fn is_luks_backup(path: &std::path::Path) -> anyhow::Result<bool> {
    let fail = |e: std::io::Error| Refusal::input(path, &e.to_string());
    let backup = FileDevice::open(path, IoMode::Buffered, true).map_err(fail)?;
    Ok(luks::info(&backup).is_ok())
}

fn read_backup(path: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let fail = |e: std::io::Error| Refusal::input(path, &e.to_string());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(TCRYPT_BACKUP + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > TCRYPT_BACKUP {
        bail!(VolumeError::NotThisFormat {
            format: "header backup",
            reason: format!("{} is longer than 128 KiB", path.display()),
        });
    }
    Ok(bytes)
}
