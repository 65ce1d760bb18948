//! Stacked file systems that a program serves through FUSE: a directory with ciphertext on the storage under
//! measurement, and a mount in which it is plain.
//!
//! What differs from program to program is data ([`Stacked`]); setting up, serving and taking down is here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_cipher::Tier;
use cryptbench_text::chain;
use zeroize::Zeroizing;

use crate::adapter::bindfs::BINDFS;
use crate::command::{Invocation, remedy};
use crate::machine::Machine;
use crate::provision::layers::{Layers, Shown};
use crate::provision::secret;
use crate::settings::{self, Choice};
use crate::{
    ArmSpec, Attachment, Availability, Backing, Contender, Content, Ground, Random, Role,
    Selection, Setting, System, SystemError,
};

/// A program that asks its version takes this long at most.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// One such program.
pub(crate) struct Stacked {
    /// The system's name, which is the program's.
    pub(crate) name: &'static str,
    /// What it is, in one line.
    pub(crate) about: &'static str,
    /// How tables call it.
    pub(crate) label: &'static str,
    /// The type of its mounts, as the kernel lists them.
    pub(crate) file_system: &'static str,
    /// What it can be set to.
    pub(crate) settings: &'static [Setting],
    /// The cipher that a choice means; `None` where nothing is encrypted.
    pub(crate) cipher: Option<fn(&Choice) -> &'static str>,
    /// Arguments upon which it prints its version.
    pub(crate) version: &'static [&'static str],
    /// What of that it is.
    pub(crate) read_version: fn(&str) -> Option<String>,
    /// Makes an empty volume, where that is a step of its own.
    pub(crate) create: Option<fn(&Place<'_>) -> Invocation>,
    /// Serves the volume in the foreground.
    pub(crate) serve: fn(&Place<'_>) -> Invocation,
}

/// Where a volume is made and served.
pub(crate) struct Place<'a> {
    /// The directory with ciphertext, empty at first.
    pub(crate) ciphertext: &'a Path,
    /// A directory on the same storage for what a program remembers of its volumes.
    pub(crate) memory: &'a Path,
    /// The directory in which it is plain.
    pub(crate) mount_point: &'a Path,
    /// What the system is set to.
    pub(crate) choice: &'a Choice,
    /// What opens the volume.
    passphrase: &'a str,
}

impl Place<'_> {
    /// The value of a setting.
    pub(crate) fn setting(&self, name: &str) -> &'static str {
        self.choice.get(name).copied().unwrap_or_default()
    }

    /// The passphrase as a program reads it from its standard input.
    pub(crate) fn passphrase(&self) -> Zeroizing<Vec<u8>> {
        secret::line(self.passphrase)
    }
}

impl Stacked {
    /// Whether it can run on `machine`.
    pub(crate) fn availability_on(&self, machine: &Machine) -> Availability {
        if !machine.has(self.name) {
            return Availability::without(
                format!("there is no program {}", self.name),
                remedy(self.name),
            );
        }
        if let Some(lacking) = machine.lacks_fuse() {
            return lacking;
        }
        match Invocation::new(self.name).args(self.version).run_both(machine, VERSION_LIMIT) {
            Ok(said) => Availability::Available(
                (self.read_version)(&said).unwrap_or_else(|| "of unknown version".to_owned()),
            ),
            Err(e) => Availability::without(
                format!("its version cannot be asked: {}", chain(&e)),
                format!("install it anew: {}", remedy(self.name)),
            ),
        }
    }

    /// Sets an arm up on `machine`.
    pub(crate) fn provision_on(
        &self,
        machine: &Machine,
        arm: &ArmSpec,
        ground: &mut Ground<'_>,
    ) -> Result<Contender, SystemError> {
        let choice = settings::of_arm(self, arm);
        let passphrase = secret::passphrase();
        let mut layers = Layers::new(ground.run_id, &arm.id)?;
        let store = layers.store(ground.directory)?;
        let part = |name: &str| -> Result<PathBuf, SystemError> {
            let path = store.join(name);
            std::fs::create_dir(&path).map_err(SystemError::io("create", &path))?;
            Ok(path)
        };
        let (ciphertext, memory) = (part("ciphertext")?, part("memory")?);
        let mount_point = layers.mount_point()?;
        let place = Place {
            ciphertext: &ciphertext,
            memory: &memory,
            mount_point: &mount_point,
            choice: &choice,
            passphrase: &passphrase,
        };
        if let Some(create) = self.create {
            layers.create_volume(self.name, &create(&place), &ciphertext, machine)?;
        }
        ground.go_on()?;
        let (name, file_system) = (self.name, self.file_system);
        let (invocation, at) = ((self.serve)(&place), mount_point.clone());
        let machine = machine.clone();
        let show = move |layers: &mut Layers| {
            let daemon = layers.serve(name, &invocation, &at, file_system, &machine)?;
            Ok(Shown { directory: at.clone(), daemons: vec![daemon] })
        };
        layers.data_at_rest();
        let shown = show(&mut layers)?;
        layers.shown_again_by(show);
        ground.go_on()?;
        let surface = layers.scratch(&mount_point, ground)?;
        let backing = Backing {
            // What the program remembers of its volumes lies there too.
            content: vec![Content::Path(store.clone())],
            tree: Some(ciphertext.clone()),
            random: Random::Mostly,
        };
        let mut contender =
            Contender::on_stand(surface, mount_point, Box::new(layers)).over(backing);
        contender.daemons = shown.daemons;
        contender.stored = Some(ciphertext);
        // The program's files go through the page cache of the target.
        contender.cached_below = true;
        Ok(contender)
    }
}

impl System for Stacked {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn availability(&self) -> Availability {
        self.availability_on(&Machine::this())
    }

    fn settings(&self) -> &'static [Setting] {
        self.settings
    }

    fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        let arm = |choice: Choice| {
            let id = settings::identifier(self, &choice);
            ArmSpec {
                label: settings::label(self, self.label, &choice),
                id,
                role: if self.cipher.is_some() { Role::Encrypted } else { Role::NullLayer },
                system: self.name,
                cipher: self.cipher.map(|cipher| cipher(&choice)),
                // Requests of any size are whole for a file system.
                data_unit: None,
                layout: None,
                settings: settings::in_words(&choice),
            }
        };
        Ok(settings::choices(self, selection).into_iter().map(arm).collect())
    }

    // Blocks with their tags, padded.
    fn footprint(&self, len: u64, _free: u64) -> u64 {
        len + len / 8
    }

    fn attachment(&self) -> Attachment {
        Attachment::Mounted
    }

    fn null_layer(&self) -> &'static str {
        BINDFS.name
    }

    fn provision(&self, arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError> {
        self.provision_on(&Machine::this(), arm, ground)
    }

    fn kernel_tier(&self, _arm: &ArmSpec, _tier: Tier) -> Option<String> {
        None
    }
}

/// The word of a text that looks like a version: digits and points, as in `1.9.5`.
pub(crate) fn first_version(said: &str) -> Option<String> {
    let numeric =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let trim = |word| str::trim_matches(word, |c: char| !c.is_ascii_alphanumeric());
    said.split_whitespace().map(trim).find(numeric).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests;
