//! The program under a distribution's kernel, for what user-mode Linux and many a host lack.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_prove::Guest;

use crate::sandbox::{Sandbox, skipped};

/// A boot takes 10 s, and a machine with other work needs longer.
const LIMIT: Duration = Duration::from_secs(600);

pub struct Distribution {
    kernel: PathBuf,
    pub sandbox: Sandbox,
}

impl Distribution {
    /// Says why and gives nothing where it cannot be booted.
    pub fn new() -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            skipped("the kernel in QEMU is for x86 only");
            return None;
        }
        if let Some(lacking) = Guest::lacks() {
            skipped(&lacking);
            return None;
        }
        // Unpacked by `cargo xtask test` (xtask/src/guest_kernel.rs).
        let kernel = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("guest-kernel");
        if !kernel.join("vmlinuz").exists() {
            skipped("no kernel of Debian's in target/guest-kernel");
            return None;
        }
        Some(Self { kernel, sandbox: Sandbox::new() })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.sandbox.target().join(name)
    }

    /// Boots with these files as its disks, runs the script and gives what it said. Panics if it did not come to its end.
    pub fn boot(&self, disks: &[&str], script: &str) -> String {
        self.boot_with(&[], disks, script)
    }

    /// The same with these programs of the host beside our own.
    pub fn boot_with(&self, programs: &[(&str, &Path)], disks: &[&str], script: &str) -> String {
        let own = ("cryptbench", Path::new(env!("CARGO_BIN_EXE_cryptbench")));
        let programs: Vec<_> = [own].into_iter().chain(programs.iter().copied()).collect();
        let disks: Vec<_> =
            disks.iter().map(|disk| format!("file={}", self.path(disk).display())).collect();
        let guest = Guest {
            qemu: Path::new(Guest::QEMU),
            kernel: &self.kernel,
            work: &self.sandbox.target(),
            programs: &programs,
            disks: &disks,
            memory: 768,
        };
        let mut said = String::new();
        let mut hear = |line: &str| said.extend([line, "\n"]);
        let has_passed = guest.run(script, LIMIT, &mut hear).unwrap();
        assert!(has_passed, "the guest failed:\n{said}");
        said
    }
}
