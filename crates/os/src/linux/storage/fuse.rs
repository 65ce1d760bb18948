//! Finds the processes that serve a FUSE file system.

use std::fs;
use std::path::Path;

use rustix::fs::minor;

/// The kernel reports the connection in each descriptor's fdinfo (Linux 5.18, `fuse_connection`).
pub(crate) fn serving(file_system: u64) -> Vec<u32> {
    // The connection's number is the mount's minor device number (fs/fuse/inode.c).
    let wanted = format!("fuse_connection:\t{}", minor(file_system));
    let serves = |process: &Path| {
        let descriptors = fs::read_dir(process.join("fdinfo")).into_iter().flatten().flatten();
        let mut infos = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        infos.any(|info| info.lines().any(|line| line == wanted))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number: &u32| serves(Path::new(&format!("/proc/{number}"))))
        .collect()
}
