//! Whether existing storage may be overwritten: only with its user's consent, only if nothing else uses it, and only if
//! it is still the same storage when the first byte is written.

use std::path::{Path, PathBuf};

use crate::look::Number;
use crate::look::existing::{Found, Held, Holes, Identity, Kind};
use crate::refusal::Refusal;
use crate::request::Consent;

/// Existing storage that its user has allowed the run to overwrite.
#[derive(Clone, Debug)]
pub(crate) struct Existing {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) identity: Identity,
    /// Names of the signatures that will be lost, without duplicates.
    pub(crate) signatures: Vec<String>,
    pub(crate) held: Vec<Held>,
    pub(crate) holes: Holes,
    /// The backing file of a loop device.
    pub(crate) backing_file: Option<String>,
    pub(crate) has_partitions: bool,
}

impl Existing {
    /// Accepts the `found` storage, or refuses it. `consented` has the numbers of the paths in `consent`.
    pub(crate) fn admit(
        found: &Found,
        consent: &Consent,
        consented: &[(PathBuf, Option<Number>)],
    ) -> Result<Self, Refusal> {
        let Found { path, kind, .. } = found;
        let uses = found.uses.clone()?;
        if !uses.is_empty() {
            return Err(Refusal::Used(uses));
        }
        refuse_links(found.names.clone()?)?;
        if found.is_read_only {
            let remedy = "make it writable with blockdev --setrw, or choose another device".into();
            return Err(Refusal::ReadOnly { remedy });
        }
        found.is_free.clone()?;
        let identity = found.identity.clone()?;
        let held = found.held.clone()?;
        if !consented.iter().any(|(_, number)| *number == Some(identity.number)) {
            return Err(Refusal::NotNamedAgain {
                what: kind.in_words().to_owned() + &found.maker,
                path: path.clone(),
                size: identity.size,
                signatures: once(held),
            });
        }
        let unsaid: Vec<_> =
            held.iter().filter(|s| !consent.erase.contains(&s.name)).cloned().collect();
        if !unsaid.is_empty() {
            return Err(Refusal::Signature { signatures: once(unsaid) });
        }
        let mut signatures: Vec<String> = Vec::new();
        for one in &held {
            if !signatures.contains(&one.name) {
                signatures.push(one.name.clone());
            }
        }
        Ok(Self {
            path: path.clone(),
            kind: *kind,
            identity,
            signatures,
            held,
            holes: found.holes.clone()?,
            backing_file: found.backing_file.clone(),
            has_partitions: found.has_partitions,
        })
    }

    /// Refuses to overwrite only the first `len` bytes if a signature behind them would outlive the
    /// data that it describes, or if the file system has no space for the `holes` of a file.
    pub(crate) fn suits(&self, len: u64, holes: Holes) -> Result<(), Refusal> {
        let survives = |held: &&Held| held.start < len && held.start + held.offset >= len;
        if let Some(held) = self.held.iter().find(survives) {
            let device = held.partition.clone().unwrap_or_else(|| self.path.clone());
            let offset = held.offset;
            return Err(Refusal::Survives { held: held.clone(), device, offset, len });
        }
        match holes.free {
            Some(free) if holes.bytes.min(len) > free => {
                Err(Refusal::io("fill its holes")(std::io::ErrorKind::StorageFull.into()))
            }
            _ => Ok(()),
        }
    }

    /// Minimum number of bytes to overwrite so that no signature outlives the data that it describes.
    pub(crate) fn least(&self, len: u64) -> u64 {
        let ends = self.held.iter().filter(|held| held.start < len);
        ends.map(|held| held.start + held.offset + 1).max().unwrap_or(0)
    }

    /// Whether it is listed in `consented`.
    pub(super) fn is_named(&self, path: &Path, consented: &[(PathBuf, Option<Number>)]) -> bool {
        let names_it = |(other, number): &(PathBuf, Option<Number>)| {
            other == path && *number == Some(self.identity.number)
        };
        consented.iter().any(names_it)
    }
}

/// Refuses a file with several names, because it would be overwritten under all of them.
pub(crate) fn refuse_links(names: u64) -> Result<(), Refusal> {
    match names {
        ..=1 => Ok(()),
        names => Err(Refusal::Links { names }),
    }
}

/// Removes duplicate signatures, so that each name occurs only once per device.
fn once(mut held: Vec<Held>) -> Vec<Held> {
    let mut said = Vec::new();
    held.retain(|one| {
        let text = one.to_string();
        let new = !said.contains(&text);
        said.push(text);
        new
    });
    held
}
