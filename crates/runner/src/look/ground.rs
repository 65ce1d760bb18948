//! The underlying storage of a target: a file system and its device, or only a device.

use std::path::{Path, PathBuf};

use cryptbench_os::FileIdentity;
use cryptbench_os::dirs::resolved;
use cryptbench_os::storage::{Tree, is_encrypted, mount_of, number_of, space};
use cryptbench_record::{EncryptedBy, KindOfDevice, PlaceKind, Uncounted};
use cryptbench_system::provision::runtime_directory;
use cryptbench_text::shown;
use serde::{Deserialize, Serialize};

use super::below::{kind, self_encrypting, uncounted};
use super::{Asked, Below, Number, Others, encryption, kinds};

/// The underlying storage of a target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Ground {
    /// Absolute path of the directory or device.
    pub(crate) path: PathBuf,
    /// Type of the file system; empty for a device.
    pub(crate) filesystem: String,
    pub(crate) mount_options: String,
    pub(crate) source: String,
    /// Device number of the file system, or of the device itself.
    pub(crate) number: u64,
    /// Identifies the storage even under another path.
    pub(crate) identity: Option<Number>,
    /// Free bytes.
    pub(crate) free: u64,
    /// The kind of the storage, if it is not a file system on a disk.
    pub(crate) kinds: Vec<PlaceKind>,
    /// Total bytes; 0 if the file system does not count them.
    pub(crate) size: u64,
    pub(crate) below: Option<Below>,
    /// The kind of that device; once a target is admitted, the user's own statement is included.
    pub(crate) device_kind: Option<KindOfDevice>,
    /// What that device reports about self-encryption, if anything.
    pub(crate) self_encrypting: Option<String>,
    /// Why the requests that reach the disk are unknown, if they are.
    pub(crate) uncounted: Option<Uncounted>,
    /// Whether the directory has an encryption policy, such as fscrypt's (`STATX_ATTR_ENCRYPTED`).
    pub(crate) is_encrypted: bool,
    /// The storage's existing encryption, if any. A model served by this run is never encrypted.
    pub(crate) encrypted_by: Option<EncryptedBy>,
    /// Whether the storage is a file system that this program mounted itself.
    pub(crate) is_our_own: bool,
    /// Who else can replace files there.
    pub(crate) others: Others,
}

impl Ground {
    /// Looks at `directory`.
    pub(crate) fn of_directory(directory: &Path) -> Asked<Self> {
        Self::within(directory, None)
    }

    /// Examines the storage of the file `path`.
    pub(super) fn of_file(path: &Path) -> Asked<Self> {
        Self::within(super::parent(path), Some(path))
    }

    /// Looks at `directory`, or at `file` in it.
    fn within(directory: &Path, file: Option<&Path>) -> Asked<Self> {
        let in_words = |e: std::io::Error| e.to_string();
        let directory = resolved(directory).map_err(in_words)?;
        let space = space(&directory).map_err(in_words)?;
        let number = number_of(&directory).map_err(in_words)?;
        let mount = mount_of(number, &directory).unwrap_or_default();
        let tree = Tree::this();
        let node = tree.of_mount(number, &mount.source);
        let below = node.as_ref().map(|node| Below::of(&tree, node));
        let source = shown(&mount.source);
        let path = file.map_or(directory, Path::to_owned);
        let is_our_own =
            file.is_none() && runtime_directory().is_some_and(|ours| path.starts_with(ours));
        let encrypted_by = match is_our_own {
            true => None,
            false => encryption::below(&path, (&mount.file_system, &source), node.as_ref()),
        };
        Ok(Self {
            number,
            identity: identity(&path),
            // A file system of size 0 (ramfs) does not count its space; only an attempt shows what
            // fits.
            free: if space.size == 0 { u64::MAX } else { space.free },
            size: space.size,
            uncounted: uncounted(&mount.file_system, below.as_ref()),
            kinds: kinds::of(&mount, &path, below.as_ref()),
            device_kind: node.as_ref().map(|node| kind(&tree, node)),
            self_encrypting: node.as_ref().and_then(|node| self_encrypting(&tree, node)),
            below,
            is_encrypted: is_encrypted(&path),
            encrypted_by,
            is_our_own,
            others: Others::of(file.map_or(path.as_path(), super::parent), &mount.file_system),
            path,
            filesystem: mount.file_system,
            mount_options: mount.options,
            source,
        })
    }

    /// Looks at the block device `path` with this number.
    pub(super) fn of_device(path: &Path, number: u64) -> Self {
        let tree = Tree::this();
        let node = tree.of_number(number);
        let below = node.as_ref().map(|node| Below::of(&tree, node));
        let source = shown(path);
        Self {
            path: path.to_owned(),
            number,
            identity: identity(path),
            is_encrypted: is_encrypted(path),
            encrypted_by: encryption::below(path, ("", &source), node.as_ref()),
            uncounted: uncounted("", below.as_ref()),
            kinds: kinds::of_device(below.as_ref()),
            device_kind: node.as_ref().map(|node| kind(&tree, node)),
            self_encrypting: node.as_ref().and_then(|node| self_encrypting(&tree, node)),
            below,
            source,
            ..Self::default()
        }
    }
}

fn identity(path: &Path) -> Option<Number> {
    FileIdentity::reached_by(path).ok().map(|found| (found.device, found.inode))
}
