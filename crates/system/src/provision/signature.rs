//! Detects the contents of a device by the signatures that libblkid recognises.

use std::path::Path;

use crate::SystemError;
use crate::command::Invocation;
use crate::machine::Machine;
use crate::provision::recognised::{Signature, recognised};
use cryptbench_catalog::Remedy;

/// Time limit for wipefs(8): a disk with bad sectors responds slowly.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(300);

/// All signatures on the file or device at `path`; a signature at several offsets appears several times. An
/// empty list means that no known signature was found, not that there is no data: a VeraCrypt volume has none.
///
/// Uses wipefs(8), which lists all signatures, unlike blkid. If wipefs finds none, this program's own detection is
/// used.
///
/// # Errors
/// [`SystemError::Program`] if wipefs is missing or fails, because the contents are then unknown.
/// [`SystemError::Io`] if `path` cannot be read.
pub fn signatures(path: &Path) -> Result<Vec<Signature>, SystemError> {
    signatures_by(&Machine::this(), path)
}

fn signatures_by(machine: &Machine, path: &Path) -> Result<Vec<Signature>, SystemError> {
    let failed = |reason: String| SystemError::Program { program: "wipefs", reason };
    if !machine.has("wipefs") {
        return Err(failed(format!("it is not installed; {}", Remedy::program("wipefs"))));
    }
    let words = ["--noheadings", "--output", "OFFSET,TYPE"].map(AsRef::as_ref);
    let listed = Invocation::new("wipefs")
        .args(words.into_iter().chain([path.as_os_str()]))
        .run(machine, LIMIT)?;
    let mut found = Vec::new();
    for line in listed.lines().filter(|line| !line.trim().is_empty()) {
        found.push(parse(line).ok_or_else(|| failed(format!("unexpected output {line:?}")))?);
    }
    if found.is_empty() {
        found.extend(recognised(path)?);
    }
    Ok(found)
}

/// Parses `0x438 ext4`.
fn parse(line: &str) -> Option<Signature> {
    let (offset, name) = line.trim().split_once(char::is_whitespace)?;
    let offset = u64::from_str_radix(offset.strip_prefix("0x")?, 16).ok()?;
    Some(Signature { name: name.trim().to_owned(), offset })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A 4 MiB file with these bytes at these offsets.
    fn image(dir: &tempfile::TempDir, name: &str, parts: &[(usize, &[u8])]) -> std::path::PathBuf {
        let mut bytes = vec![0; 4 << 20];
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn signatures_have_the_names_that_blkid_gives_them() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(signatures(&image(&dir, "zeros", &[])).unwrap(), []);
        // mkswap(8): the magic ends the first page. libblkid expects version 1 and a last page
        // after it.
        let swap: &[(usize, &[u8])] = &[(1024, &[1, 0, 0, 0, 255, 3, 0, 0]), (4086, b"SWAPSPACE2")];
        let swap = signatures(&image(&dir, "swap", swap)).unwrap();
        assert_eq!(swap, [Signature { name: "swap".to_owned(), offset: 4086 }]);
        // BitLocker's boot sector, which our own detection also knows.
        let bitlocker: &[(usize, &[u8])] = &[(0, b"\xeb\x58\x90-FVE-FS-"), (510, b"\x55\xaa")];
        let found = signatures(&image(&dir, "bitlocker", bitlocker)).unwrap();
        assert!(!found.is_empty(), "{found:?}");
        assert!(signatures(&dir.path().join("none")).is_err());
    }

    #[test]
    fn without_wipefs_nothing_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let bare = Machine { path: dir.path().into(), ..Machine::this() };
        let why = signatures_by(&bare, &image(&dir, "zeros", &[])).unwrap_err();
        insta::assert_snapshot!(why, @"wipefs: it is not installed; apt install util-linux");
    }

    #[test]
    fn a_superblock_at_the_end_is_told_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        // md(4), version 0.90: at least 64 KiB before the end, at a multiple of 64 KiB.
        let at = (4 << 20) - (64 << 10);
        let magic: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9, 0, 0, 0, 0, 90, 0, 0, 0];
        let found = signatures(&image(&dir, "md", &[(at, magic)])).unwrap();
        let wanted = Signature { name: "linux_raid_member".to_owned(), offset: at as u64 };
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn a_line_that_is_not_understood_is_no_signature() {
        assert_eq!(parse(" 0x438  ext4"), Some(Signature { name: "ext4".into(), offset: 0x438 }));
        assert_eq!(parse("ext4"), None);
    }
}
