//! eCryptfs lower directories: lists and decrypts their contents.

pub mod answer;
mod info;
pub mod message;
mod walk;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use cryptbench_os::Directory;
use cryptbench_text::shown;
use cryptbench_volume::{Credentials, VolumeError};

use self::walk::{Doing, Walk, partial};
use super::args::{DumpArgs, SecretSource, UnlockArgs};
use super::confined::Answers;
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::{self, Refusal};
use crate::say;

pub use info::info;

/// Whether the volume is a directory. Always false in the confined process, which cannot access paths.
pub fn is_meant(args: &UnlockArgs) -> bool {
    args.volume.is_dir()
}

/// Writes the directory's decrypted files to a new directory, or lists them.
pub fn dump(args: &DumpArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_others(unlock)?;
    let lower = target::directory(unlock)?;
    if let Some(error) = target::of_another(&lower) {
        return Err(anyhow::Error::from(error).context(shown(&unlock.volume)));
    }
    let output = args.output.as_deref().filter(|_| !args.list);
    if output == Some(Path::new("-")) {
        let reason = "a directory cannot be written to standard output; specify a new directory, or use --list";
        return Err(Refusal::usage(Path::new("-"), reason).into());
    }
    if let Some(output) = output.filter(|output| output.symlink_metadata().is_ok()) {
        return Err(Refusal::target(output, "already exists and will not be overwritten").into());
    }
    let credentials = credentials(unlock, args.wrapped_passphrase.as_deref(), stop)?;
    let (mut answers, _) = Answers::start(Some(&credentials), stop)?;
    probe(&lower, unlock, &mut answers, stop)?;
    let doing = match (output, args.resume) {
        (None, _) => Doing::List,
        (_, false) => Doing::Write,
        (_, true) => Doing::GoOn,
    };
    if doing == Doing::List {
        answers.be_silent();
    }
    let mut walk = Walk::new(&mut answers, doing, stop);
    match output {
        None => walk.below(&lower, None, Path::new(""))?,
        Some(output) => written(&mut walk, &lower, output)?,
    }
    if let Some(why) = &walk.unlike {
        say::message(&format!("warning: some permissions or times could not be preserved: {why}"));
    }
    if walk.problems > 0 {
        let problems = walk.problems;
        say::message(&format!("{problems} of the names and files are incomplete or were left out"));
        return Ok(ExitCode::from(exit::INPUT));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes everything to a directory that gets its final name once it is complete.
fn written(walk: &mut Walk<'_>, lower: &Directory, output: &Path) -> anyhow::Result<()> {
    let fail = |e: io::Error| Refusal::target(output, &e.to_string());
    let (above, name) = Directory::of(output).map_err(fail)?;
    let unfinished = partial(&name);
    let beside = output.with_file_name(&unfinished);
    let to = match above.create_subdirectory(&unfinished) {
        Err(e) if walk.stays(&e) => above.subdirectory(&unfinished),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            Err(io::Error::other("already exists; remove it, or continue with --resume"))
        }
        made => made,
    };
    let to = to.and_then(|to| match to.is_own_alone() {
        true => Ok(to),
        false => Err(io::Error::other("other users can write to it")),
    });
    let to = to.map_err(|e| Refusal::target(&beside, &e.to_string()))?;
    walk.below(lower, Some(&to), Path::new("")).inspect_err(|_| {
        let beside = shown(&beside);
        let goes_on = "repeat the command with --resume to continue";
        say::message(&format!("the partial output is in {beside}; {goes_on}"));
    })?;
    walk.looks_alike(to.take_after(lower));
    to.sync_file_system().map_err(fail)?;
    above.rename_to_new(&unfinished, &name).map_err(fail)?;
    Ok(above.sync().map_err(fail)?)
}

/// Refuses a passphrase that opens nothing, and a directory that contains nothing to open.
fn probe(
    lower: &Directory,
    unlock: &UnlockArgs,
    answers: &mut Answers,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut walk = Walk::new(answers, Doing::Probe, stop);
    walk.below(lower, None, Path::new(""))?;
    match walk.refused.into_iter().next() {
        _ if walk.has_opened => Ok(()),
        Some(why) => Err(VolumeError::NoKeyFits(why).into()),
        None => Err(nothing(unlock)),
    }
}

/// The error for a directory that is not a volume.
fn nothing(unlock: &UnlockArgs) -> anyhow::Error {
    let reason = "is a directory that contains nothing encrypted with eCryptfs";
    Refusal::target(&unlock.volume, reason).into()
}

/// The login passphrase with the wrapped passphrase, or the mount passphrase.
fn credentials(
    unlock: &UnlockArgs,
    wrapped: Option<&Path>,
    stop: &AtomicBool,
) -> anyhow::Result<Credentials> {
    let mut source: SecretSource = unlock.into();
    source.keyfiles.extend(wrapped.map(Path::to_owned));
    secrets::read(&source, &shown(&unlock.volume), false, Prompt::Once, stop)
}

/// Refuses options that apply only to a directory, if the volume is not one.
pub fn refuse_files(
    unlock: &UnlockArgs,
    wrapped: Option<&Path>,
    lists: bool,
) -> anyhow::Result<()> {
    let given = [("--wrapped-passphrase", wrapped.is_some()), ("--list", lists)];
    refuse_first(unlock, &given, "is only for eCryptfs directories")
}

/// Refuses options that do not apply to a directory.
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
    refuse_first(unlock, &given, "cannot be used with eCryptfs directories")
}

fn refuse_first(unlock: &UnlockArgs, given: &[(&str, bool)], why: &str) -> anyhow::Result<()> {
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Refusal::usage(&unlock.volume, &format!("{option} {why}")).into()),
    }
}
