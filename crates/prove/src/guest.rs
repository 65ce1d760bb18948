//! A distribution's kernel in QEMU, which emulates each instruction. The guest's initial file system contains
//! everything that its script needs, and is discarded with the guest. The guest can access only the given disks of the
//! host.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const BUSYBOX: &str = "/bin/busybox";
const CPIO: &str = "/usr/bin/cpio";

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

/// The last line of a script that finished.
const PASSED: &str = "the script has passed";

/// The busybox applets used here and by the scripts; machines have different builds of busybox.
const APPLETS: [&str; 12] = [
    "awk",
    "cmp",
    "dd",
    "grep",
    "insmod",
    "mount",
    "poweroff",
    "ps",
    "sh",
    "sha256sum",
    "sleep",
    "umount",
];

/// The components of a guest.
pub struct Guest<'a> {
    /// The emulator.
    pub qemu: &'a Path,
    /// Directory with `vmlinuz` and `modules/`.
    pub kernel: &'a Path,
    /// Directory for its files.
    pub work: &'a Path,
    /// Programs from the host that are copied to the guest's `/bin`, with the libraries that they load.
    pub programs: &'a [(&'a str, &'a Path)],
    /// The guest's disks, from `/dev/vda` on, in the format of QEMU's `-drive`: `file=PATH,...`.
    pub disks: &'a [String],
    /// Its memory in MiB.
    pub memory: u32,
}

impl Guest<'_> {
    /// Debian's emulator.
    pub const QEMU: &'static str = "/usr/bin/qemu-system-x86_64";

    /// Programs that the guest needs, each with its Debian package.
    pub const NEEDS: [(&'static str, &'static str); 3] =
        [(Self::QEMU, "qemu-system-x86"), (BUSYBOX, "busybox-static"), (CPIO, "cpio")];

    /// The programs that are missing on this machine, if any.
    pub fn lacks() -> Option<String> {
        let lacks = |(file, _): &&(&str, &str)| !Path::new(file).exists();
        if let Some((file, package)) = Self::NEEDS.iter().find(lacks) {
            return Some(format!("no {file}; apt install {package}"));
        }
        let listed = Command::new(BUSYBOX).arg("--list").output();
        let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let lacks = |applet: &&&str| !listed.lines().any(|line| line == **applet);
        let applet = APPLETS.iter().find(lacks)?;
        Some(format!("{BUSYBOX} has no {applet}; apt install busybox-static"))
    }

    /// The operating system's error, or that of cpio.
    pub fn run(
        &self,
        script: &str,
        limit: Duration,
        say: &mut dyn FnMut(&str),
    ) -> io::Result<bool> {
        let files = self.initial_file_system(script)?;
        let mut qemu = Command::new("timeout");
        qemu.arg("--foreground").arg(limit.as_secs().to_string()).arg(self.qemu);
        qemu.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m"])
            .arg(self.memory.to_string())
            .args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"])
            .args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off", "-kernel"])
            .arg(self.kernel.join("vmlinuz"))
            .arg("-initrd")
            .arg(files);
        for disk in self.disks {
            qemu.arg("-drive").arg(format!("if=virtio,format=raw,{disk}"));
        }
        let mut child = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut has_passed = false;
        for line in
            BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).split(b'\n')
        {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end();
            if line == PASSED {
                has_passed = true;
            } else {
                say(line);
            }
        }
        child.wait()?;
        Ok(has_passed)
    }

    fn initial_file_system(&self, script: &str) -> io::Result<PathBuf> {
        let root = self.work.join("root");
        let _ = fs::remove_dir_all(&root);
        for directory in ["bin", "proc", "sys", "dev", "run", "mnt", "mnt2"] {
            fs::create_dir_all(root.join(directory))?;
        }
        // Not every busybox is static, so it is copied with its libraries in the same way as the other programs.
        let busybox = ("busybox", Path::new(BUSYBOX));
        for (name, program) in self.programs.iter().chain([&busybox]) {
            fs::copy(program, root.join("bin").join(name))?;
            for library in libraries(program)? {
                let place = root.join(library.strip_prefix("/").unwrap_or(&library));
                fs::create_dir_all(place.parent().unwrap_or(&root))?;
                fs::copy(&library, place)?;
            }
        }
        fs::create_dir(root.join("modules"))?;
        for module in fs::read_dir(self.kernel.join("modules"))? {
            let module = module?;
            fs::copy(module.path(), root.join("modules").join(module.file_name()))?;
        }
        // Copied from busybox to get its mode, because the file must be executable.
        fs::copy(BUSYBOX, root.join("init"))?;
        fs::write(root.join("init"), INIT)?;
        fs::write(root.join("script"), script)?;
        let pack = "find . | cpio --quiet -o -H newc >../files";
        let done = Command::new("sh").args(["-c", pack]).current_dir(&root).output()?;
        if !done.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned()));
        }
        Ok(self.work.join("files"))
    }
}

/// The libraries that a program loads at startup.
fn libraries(program: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let listed = Command::new("ldd").arg(program).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    Ok(listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}
