//! What is mounted where, from `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount of this process's mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Device number of the file system, as `st_dev` shows it.
    pub device: u64,
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// Its type, such as `ext4` or `fuse.cryptbench`.
    pub file_system: String,
    /// What is mounted: a device, or a name of the file system's choice.
    pub source: String,
}

/// Every mount, the latest last.
///
/// # Errors
/// If `/proc` is not there.
pub fn mounts() -> io::Result<Vec<MountEntry>> {
    let text = fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|&b| b == b'\n').filter_map(parse).collect())
}

/// What is mounted at `path`, the topmost where several are.
#[must_use]
pub fn mount_at(path: &Path) -> Option<MountEntry> {
    mounts().ok()?.into_iter().rfind(|entry| entry.mountpoint == path)
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|&b| b == b' ');
    let numbers = std::str::from_utf8(fields.nth(2)?).ok()?;
    let (major, minor) = numbers.split_once(':')?;
    let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let mountpoint = PathBuf::from(OsString::from_vec(unescape(fields.nth(1)?)));
    let mut after = fields.skip_while(|field| *field != b"-").skip(1);
    let mut text = || Some(String::from_utf8_lossy(&unescape(after.next()?)).into_owned());
    Some(MountEntry { device, mountpoint, file_system: text()?, source: text()? })
}

/// Undoes the kernel's `\ooo` for space, tab, newline and backslash.
fn unescape(field: &[u8]) -> Vec<u8> {
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
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_and_without_optional_fields() {
        let line =
            br"36 35 98:5 / /mnt/two\040words rw,noatime master:1 shared:2 - ext3 /dev/a\134b rw";
        let entry = parse(line).unwrap();
        assert_eq!(entry.device, rustix::fs::makedev(98, 5));
        assert_eq!(entry.mountpoint, Path::new("/mnt/two words"));
        assert_eq!((entry.file_system.as_str(), entry.source.as_str()), ("ext3", r"/dev/a\b"));
        let bare = parse(b"36 35 0:52 / /x rw - fuse.cryptbench cryptbench rw").unwrap();
        assert_eq!(bare.file_system, "fuse.cryptbench");
        for cut in 0..line.len() {
            let _ = parse(&line[..cut]);
        }
    }

    #[test]
    fn what_is_mounted_is_found() {
        // The root is none below chroot(2).
        assert!(mount_at(Path::new("/proc")).is_some());
        assert!(mount_at(Path::new("/proc/self")).is_none());
    }
}
