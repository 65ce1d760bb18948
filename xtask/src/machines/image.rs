//! A root file system for machines. It is created once for each distribution and CPU, and kept below the target
//! directory.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;

use super::rows::{Processor, Row};
use crate::afterwards::Afterwards;
use crate::newcomer::system::{Furniture, System};
use crate::packages::{self, Need};
use crate::tools::said;

/// The software on the machines: the distribution's kernel and its packages for encryption.
const PACKAGES: &str = "systemd-sysv udev dbus kmod zstd e2fsprogs dmsetup procps cryptsetup-bin fuse3 gocryptfs encfs cryfs";

/// Runs the contents of the disk `job`, reports through the port of the same name, and powers off.
const UNIT: &str = "[Unit]
After=multi-user.target
[Service]
Type=oneshot
OOMPolicy=continue
WorkingDirectory=/srv/job
ExecStartPre=/bin/tar -xf /dev/disk/by-id/virtio-job
ExecStart=/bin/sh -c 'exec sh ./script >/dev/virtio-ports/job 2>&1'
ExecStopPost=/bin/systemctl poweroff
[Install]
WantedBy=multi-user.target
";

/// Size of the disk, with space for the writes of a run.
const SIZE: &str = "10G";

const NEEDS: &[Need] = &[
    Need { file: "/usr/sbin/debootstrap", package: "debootstrap", reason: "a new Debian" },
    Need { file: "/usr/bin/unshare", package: "util-linux", reason: "mounts of its own" },
    Need { file: "/usr/bin/setpriv", package: "util-linux", reason: "a machine that ends with us" },
    Need { file: "/usr/sbin/mke2fs", package: "e2fsprogs", reason: "its file system" },
    Need { file: "/usr/bin/qemu-img", package: "qemu-utils", reason: "copies of its disk" },
];

const FOR_X86: &[Need] =
    &[Need { file: super::X86, package: "qemu-system-x86", reason: "the machine" }];

const FOR_ARM: &[Need] = &[
    Need { file: super::ARM, package: "qemu-system-arm", reason: "the machine" },
    Need { file: BINFMT, package: "qemu-user-static", reason: "packages for ARM set up here" },
];

/// How this machine's kernel starts programs for ARM, as configured by Debian's package.
const BINFMT: &str = "/usr/lib/binfmt.d/qemu-aarch64.conf";
const BINFMT_FILES: &str = "/proc/sys/fs/binfmt_misc";

/// A directory with `root`, `vmlinuz` and `initrd`.
pub struct Image(pub PathBuf);

/// The image of a row, which is created if it does not exist, or the reason why it cannot be created.
///
/// # Errors
/// If one of its packages cannot be installed, or a file cannot be written.
pub fn of(row: &Row) -> anyhow::Result<Result<Image, String>> {
    let needs = match row.processor {
        Processor::X86 => FOR_X86,
        Processor::Arm => FOR_ARM,
    };
    for needs in [NEEDS, needs] {
        if let Some(missing) = packages::ensure(needs).into_iter().next() {
            return Ok(Err(missing));
        }
    }
    let architecture = row.processor.debian();
    let name = format!("{}-{architecture}", row.system.name().replace(' ', "-").to_lowercase());
    let place = std::path::absolute(Path::new("target/machines").join(name))?;
    let recipe = format!("{PACKAGES}\n{UNIT}{SIZE}\n");
    // Another process may be creating it.
    let _held = held(&place.with_extension("lock"))?;
    if fs::read_to_string(place.join("recipe")).is_ok_and(|made| made == recipe) {
        return Ok(Ok(Image(place)));
    }
    if !rustix::process::geteuid().is_root() {
        return Ok(Err("only root can make a root file system".to_owned()));
    }
    // All users must be able to read its files, whatever the umask of this user is.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let began = Instant::now();
    let foreign = match row.processor {
        Processor::X86 => None,
        Processor::Arm => match foreign() {
            Ok(afterwards) => afterwards,
            Err(why) => return Ok(Err(format!("programs for ARM cannot be started: {why:#}"))),
        },
    };
    let system = System { directory: place.join("system"), shares: false };
    if let Err(why) = system.unpack(row.system, Some(architecture)) {
        return Ok(Err(format!("no root file system: {why:#}")));
    }
    furnish(&system, architecture)?;
    drop(foreign);
    pack(&system.directory, &place)?;
    fs::remove_dir_all(&system.directory)?;
    fs::write(place.join("recipe"), recipe)?;
    println!("{}: made in {:.0} s", place.display(), began.elapsed().as_secs_f64());
    Ok(Ok(Image(place)))
}

/// Locks a file until the result is dropped. Waits if another process holds the lock.
///
/// # Errors
/// The operating system's error.
pub fn held(path: &Path) -> anyhow::Result<File> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    if file.try_lock().is_err() {
        println!("another process uses {}: this one waits", path.display());
        file.lock()?;
    }
    Ok(file)
}

impl Processor {
    /// Debian's name.
    const fn debian(self) -> &'static str {
        match self {
            Self::X86 => "amd64",
            Self::Arm => "arm64",
        }
    }
}

/// Installs the software of a machine, and sets the machine up to run its job.
fn furnish(system: &System, architecture: &str) -> anyhow::Result<()> {
    let file = |name: &str| system.directory.join(name);
    // Not synced, because files that are lost in a power cut are created again.
    fs::write(file("etc/dpkg/dpkg.cfg.d/quick"), "force-unsafe-io\n")?;
    fs::write(file("etc/hostname"), "machine\n")?;
    fs::write(file("etc/fstab"), "/dev/disk/by-label/system / ext4 errors=remount-ro 0 1\n")?;
    let install = format!(
        "apt-get -q install --no-install-recommends {PACKAGES}
        apt-get -q install --no-install-recommends initramfs-tools linux-image-{architecture}
        useradd --create-home --shell /bin/bash --uid 1000 ada
        apt-get clean; mkdir /srv/job"
    );
    system.enter(Furniture::Bare, &install)?;
    fs::write(file("etc/systemd/system/job.service"), UNIT)?;
    system.enter(Furniture::Bare, "systemctl enable job.service; systemctl mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer dpkg-db-backup.timer man-db.timer")?;
    Ok(())
}

/// Creates the disk image of a directory, and copies its kernel next to it.
fn pack(system: &Path, place: &Path) -> anyhow::Result<()> {
    for (name, to) in [("vmlinuz", "vmlinuz"), ("initrd.img", "initrd")] {
        let newest = fs::canonicalize(system.join(name));
        let newest = newest.with_context(|| format!("the system has no {name}"))?;
        fs::copy(newest, place.join(to))?;
    }
    let (system, root) = (system.display().to_string(), place.join("root"));
    said(
        "mke2fs",
        &["-q", "-t", "ext4", "-L", "system", "-d", &system, &root.display().to_string(), SIZE],
    )?;
    // All users can read root's files, so that an ordinary user can boot the image.
    fs::set_permissions(root, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

/// Enables this machine's kernel to start programs for ARM until this is dropped or the process exits; `None`
/// if it already does.
fn foreign() -> anyhow::Result<Option<Afterwards>> {
    let mut undo = String::new();
    if !Path::new(BINFMT_FILES).join("register").exists() {
        undo = format!("umount {BINFMT_FILES}");
    }
    let registered = format!("{BINFMT_FILES}/qemu-aarch64");
    if Path::new(&registered).exists() {
        return Ok(None);
    }
    let afterwards = Afterwards::run(&format!("echo -1 >{registered}\n{undo}"), &[])?;
    if !undo.is_empty() {
        said("mount", &["-t", "binfmt_misc", "binfmt_misc", BINFMT_FILES])?;
    }
    let how = fs::read_to_string(BINFMT)?;
    fs::write(Path::new(BINFMT_FILES).join("register"), how.trim_end())?;
    Ok(Some(afterwards))
}
