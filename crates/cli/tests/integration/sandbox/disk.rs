//! Disks made from files: loop devices, mounts and swap that are removed when dropped.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{skipped, text};

/// Runs a program of the system and returns whether it succeeded.
pub fn did(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A directory in memory for images, so that each loop device over an image has separate counters. If there is
/// none, a directory elsewhere.
pub fn images() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A loop device.
pub struct Loop {
    pub device: String,
}

impl Loop {
    /// A loop device over a new image of zeros. If there are no loop devices, prints that the test is skipped and
    /// returns `None`.
    pub fn new(directory: &Path, name: &str, mib: u64) -> Option<Self> {
        let image = directory.join(name);
        fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        Self::over(&image.display().to_string(), &[])
    }

    pub fn over(file: &str, options: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("loop devices need root");
            return None;
        }
        let made =
            Command::new("losetup").args(["--find", "--show"]).args(options).arg(file).output();
        match made {
            Ok(made) if made.status.success() => {
                let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
                Some(Self { device })
            }
            Ok(made) => {
                skipped(&format!("losetup: {}", text(&made.stderr).trim()));
                None
            }
            Err(e) => {
                skipped(&format!("losetup cannot be run: {e}"));
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        Path::new(&self.device)
    }

    /// The hash of its whole content.
    pub fn hash(&self) -> u64 {
        hash(&fs::read(self.path()).unwrap())
    }

    pub fn has_ext4(&self) -> bool {
        let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        let made = did("mkfs.ext4", &["-q", "-F", "-E", options, &self.device]);
        if !made {
            skipped("no mkfs.ext4 (apt install e2fsprogs)");
        }
        made
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = did("losetup", &["--detach", &self.device]);
    }
}

pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Something mounted.
pub struct Mount {
    point: PathBuf,
}

impl Mount {
    /// Runs `mount ARGS POINT`; creates `point`.
    pub fn new(args: &[&str], point: &Path) -> Option<Self> {
        fs::create_dir_all(point).unwrap();
        let mut words = args.to_vec();
        let at = point.display().to_string();
        words.push(&at);
        if !did("mount", &words) {
            skipped(&format!("mount {args:?} does not work here"));
            return None;
        }
        Some(Self { point: point.to_owned() })
    }

    /// Takes responsibility for an existing mount.
    pub fn at(point: &Path) -> Self {
        Self { point: point.to_owned() }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let at = self.point.display().to_string();
        let _ = did("umount", &[&at]) || did("umount", &["--lazy", &at]);
    }
}
