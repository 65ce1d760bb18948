//! Debian packages that tests and benchmarks use. Installs them if this user may.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::tools::said;

/// A program or library that a test needs, and its package.
pub struct Need {
    /// A file whose existence shows that it is installed.
    pub file: &'static str,
    /// The Debian package.
    pub package: &'static str,
    /// What the package is used for.
    pub reason: &'static str,
}

/// What the tests require in addition to a Rust toolchain.
pub const FOR_TESTS: &[Need] = &[
    Need { file: "/usr/bin/openssl", package: "openssl", reason: "OpenSSL's XTS as the oracle" },
    Need { file: "/usr/bin/chromium", package: "chromium", reason: "the report in a real browser" },
    Need { file: "/usr/bin/fio", package: "fio", reason: "agreement of the load engine with fio" },
    Need { file: "/usr/sbin/mkfs.ext4", package: "e2fsprogs", reason: "failing disks" },
    Need { file: "/usr/sbin/mkfs.btrfs", package: "btrfs-progs", reason: "btrfs in a volume" },
    Need { file: "/usr/sbin/losetup", package: "mount", reason: "failing disks" },
    Need { file: "/usr/sbin/cryptsetup", package: "cryptsetup-bin", reason: "LUKS both ways" },
    Need { file: "/usr/bin/dislocker-file", package: "dislocker", reason: "BitLocker both ways" },
    Need { file: "/usr/sbin/mkfs.ntfs", package: "ntfs-3g", reason: "NTFS in BitLocker volumes" },
    Need { file: "/usr/sbin/mkfs.exfat", package: "exfatprogs", reason: "exFAT in volumes" },
    Need {
        file: "/usr/sbin/mount.exfat-fuse",
        package: "exfat-fuse",
        reason: "exFAT where the kernel lacks it",
    },
    Need {
        file: "/usr/sbin/mkfs.vfat",
        package: "dosfstools",
        reason: "a USB stick as desktops mount it",
    },
    Need {
        file: "/usr/bin/systemd-analyze",
        package: "systemd",
        reason: "the timer of packaging/",
    },
    Need { file: "/usr/bin/qemu-img", package: "qemu-utils", reason: "LUKS1 both ways" },
    Need { file: "/usr/sbin/parted", package: "parted", reason: "Apple's partition map" },
    Need { file: "/usr/sbin/fdisk", package: "fdisk", reason: "disks with sectors of 4096 bytes" },
    Need { file: "/usr/bin/linux.uml", package: "user-mode-linux", reason: "a real dm-crypt" },
    Need { file: "/sbin/modprobe", package: "kmod", reason: "modules of user-mode Linux" },
    Need {
        file: "/usr/bin/qemu-system-x86_64",
        package: "qemu-system-x86",
        reason: "disks of ublk under a distribution's kernel",
    },
    Need { file: "/bin/busybox", package: "busybox-static", reason: "what is in that guest" },
    Need { file: "/usr/bin/cpio", package: "cpio", reason: "what is in that guest" },
    Need { file: "/usr/bin/xz", package: "xz-utils", reason: "modules of that kernel" },
    Need { file: "/usr/sbin/tcplay", package: "tcplay", reason: "TrueCrypt volumes of others" },
    Need {
        file: "/usr/bin/fusermount3",
        package: "fuse3",
        reason: "FUSE mounts as an ordinary user",
    },
    Need { file: "/usr/bin/nbdcopy", package: "libnbd-bin", reason: "NBD with libnbd's programs" },
    Need { file: "/usr/bin/bindfs", package: "bindfs", reason: "a null layer through FUSE" },
    Need { file: "/usr/bin/gocryptfs", package: "gocryptfs", reason: "gocryptfs as an arm" },
    Need { file: "/usr/bin/encfs", package: "encfs", reason: "EncFS as an arm" },
    Need { file: "/usr/bin/cryfs", package: "cryfs", reason: "CryFS as an arm" },
    Need { file: "/usr/bin/securefs", package: "securefs", reason: "securefs as an arm" },
    Need { file: "/usr/bin/rclone", package: "rclone", reason: "rclone crypt as an arm" },
    Need { file: "/usr/sbin/xfs_io", package: "xfsprogs", reason: "policies of fscrypt" },
    Need {
        file: "/usr/bin/ecryptfs-add-passphrase",
        package: "ecryptfs-utils",
        reason: "names of eCryptfs keys",
    },
    Need {
        file: "/usr/bin/qemu-storage-daemon",
        package: "qemu-system-common",
        reason: "qemu's LUKS as an arm",
    },
    Need { file: "/usr/bin/nbdkit", package: "nbdkit", reason: "nbdkit's LUKS as an arm" },
    Need { file: "/usr/bin/keyctl", package: "keyutils", reason: "eCryptfs as an arm" },
    Need { file: "/sbin/dmsetup", package: "dmsetup", reason: "device mapper in user-mode Linux" },
    Need { file: "/usr/bin/Rscript", package: "r-base-core", reason: "the CSV loaded in R" },
    Need {
        file: "/usr/lib/python3/dist-packages/pandas/__init__.py",
        package: "python3-pandas",
        reason: "JSON and CSV loaded in Python",
    },
    Need {
        file: "/usr/lib/python3/dist-packages/virtualenv/__init__.py",
        package: "python3-virtualenv",
        reason: "the record loaded with polars, which pip brings",
    },
    Need { file: "/usr/bin/npm", package: "npm", reason: "axe-core, which npm brings" },
    Need { file: "/usr/bin/strace", package: "strace", reason: "what a start opens" },
    Need { file: "/usr/bin/zsh", package: "zsh", reason: "completions of zsh" },
    Need { file: "/usr/bin/fish", package: "fish", reason: "completions of fish" },
    Need { file: "/usr/bin/mandoc", package: "mandoc", reason: "manual pages without faults" },
    Need { file: "/usr/bin/groff", package: "groff-base", reason: "manual pages without faults" },
    Need { file: "/usr/bin/zip", package: "zip", reason: "the archive for Windows" },
    Need { file: "/usr/bin/dpkg-deb", package: "dpkg", reason: "the Debian package" },
    Need { file: "/usr/sbin/slurmctld", package: "slurmctld", reason: "a fleet on Slurm" },
    Need { file: "/usr/sbin/slurmd", package: "slurmd", reason: "a fleet on Slurm" },
    Need { file: "/usr/bin/sbatch", package: "slurm-client", reason: "a fleet on Slurm" },
    Need { file: "/usr/sbin/munged", package: "munge", reason: "a fleet on Slurm" },
    Need { file: "/sbin/ip", package: "iproute2", reason: "Slurm in a network of its own" },
    Need { file: "/usr/sbin/sshd", package: "openssh-server", reason: "a fleet by ssh" },
    Need { file: "/usr/bin/ssh", package: "openssh-client", reason: "a fleet by ssh" },
    Need { file: "/usr/bin/setpriv", package: "util-linux", reason: "tests as an ordinary user" },
];

/// Whether a requirement is met: its file exists, or there is a program with the same name elsewhere on the
/// path.
fn is_there(need: &Need) -> bool {
    let file = Path::new(need.file);
    let is_program = need.file.contains("/bin/") || need.file.contains("/sbin/");
    let on_path = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let name = file.file_name().unwrap_or_default();
        std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
    };
    file.exists() || (is_program && on_path())
}

/// The address from which apt gets the packages of an archive with this label: `Debian`, `Debian-Security`.
///
/// # Errors
/// If apt is missing or has no such archive, as on other distributions than Debian.
pub fn mirror(label: &str) -> anyhow::Result<String> {
    let filter = format!("Label: {label}");
    let known = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", &filter];
    let mut found = said("apt-get", &known)?;
    if found.is_empty() {
        // The package lists contain the labels.
        said("apt-get", &["-qq", "update"])?;
        found = said("apt-get", &known)?;
    }
    let first = found.lines().next().map(|address| address.trim_end_matches('/').to_owned());
    first.with_context(|| format!("apt here knows no mirror of {label}"))
}

/// Installs missing packages, and prints those that could not be installed.
pub fn ensure_or_tell(needs: &[Need]) {
    for missing in ensure(needs) {
        eprintln!("missing: {missing}");
    }
}

/// Installs missing packages, if root and apt are available, and returns those that are still missing.
pub fn ensure(needs: &[Need]) -> Vec<String> {
    let missing: Vec<_> = needs.iter().filter(|n| !is_there(n)).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let names: Vec<_> = missing.iter().map(|n| n.package).collect();
    let may = rustix::process::geteuid().is_root() && Path::new("/usr/bin/apt-get").exists();
    if may {
        eprintln!("installing {}", names.join(" "));
        let apt = |args: &[&str]| {
            Command::new("apt-get")
                .args(args)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .is_ok_and(|s| s.success())
        };
        if names.iter().any(|name| name.ends_with(":arm64")) {
            // apt finds packages for another architecture only if dpkg has that architecture.
            let _ = Command::new("dpkg").args(["--add-architecture", "arm64"]).status();
        }
        apt(&["-qq", "update"]);
        let mut install = vec!["-qq", "-y", "--no-install-recommends", "install"];
        install.extend(&names);
        if !apt(&install) {
            // An unavailable package must not prevent the installation of the others.
            for name in &names {
                apt(&["-qq", "-y", "--no-install-recommends", "install", name]);
            }
        }
    }
    let still = missing.iter().filter(|n| !is_there(n));
    still
        .map(|n| format!("{} ({}): no {}; apt install {}", n.package, n.reason, n.file, n.package))
        .collect()
}
