//! Reasons for not overwriting existing storage, with remedies.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cryptbench_text::{human, quoted_path};
use serde::{Deserialize, Serialize};

use crate::look::Holder;
use crate::look::existing::Held;

/// Why a file or device is not used for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Refusal {
    /// It is in use.
    #[error("is in use and will not be overwritten: {}", list(.0))]
    Used(Vec<Holder>),
    /// The user has not specified it a second time.
    #[error("{}", unnamed(what, *size, signatures, path))]
    NotNamedAgain { what: String, path: PathBuf, size: u64, signatures: Vec<Held> },
    /// The storage contains something that the user has not allowed the run to erase.
    #[error(
        "contains {}, which would be lost; to allow that, add {}",
        all(signatures),
        consent(signatures)
    )]
    Signature { signatures: Vec<Held> },
    /// One of its signatures is outside the part that would be overwritten.
    #[error(
        "contains {held} at byte {offset}, beyond the first {} that would be overwritten: it would survive and make \
         the rest look like damaged data; run `wipefs --all --types {} {}` first",
        human(*len),
        held.name,
        quoted_path(device)
    )]
    Survives { held: Held, device: PathBuf, offset: u64, len: u64 },
    /// It has other names.
    #[error(
        "has {names} hard links and would be overwritten under all its names: copy it first, or choose another file"
    )]
    Links { names: u64 },
    /// The kernel does not report what uses it.
    #[error(
        "may be in use; this cannot be determined here ({what}), so it will not be overwritten"
    )]
    Unknown { what: String },
    /// It cannot be written.
    #[error("is read-only: {remedy}")]
    ReadOnly { remedy: Cow<'static, str> },
    /// The kernel has claimed it, for a reason that is not visible here.
    #[error(
        "is already claimed in the kernel, for example by a mount in another namespace or by another cryptbench run: \
         unmount or stop that first"
    )]
    Claimed,
    /// A program has locked it.
    #[error(
        "is locked by another program, such as another cryptbench process (a run or an open volume) or a virtual \
         machine: close that first"
    )]
    Locked,
    /// The storage changed between the check and the first write.
    #[error("has changed since it was checked ({what}): nothing was written")]
    Changed { what: Cow<'static, str> },
    /// The target is neither a file nor a block device.
    #[error(
        "is neither a directory, nor a file, nor a block device: specify one of these, or a file that does not exist \
         yet"
    )]
    Kind,
    /// The operating system refused.
    #[error("cannot {act}: {why}")]
    Io { act: Cow<'static, str>, why: String },
    /// It could not be inspected.
    #[error("will not be overwritten, because its contents cannot be determined: {why}")]
    Unreadable { why: String },
}

impl Refusal {
    pub(crate) fn io(act: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |why| Self::Io { act: act.into(), why: why.to_string() }
    }
}

fn list(uses: &[Holder]) -> String {
    // The machine's own disk is always refused: unmounting it is not a possible remedy.
    if let Some(root) = uses.iter().find(|holder| matches!(holder, Holder::Root { .. })) {
        return root.to_string();
    }
    uses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn all(signatures: &[Held]) -> String {
    signatures.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn consent(signatures: &[Held]) -> String {
    let mut names: Vec<_> = signatures.iter().map(|s| s.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().map(|name| format!("--yes-erase {name}")).collect::<Vec<_>>().join(" ")
}

/// Minimum size of a file, in bytes, for a measurement in it.
const TOO_SMALL: u64 = 1 << 20;

fn unnamed(what: &str, size: u64, signatures: &[Held], path: &Path) -> String {
    if what == "file" && size < TOO_SMALL {
        return format!(
            "is a file of {}, too small to be measured, and will not be overwritten: specify a directory",
            human(size)
        );
    }
    let more = match signatures {
        [] => String::new(),
        found => format!(" {} (it contains {})", consent(found), all(found)),
    };
    format!(
        "is an existing {what} of {}; existing data is overwritten only if you specify the path again: if everything \
         on it may be lost, add --destroy {}{more}",
        human(size),
        quoted_path(path)
    )
}
