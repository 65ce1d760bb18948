//! What a directory is, and what its headers say without a key.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use cryptbench_os::{Directory, FileType};
use cryptbench_text::shown;
use cryptbench_volume::VolumeError;
use cryptbench_volume::format::ecryptfs::name_of_code;
use serde::Serialize;

use super::message::{Question, Reply};
use super::{credentials, nothing, of_another, open, probe, refuse_others};
use crate::say::print_json;
use crate::volume::args::InfoArgs;
use crate::volume::confined::Answers;
use crate::volume::info::Lines;

/// What was found in a directory.
#[derive(Default, Serialize)]
struct Found {
    what: String,
    /// Why this program does not open it.
    cannot_be_opened: Option<String>,
    /// Lower files with a header.
    files: u64,
    directories: u64,
    links: u64,
    /// Names that are encrypted, and those that are not.
    encrypted_names: u64,
    plain_names: u64,
    /// Bytes of all files as their user sees them.
    bytes: u64,
    /// Files by cipher and length of the key.
    ciphers: BTreeMap<String, u64>,
    /// Signatures of the keys of files, and of names.
    keys: BTreeMap<String, u64>,
    name_keys: BTreeMap<String, u64>,
    /// What is no whole lower file, and why.
    problems: Vec<(String, String)>,
    /// Signatures of the keys that the passphrase gives.
    opened_with: Vec<String>,
}

/// Problems that are listed one by one.
const LISTED: usize = 20;

pub fn info(args: &InfoArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_others(unlock)?;
    let lower = open(unlock)?;
    let mut found = Found::default();
    if let Some(error) = of_another(&lower) {
        found.what = "a directory".to_owned();
        if let VolumeError::CannotOpen { what, .. } = &error {
            found.what.clone_from(what);
        }
        found.cannot_be_opened = Some(error.to_string());
    } else {
        let credentials = args
            .open
            .then(|| credentials(unlock, args.wrapped_passphrase.as_deref(), stop))
            .transpose()?;
        let (mut answers, keys) = Answers::start(credentials.as_ref(), stop)?;
        if credentials.is_some() {
            probe(&lower, unlock, &mut answers, stop)?;
        }
        // Another process, as headers are looked at here whatever keys there are.
        let (mut answers, _) = Answers::start(None, stop)?;
        look(&lower, Path::new(""), &mut found, &mut answers, stop)?;
        found.opened_with = keys.iter().map(ToString::to_string).collect();
        if found.files + found.encrypted_names == 0 {
            return Err(nothing(unlock));
        }
        found.what = "a lower directory of eCryptfs".to_owned();
    }
    match args.json {
        true => print_json(&found)?,
        false => found.print(&unlock.volume),
    }
    Ok(ExitCode::SUCCESS)
}

fn look(
    lower: &Directory,
    path: &Path,
    found: &mut Found,
    answers: &mut Answers,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut names = lower.names().unwrap_or_default();
    names.sort();
    for name in names {
        if stop.load(Ordering::Relaxed) {
            bail!(VolumeError::Stopped);
        }
        let path = path.join(&name);
        let tell = |found: &mut Found, why: String| found.problems.push((shown(&path), why));
        let question = Question::KeyOf(name.as_encoded_bytes().to_vec());
        match answers.ask(&question, &[], stop)? {
            Reply::KeyOf(Some(key)) => {
                found.encrypted_names += 1;
                *found.name_keys.entry(key.to_string()).or_default() += 1;
            }
            Reply::Failed(why) => tell(found, why),
            _ => found.plain_names += 1,
        }
        let Ok(Some(entry)) = lower.entry(&name) else { continue };
        match entry.kind {
            FileType::Directory => {
                found.directories += 1;
                match lower.subdirectory(&name) {
                    Ok(below) => look(&below, &path, found, answers, stop)?,
                    Err(error) => tell(found, error.to_string()),
                }
            }
            FileType::Symlink => found.links += 1,
            FileType::RegularFile => match lower.open_file(&name) {
                Err(error) => tell(found, error.to_string()),
                Ok(file) => match answers.ask(&Question::Header, &[&file], stop)? {
                    Reply::Header(facts) => {
                        found.files += 1;
                        found.bytes = found.bytes.saturating_add(facts.size);
                        if entry.len < facts.whole {
                            let why = format!(
                                "it is cut short: its lower file has {} bytes of {}",
                                entry.len, facts.whole
                            );
                            tell(found, why);
                        }
                        let cipher = match name_of_code(facts.cipher) {
                            Some(name) => {
                                format!("{name}, {}-bit key", 8 * u32::from(facts.key_bytes))
                            }
                            None => format!("cipher {} of OpenPGP", facts.cipher),
                        };
                        *found.ciphers.entry(cipher).or_default() += 1;
                        *found.keys.entry(facts.key.to_string()).or_default() += 1;
                    }
                    Reply::Failed(why) | Reply::NoKey(why) => tell(found, why),
                    _ => {}
                },
            },
            _ => {}
        }
    }
    Ok(())
}

impl Found {
    fn print(&self, path: &Path) {
        let mut lines = Lines::default();
        lines.add("volume", &shown(path));
        lines.add("what it is", &self.what);
        if let Some(why) = &self.cannot_be_opened {
            lines.add("cannot be opened", why);
        } else {
            lines.add("files", &format!("{} of {} bytes in all", self.files, self.bytes));
            lines.add("directories", &self.directories);
            lines.add("links", &self.links);
            let (encrypted, plain) = (self.encrypted_names, self.plain_names);
            lines.add("names", &format!("{encrypted} encrypted, {plain} not"));
        }
        let counted = |all: &BTreeMap<String, u64>| {
            all.iter()
                .map(|(what, count)| format!("{what} ({count})"))
                .collect::<Vec<_>>()
                .join("; ")
        };
        for (name, all) in [
            ("cipher", &self.ciphers),
            ("keys of files", &self.keys),
            ("keys of names", &self.name_keys),
        ] {
            if !all.is_empty() {
                lines.add(name, &counted(all));
            }
        }
        if !self.opened_with.is_empty() {
            lines.add("opened with", &self.opened_with.join(", "));
        }
        for (path, why) in self.problems.iter().take(LISTED) {
            lines.add("not whole", &format!("{path}: {why}"));
        }
        if let Some(more @ 1..) = self.problems.len().checked_sub(LISTED) {
            lines.add("not whole", &format!("{more} more"));
        }
        lines.print();
    }
}
