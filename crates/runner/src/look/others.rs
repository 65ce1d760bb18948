//! Who else can replace the files of a run in a directory.

use std::path::{Path, PathBuf};

use cryptbench_os::{Directory, Writers, dirs, renamed_by_passers, user};
use serde::{Deserialize, Serialize};

/// File systems that give every file the permissions of their mount.
const WITHOUT_PERMISSIONS: [&str; 4] = ["vfat", "msdos", "exfat", "fuseblk"];

/// File systems through which the kernel exposes its state.
const OF_THE_KERNEL: [&str; 9] =
    ["proc", "sysfs", "cgroup", "cgroup2", "securityfs", "debugfs", "tracefs", "devpts", "pstore"];

/// What others can do there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Others {
    /// The directory along the path in which someone else can rename entries.
    pub(crate) rename_in: Option<PathBuf>,
    /// Whether only the user who ran sudo can rename entries there; that user could also do this as root.
    pub(crate) only_asker: bool,
    /// Whether a directory that only this user can access cannot be created, because the file system does not store
    /// permissions.
    pub(crate) no_permissions: bool,
    /// Why no file can be created there.
    pub(crate) no_file: Option<String>,
}

impl Others {
    /// Looks at `directory`, which is on a `file_system`.
    pub(crate) fn of(directory: &Path, file_system: &str) -> Self {
        let writers = if user::is_root() { Writers::Owner } else { Writers::Group };
        let mut users = vec![user::effective()];
        let by = |users: &[u32]| {
            // A directory that cannot be examined is not trusted.
            let found = renamed_by_passers(directory, users, writers);
            found.unwrap_or_else(|_| Some(directory.to_owned()))
        };
        let rename_in = by(&users);
        users.extend(user::asker().map(|asker| asker.user));
        let held = Directory::open(directory).and_then(|held| held.owner_and_mode());
        // If a mount option makes another user the owner, this user owns all directories of the mount.
        let is_shared =
            held.is_ok_and(|(owner, mode)| mode & 0o077 != 0 || owner != user::effective());
        Self {
            only_asker: rename_in.is_some() && by(&users).is_none(),
            rename_in,
            no_permissions: is_shared && WITHOUT_PERMISSIONS.contains(&file_system),
            no_file: match OF_THE_KERNEL.contains(&file_system) {
                true => Some(format!(
                    "{file_system} shows kernel data and stores nothing; choose a directory on a disk"
                )),
                false => dirs::writable(directory).err().map(|why| why.to_string()),
            },
        }
    }
}
