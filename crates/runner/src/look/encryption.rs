//! Whether a target is already encrypted by something that this program did not set up. In that case, "plain" is
//! also encrypted.

use std::fs;
use std::path::Path;

use cryptbench_catalog::{Encrypts, FSCRYPT, SYSTEMS};
use cryptbench_os::Details;
use cryptbench_os::storage::{Node, Tree, is_encrypted, mount_of};
use cryptbench_record::EncryptedBy;
use cryptbench_system::provision::zfs_encryption;

/// The type of the mounts of `cryptbench volume mount`.
const OWN_MOUNT: &str = "fuse.cryptbench";

/// The encryption of `path`, which is on `node` in a file system of the type `file_system` that was mounted
/// from `source`.
pub(super) fn below(
    path: &Path,
    (file_system, source): (&str, &str),
    node: Option<&Node>,
) -> Option<EncryptedBy> {
    let found = |system: &str, at: String| EncryptedBy { system: system.to_owned(), at };
    if is_encrypted(path) {
        return Some(found(FSCRYPT.name, format!("{file_system} on {source}")));
    }
    if let Some(system) = of_file_system(file_system) {
        return Some(found(system, format!("the file system mounted from {source}")));
    }
    if file_system == "zfs"
        && let Some(cipher) = zfs_encryption(source)
    {
        return Some(found(&format!("ZFS ({cipher})"), format!("the dataset {source}")));
    }
    let mut stack = Tree::this().stack(node?).into_iter();
    stack.find_map(|node| of_device(&node).map(|system| found(system, node.name())))
}

fn of_file_system(file_system: &str) -> Option<&'static str> {
    if file_system == OWN_MOUNT {
        return Some("cryptbench volume mount");
    }
    let encrypting = SYSTEMS.iter().filter(|system| system.encrypts != Encrypts::Nothing);
    let mut shown = encrypting.filter(|system| system.mounted_as == Some(file_system));
    shown.next().map(|system| system.brand())
}

/// The encryption of the device itself or, for a loop device, by the file system that contains its file: VeraCrypt
/// and others present a volume's plaintext as a file in a separate mount.
fn of_device(node: &Node) -> Option<&'static str> {
    node.encryption().or_else(|| {
        let file = node.backing_file()?;
        let number = Details::of(&fs::metadata(&file).ok()?).file_system;
        of_file_system(&mount_of(number, &file)?.file_system)
    })
}
