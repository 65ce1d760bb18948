//! Volumes of each format, cheap to open, and ext4 in what serves them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::fuse::{FuseOptions, Server};
use cryptbench_kdf::{Derivation, Effort};
use cryptbench_volume::format::{bitlocker, luks, tcrypt};
use cryptbench_volume::{Access, Credentials, OpenOptions, Secret, Volume, open};

use crate::fuse::{try_mount, unmount};

/// The formats, by the names that they open with.
pub const FORMATS: [&str; 4] = ["veracrypt", "luks1", "luks2", "bitlocker"];

/// Those that a file system fills from end to end: BitLocker's metadata lie in the middle.
pub const WHOLE: [&str; 3] = ["veracrypt", "luks1", "luks2"];

fn credentials(format: &str) -> Credentials {
    Credentials {
        passphrase: Secret::new(b"a passphrase".to_vec()),
        pim: (format == "veracrypt").then_some(1),
        ..Credentials::default()
    }
}

fn effort() -> Effort<'static> {
    Effort::new(cryptbench_kdf::tier().unwrap(), 1)
}

/// Makes a volume on a device that is filled with zeros.
pub fn create(format: &str, device: &dyn BlockDevice) {
    let tier = cryptbench_cipher::tier().unwrap();
    let credentials = credentials(format);
    match format {
        "veracrypt" => {
            let options = tcrypt::CreateOptions::new(tier, effort());
            let options = tcrypt::CreateOptions { fill: tcrypt::Fill::Quick, ..options };
            tcrypt::create(device, &credentials, &options).unwrap();
        }
        "bitlocker" => {
            let options = bitlocker::CreateOptions::new(tier, effort());
            bitlocker::create(device, &credentials, &options).unwrap();
        }
        _ => {
            let version =
                if format == "luks1" { luks::Version::Luks1 } else { luks::Version::Luks2 };
            let resources = luks::Resources::new(tier, effort());
            let mut options = luks::CreateOptions::new(version, resources).unwrap();
            let prf = cryptbench_kdf::find("sha-256").unwrap();
            options.derivation = Derivation::Pbkdf2 { prf, iterations: 1000 };
            options.digest_iterations = 1000;
            options.data_offset = Some(4 << 20);
            luks::create(device, &credentials, &options).unwrap();
        }
    }
}

/// Opens what [`create`] made.
pub fn opened(format: &str, device: Arc<dyn BlockDevice>) -> Result<Volume, String> {
    let options = OpenOptions {
        format: Some(format),
        access: Access::ReadWrite,
        prf: (format == "veracrypt").then_some("sha-512"),
        ..OpenOptions::new(cryptbench_cipher::tier().unwrap(), effort())
    };
    open(device, &credentials(format), &options).map_err(|e| e.to_string())
}

/// ext4 in a served device. Unmounted in the order of the fields.
pub struct Mounted {
    ext4: Option<PathBuf>,
    pub server: Server,
    _directory: tempfile::TempDir,
}

impl Mounted {
    /// Serves `device`, makes an ext4 in it where it is new, and mounts it; `None`, said as skipped, where that cannot be.
    pub fn new(device: Arc<dyn BlockDevice>, is_new: bool) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let (point, files) = (directory.path().join("served"), directory.path().join("files"));
        std::fs::create_dir(&point).unwrap();
        std::fs::create_dir(&files).unwrap();
        let server = try_mount(device, &point, &FuseOptions::default())?;
        let mut mounted = Self { ext4: None, server, _directory: directory };
        let file = mounted.server.file();
        let mkfs = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
        let did = (!is_new || did(Command::new("mkfs.ext4").args(mkfs).arg(&file)))
            && did(Command::new("mount").args(["-o", "loop"]).arg(&file).arg(&files));
        if !did {
            eprintln!(
                "SKIPPED: no ext4 can be made and mounted here (root, e2fsprogs, loop devices)"
            );
            unmount(&mounted.server);
            return None;
        }
        mounted.ext4 = Some(files);
        Some(mounted)
    }

    /// Where the files are.
    pub fn files(&self) -> &Path {
        self.ext4.as_deref().expect("mounted")
    }

    /// Takes both mounts down. What the kernel could not write back is an error of the device, and stays one.
    pub fn end(mut self) {
        self.unmount_ext4();
        unmount(&self.server);
    }

    fn unmount_ext4(&mut self) {
        if let Some(files) = self.ext4.take() {
            let gone = did(Command::new("umount").arg(&files))
                || did(Command::new("umount").arg("--lazy").arg(&files));
            assert!(gone || std::thread::panicking(), "umount");
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmount_ext4();
    }
}

pub fn did(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Whether e2fsck finds nothing to mend in `image` once the journal was replayed; what it said otherwise.
pub fn is_sound(image: &Path) -> Result<(), String> {
    for options in ["-p", "-fn"] {
        let output = Command::new("/sbin/e2fsck").arg(options).arg(image).output().unwrap();
        // 1: replayed, or orphans of the cut removed.
        let good = matches!((options, output.status.code()), (_, Some(0)) | ("-p", Some(1)));
        if !good {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            return Err(format!("e2fsck {options}: {}", said.replace('\n', " ")));
        }
    }
    Ok(())
}
