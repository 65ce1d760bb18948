//! The only reader of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). Reads bytes, because names
//! need not be UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::storage::Mount;

/// All mounts in a file of this format, the latest last. Skips malformed lines.
pub(super) fn parse(mountinfo: &[u8]) -> Vec<Mount> {
    mountinfo.split(|&b| b == b'\n').filter_map(mount).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&b| b == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let numbers = std::str::from_utf8(fields.nth(1)?).ok()?;
    let (major, minor) = numbers.split_once(':')?;
    let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let mountpoint = unescaped(fields.nth(1)?);
    let own = fields.next()?;
    let mut after = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = unescaped(after.next()?).to_string_lossy().into_owned();
    let source = unescaped(after.next()?);
    let options = merged(own, after.next().unwrap_or_default());
    Some(Mount { id, device, mountpoint, file_system, source, options })
}

/// The mount options, then the file system's options without duplicates, as written by the kernel. Escapes such as
/// `\040` are kept, because a decoded comma would end an option.
fn merged(mount: &[u8], file_system: &[u8]) -> String {
    let (mount, file_system) =
        (String::from_utf8_lossy(mount), String::from_utf8_lossy(file_system));
    let mut all: Vec<_> = mount.split(',').collect();
    for option in file_system.split(',').filter(|option| !option.is_empty()) {
        if !all.contains(&option) {
            all.push(option);
        }
    }
    all.join(",")
}

/// Decodes the kernel's `\ooo` escapes of space, tab, newline and backslash.
pub(in super::super) fn unescaped(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|o| o.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let (b'\\', Some(o)) = (byte, octal) {
            let value = o.iter().fold(0u32, |value, b| value * 8 + u32::from(b - b'0'));
            out.push(value as u8);
            rest = &tail[3..];
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    OsString::from_vec(out).into()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use rustix::fs::makedev;

    use super::*;
    use crate::storage::mount_at;

    const MOUNTS: &[u8] = b"\
27 1 254:0 / / rw,relatime - ext4 /dev/root rw,discard
30 27 8:1 / /mnt/with\\040space rw,noatime shared:1 - xfs /dev/sda1 rw,attr2
31 27 0:50 /sub /data rw - btrfs /dev/sdb rw,compress
broken line
";

    fn of(device: u64, path: &str) -> Mount {
        Mount::of(parse(MOUNTS), device, Path::new(path)).unwrap()
    }

    #[test]
    fn the_mount_is_found_by_device_and_point() {
        assert_eq!(of(makedev(254, 0), "/home/a").file_system, "ext4");
        let spaced = of(makedev(8, 1), "/mnt/with space/x");
        assert_eq!(
            (spaced.file_system.as_str(), spaced.source.as_path()),
            ("xfs", Path::new("/dev/sda1"))
        );
        assert_eq!(spaced.options, "rw,noatime,attr2");
        // btrfs: the device number of a file differs from that of its mount.
        assert_eq!(of(makedev(0, 77), "/data/x").source, Path::new("/dev/sdb"));
    }

    #[test]
    fn of_two_mounts_at_one_point_the_later_is_on_top() {
        let twice =
            b"1 0 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 1 8:1 / /mnt ro - ext4 /dev/sda1 rw\n";
        let top = Mount::of(parse(twice), makedev(8, 1), Path::new("/mnt/x")).unwrap();
        assert_eq!(top.options, "ro,rw");
    }

    #[test]
    fn a_line_is_read_with_and_without_optional_fields() {
        let line =
            br"36 35 98:5 / /mnt/two\040words rw,noatime master:1 shared:2 - ext3 /dev/a\134b rw";
        let entry = mount(line).unwrap();
        assert_eq!(entry.device, makedev(98, 5));
        assert_eq!(entry.mountpoint, Path::new("/mnt/two words"));
        assert_eq!(
            (entry.file_system.as_str(), entry.source.as_path()),
            ("ext3", Path::new(r"/dev/a\b"))
        );
        let bare = mount(b"36 35 0:52 / /x rw - fuse.cryptbench cryptbench rw").unwrap();
        assert_eq!(bare.file_system, "fuse.cryptbench");
        for cut in 0..line.len() {
            let _ = mount(&line[..cut]);
        }
    }

    #[test]
    fn names_that_are_no_text_keep_every_byte() {
        let line = b"36 35 8:1 / /mnt/\xff\\012\xe9\\999 rw - fuse.x /dev/\x80 rw";
        let entry = mount(line).unwrap();
        assert_eq!(entry.mountpoint.as_os_str(), OsStr::from_bytes(b"/mnt/\xff\n\xe9\\999"));
        assert_eq!(entry.source.as_os_str(), OsStr::from_bytes(b"/dev/\x80"));
        // The lines around it are still read.
        let among = [MOUNTS, line, b"\n", MOUNTS].concat();
        assert_eq!(parse(&among).len(), 3 + 1 + 3);
    }

    #[test]
    fn what_is_mounted_is_found() {
        // Below chroot(2) the root is not a mount.
        assert!(mount_at(Path::new("/proc")).is_some());
        assert!(mount_at(Path::new("/proc/self")).is_none());
    }
}
