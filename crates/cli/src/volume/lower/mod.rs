//! Lower directories of eCryptfs: what is in them, listed and written as their user sees it.

pub mod answer;
mod info;
pub mod message;
mod walk;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use cryptbench_catalog::SYSTEMS;
use cryptbench_os::Directory;
use cryptbench_text::shown;
use cryptbench_volume::{Credentials, VolumeError};

use self::walk::{Doing, Walk, partial};
use super::args::{DumpArgs, SecretSource, UnlockArgs};
use super::confined::Answers;
use super::secrets::{self, Prompt};
use crate::exit::{self, Refusal};
use crate::say;

pub use info::info;

/// Whether the volume is a directory. Never so in the confined process, which sees no paths.
pub fn is_meant(args: &UnlockArgs) -> bool {
    args.volume.is_dir()
}

/// Writes the directory's files into a new one, or lists them.
pub fn dump(args: &DumpArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_others(unlock)?;
    let lower = open(unlock)?;
    if let Some(error) = of_another(&lower) {
        return Err(anyhow::Error::from(error).context(shown(&unlock.volume)));
    }
    let output = match (&args.output, args.list) {
        (Some(output), false) if output == Path::new("-") => {
            let reason = "a directory is written to a directory, or listed with --list";
            return Err(Refusal::usage(output, reason).into());
        }
        (Some(output), false) => {
            if output.symlink_metadata().is_ok() {
                return Err(Refusal::target(output, "it exists; nothing is overwritten").into());
            }
            Some(output)
        }
        _ => None,
    };
    let credentials = credentials(unlock, args.wrapped_passphrase.as_deref(), stop)?;
    let (mut answers, _) = Answers::start(Some(&credentials), stop)?;
    probe(&lower, unlock, &mut answers, stop)?;
    if output.is_none() {
        answers.be_silent();
    }
    let mut walk = Walk::new(&mut answers, Doing::List, stop);
    match output {
        None => walk.below(&lower, None, Path::new(""))?,
        Some(output) => {
            walk.doing = Doing::Write { goes_on: args.resume };
            written(&mut walk, &lower, output, args.resume)?;
        }
    }
    if let Some(why) = &walk.unlike {
        say::message(&format!("warning: permissions and times could not all be kept: {why}"));
    }
    match walk.problems {
        0 => Ok(ExitCode::SUCCESS),
        problems => {
            say::message(&format!("{problems} of its names and files are not whole or left out"));
            Ok(ExitCode::from(exit::INPUT))
        }
    }
}

/// Has everything written into a directory that gets its name once that is done.
fn written(
    walk: &mut Walk<'_>,
    lower: &Directory,
    output: &Path,
    resumes: bool,
) -> anyhow::Result<()> {
    let fail = |e: io::Error| Refusal::target(output, &e.to_string());
    let (above, name) = Directory::of(output).map_err(fail)?;
    let unfinished = partial(&name);
    let beside = output.with_file_name(&unfinished);
    let to = match above.create_subdirectory(&unfinished) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && resumes => {
            let to = above.subdirectory(&unfinished);
            let to = to.map_err(|e| Refusal::target(&beside, &e.to_string()))?;
            if !to.is_own_alone() {
                return Err(Refusal::target(&beside, "others can write in it").into());
            }
            to
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let reason = "it exists; remove it, or go on with it with --resume";
            return Err(Refusal::target(&beside, reason).into());
        }
        made => made.map_err(fail)?,
    };
    if let Err(error) = walk.below(lower, Some(&to), Path::new("")) {
        say::message(&format!(
            "what was written is kept in {}; the same command with --resume goes on with it",
            shown(&beside)
        ));
        return Err(error);
    }
    let _ = to.take_after(lower);
    to.sync_file_system().map_err(fail)?;
    above.rename_to_new(&unfinished, &name).map_err(fail)?;
    Ok(above.sync().map_err(fail)?)
}

/// Refuses a passphrase that opens nothing, and a directory in which nothing is to be opened.
fn probe(
    lower: &Directory,
    unlock: &UnlockArgs,
    answers: &mut Answers,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut walk = Walk::new(answers, Doing::Probe, stop);
    walk.below(lower, None, Path::new(""))?;
    if walk.has_opened {
        return Ok(());
    }
    Err(nothing(unlock))
}

/// The error of a directory that is no volume.
fn nothing(unlock: &UnlockArgs) -> anyhow::Error {
    let reason = "it is a directory in which nothing is encrypted by eCryptfs";
    Refusal::target(&unlock.volume, reason).into()
}

/// The program whose directory it is, as far as a file in it tells.
fn of_another(lower: &Directory) -> Option<VolumeError> {
    let names = lower.names().unwrap_or_default();
    let is_here = |file: &&str| names.iter().any(|name| name == *file);
    let system = SYSTEMS.iter().find(|system| system.files.iter().any(is_here))?;
    Some(VolumeError::CannotOpen {
        what: format!("a {} directory", system.name),
        why: "this program does not have the format".to_owned(),
        with: format!("{} opens it", system.name),
    })
}

fn open(unlock: &UnlockArgs) -> anyhow::Result<Directory> {
    let lower = Directory::open(&unlock.volume);
    Ok(lower.map_err(|e| Refusal::target(&unlock.volume, &e.to_string()))?)
}

/// The login's passphrase with the wrapped one, or the mount's.
fn credentials(
    unlock: &UnlockArgs,
    wrapped: Option<&Path>,
    stop: &AtomicBool,
) -> anyhow::Result<Credentials> {
    let mut source: SecretSource = unlock.into();
    source.keyfiles.extend(wrapped.map(Path::to_owned));
    secrets::read(&source, &shown(&unlock.volume), false, Prompt::Once, stop)
}

/// Refuses what means something only for a directory.
pub fn refuse_files(
    unlock: &UnlockArgs,
    wrapped: Option<&Path>,
    lists: bool,
) -> anyhow::Result<()> {
    let given = [("--wrapped-passphrase", wrapped.is_some()), ("--list", lists)];
    refuse_first(unlock, &given, "is only for directories of eCryptfs")
}

/// Refuses options that mean nothing for a directory.
fn refuse_others(unlock: &UnlockArgs) -> anyhow::Result<()> {
    let UnlockArgs { secret, header, partition, offset, key_slot, .. } = unlock;
    let given = [
        ("--keyfile", !secret.keyfile.is_empty()),
        ("--pim", secret.pim.is_some()),
        ("--header", header.is_some()),
        ("--partition", partition.is_some()),
        ("--offset", offset.is_some()),
        ("--key-slot", key_slot.is_some()),
        ("--recovery-password-file", unlock.recovery_password_file.is_some()),
        ("--startup-key", unlock.startup_key.is_some()),
        ("--format", unlock.format.as_deref().is_some_and(|format| format != "ecryptfs")),
        ("--prf", unlock.prf.is_some()),
        ("--hidden", unlock.hidden),
        ("--system", unlock.system),
        ("--backup-header", unlock.backup_header),
    ];
    refuse_first(unlock, &given, "is not for directories of eCryptfs")
}

fn refuse_first(unlock: &UnlockArgs, given: &[(&str, bool)], why: &str) -> anyhow::Result<()> {
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Refusal::usage(&unlock.volume, &format!("{option} {why}")).into()),
    }
}
