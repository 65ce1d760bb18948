//! The kind of a directory, and what the headers of its files reveal without a key.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use cryptbench_text::shown;
use cryptbench_volume::VolumeError;
use cryptbench_volume::format::ecryptfs::{Signature, name_of_code};
use serde::Serialize;

use super::message::Facts;
use super::walk::{Doing, Walk};
use super::{credentials, nothing, probe, refuse_others};
use crate::say::print_json;
use crate::volume::args::InfoArgs;
use crate::volume::confined::Answers;
use crate::volume::info::Lines;
use crate::volume::target;

/// The findings in a directory.
#[derive(Default, Serialize)]
pub struct Found {
    what: String,
    /// Why this program does not open the directory.
    cannot_be_opened: Option<String>,
    /// Lower files with a header.
    files: u64,
    pub directories: u64,
    pub links: u64,
    /// Number of names that are encrypted, and number of names that are not.
    encrypted_names: u64,
    plain_names: u64,
    /// Total decrypted size of all files, in bytes.
    bytes: u64,
    /// Number of files by cipher and key length.
    ciphers: BTreeMap<String, u64>,
    /// Signatures of the keys of files and of names.
    keys: BTreeMap<String, u64>,
    name_keys: BTreeMap<String, u64>,
    /// The first entries that are not complete lower files, with the reasons, and the number of further entries.
    problems: Vec<(String, String)>,
    more_problems: u64,
    /// Signatures of the keys derived from the passphrase.
    opened_with: Vec<String>,
}

/// Maximum number of problems and kinds of entries that are listed individually, because the number in an untrusted
/// directory is unlimited.
const LISTED: usize = 20;

pub fn info(args: &InfoArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let unlock = &args.unlock;
    refuse_others(unlock)?;
    let lower = target::directory(unlock)?;
    let mut found = Found::default();
    if let Some(error) = target::of_another(&lower) {
        if let VolumeError::CannotOpen { what, .. } = &error {
            found.what.clone_from(what);
        }
        found.cannot_be_opened = Some(error.to_string());
    } else {
        let mut keys = Vec::new();
        if args.open {
            let credentials = credentials(unlock, args.wrapped_passphrase.as_deref(), stop)?;
            let mut answers;
            (answers, keys) = Answers::start(Some(&credentials), stop)?;
            probe(&lower, unlock, &mut answers, stop)?;
        }
        // This is done in a separate process, because headers are examined here regardless of the keys.
        let (mut answers, _) = Answers::start(None, stop)?;
        let mut walk = Walk::new(&mut answers, Doing::Info, stop);
        walk.below(&lower, None, Path::new(""))?;
        found = walk.found;
        found.opened_with = keys.iter().map(ToString::to_string).collect();
        if found.files + found.encrypted_names == 0 {
            return Err(nothing(unlock));
        }
        found.what = "an eCryptfs lower directory".to_owned();
    }
    match args.json {
        true => print_json(&found)?,
        false => found.print(&unlock.volume),
    }
    Ok(ExitCode::SUCCESS)
}

fn count(all: &mut BTreeMap<String, u64>, what: String) {
    let is_listed = all.len() < LISTED || all.contains_key(&what);
    *all.entry(if is_listed { what } else { "others".to_owned() }).or_default() += 1;
}

impl Found {
    /// The key with which a name is encrypted, if it is encrypted.
    pub fn name(&mut self, key: &[u8]) {
        match key.try_into() {
            Ok(key) => {
                self.encrypted_names += 1;
                count(&mut self.name_keys, Signature(key).to_string());
            }
            Err(_) => self.plain_names += 1,
        }
    }

    pub fn file(&mut self, facts: &Facts) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(facts.size);
        let cipher = match name_of_code(facts.cipher) {
            Some(name) => format!("{name}, {}-bit key", 8 * u32::from(facts.key_bytes)),
            None => format!("OpenPGP cipher {}", facts.cipher),
        };
        count(&mut self.ciphers, cipher);
        count(&mut self.keys, facts.key.to_string());
    }

    pub fn problem(&mut self, path: &Path, why: &str) {
        match self.problems.len() < LISTED {
            true => self.problems.push((shown(path), why.to_owned())),
            false => self.more_problems += 1,
        }
    }

    fn print(&self, path: &Path) {
        let mut lines = Lines::default();
        lines.add("volume", &shown(path));
        lines.add("type", &self.what);
        if let Some(why) = &self.cannot_be_opened {
            lines.add("cannot be opened", why);
        } else {
            lines.add("files", &format!("{}, {} bytes in total", self.files, self.bytes));
            lines.add("directories", &self.directories);
            lines.add("links", &self.links);
            let (encrypted, plain) = (self.encrypted_names, self.plain_names);
            lines.add("names", &format!("{encrypted} encrypted, {plain} not"));
        }
        for (name, all) in
            [("cipher", &self.ciphers), ("file keys", &self.keys), ("name keys", &self.name_keys)]
        {
            let counted = all.iter().map(|(what, count)| format!("{what} ({count})"));
            if !all.is_empty() {
                lines.add(name, &counted.collect::<Vec<_>>().join("; "));
            }
        }
        if !self.opened_with.is_empty() {
            lines.add("unlocked with", &self.opened_with.join(", "));
        }
        for (path, why) in &self.problems {
            lines.add("incomplete", &format!("{path}: {why}"));
        }
        if self.more_problems > 0 {
            lines.add("incomplete", &format!("{} more", self.more_problems));
        }
        lines.print();
    }
}
