//! CryFS: stores a file system in encrypted blocks of equal size, which also hides the sizes of files.

use std::thread::available_parallelism;

use cryptbench_catalog as catalog;
use cryptbench_os::machine::{Limits, memory_available};

use super::bindfs::BINDFS;
use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs, first_version};
use crate::{Setting, System};

/// As listed by `cryfs --show-ciphers` in version 0.11.
const CIPHERS: Setting = Setting {
    name: "cipher",
    about: "cipher for the blocks",
    values: &[
        "xchacha20-poly1305",
        "aes-256-gcm",
        "aes-256-cfb",
        "aes-128-gcm",
        "aes-128-cfb",
        "twofish-256-gcm",
        "twofish-256-cfb",
        "twofish-128-gcm",
        "twofish-128-cfb",
        "serpent-256-gcm",
        "serpent-256-cfb",
        "serpent-128-gcm",
        "serpent-128-cfb",
        "cast-256-gcm",
        "cast-256-cfb",
        "mars-448-gcm",
        "mars-448-cfb",
        "mars-256-gcm",
        "mars-256-cfb",
        "mars-128-gcm",
        "mars-128-cfb",
    ],
};

const BLOCKS: Setting = Setting {
    name: "block-size",
    about: "bytes per encrypted block; each block is stored in a separate file",
    values: &["16384", "4096", "32768", "65536", "131072", "524288", "1048576"],
};

/// cryfs(1).
pub(crate) static CRYFS: System = System {
    settings: &[CIPHERS, BLOCKS],
    null_layer: Some(&BINDFS),
    ..System::program(
        &catalog::CRYFS,
        Program {
            cipher: Some(|choice| choice["cipher"]),
            version: &["--version"],
            read_version: first_version,
            // CryFS creates the volume if it finds none.
            create: None,
            serve,
        },
    )
};

/// Memory that scrypt uses in each thread, in bytes. OpenMP starts one thread per CPU.
const MEMORY_OF_A_THREAD: u64 = 512 << 20;

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    let cryfs = Invocation::new("cryfs");
    let cpus = available_parallelism().map_or(1, |n| n.get() as u64);
    let memory = [memory_available(), Limits::this().memory_bytes].into_iter().flatten().min();
    let cryfs = match memory.and_then(|memory| threads(cpus, memory)) {
        Some(threads) => cryfs.variable("OMP_NUM_THREADS", threads.to_string()),
        None => cryfs,
    };
    cryfs
        .args(["-f", "--cipher", dirs.setting("cipher")])
        .args(["--blocksize", dirs.setting("block-size")])
        .args([dirs.ciphertext, dirs.mount_point])
        // Suppresses questions, and the search for newer versions on the network.
        .variable("CRYFS_FRONTEND", "noninteractive")
        .variable("CRYFS_NO_UPDATE_CHECK", "true")
        // Otherwise CryFS would store the state of each volume in the user's home directory.
        .variable("CRYFS_LOCAL_STATE_DIR", dirs.memory)
        .input(dirs.passphrase())
}

/// The number of threads that fit into half of the memory, if it is less than one per CPU; otherwise `None`.
/// With more threads, the kernel would kill one of the user's processes.
fn threads(cpus: u64, memory: u64) -> Option<u64> {
    let fit = (memory / 2 / MEMORY_OF_A_THREAD).max(1);
    (fit < cpus).then_some(fit)
}

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn key_derivation_leaves_memory_to_others() {
        assert_eq!(threads(4, 1900 << 20), Some(1));
        assert_eq!(threads(8, 4 << 30), Some(4));
        assert_eq!(threads(2, 24 << 30), None);
        assert_eq!(threads(1, 300 << 20), None);
    }
}
