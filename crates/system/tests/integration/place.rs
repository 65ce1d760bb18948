//! Where arms are set up: on the build directory's disk, or on a separate ext4 that can encrypt
//! directories.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir, tempdir_in};

pub struct Place {
    // Dropped in the order of declaration.
    directory: TempDir,
    _disk: Option<Disk>,
}

impl Place {
    pub fn new() -> Self {
        Self { directory: tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), _disk: None }
    }

    /// A location for fscrypt on the target itself. Encryption is rarely enabled on the build directory's file
    /// system.
    pub fn that_encrypts() -> Option<Self> {
        let disk = match Disk::new() {
            Ok(disk) => disk,
            Err(why) => {
                eprintln!("SKIPPED: a separate ext4 with encryption: {why}");
                return None;
            }
        };
        let directory = tempdir_in(disk.files.path().join("mounted")).unwrap();
        Some(Self { directory, _disk: Some(disk) })
    }

    /// A location for systems with containers, which fill a part of the free space: a small separate ext4 if
    /// possible.
    pub fn with_little_room() -> Self {
        let Ok(disk) = Disk::new() else { return Self::new() };
        let directory = tempdir_in(disk.files.path().join("mounted")).unwrap();
        Self { directory, _disk: Some(disk) }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// An ext4 file system in a file, mounted.
struct Disk {
    files: TempDir,
    is_mounted: bool,
}

impl Disk {
    fn new() -> Result<Self, String> {
        let mut disk = Self { files: tempdir().unwrap(), is_mounted: false };
        let (image, point) = (disk.files.path().join("image"), disk.files.path().join("mounted"));
        // VeraCrypt needs as much free space in addition to a container as in it.
        File::create(&image).unwrap().set_len(600 << 20).unwrap();
        std::fs::create_dir(&point).unwrap();
        // As large as pages, because some kernels require that for encryption.
        let mkfs = ["-q", "-F", "-b", "4096", "-O", "encrypt"];
        did(Command::new("mkfs.ext4").args(mkfs).arg(&image))?;
        did(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&point))?;
        disk.is_mounted = true;
        Ok(disk)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_mounted {
            // mount(8) attached the loop device in a way that detaches it with the mount. A child that another
            // test forks holds open files until it executes its program.
            let until = Instant::now() + Duration::from_secs(5);
            let mut done = did(Command::new("umount").arg(self.files.path().join("mounted")));
            while done.is_err() && Instant::now() < until {
                sleep(Duration::from_millis(20));
                done = did(Command::new("umount").arg(self.files.path().join("mounted")));
            }
            if !std::thread::panicking() {
                done.unwrap();
            }
        }
    }
}

fn did(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}", said.trim())) }
}
