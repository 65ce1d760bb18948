//! Recognises encryption by the headers and files of known systems.
#![expect(clippy::disallowed_methods, reason = "files of a run in an arm")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cryptbench_blockdev::{FileDevice, IoMode};
use cryptbench_catalog::SYSTEMS;
use cryptbench_os::files::read_exact_at;
use cryptbench_system::{Backing, Content};
use cryptbench_volume::detect::{Kind, detect};
use cryptbench_volume::format::ecryptfs;

/// Maximum number of directories to search for such a file.
const MOST_DIRECTORIES: usize = 64;

/// Maximum number of files to inspect for a header.
const MOST_FILES: usize = 16;

/// The recognised parts of the stored data, a few words each.
pub(super) fn of(backing: &Backing) -> Vec<String> {
    let mut found = Vec::new();
    for content in &backing.content {
        let Content::Path(path) = content else { continue };
        if path.is_dir() {
            let mut directories = vec![path.clone()];
            let mut headers = 0;
            while let Some(directory) = directories.pop() {
                look_into(&directory, &mut directories, &mut headers, &mut found);
                directories.truncate(MOST_DIRECTORIES);
            }
        } else if let Some(header) = header(path) {
            found.push(header);
        }
    }
    found.sort();
    found.dedup();
    found
}

fn look_into(
    directory: &Path,
    deeper: &mut Vec<PathBuf>,
    headers: &mut usize,
    found: &mut Vec<String>,
) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else { continue };
        if let Some(file) = SYSTEMS.iter().flat_map(|s| s.files).find(|file| name == **file) {
            found.push((*file).to_owned());
        } else if kind.is_dir() {
            deeper.push(path);
        } else if kind.is_file() && *headers < MOST_FILES {
            *headers += 1;
            if is_ecryptfs(&path) {
                found.push("eCryptfs header in each file".to_owned());
            }
        }
    }
}

/// The header of a container.
fn header(path: &Path) -> Option<String> {
    let device = FileDevice::open(path, IoMode::Buffered, true).ok()?;
    match detect(&device).ok()?.kind {
        Kind::Luks { version, .. } => Some(format!("LUKS{version} header")),
        Kind::BitLocker { .. } => Some("BitLocker header".to_owned()),
        Kind::FileVault => Some("FileVault 2 header".to_owned()),
        Kind::EcryptfsFile => Some("eCryptfs header".to_owned()),
        Kind::AppleEncrypted { .. } => Some("header of an encrypted Apple disk image".to_owned()),
        Kind::FileSystem { name } => Some(format!("{name} file system")),
        Kind::PartitionTable { name } => Some(format!("{name} partition table")),
        Kind::Zeros | Kind::Random { .. } | Kind::Unknown { .. } | Kind::Unreadable => None,
    }
}

/// Whether a file starts like an eCryptfs file.
fn is_ecryptfs(path: &Path) -> bool {
    let mut marker = [0; ecryptfs::MARKED.end - ecryptfs::MARKED.start];
    let read = File::open(path)
        .and_then(|file| read_exact_at(&file, &mut marker, ecryptfs::MARKED.start as u64));
    read.is_ok() && ecryptfs::is_marked(marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_directory(path: &Path) -> Vec<String> {
        of(&Backing { content: vec![Content::Path(path.to_owned())], ..Backing::default() })
    }

    #[test]
    fn files_are_known_by_name_and_by_header() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ordinary"), [7; 100]).unwrap();
        assert!(of_directory(dir.path()).is_empty());
        fs::create_dir(dir.path().join("deep")).unwrap();
        fs::write(dir.path().join("deep/gocryptfs.diriv"), [1; 16]).unwrap();
        let word = 0x0123_4567_u32;
        let header = [[0; 8].as_slice(), &word.to_be_bytes(), &(word ^ 0x3c81_b7f5).to_be_bytes()];
        fs::write(dir.path().join("deep/file"), header.concat()).unwrap();
        assert_eq!(of_directory(dir.path()), ["eCryptfs header in each file", "gocryptfs.diriv"]);
    }

    #[test]
    fn containers_are_known_by_their_magic_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("container");
        let mut data: Vec<u8> = vec![0; 1 << 20];
        getrandom::fill(&mut data).unwrap();
        fs::write(&path, &data).unwrap();
        assert!(of_directory(&path).is_empty());
        // A superblock of ext4 (Linux, `fs/ext4/ext4.h`): its magic `EXT4_SUPER_MAGIC`, and fields that can be.
        data[1024..2048].fill(0);
        data[1024 + 32] = 1;
        data[1024 + 40] = 1;
        data[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xef]);
        data[1024 + 76] = 1;
        fs::write(&path, &data).unwrap();
        assert_eq!(of_directory(&path).len(), 1);
    }
}
