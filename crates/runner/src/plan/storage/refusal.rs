//! Why something that exists is not overwritten, and what to do about it.

use std::path::{Path, PathBuf};

use super::existing::Held;
use super::holders::Holder;
use super::human;

/// Why a file or device is not taken for a run.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// Somebody uses it.
    #[error("is in use and is not overwritten: {}", list(.0))]
    Used(Vec<Holder>),
    /// The user has not named it a second time.
    #[error("{}", unnamed(what, *size, signatures, path))]
    NotNamedAgain { what: String, path: PathBuf, size: u64, signatures: Vec<Held> },
    /// It holds something that the user has not given away.
    #[error(
        "holds {}, which would be lost; if that is meant, say so by its name: {}",
        all(signatures),
        consent(signatures)
    )]
    Signature { signatures: Vec<Held> },
    /// A part of what it holds lies where nothing would be written.
    #[error(
        "holds {held} at byte {offset}, behind the first {} that would be overwritten: it would survive, and lead to \
         damaged data; `wipefs --all --types {} {}` first",
        human(*len),
        held.name,
        quoted(device)
    )]
    Survives { held: Held, device: PathBuf, offset: u64, len: u64 },
    /// It is reached by other names too.
    #[error(
        "has {names} names (hard links), and would be overwritten under all of them: copy it first, or name another"
    )]
    Links { names: u64 },
    /// The kernel does not tell who uses it.
    #[error("may be in use, which cannot be told here ({what}), so nothing is overwritten")]
    Unknown { what: String },
    /// It cannot be written.
    #[error("is read-only: {remedy}")]
    ReadOnly { remedy: &'static str },
    /// The kernel gives it to nobody else, for a reason that cannot be seen from here.
    #[error(
        "is claimed by the kernel for somebody else, such as a mount in another namespace or another run of \
         cryptbench: end that first"
    )]
    Claimed,
    /// A program has it locked.
    #[error(
        "is locked by another program, such as another cryptbench, an open volume or a virtual machine: end that first"
    )]
    Locked,
    /// Between the check and the first write it became something else.
    #[error("is not what it was when it was checked ({what} has changed): nothing was written")]
    Changed { what: &'static str },
    /// Neither file nor block device.
    #[error(
        "is neither a directory, nor a file, nor a block device: name one of these, or a file that does not exist yet"
    )]
    Kind,
    /// The system refused.
    #[error("cannot {act}")]
    Io { act: &'static str, source: std::io::Error },
    /// It could not be looked at.
    #[error("nothing is overwritten, because what it holds cannot be told")]
    Unreadable(#[from] cryptbench_system::SystemError),
}

fn list(uses: &[Holder]) -> String {
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

fn unnamed(what: &str, size: u64, signatures: &[Held], path: &Path) -> String {
    let more = match signatures {
        [] => String::new(),
        found => format!(" {} (it holds {})", consent(found), all(found)),
    };
    format!(
        "exists and is a {what} of {}; nothing that exists is overwritten unless it is named again: if all on it may \
         be lost, add --destroy {}{more}",
        human(size),
        quoted(path)
    )
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@,=%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_commands_are_quoted() {
        assert_eq!(quoted(Path::new("/dev/sda1")), "/dev/sda1");
        assert_eq!(quoted(Path::new("/mnt/my disk; rm")), "'/mnt/my disk; rm'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
    }
}
