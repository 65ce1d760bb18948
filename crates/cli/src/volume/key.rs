//! `cryptbench volume key`.

use std::cell::OnceCell;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, bail};
use cryptbench_cipher::tier;
use cryptbench_kdf::{Derivation, Function};
use cryptbench_volume::format::luks::{self, KeyOptions, Removal};
use cryptbench_volume::format::tcrypt::{self, HeaderOptions};
use cryptbench_volume::{Access, Credentials, VolumeError};

use super::args::{ChangeKeyArgs, KeyArgs, KeyCommand, RemoveKeyArgs, UnlockArgs};
use super::confined::{self, Asking, Asks, Given, Task};
use super::create::calibrated;
use super::secrets::{self, Prompt};
use super::target;
use super::{effort, resources, weak};
use crate::say;

pub fn key(args: &KeyArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let (KeyCommand::Add(ChangeKeyArgs { unlock, .. })
    | KeyCommand::Change(ChangeKeyArgs { unlock, .. })
    | KeyCommand::Remove(RemoveKeyArgs { unlock, .. })) = &args.command;
    if unlock.backup_header {
        let reason = "--backup-header cannot be used here, because keys are changed in both headers; if one header is \
                      damaged, repair it first with `header-restore`";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    if unlock.header.is_some() {
        let reason = "the keys are in the detached header: specify the header file as the volume";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    match &args.command {
        KeyCommand::Add(args) => add_or_change(args, true, stop),
        KeyCommand::Change(args) => add_or_change(args, false, stop),
        KeyCommand::Remove(args) => remove(args, stop),
    }
}

fn add_or_change(args: &ChangeKeyArgs, add: bool, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let task = Task::on(unlock, Access::ReadWrite);
    let work = |given: Given| replace(args, add, &given, stop);
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    // If the old passphrase is wrong, it is requested again, but the new passphrase is not.
    let new = OnceCell::new();
    task.run(
        None,
        |asks| {
            let Asks { luks, recovery, .. } = asks()?;
            if recovery || (add && !luks) {
                // The child gives the reason before the passphrase prompt.
                return Ok(Vec::new());
            }
            let existing =
                secrets::read(&(&unlock.secret).into(), &whose(unlock), luks, Prompt::Once, stop)?;
            if new.get().is_none() {
                let source = (&args.new).into();
                let _ = new.set(secrets::read(&source, "the new key", luks, Prompt::Twice, stop)?);
            }
            Ok(std::iter::once(existing).chain(new.get().cloned()).collect())
        },
        work,
        stop,
    )
}

fn replace(
    args: &ChangeKeyArgs,
    add: bool,
    given: &Given,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let luks = target::is_changeable_luks(&given.target, unlock.format.as_deref())?;
    if add && !luks {
        let reason =
            "only LUKS supports several keys; for VeraCrypt and TrueCrypt use `key change`";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    let [existing, new] = &given.credentials[..] else { bail!("no credentials were received") };
    let device = &*given.target.device;
    let done = || unlock.volume.display().to_string();
    if !luks {
        let prf = args.new_prf.as_deref().map(Function::find).transpose()?.map(Function::name);
        let new = Credentials { pim: new.pim.or(existing.pim), ..new.clone() };
        tcrypt::change_credentials(device, existing, &new, prf, &header_options(unlock, stop)?)
            .with_context(done)?;
        say::message(&format!(
            "the credentials were changed{}; older copies of the header can still be unlocked with the old ones",
            changed(existing, &new)
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let info = luks::info(device).with_context(done)?;
    let derivation = luks_derivation(args, &info, stop)?;
    weak::warn(new.passphrase.bytes(), &derivation, 64);
    let resources = resources(stop)?;
    let (keyslot, only) = (args.new_key_slot, unlock.key_slot);
    let in_place = args.in_place;
    let options = KeyOptions { keyslot, existing: only, in_place, derivation, resources };
    let keyslot = if add {
        luks::add_key(device, existing, new, &options).with_context(done)?
    } else {
        luks::change_key(device, existing, new, &options).with_context(done)?
    };
    say::message(&format!("the new key is in keyslot {keyslot}"));
    Ok(ExitCode::SUCCESS)
}

/// What else the new credentials need, or no longer need.
fn changed(existing: &Credentials, new: &Credentials) -> String {
    let mut parts = String::new();
    if new.keyfiles.is_empty() && !existing.keyfiles.is_empty() {
        parts += "; the volume now opens without a key file";
    }
    if new.pim == existing.pim && new.pim.is_some_and(|pim| pim > 0) {
        parts += "; the PIM is unchanged";
    }
    parts
}

/// LUKS1 uses a single hash for everything, which its first keyslot specifies.
fn luks_derivation(
    args: &ChangeKeyArgs,
    info: &luks::Info,
    stop: &AtomicBool,
) -> anyhow::Result<Derivation> {
    let slot = info.keyslots.first();
    let key_bytes = slot.and_then(|slot| slot.key_bytes).unwrap_or(64);
    let of_header = slot.and_then(|slot| slot.splitter).and_then(|(hash, _)| luks::prf_of(hash));
    let name = match (&args.new_prf, info.version) {
        (Some(name), _) => name,
        (None, luks::Version::Luks2) => "argon2id",
        (None, luks::Version::Luks1) => of_header.unwrap_or("sha-256"),
    };
    calibrated(name, key_bytes, args.unlock_time, stop)
}

fn remove(args: &RemoveKeyArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    let task = Task::on(unlock, Access::ReadWrite);
    let work = |given: Given| take_away(args, &given, stop);
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    let secret = |asks: Asking<'_>| {
        if args.keyslot.is_some() || !asks()?.luks {
            return Ok(Vec::new());
        }
        let whose = "the key to remove";
        Ok(vec![secrets::read(&(&unlock.secret).into(), whose, true, Prompt::Once, stop)?])
    };
    task.run(None, secret, work, stop)
}

fn take_away(args: &RemoveKeyArgs, given: &Given, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if !target::is_changeable_luks(&given.target, args.unlock.format.as_deref())? {
        bail!(VolumeError::Invalid("only LUKS keys can be removed".to_owned()));
    }
    let removal = match (args.keyslot, given.credentials.first()) {
        (Some(keyslot), _) => Removal::Keyslot(keyslot),
        (None, Some(credentials)) => Removal::Credentials(credentials, args.unlock.key_slot),
        (None, None) => bail!("no credentials were received"),
    };
    let keyslot = luks::remove_key(&*given.target.device, removal, args.force, &resources(stop)?)
        .with_context(|| whose(&args.unlock))?;
    say::message(&format!("removed keyslot {keyslot}; older header backups still contain it"));
    Ok(ExitCode::SUCCESS)
}

pub fn whose(unlock: &UnlockArgs) -> String {
    unlock.volume.display().to_string()
}

pub fn header_options<'a>(
    unlock: &'a UnlockArgs,
    stop: &'a AtomicBool,
) -> anyhow::Result<HeaderOptions<'a>> {
    Ok(HeaderOptions {
        hidden: unlock.hidden,
        system: unlock.system,
        prf: unlock.prf.as_deref().map(Function::find).transpose()?.map(Function::name),
        ..HeaderOptions::new(tier()?, effort(stop)?)
    })
}
