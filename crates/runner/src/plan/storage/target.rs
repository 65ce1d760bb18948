//! A target: a directory with its file system, its device and space for the scratch file, or
//! storage that will be overwritten.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cryptbench_blockdev::Extent;
use cryptbench_os::dirs::resolved;
use cryptbench_os::files::Opening;
use cryptbench_os::storage::{mount_of, number_of, refused_by_name, space};
use cryptbench_os::{Details, FileType};
use cryptbench_record::{Device, EncryptedBy};
use cryptbench_system::provision::runtime_directory;
use cryptbench_text::{chain, shown};

use super::block::{Node, Tree, describe};
use super::existing::{Consent, Existing, Kind, Overwritten};
use super::{GIB, MIB, encryption, human};
use crate::RunError;

/// The smallest scratch file that still spreads random requests.
const SMALLEST: u64 = 64 * MIB;

/// The target of a run and what lies below it: a directory for a scratch file, or existing storage
/// that will be overwritten.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Absolute path of the directory, or of the storage to be overwritten.
    pub(crate) path: PathBuf,
    /// Name of the scratch file in that directory.
    pub(crate) scratch: OsString,
    /// The storage to be overwritten instead of a scratch file.
    pub(crate) existing: Option<Existing>,
    /// The part of a device in use that is read instead of a scratch file.
    pub(crate) only_read: Option<Extent>,
    pub(crate) filesystem: String,
    pub(crate) mount_options: String,
    pub(crate) source: String,
    /// Device number of the file system.
    pub(crate) number: u64,
    /// The device of the file system.
    pub(super) node: Option<Node>,
    pub(crate) device: Option<Device>,
    /// The `stat` file with the counters of the device.
    pub(crate) device_stat: Option<PathBuf>,
    free: u64,
    filesystem_size: u64,
}

impl Target {
    /// Inspects `target`: an existing directory, the path of a new file with an extension, or a
    /// file or device that `consent` permits to overwrite. Changes nothing.
    pub(crate) fn inspect(
        target: &Path,
        run_id: &str,
        consent: &Consent,
    ) -> Result<Self, RunError> {
        let refuse = |problem: String| RunError::Target { path: target.to_owned(), problem };
        if let Some(why) = refused_by_name(target) {
            return Err(refuse(why.to_owned()));
        }
        match fs::metadata(target) {
            Ok(m) if m.is_dir() => {
                Self::of_directory(target, format!("cryptbench-{run_id}.scratch").into())
            }
            Ok(_) => {
                let target = resolved(target).map_err(|e| refuse(e.to_string()))?;
                let existing =
                    Existing::inspect(&target, consent).map_err(|why| refuse(chain(&why)))?;
                Self::of_existing(target, existing)
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let name =
                    target.file_name().ok_or_else(|| refuse("no such directory".to_owned()))?;
                let parent = parent(target);
                if !parent.is_dir() {
                    return Err(refuse(format!("no such directory: {}", shown(parent))));
                }
                // A dangling symbolic link has no metadata, but its name is taken.
                if fs::symlink_metadata(target).is_ok() {
                    return Err(refuse("is a broken symbolic link; name a directory".to_owned()));
                }
                let found = Self::of_directory(parent, name.to_owned())?;
                // The mistyped name of a device is not the name of a new file.
                if found.filesystem == "devtmpfs" || found.path == Path::new("/dev") {
                    return Err(refuse(
                        "does not exist, and files do not belong among devices".to_owned(),
                    ));
                }
                // A mistyped directory would be created as a file, and the wrong disk, that of its
                // parent, would be measured.
                if target.extension().is_none() {
                    return Err(refuse(format!(
                        "no such directory; to create a scratch file of that name, give it an extension: {}.scratch",
                        shown(target)
                    )));
                }
                Ok(found)
            }
            Err(e) => Err(refuse(e.to_string())),
        }
    }

    fn of_directory(directory: &Path, name: OsString) -> Result<Self, RunError> {
        let refuse = |problem: String| RunError::Target { path: directory.to_owned(), problem };
        let directory = resolved(directory).map_err(|e| refuse(e.to_string()))?;
        let space = space(&directory).map_err(|e| refuse(e.to_string()))?;
        let dev = number_of(&directory).map_err(|e| refuse(e.to_string()))?;
        let mount = mount_of(dev, &directory).unwrap_or_default();
        let tree = Tree::this();
        let node = tree.of_mount(dev, &mount.source);
        let counted = node.as_ref().and_then(|node| tree.counted(node));
        Ok(Self {
            scratch: name,
            path: directory,
            existing: None,
            only_read: None,
            filesystem: mount.file_system,
            mount_options: mount.options,
            source: shown(&mount.source),
            number: dev,
            device: counted.as_ref().or(node.as_ref()).and_then(describe),
            node,
            device_stat: counted.map(|node| node.counters()),
            // A file system of size 0 (ramfs) does not count its space; only an attempt shows what
            // fits.
            free: if space.size == 0 { u64::MAX } else { space.free },
            filesystem_size: space.size,
        })
    }

    fn of_existing(path: PathBuf, existing: Existing) -> Result<Self, RunError> {
        let size = existing.size();
        if existing.kind == Kind::File {
            let around = Self::of_directory(parent(&path), OsString::new())?;
            return Ok(Self {
                path,
                scratch: OsString::new(),
                existing: Some(existing),
                free: size,
                filesystem_size: size,
                ..around
            });
        }
        let number = fs::metadata(&path).map_or(0, |found| Details::of(&found).device);
        let tree = Tree::this();
        let node = tree.of_number(number);
        let counted = node.as_ref().and_then(|node| tree.counted(node));
        Ok(Self {
            source: shown(&path),
            path,
            scratch: OsString::new(),
            existing: Some(existing),
            only_read: None,
            filesystem: String::new(),
            mount_options: String::new(),
            number,
            device: counted.as_ref().or(node.as_ref()).and_then(describe),
            node,
            device_stat: counted.map(|node| node.counters()),
            free: size,
            filesystem_size: size,
        })
    }

    /// Inspects a device in use, of which `part` is only read.
    pub(super) fn to_read(path: &Path, part: Extent) -> Result<Self, RunError> {
        let refuse =
            |e: std::io::Error| RunError::Target { path: path.to_owned(), problem: e.to_string() };
        let number = Details::of(&fs::metadata(path).map_err(refuse)?).device;
        let tree = Tree::this();
        let node = tree.of_number(number);
        let counted = node.as_ref().and_then(|node| tree.counted(node));
        Ok(Self {
            source: shown(path),
            path: path.to_owned(),
            scratch: OsString::new(),
            existing: None,
            only_read: Some(part),
            filesystem: String::new(),
            mount_options: String::new(),
            number,
            device: counted.as_ref().or(node.as_ref()).and_then(describe),
            node,
            device_stat: counted.map(|node| node.counters()),
            free: 0,
            filesystem_size: part.len,
        })
    }

    /// Inspects a block device of which all is only read.
    ///
    /// # Errors
    /// [`RunError::Target`] if it is none, or if this user may not read it.
    pub(super) fn device_to_read(path: &Path) -> Result<Self, RunError> {
        let refuse = |problem: String| RunError::Target { path: path.to_owned(), problem };
        let path = resolved(path).map_err(|e| refuse(e.to_string()))?;
        let found = fs::metadata(&path).map_err(|e| refuse(e.to_string()))?;
        if Details::of(&found).kind != FileType::BlockDevice {
            return Err(refuse(
                "is no block device, and --read-only reads those alone: name a disk or a partition, or leave it out"
                    .to_owned(),
            ));
        }
        let mut file = Opening::to_read()
            .open(&path)
            .map_err(|e| refuse(format!("cannot be read ({e}): run as root")))?;
        let len = file.seek(SeekFrom::End(0)).map_err(|e| refuse(e.to_string()))?;
        Self::to_read(&path, Extent { offset: 0, len })
    }

    /// Bytes of all that is overwritten, whole MiB; `None` for a directory.
    pub(super) fn all(&self) -> Option<u64> {
        self.existing.as_ref().map(|_| self.filesystem_size / MIB * MIB)
    }

    /// Opens what is only read, and never for writing; `None` for other storage.
    ///
    /// # Errors
    /// [`RunError::Target`] if it cannot be read past the page cache, or is not what was inspected.
    pub(crate) fn open_to_read(&self) -> Result<Option<(File, Extent)>, RunError> {
        let Some(part) = self.only_read else { return Ok(None) };
        let refuse = |problem: String| RunError::Target { path: self.path.clone(), problem };
        let opened = Opening::to_read().direct(true).open(&self.path);
        let file = opened.map_err(|e| refuse(format!("cannot be read ({e}): run as root")))?;
        let found = file.metadata().map_err(|e| refuse(e.to_string()))?;
        if Details::of(&found).device != self.number {
            return Err(refuse("is not the device any more that it was: try again".to_owned()));
        }
        Ok(Some((file, part)))
    }

    /// Whether new files are made there, in contrast to storage that is overwritten or only read.
    pub(crate) fn is_directory(&self) -> bool {
        self.existing.is_none() && self.only_read.is_none()
    }

    /// The size of the stretch that each of `arms` arms reads in a block, and its reason in words.
    pub(super) fn stretch(
        &self,
        asked: Option<(u64, &str)>,
        least: u64,
        arms: u64,
    ) -> Result<(u64, String), RunError> {
        let round = |n: u64| n / MIB * MIB;
        let there = round(self.filesystem_size / arms.max(1));
        let least = least.next_multiple_of(MIB).max(MIB);
        let (size, reason) = match asked {
            Some((asked, reason)) => (round(asked), reason),
            None => ((round(self.filesystem_size / 256).clamp(256 * MIB, 2 * GIB)).min(there), ""),
        };
        if there < least {
            return Err(RunError::Target {
                path: self.path.clone(),
                problem: format!(
                    "each of {arms} arms reads a stretch of its own of at least {}, and {} in all are too few: name fewer \
                     ciphers, or a larger device",
                    human(least),
                    human(self.filesystem_size)
                ),
            });
        }
        if size < least || size > there {
            return Err(RunError::Target {
                path: self.path.clone(),
                problem: format!(
                    "each arm reads a stretch of its own, which must have {} to {} here, not {}: see --size",
                    human(least),
                    human(there),
                    human(size)
                ),
            });
        }
        let where_from = format!("a stretch for each arm, of {}", human(self.filesystem_size));
        Ok((size, if reason.is_empty() { where_from } else { format!("{reason}; {where_from}") }))
    }

    /// Opens storage to be overwritten exclusively, checks again that it may be used, and returns
    /// its first `len` bytes; `None` for a directory.
    ///
    /// # Errors
    /// [`RunError::Target`] if it may no longer be used.
    pub(crate) fn claim(&self, len: u64, buffered: bool) -> Result<Option<Overwritten>, RunError> {
        let claimed = self.existing.as_ref().map(|existing| existing.claim(len, buffered));
        claimed
            .transpose()
            .map_err(|why| RunError::Target { path: self.path.clone(), problem: chain(&why) })
    }

    /// `directory`, or the kind of storage to be overwritten or read: `file`, `device` or `partition`.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.existing {
            Some(existing) => existing.kind.as_str(),
            None if self.only_read.is_none() => "directory",
            None if self.node.as_ref().is_some_and(Node::is_partition) => "partition",
            None => "device",
        }
    }

    /// The file of the topmost loop device below it.
    pub(crate) fn kept_in(&self) -> Option<PathBuf> {
        Tree::this().kept_in(self.node.as_ref()?)
    }

    /// What encrypts it already, if anything does. What this run serves itself is a model, whose bytes nobody encrypts.
    pub(crate) fn encrypted_by(&self) -> Option<EncryptedBy> {
        if self.is_our_own() {
            return None;
        }
        let mount = (self.filesystem.as_str(), self.source.as_str());
        encryption::below(&self.path, mount, self.node.as_ref())
    }

    /// Its storage, in words.
    pub(crate) fn in_words(&self) -> String {
        match &self.existing {
            None if self.only_read.is_some() => format!("the {} itself, only read", self.kind()),
            None => format!("{} on {}", self.filesystem, self.source),
            Some(existing) => {
                let behind = match &existing.backing_file {
                    Some(file) => format!(", a loop device over {file}"),
                    None => String::new(),
                };
                format!("the {} itself{behind}", existing.kind.as_str())
            }
        }
    }

    /// Whether it is a file system that this run mounted itself, on an emulated device.
    pub(crate) fn is_our_own(&self) -> bool {
        self.is_directory() && runtime_directory().is_some_and(|ours| self.path.starts_with(ours))
    }

    /// Free bytes.
    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Refuses a run whose files do not fit: `plain` bytes on plain storage, `mounted` bytes in the
    /// containers of mounted systems.
    pub(crate) fn holds(&self, plain: u64, mounted: u64) -> Result<(), RunError> {
        let all = plain.saturating_add(mounted);
        if self.existing.is_some() || all <= self.free / 20 * 19 {
            return Ok(());
        }
        Err(RunError::Target {
            path: self.path.clone(),
            problem: format!(
                "too little room: the run needs {} ({} of them for mounted systems) and {} are free; ask for a \
                 smaller file with --size, or for fewer arms",
                human(all),
                human(mounted),
                human(self.free)
            ),
        })
    }

    /// Chooses the size of the scratch file, or checks the requested one, which comes with its
    /// reason. `least` is what the workloads need.
    ///
    /// Returns the size in bytes and the reason in words.
    pub(super) fn size(
        &self,
        asked: Option<(u64, &str)>,
        least: u64,
    ) -> Result<(u64, String), RunError> {
        let refuse = |problem| RunError::Target { path: self.path.clone(), problem };
        let round = |n: u64| n / MIB * MIB;
        let least = least.next_multiple_of(MIB).max(MIB);
        let smallest = SMALLEST.max(least);
        if let Some((asked, reason)) = asked {
            let size = round(asked);
            if size < least {
                return Err(refuse(format!(
                    "a scratch file of {} is too small for these workloads: ask for at least {}",
                    human(asked),
                    human(least)
                )));
            }
            if self.existing.is_some() {
                return self.part(size, least, reason);
            }
            // A file system filled to the last byte does not behave normally.
            if size > self.free / 20 * 19 {
                return Err(refuse(format!(
                    "a scratch file of {} does not fit: {} are free; free some room or ask for \
                     less with --size",
                    human(size),
                    human(self.free)
                )));
            }
            return Ok((size, reason.to_owned()));
        }
        let device = match (&self.device, &self.existing) {
            (Some(device), None) => device.size_bytes,
            _ => self.filesystem_size,
        };
        let wanted = round((device / 256).clamp(256 * MIB, 2 * GIB));
        if self.existing.is_some() {
            let all = round(device);
            if all <= wanted {
                return self.part(all, least, "all of it");
            }
            let reason = format!("1/256 of {}, within 256 MiB to 2 GiB", human(device));
            return self.part(wanted.max(smallest), least, &reason);
        }
        let room = round(self.free / 4);
        if room < smallest {
            return Err(refuse(format!(
                "too little room: {} are free, and a scratch file of {} may take a quarter of the \
                 free space at most; free {} more, or name another directory, or say --size",
                human(self.free),
                human(smallest),
                human(4 * smallest - self.free),
            )));
        }
        Ok(if wanted <= room {
            (wanted.max(smallest), format!("1/256 of {}, within 256 MiB to 2 GiB", human(device)))
        } else {
            (room, format!("a quarter of the {} that are free", human(self.free)))
        })
    }

    /// The first `size` bytes of the storage to be overwritten.
    fn part(&self, size: u64, least: u64, reason: &str) -> Result<(u64, String), RunError> {
        let there = self.filesystem_size / MIB * MIB;
        let problem = if there < least {
            format!(
                "has {}, and these workloads need {}",
                human(self.filesystem_size),
                human(least)
            )
        } else if size > there {
            format!("has {} and not {}: ask for less with --size", human(there), human(size))
        } else {
            return Ok((size, format!("{reason}; from the start of the {}", self.kind())));
        };
        Err(RunError::Target { path: self.path.clone(), problem })
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn of_size(free: u64, device: u64) -> Target {
        Target {
            path: "/d".into(),
            scratch: "s".into(),
            existing: None,
            only_read: None,
            filesystem: "ext4".into(),
            mount_options: String::new(),
            source: String::new(),
            number: 0,
            node: None,
            device: None,
            device_stat: None,
            free,
            filesystem_size: device,
        }
    }

    #[test]
    fn size_follows_device_and_free_space() {
        let size = |free, device| of_size(free, device).size(None, MIB).map(|s| s.0 / MIB);
        assert_eq!(size(100 * GIB, 256 * GIB).unwrap(), 1024);
        assert_eq!(size(100 * GIB, 10 * GIB).unwrap(), 256);
        assert_eq!(size(4000 * GIB, 8000 * GIB).unwrap(), 2048);
        assert_eq!(size(GIB, 256 * GIB).unwrap(), 256);
        assert_eq!(size(300 * MIB, 256 * GIB).unwrap(), 75);
    }

    #[test]
    fn too_little_room_says_how_much_more() {
        let error = of_size(200 * MIB, GIB).size(None, MIB).unwrap_err().to_string();
        assert!(
            error.contains("200 MiB are free") && error.contains("free 56 MiB more"),
            "{error}"
        );
        let error = of_size(GIB, GIB).size(Some((GIB, "asked")), MIB).unwrap_err().to_string();
        assert!(error.contains("does not fit"), "{error}");
        let error = of_size(GIB, GIB).size(Some((MIB, "asked")), 8 * MIB).unwrap_err().to_string();
        assert!(error.contains("at least 8 MiB"), "{error}");
        assert_eq!(of_size(GIB, GIB).size(Some((16 * MIB + 5, "asked")), MIB).unwrap().0, 16 * MIB);
    }

    #[test]
    fn existing_files_and_missing_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("precious");
        fs::write(&file, "data").unwrap();
        let said =
            |p: &Path| Target::inspect(p, "id", &Consent::default()).unwrap_err().to_string();
        assert!(said(&file).contains("nothing that exists is overwritten"));
        assert!(said(&dir.path().join("no/file")).contains("no such directory"));
        let mistyped = said(Path::new("/dev/no-such-device-of-this-machine"));
        assert!(mistyped.contains("does not exist"), "{mistyped}");
        std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join("link")).unwrap();
        assert!(said(&dir.path().join("link")).contains("symbolic link"));
        assert_eq!(fs::read(&file).unwrap(), b"data");
        // `/mnt/dta` instead of `/mnt/data` would measure the disk below /mnt.
        let directory = said(&dir.path().join("dta"));
        assert!(
            directory.contains("no such directory") && directory.contains("dta.scratch"),
            "{directory}"
        );
    }

    #[test]
    fn a_new_file_name_is_the_scratch_file() {
        let dir = tempfile::tempdir().unwrap();
        let named =
            Target::inspect(&dir.path().join("new.scratch"), "id", &Consent::default()).unwrap();
        assert_eq!(named.scratch, "new.scratch");
        let chosen = Target::inspect(dir.path(), "id", &Consent::default()).unwrap();
        assert_eq!(chosen.scratch, "cryptbench-id.scratch");
    }
}
