//! The storage under the target: its file system, its device and room for the scratch file
//! (Linux: mountinfo and /sys).

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cryptbench_record::Device;
use rustix::fs::{major, minor, statvfs};

use cryptbench_load::WorkloadSpec;

use crate::plan::least_scratch;
use crate::{Request, RunError};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The smallest scratch file that still spreads random requests.
const SMALLEST: u64 = 64 * MIB;

/// A directory fit for a scratch file, and what lies under it.
#[derive(Debug)]
pub(crate) struct Site {
    /// Absolute path of the directory.
    pub(crate) directory: PathBuf,
    /// Absolute path of the scratch file to be created.
    pub(crate) scratch: PathBuf,
    pub(crate) filesystem: String,
    pub(crate) mount_options: String,
    pub(crate) source: String,
    pub(crate) device: Option<Device>,
    /// The `stat` file with the device's counters.
    pub(crate) device_stat: Option<PathBuf>,
    free: u64,
    filesystem_size: u64,
}

impl Site {
    /// Looks at `target`: an existing directory, or the path of a file that does not exist yet.
    pub(crate) fn inspect(target: &Path, run_id: &str) -> Result<Self, RunError> {
        let refuse = |problem: String| RunError::Target { path: target.to_owned(), problem };
        let found = fs::metadata(target);
        let (directory, name) = match &found {
            Ok(m) if m.is_dir() => {
                (target.to_owned(), format!("cryptbench-{run_id}.scratch").into())
            }
            Ok(_) => {
                return Err(refuse(
                    "exists and is not a directory; nothing that exists is overwritten: name a \
                     directory, or a file that does not exist yet"
                        .to_owned(),
                ));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let name =
                    target.file_name().ok_or_else(|| refuse("no such directory".to_owned()))?;
                let parent = match target.parent() {
                    Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
                    _ => PathBuf::from("."),
                };
                if !parent.is_dir() {
                    return Err(refuse(format!("no such directory: {}", parent.display())));
                }
                // A dangling symbolic link has no metadata, yet the name is taken.
                if fs::symlink_metadata(target).is_ok() {
                    return Err(refuse(
                        "is a symbolic link to nothing; name a directory".to_owned(),
                    ));
                }
                (parent, name.to_owned())
            }
            Err(e) => return Err(refuse(e.to_string())),
        };
        let directory = fs::canonicalize(&directory).map_err(|e| refuse(e.to_string()))?;
        let space = statvfs(&directory).map_err(|e| refuse(e.to_string()))?;
        let dev = fs::metadata(&directory).map_err(|e| refuse(e.to_string()))?.dev();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = Mount::under(&mounts, dev, &directory).unwrap_or_default();
        let sys = block_device(dev, &mount.source);
        Ok(Self {
            scratch: directory.join(name),
            directory,
            filesystem: mount.filesystem,
            mount_options: mount.options,
            source: mount.source,
            device: sys.as_deref().and_then(describe),
            device_stat: sys.map(|s| s.join("stat")),
            // A file system of no size (ramfs) does not count its room: trying is all there is.
            free: if space.f_blocks == 0 { u64::MAX } else { space.f_bavail * space.f_frsize },
            filesystem_size: space.f_blocks * space.f_frsize,
        })
    }

    /// The size of the scratch file for what is asked, and the reason for it in words.
    pub(crate) fn scratch_size(
        &self,
        request: &Request,
        workloads: &[WorkloadSpec],
    ) -> Result<(u64, String), RunError> {
        let asked = request.target.size.map(|size| (size, "asked for with --size"));
        let usual = request.profile.size.map(|size| (size, "as the profile has it"));
        self.size(asked.or(usual), least_scratch(workloads))
    }

    /// Refuses a run whose files do not fit beside what is there: `plain` bytes on plain storage, `mounted`
    /// bytes in the containers of mounted systems.
    pub(crate) fn holds(&self, plain: u64, mounted: u64) -> Result<(), RunError> {
        let all = plain.saturating_add(mounted);
        if all <= self.free / 20 * 19 {
            return Ok(());
        }
        Err(RunError::Target {
            path: self.directory.clone(),
            problem: format!(
                "too little room: the run needs {} ({} of them for mounted systems) and {} are free; ask for a \
                 smaller file with --size, or for fewer arms",
                human(all),
                human(mounted),
                human(self.free)
            ),
        })
    }

    /// Chooses the size of the scratch file, or checks the one that was asked for, which comes with the
    /// reason for it; `least` is what the workloads need.
    ///
    /// Returns bytes and the reason in words.
    fn size(&self, asked: Option<(u64, &str)>, least: u64) -> Result<(u64, String), RunError> {
        let refuse = |problem| RunError::Target { path: self.directory.clone(), problem };
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
            // A file system filled to the last byte behaves unlike itself.
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
        let device = self.device.as_ref().map_or(self.filesystem_size, |d| d.size_bytes);
        let wanted = round((device / 256).clamp(256 * MIB, 2 * GIB));
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
}

/// Bytes for people, in binary units.
pub fn human(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..MIB => (bytes as f64 / 1024.0, "KiB"),
        MIB..GIB => (bytes as f64 / MIB as f64, "MiB"),
        _ => (bytes as f64 / GIB as f64, "GiB"),
    };
    let digits = if value < 10.0 && value.fract() > 0.05 { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

#[derive(Debug, Default, PartialEq)]
struct Mount {
    filesystem: String,
    options: String,
    source: String,
}

impl Mount {
    /// The mount on which `path` lies (proc(5), /proc/PID/mountinfo): that of its device number
    /// with the longest mount point, or, where the file system hides its device number (btrfs
    /// subvolumes), the longest mount point above it.
    fn under(mountinfo: &str, dev: u64, path: &Path) -> Option<Self> {
        let number = format!("{}:{}", major(dev), minor(dev));
        let mut best: Option<(bool, usize, Self)> = None;
        for line in mountinfo.lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let Some(dash) = fields.iter().position(|f| *f == "-") else { continue };
            let (Some(&dev), Some(&point), Some(&options)) =
                (fields.get(2), fields.get(4), fields.get(5))
            else {
                continue;
            };
            let Some([filesystem, source, superblock]) = fields.get(dash + 1..dash + 4) else {
                continue;
            };
            let point = unescape(point);
            if !path.starts_with(&point) {
                continue;
            }
            let rank = (dev == number, point.as_os_str().len());
            // Later lines lie on top of earlier ones at the same point.
            if best.as_ref().is_none_or(|(same, len, _)| rank >= (*same, *len)) {
                let mount = Self {
                    filesystem: (*filesystem).to_owned(),
                    options: merge(options, superblock),
                    source: unescape(source).display().to_string(),
                };
                best = Some((rank.0, rank.1, mount));
            }
        }
        best.map(|(_, _, mount)| mount)
    }
}

/// Mount options and superblock options without the repetitions.
fn merge(mount: &str, superblock: &str) -> String {
    let mut all: Vec<_> = mount.split(',').collect();
    for option in superblock.split(',') {
        if !all.contains(&option) {
            all.push(option);
        }
    }
    all.join(",")
}

/// Undoes the octal escapes of mountinfo (`\040` is a space).
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let octal = (bytes[i] == b'\\')
            .then(|| bytes.get(i + 1..i + 4))
            .flatten()
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 8).ok());
        if let Some(byte) = octal {
            out.push(byte);
            i += 4;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(out))
}

/// The directory in /sys of the block device with that number, or of the mount's source.
fn block_device(dev: u64, source: &str) -> Option<PathBuf> {
    let of = |dev| {
        let link = format!("/sys/dev/block/{}:{}", major(dev), minor(dev));
        fs::canonicalize(link).ok()
    };
    let mut found = of(dev).or_else(|| of(fs::metadata(source).ok()?.rdev()))?;
    // A loop device counts what it is asked for, cached or not: its file's device tells the truth. Four
    // levels are more than anybody stacks.
    for _ in 0..4 {
        let Ok(backing) = fs::read_to_string(found.join("loop/backing_file")) else { break };
        let file = fs::metadata(backing.trim_end_matches('\n'));
        let Some(below) = file.ok().and_then(|m| of(m.dev())) else { break };
        found = below;
    }
    Some(found)
}

fn describe(sys: &Path) -> Option<Device> {
    let read = |p: PathBuf| fs::read_to_string(p).ok().map(|s| s.trim().to_owned());
    // A partition has its queue and its model in the directory of its disk.
    let disk = if sys.join("queue").is_dir() { sys.to_owned() } else { sys.parent()?.to_owned() };
    let queue = |name: &str| read(disk.join("queue").join(name));
    let number = |name: &str| queue(name).and_then(|s| s.parse().ok()).unwrap_or(512);
    let scheduler = queue("scheduler").unwrap_or_default();
    let chosen = scheduler.split(['[', ']']).nth(1).unwrap_or(&scheduler).to_owned();
    Some(Device {
        name: sys.file_name()?.to_string_lossy().into_owned(),
        model: read(disk.join("device/model")).filter(|m| !m.is_empty()),
        size_bytes: read(sys.join("size"))?.parse::<u64>().ok()? * 512,
        rotational: queue("rotational").as_deref() == Some("1"),
        logical_block_size: number("logical_block_size"),
        physical_block_size: number("physical_block_size"),
        scheduler: chosen,
        write_cache: queue("write_cache").unwrap_or_else(|| "unknown".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::makedev;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/root rw,discard
30 27 8:1 / /mnt/with\\040space rw,noatime shared:1 - xfs /dev/sda1 rw,attr2
31 27 0:50 /sub /data rw - btrfs /dev/sdb rw,compress
broken line
";

    fn mount(dev: u64, path: &str) -> Mount {
        Mount::under(MOUNTS, dev, Path::new(path)).unwrap()
    }

    #[test]
    fn the_mount_is_found_by_device_and_point() {
        assert_eq!(mount(makedev(254, 0), "/home/a").filesystem, "ext4");
        let spaced = mount(makedev(8, 1), "/mnt/with space/x");
        assert_eq!((spaced.filesystem.as_str(), spaced.source.as_str()), ("xfs", "/dev/sda1"));
        assert_eq!(spaced.options, "rw,noatime,attr2");
        // btrfs: the device number of the file is not that of the mount.
        assert_eq!(mount(makedev(0, 77), "/data/x").source, "/dev/sdb");
    }

    fn site(free: u64, device: u64) -> Site {
        Site {
            directory: "/d".into(),
            scratch: "/d/s".into(),
            filesystem: "ext4".into(),
            mount_options: String::new(),
            source: String::new(),
            device: None,
            device_stat: None,
            free,
            filesystem_size: device,
        }
    }

    #[test]
    fn size_follows_device_and_free_space() {
        let size = |free, device| site(free, device).size(None, MIB).map(|s| s.0 / MIB);
        assert_eq!(size(100 * GIB, 256 * GIB).unwrap(), 1024);
        assert_eq!(size(100 * GIB, 10 * GIB).unwrap(), 256);
        assert_eq!(size(4000 * GIB, 8000 * GIB).unwrap(), 2048);
        assert_eq!(size(GIB, 256 * GIB).unwrap(), 256);
        assert_eq!(size(300 * MIB, 256 * GIB).unwrap(), 75);
    }

    #[test]
    fn too_little_room_says_how_much_more() {
        let error = site(200 * MIB, GIB).size(None, MIB).unwrap_err().to_string();
        assert!(
            error.contains("200 MiB are free") && error.contains("free 56 MiB more"),
            "{error}"
        );
        let error = site(GIB, GIB).size(Some((GIB, "asked")), MIB).unwrap_err().to_string();
        assert!(error.contains("does not fit"), "{error}");
        let error = site(GIB, GIB).size(Some((MIB, "asked")), 8 * MIB).unwrap_err().to_string();
        assert!(error.contains("at least 8 MiB"), "{error}");
        assert_eq!(site(GIB, GIB).size(Some((16 * MIB + 5, "asked")), MIB).unwrap().0, 16 * MIB);
    }

    #[test]
    fn existing_files_and_missing_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("precious");
        fs::write(&file, "data").unwrap();
        let said = |p: &Path| Site::inspect(p, "id").unwrap_err().to_string();
        assert!(said(&file).contains("nothing that exists is overwritten"));
        assert!(said(&dir.path().join("no/file")).contains("no such directory"));
        std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join("link")).unwrap();
        assert!(said(&dir.path().join("link")).contains("symbolic link"));
        assert_eq!(fs::read(&file).unwrap(), b"data");
    }

    #[test]
    fn a_new_file_name_is_the_scratch_file() {
        let dir = tempfile::tempdir().unwrap();
        let named = Site::inspect(&dir.path().join("new"), "id").unwrap();
        assert_eq!(named.scratch.file_name().unwrap(), "new");
        let chosen = Site::inspect(dir.path(), "id").unwrap();
        assert_eq!(chosen.scratch.file_name().unwrap(), "cryptbench-id.scratch");
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(4096), "4 KiB");
        assert_eq!(human(3 * GIB / 2), "1.5 GiB");
        assert_eq!(human(256 * GIB), "256 GiB");
    }
}
