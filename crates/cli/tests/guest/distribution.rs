//! The program under a distribution's kernel, to test what user-mode Linux and many hosts do not support.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_prove::Guest;

use crate::sandbox::{Sandbox, skipped};

/// A boot takes 10 s, and longer on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

pub struct Distribution {
    kernel: PathBuf,
    pub sandbox: Sandbox,
}

impl Distribution {
    /// If it cannot be booted, prints the reason and returns `None`.
    pub fn new() -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            skipped("the kernel in QEMU is for x86 only");
            return None;
        }
        if let Some(lacking) = Guest::lacks() {
            skipped(&lacking);
            return None;
        }
        // `cargo xtask test` unpacks it (xtask/src/guest_kernel.rs).
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

    /// Boots with these files as disks, runs the script and returns its output. Panics if the script did not run to
    /// its end.
    pub fn boot(&self, disks: &[&str], script: &str) -> String {
        self.boot_with(&[], disks, script)
    }

    /// The same with these programs of the host in addition to cryptbench.
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
