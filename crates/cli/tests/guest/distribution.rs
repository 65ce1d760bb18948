//! A distribution's kernel in QEMU, for what user-mode Linux and many a host lack. It has no disk but those that a test gives
//! it: all that its script needs lies in its initial file system.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, skipped, text};

/// It emulates each instruction: a boot takes 10 s, and a machine with other work needs longer.
const LIMIT: Duration = Duration::from_secs(600);

const QEMU: &str = "/usr/bin/qemu-system-x86_64";
const BUSYBOX: &str = "/bin/busybox";

const PROGRAMS: &[(&str, &str)] =
    &[(QEMU, "qemu-system-x86"), (BUSYBOX, "busybox-static"), ("/usr/bin/cpio", "cpio")];

/// The last line of a script that came to its end.
const PASSED: &str = "the script has passed";

/// The first process: it loads the kernel's modules, runs the script and powers off.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/run TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
for module in /modules/*; do insmod $module; done
sh -eu /script 2>&1 && echo "the script has passed"
poweroff -f
"#;

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
        for (file, package) in PROGRAMS {
            if !Path::new(file).exists() {
                skipped(&format!("no {file}; apt install {package}"));
                return None;
            }
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

    /// Boots with these files as /dev/vda, /dev/vdb and so on, runs the script with busybox's shell and `set -eu`, and gives
    /// what it said. Panics if it did not come to its end.
    pub fn boot(&self, disks: &[&str], script: &str) -> String {
        let files = self.initial_file_system(script);
        let mut qemu = Command::new(QEMU);
        qemu.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "768"])
            .args(["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"])
            .args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off"])
            .arg("-kernel")
            .arg(self.kernel.join("vmlinuz"))
            .arg("-initrd")
            .arg(files);
        for disk in disks {
            let path = self.path(disk);
            qemu.arg("-drive").arg(format!("if=virtio,format=raw,file={}", path.display()));
        }
        let console = fs::File::create(self.path("console")).unwrap();
        let mut child = qemu
            .stdin(Stdio::null())
            .stdout(console.try_clone().unwrap())
            .stderr(console)
            .spawn()
            .unwrap();
        let until = Instant::now() + LIMIT;
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = child.kill();
        let _ = child.wait();
        let said = text(&fs::read(self.path("console")).unwrap());
        assert!(said.contains(PASSED), "the guest failed:\n{said}");
        said
    }

    fn initial_file_system(&self, script: &str) -> PathBuf {
        let root = self.path("root");
        let _ = fs::remove_dir_all(&root);
        for directory in ["bin", "proc", "sys", "dev", "run", "mnt", "mnt2"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        let program = Path::new(env!("CARGO_BIN_EXE_cryptbench"));
        fs::copy(BUSYBOX, root.join("bin/busybox")).unwrap();
        fs::copy(program, root.join("bin/cryptbench")).unwrap();
        for library in libraries(program) {
            let place = root.join(library.strip_prefix("/").unwrap());
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(&library, place).unwrap();
        }
        fs::create_dir(root.join("modules")).unwrap();
        for module in fs::read_dir(self.kernel.join("modules")).unwrap().flatten() {
            fs::copy(module.path(), root.join("modules").join(module.file_name())).unwrap();
        }
        fs::write(root.join("init"), INIT).unwrap();
        fs::write(root.join("script"), script).unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        fs::set_permissions(root.join("init"), PermissionsExt::from_mode(0o755)).unwrap();
        let done = Command::new("sh")
            .args(["-c", "find . | cpio --quiet -o -H newc >../files"])
            .current_dir(&root)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        self.path("files")
    }
}

/// The libraries that a program loads at its start.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = text(&listed.stdout);
    listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}
