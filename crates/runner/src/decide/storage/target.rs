//! A target: a directory with space for the scratch file, or storage that will be overwritten or only read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cryptbench_blockdev::Extent;
use cryptbench_record::{DIRECTORY, Device, Uncounted};
use cryptbench_text::{chain, human, human_both, shown};

use super::{Existing, GIB, MIB};
use crate::RunError;
use crate::look::existing::Kind;
use crate::look::{Asked, Ground, Number, Place, There, parent};
use crate::request::Consent;

/// The smallest scratch file over which random requests are still spread.
const SMALLEST: u64 = 64 * MIB;

/// The target of a run and its underlying storage: a directory for a scratch file, or existing storage that
/// will be overwritten.
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
    /// The underlying storage.
    pub(crate) ground: Ground,
}

impl Target {
    /// Accepts the storage at `place`: an existing directory, the path of a new file with an extension, or a file or
    /// device that `consent` allows the run to overwrite.
    ///
    /// # Errors
    /// [`RunError::Target`] if it must not be used, with a remedy.
    pub(crate) fn admit(
        place: &Place,
        run_id: &str,
        consent: &Consent,
        consented: &[(PathBuf, Option<Number>)],
    ) -> Result<Self, RunError> {
        let target = place.path.as_path();
        let refuse = |problem: String| RunError::Target { path: target.to_owned(), problem };
        match &place.there {
            There::Refused(why) | There::Unseen(why) => Err(refuse(why.clone())),
            There::Directory(ground) => {
                let name = format!("cryptbench-{run_id}.scratch").into();
                Ok(Self::in_directory(ground.clone().map_err(refuse)?, name))
            }
            There::Existing(found) => {
                let found = found.as_ref().map_err(|why| refuse(why.clone()))?;
                let existing = Existing::admit(found, consent, consented)
                    .map_err(|why| refuse(chain(&why)))?;
                Self::over(existing, found.ground.clone())
            }
            There::Nothing { is_link, around } => Self::new_file(target, *is_link, around.as_ref()),
            There::ToRead(_) => Self::to_read(place, None),
        }
    }

    fn in_directory(ground: Ground, scratch: OsString) -> Self {
        Self { path: ground.path.clone(), scratch, existing: None, only_read: None, ground }
    }

    /// A scratch file whose name the user chose.
    fn new_file(
        target: &Path,
        is_link: bool,
        around: Option<&Asked<Ground>>,
    ) -> Result<Self, RunError> {
        let refuse = |problem: String| RunError::Target { path: target.to_owned(), problem };
        let name = target.file_name().ok_or_else(|| refuse("no such directory".to_owned()))?;
        let parent = parent(target);
        let Some(around) = around else {
            return Err(refuse(format!("no such directory: {}", shown(parent))));
        };
        if is_link {
            return Err(refuse("is a broken symbolic link; specify a directory".to_owned()));
        }
        let in_parent = |problem| RunError::Target { path: parent.to_owned(), problem };
        let found = Self::in_directory(around.clone().map_err(in_parent)?, name.to_owned());
        // The mistyped name of a device must not become the name of a new file.
        if found.ground.filesystem == "devtmpfs" || found.path == Path::new("/dev") {
            let problem = "does not exist, and scratch files are not created among device files; check the device name";
            return Err(refuse(problem.to_owned()));
        }
        // A mistyped directory name would create a file, and the wrong disk would be measured: that of the parent
        // directory.
        if target.extension().is_none() {
            let problem = "no such directory; check the path, or create the directory";
            return Err(refuse(problem.to_owned()));
        }
        Ok(found)
    }

    fn over(existing: Existing, ground: Asked<Ground>) -> Result<Self, RunError> {
        let (path, size) = (existing.path.clone(), existing.identity.size);
        let ground = ground
            .map_err(|problem| RunError::Target { path: parent(&path).to_owned(), problem })?;
        Ok(Self {
            path,
            scratch: OsString::new(),
            existing: Some(existing),
            only_read: None,
            ground: Ground { free: size, size, ..ground },
        })
    }

    /// Admits a device that is only read, in whole or only `part` of it.
    ///
    /// # Errors
    /// [`RunError::Target`] if it is not a target, or if this user may not read it.
    pub(super) fn to_read(place: &Place, part: Option<Extent>) -> Result<Self, RunError> {
        let refuse = |problem: &str| RunError::Target {
            path: place.path.clone(),
            problem: problem.to_owned(),
        };
        let There::ToRead(found) = &place.there else {
            return Err(refuse("was not inspected as a read-only target"));
        };
        let found = found.as_ref().map_err(|why| refuse(why))?;
        if part.is_none() && !found.is_device {
            return Err(refuse(
                "is not a block device, and --read-only accepts only block devices: specify a disk or a partition, \
                 or omit --read-only",
            ));
        }
        let part = match part {
            Some(part) => part,
            None => Extent { offset: 0, len: found.len.clone().map_err(|why| refuse(&why))? },
        };
        Ok(Self {
            path: found.ground.path.clone(),
            scratch: OsString::new(),
            existing: None,
            only_read: Some(part),
            ground: Ground { free: 0, size: part.len, ..found.ground.clone() },
        })
    }

    /// Size in bytes of the storage to be overwritten, in whole MiB; `None` for a directory.
    pub(super) fn all(&self) -> Option<u64> {
        self.existing.as_ref().map(|_| self.ground.size / MIB * MIB)
    }

    /// Whether new files are created there, in contrast to storage that is overwritten or only read.
    pub(crate) fn is_directory(&self) -> bool {
        self.existing.is_none() && self.only_read.is_none()
    }

    /// Whether the target is a file that is overwritten.
    pub(super) fn is_file(&self) -> bool {
        self.existing.as_ref().is_some_and(|existing| existing.kind == Kind::File)
    }

    /// The size of the region that each of `arms` arms reads in a block, and its reason in words.
    pub(super) fn stretch(
        &self,
        asked: Option<(u64, &str)>,
        least: u64,
        arms: u64,
    ) -> Result<(u64, String), RunError> {
        let round = |n: u64| n / MIB * MIB;
        let there = round(self.ground.size / arms.max(1));
        let least = least.next_multiple_of(MIB).max(MIB);
        let (size, reason) = match asked {
            Some((asked, reason)) => (round(asked), reason),
            None => ((round(self.ground.size / 256).clamp(256 * MIB, 2 * GIB)).min(there), ""),
        };
        if there < least {
            return Err(RunError::Target {
                path: self.path.clone(),
                problem: format!(
                    "each of the {arms} choices reads a separate region of at least {}, but only {} in total is \
                     available: choose fewer ciphers, or a larger device",
                    human(least),
                    human(self.ground.size)
                ),
            });
        }
        if size < least || size > there {
            return Err(RunError::Target {
                path: self.path.clone(),
                problem: format!(
                    "each choice reads a separate region, which must be {} to {} here, not {}: change --size",
                    human(least),
                    human(there),
                    human(size)
                ),
            });
        }
        let where_from = format!("a region for each choice, out of {}", human(self.ground.size));
        Ok((size, if reason.is_empty() { where_from } else { format!("{reason}; {where_from}") }))
    }

    /// `directory`, or the kind of storage to be overwritten or read: `file`, `device` or `partition`.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.existing {
            Some(existing) => existing.kind.as_str(),
            None if self.only_read.is_none() => DIRECTORY,
            None if self.ground.below.as_ref().is_some_and(|below| below.is_partition) => {
                "partition"
            }
            None => "device",
        }
    }

    /// Its storage, in words.
    pub(crate) fn in_words(&self) -> String {
        match &self.existing {
            None if self.only_read.is_some() => format!("the {} itself, only read", self.kind()),
            None => format!("{} on {}", self.ground.filesystem, self.ground.source),
            Some(existing) => {
                let behind = match &existing.backing_file {
                    Some(file) => format!(", a loop device over {file}"),
                    None => String::new(),
                };
                format!("the {} itself{behind}", existing.kind.as_str())
            }
        }
    }

    /// The device whose counters apply to the target; without counters, the device on which it is stored.
    pub(crate) fn device(&self) -> Option<&Device> {
        self.ground.below.as_ref()?.device.as_ref()
    }

    /// Size of a logical sector of the underlying storage in bytes; 1 if it is unknown.
    pub(crate) fn sector(&self) -> u64 {
        let Some(below) = &self.ground.below else { return 1 };
        let counted = below.device.as_ref().map_or(1, |device| device.logical_block_size);
        below.sector.unwrap_or(counted).max(1).into()
    }

    /// The file with the counters of its device.
    pub(crate) fn counters(&self) -> Option<PathBuf> {
        self.ground.below.as_ref()?.counters.clone()
    }

    /// Why the requests that reach its disk are unknown, as far as the examination shows.
    pub(crate) fn uncounted(&self) -> Option<Uncounted> {
        self.ground.uncounted
    }

    /// Whether none of its lowest-level disks is also one of `other`'s.
    pub(crate) fn is_on_another_disk_than(&self, other: &Self) -> bool {
        let disks = |target: &Self| target.ground.below.as_ref().map(|below| below.disks.clone());
        match (disks(self), disks(other)) {
            (Some(own), Some(others)) => own.is_disjoint(&others),
            _ => self.ground.number != other.ground.number,
        }
    }

    /// The backing file of its topmost underlying loop device.
    pub(crate) fn kept_in(&self) -> Option<PathBuf> {
        self.ground.below.as_ref()?.kept_in.clone()
    }

    /// Free bytes.
    pub(crate) fn free(&self) -> u64 {
        self.ground.free
    }

    /// Bytes that a run may use: a file system filled to the last byte does not behave normally.
    fn usable(&self) -> u64 {
        self.ground.free / 20 * 19
    }

    /// Refuses a run whose files do not fit: `plain` bytes on plain storage, and `mounted` bytes in the containers
    /// of mounted systems.
    pub(crate) fn holds(&self, plain: u64, mounted: u64) -> Result<(), RunError> {
        let all = plain.saturating_add(mounted);
        let usable = self.usable();
        if self.existing.is_some() || all <= usable {
            return Ok(());
        }
        let (needed, usable) = human_both(all, usable);
        Err(RunError::Target {
            path: self.path.clone(),
            problem: format!(
                "not enough space: the run needs {needed} ({} of it for mounted systems), but it may use only {usable}, \
                 95 % of the free space; reduce --size, or choose fewer systems",
                human(mounted),
            ),
        })
    }

    /// Chooses the size of the scratch file, or checks the requested one, which comes with its reason. `least`
    /// is the minimum for the workloads.
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
                    "a scratch file of {} is too small for these workloads: use at least {}",
                    human(asked),
                    human(least)
                )));
            }
            if self.existing.is_some() {
                return self.part(size, least, reason);
            }
            let usable = self.usable();
            if size > usable {
                let (size, usable) = human_both(size, usable);
                return Err(refuse(format!(
                    "a scratch file of {size} does not fit: it may be {usable} at most, 95 % of the free space; free some \
                     space or reduce --size"
                )));
            }
            return Ok((size, reason.to_owned()));
        }
        let device = match (self.device(), &self.existing) {
            (Some(device), None) => device.size_bytes,
            _ => self.ground.size,
        };
        let wanted = round((device / 256).clamp(256 * MIB, 2 * GIB));
        if self.existing.is_some() {
            let all = round(device);
            if all <= wanted {
                return self.part(all, least, "all of it");
            }
            let reason = format!("1/256 of {}, between 256 MiB and 2 GiB", human(device));
            return self.part(wanted.max(smallest), least, &reason);
        }
        let room = round(self.ground.free / 4);
        if room < smallest {
            return Err(refuse(format!(
                "not enough space: only {} is free, and a scratch file of {} may use at most a quarter of the free \
                 space; free {} more, choose another directory, or set --size",
                human(self.ground.free),
                human(smallest),
                human(4 * smallest - self.ground.free),
            )));
        }
        Ok(if wanted <= room {
            (wanted.max(smallest), format!("1/256 of {}, between 256 MiB and 2 GiB", human(device)))
        } else {
            (room, format!("a quarter of the free space, {}", human(self.ground.free)))
        })
    }

    /// The first `size` bytes of the storage to be overwritten.
    fn part(&self, size: u64, least: u64, reason: &str) -> Result<(u64, String), RunError> {
        let there = self.ground.size / MIB * MIB;
        let problem = if there < least {
            format!(
                "has only {}, but these workloads need {}",
                human(self.ground.size),
                human(least)
            )
        } else if size > there {
            format!("has only {}, not {}: reduce --size", human(there), human(size))
        } else {
            return Ok((size, format!("{reason}; from the start of the {}", self.kind())));
        };
        Err(RunError::Target { path: self.path.clone(), problem })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of_size(free: u64, device: u64) -> Target {
        Target {
            path: "/d".into(),
            scratch: "s".into(),
            existing: None,
            only_read: None,
            ground: Ground {
                filesystem: "ext4".to_owned(),
                free,
                size: device,
                ..Ground::default()
            },
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
        let said = |free, asked: Option<u64>, least| {
            let size = of_size(free, GIB).size(asked.map(|size| (size, "asked")), least);
            size.unwrap_err().to_string()
        };
        let said =
            [said(200 * MIB, None, MIB), said(GIB, Some(GIB), MIB), said(GIB, Some(MIB), 8 * MIB)];
        insta::assert_snapshot!(said.join("\n"), @"
            /d: not enough space: only 200 MiB is free, and a scratch file of 64 MiB may use at most a quarter of the free space; free 56 MiB more, choose another directory, or set --size
            /d: a scratch file of 1 GiB does not fit: it may be 973 MiB at most, 95 % of the free space; free some space or reduce --size
            /d: a scratch file of 1 MiB is too small for these workloads: use at least 8 MiB
            ");
        assert_eq!(of_size(GIB, GIB).size(Some((16 * MIB + 5, "asked")), MIB).unwrap().0, 16 * MIB);
    }

    fn inspect(path: &Path) -> Result<Target, RunError> {
        Target::admit(&Place::look(path), "id", &Consent::default(), &[])
    }

    #[test]
    fn existing_files_and_missing_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("precious");
        fs::write(&file, "data").unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join("link")).unwrap();
        // With `/mnt/dta` instead of `/mnt/data` the disk below /mnt would be measured.
        let names = ["precious", "no/file", "/dev/no-such-device-of-this-machine", "link", "dta"];
        let said = names.map(|name| inspect(&dir.path().join(name)).unwrap_err().to_string());
        let said = said.join("\n").replace(&dir.path().display().to_string(), "DIR");
        insta::assert_snapshot!(said, @"
            DIR/precious: is a file of 4 B, too small to be measured, and will not be overwritten: specify a directory
            DIR/no/file: no such directory: DIR/no
            /dev/no-such-device-of-this-machine: does not exist, and scratch files are not created among device files; \
                check the device name
            DIR/link: is a broken symbolic link; specify a directory
            DIR/dta: no such directory; check the path, or create the directory
            ");
        assert_eq!(fs::read(&file).unwrap(), b"data");
    }

    #[test]
    fn a_new_file_name_is_the_scratch_file() {
        let dir = tempfile::tempdir().unwrap();
        let named = inspect(&dir.path().join("new.scratch")).unwrap();
        assert_eq!(named.scratch, "new.scratch");
        let chosen = inspect(dir.path()).unwrap();
        assert_eq!(chosen.scratch, "cryptbench-id.scratch");
    }
}
