//! Stacked file systems that a program serves through FUSE: a directory with ciphertext on the measured
//! storage, and a mount that shows the plaintext.
//!
//! [`Program`] describes how the programs differ; the code here sets them up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_catalog::{self as catalog, Remedy};
use cryptbench_text::chain;
use zeroize::Zeroizing;

use super::stacked::{Laid, Stacked};
use crate::command::Invocation;
use crate::machine::Machine;
use crate::prepared::Shown;
use crate::provision::secret;
use crate::resource::{ResourceStack, WorkTree, daemon, mount_point};
use crate::settings::{self, Choice};
use crate::system::{Kind, System};
use crate::{
    ArmContext, ArmSpec, Availability, Backing, Content, Features, Random, Role, Selection,
    SystemError,
};

/// Maximum time for a program to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// A program that serves such a file system. Its name is also the system's name.
pub(crate) struct Program {
    /// The cipher of a choice; `None` if nothing is encrypted.
    pub(crate) cipher: Option<fn(&Choice) -> &'static str>,
    /// Arguments that make it print its version.
    pub(crate) version: &'static [&'static str],
    /// Extracts the version from that output.
    pub(crate) read_version: fn(&str) -> Option<String>,
    /// Creates an empty volume, if that is a separate step.
    pub(crate) create: Option<fn(&StackedDirs<'_>) -> Invocation>,
    /// Serves the volume in the foreground.
    pub(crate) serve: fn(&StackedDirs<'_>) -> Invocation,
}

/// The directories and settings of a volume.
pub(crate) struct StackedDirs<'a> {
    /// The directory for ciphertext, initially empty.
    pub(crate) ciphertext: &'a Path,
    /// A directory on the same storage in which the program stores the state of its volumes.
    pub(crate) memory: &'a Path,
    /// The mount point for the plaintext.
    pub(crate) mount_point: &'a Path,
    /// The settings of the system.
    pub(crate) choice: &'a Choice,
    /// The passphrase of the volume.
    passphrase: &'a str,
}

impl StackedDirs<'_> {
    /// The value of a setting.
    pub(crate) fn setting(&self, name: &str) -> &'static str {
        self.choice.get(name).copied().unwrap_or_default()
    }

    /// The passphrase in the form in which a program reads it from its standard input.
    pub(crate) fn passphrase(&self) -> Zeroizing<Vec<u8>> {
        secret::line(self.passphrase.as_bytes())
    }
}

impl System {
    /// A system served by a program.
    pub(crate) const fn program(facts: &'static catalog::System, program: Program) -> Self {
        let kind = Kind::Stacked(Stacked::Program(program));
        Self { availability, arms, ..Self::new(facts, kind) }
    }
}

fn program_of(system: &System) -> &Program {
    match &system.kind {
        Kind::Stacked(Stacked::Program(program)) => program,
        _ => unreachable!("made as one above"),
    }
}

fn availability(system: &System, machine: &Machine) -> Availability {
    let (name, program) = (system.name, program_of(system));
    if !machine.has(name) {
        return Availability::without(format!("{name} is not installed"), Remedy::program(name));
    }
    if let Some(lacking) = machine.lacks_fuse() {
        return lacking;
    }
    match Invocation::new(name).args(program.version).run_both(machine, VERSION_LIMIT) {
        Ok(said) => Availability::Available(
            (program.read_version)(&said).unwrap_or_else(|| "of unknown version".to_owned()),
        ),
        Err(e) => Availability::without(
            format!("cannot get its version: {}", chain(&e)),
            Remedy::program(name).after("reinstall it: "),
        ),
    }
}

fn arms(system: &System, selection: &Selection, _: &Features) -> Result<Vec<ArmSpec>, SystemError> {
    let program = program_of(system);
    let title = system.facts.usual_title();
    let role = if program.cipher.is_some() { Role::Encrypted } else { Role::NullLayer };
    let arm = |choice: Choice| ArmSpec {
        cipher: program.cipher.map(|cipher| cipher(&choice)),
        // These file systems accept requests of any size.
        ..settings::arm(system, &title, role, &choice)
    };
    Ok(settings::choices(system, selection).into_iter().map(arm).collect())
}

/// Creates a volume, and returns the program that serves it.
pub(crate) fn create(
    program: &Program,
    system: &System,
    arm: &ArmSpec,
    context: &ArmContext<'_>,
    stack: &mut ResourceStack,
) -> Result<Laid, SystemError> {
    let choice = settings::of_arm(system, arm);
    let passphrase = secret::passphrase();
    let store = context.path_for(arm, "store");
    let what = WorkTree { path: store.clone() };
    stack.create(what.clone(), || what.make())?;
    let part = |name: &str| -> Result<PathBuf, SystemError> {
        let path = store.join(name);
        std::fs::create_dir(&path).map_err(SystemError::io("create", &path))?;
        Ok(path)
    };
    let (ciphertext, memory) = (part("ciphertext")?, part("memory")?);
    let mount_point = mount_point::create(stack)?;
    let dirs = StackedDirs {
        ciphertext: &ciphertext,
        memory: &memory,
        mount_point: &mount_point,
        choice: &choice,
        passphrase: &passphrase,
    };
    let (name, machine) = (system.name, Machine::this());
    if let Some(create) = program.create {
        daemon::run_to_its_end(stack, name, &create(&dirs), &ciphertext, &machine)?;
    }
    let invocation = (program.serve)(&dirs);
    let file_system =
        system.facts.mounted_as.expect("a program that serves a mount has its type in the catalog");
    let open = move |stack: &mut ResourceStack| {
        let number = daemon::serve(stack, name, &invocation, &mount_point, file_system, &machine)?;
        Ok(Shown { directory: mount_point.clone(), device: None, daemons: vec![number] })
    };
    let backing = Backing {
        // The program also stores the state of its volumes there.
        content: vec![Content::Path(store)],
        tree: Some(ciphertext.clone()),
        random: Random::Mostly,
        beside: Some(memory),
    };
    // The program accesses its files through the target's page cache.
    Ok(Laid {
        backing,
        stored: Some(ciphertext),
        cached: true,
        open: Box::new(open),
        write_back: None,
    })
}

/// The first word that looks like a version: digits and dots, as in `1.9.5`.
pub(crate) fn first_version(said: &str) -> Option<String> {
    let numeric =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let trim = |word| str::trim_matches(word, |c: char| !c.is_ascii_alphanumeric());
    said.split_whitespace().map(trim).find(numeric).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
