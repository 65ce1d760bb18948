//! The mount that a path lies on (proc(5), /proc/PID/mountinfo).

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Mount {
    pub(super) filesystem: String,
    pub(super) options: String,
    pub(super) source: String,
}

impl Mount {
    /// The mount on which `path` lies (proc(5), /proc/PID/mountinfo): that of its device number
    /// with the longest mount point, or, where the file system hides its device number (btrfs
    /// subvolumes), the longest mount point above it.
    pub(super) fn under(mountinfo: &str, dev: u64, path: &Path) -> Option<Self> {
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
pub(super) fn unescape(text: &str) -> PathBuf {
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
}
