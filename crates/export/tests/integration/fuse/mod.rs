//! The FUSE export against a real kernel: SKIPPED where `/dev/fuse` cannot be mounted.

mod behaviour;
mod devices;
mod model;
mod rings;

use std::path::Path;
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::ExportError;
use cryptbench_export::fuse::{FuseOptions, Server, Transport, mount};

/// Unmounts. A program that another test starts at this moment holds every file of this process until it is executed.
pub fn unmount(server: &Server) {
    for _ in 0..200 {
        match server.unmount() {
            Err(ExportError::Busy { .. }) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            done => return done.unwrap(),
        }
    }
    server.unmount().unwrap();
}

/// Mounts, or says why this machine cannot.
pub fn try_mount(
    device: Arc<dyn BlockDevice>,
    path: &Path,
    options: &FuseOptions,
) -> Option<Server> {
    match mount(device, path, options) {
        Ok(server) => Some(server),
        Err(e @ (ExportError::NoFuse(_) | ExportError::Mount { .. })) => {
            eprintln!("SKIPPED: {e}");
            None
        }
        Err(e @ ExportError::Option(_)) if options.transport == Transport::Uring => {
            eprintln!("SKIPPED: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Whether `path` is a mount point.
fn is_mounted(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(4) == path.to_str())
}
