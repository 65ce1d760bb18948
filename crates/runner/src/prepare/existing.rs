//! Claims existing storage: opens it exclusively, and examines it again before the first byte is written.
#![expect(
    clippy::disallowed_methods,
    reason = "targets that it claims, checked once they are open"
)]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::Details;
use cryptbench_os::files::Opening;
use cryptbench_system::SystemError;

use super::partitioned::Partitioned;
use crate::decide::storage::{Existing, refuse_links};
use crate::look::existing::{Kind, held, holes, identity, lock, names, number, users};
use crate::refusal::Refusal;

/// Opens `existing` exclusively, repeats all checks, and returns its first `len` bytes for overwriting. While it is
/// open, the kernel prevents others from mounting the device, using it as swap space or building another device on
/// it.
pub(super) fn claim(existing: &Existing, len: u64, buffered: bool) -> Result<Overwritten, Refusal> {
    let Existing { path, kind, .. } = existing;
    existing.suits(len, holes(path, *kind)?)?;
    let (file, mode) = open(Opening::to_write().alone(*kind != Kind::File), path, buffered)?;
    lock(&file)?;
    check_again(existing, &file)?;
    let (path, least) = (path.clone(), existing.least(len));
    Ok(Overwritten { file: Arc::new(file), len, least, mode, path, disk: None })
}

/// Opens `path` for direct I/O if that works and is wanted, otherwise through the page cache.
pub(super) fn open(
    opening: Opening,
    path: &Path,
    buffered: bool,
) -> Result<(File, IoMode), Refusal> {
    let direct = if buffered { None } else { opening.direct(true).open(path).ok() };
    if let Some(file) = direct {
        return Ok((file, IoMode::Direct));
    }
    let opened = opening.open(path).map_err(|e| match e.kind() {
        io::ErrorKind::ResourceBusy => Refusal::Claimed,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            let remedy = "choose another one, or run as a user who can write to it".into();
            Refusal::ReadOnly { remedy }
        }
        _ => Refusal::io("open it")(e),
    });
    Ok((opened?, IoMode::Buffered))
}

/// Checks that the opened storage is the one that was examined, and that it is still unused.
pub(super) fn check_again(existing: &Existing, file: &File) -> Result<(), Refusal> {
    let Existing { path, kind, identity: was, .. } = existing;
    let changed = |what: &'static str| Err(Refusal::Changed { what: what.into() });
    let opened = file.metadata().map_err(Refusal::io("examine it"))?;
    if number(file, *kind).map_err(Refusal::io("examine it"))? != was.number {
        return changed("its device number");
    }
    let now = identity(path, *kind)?;
    if now != *was {
        return changed(if now.size == was.size { "its serial number" } else { "its size" });
    }
    let uses = users(path, *kind, Details::of(&opened).device)?;
    if !uses.is_empty() {
        return Err(Refusal::Used(uses));
    }
    if *kind == Kind::File {
        refuse_links(names(file)?)?;
    }
    match held(path, *kind)? == existing.held {
        true => Ok(()),
        false => changed("its signatures"),
    }
}

/// The start of a file or device that is being overwritten. Its fields are released from the first to the last.
pub(crate) struct Overwritten {
    file: Arc<File>,
    len: u64,
    least: u64,
    mode: IoMode,
    path: PathBuf,
    /// The disk, if it is a partition made for this run.
    disk: Option<Partitioned>,
}

impl Overwritten {
    pub(super) fn on_partition(
        file: File,
        len: u64,
        mode: IoMode,
        path: PathBuf,
        disk: Partitioned,
    ) -> Self {
        Self { file: Arc::new(file), len, least: 0, mode, path, disk: Some(disk) }
    }

    /// The partitions for arms, with the claims on them.
    pub(super) fn take_partitions(&mut self) -> Vec<(PathBuf, File)> {
        self.disk.as_mut().map(Partitioned::take).unwrap_or_default()
    }

    pub(crate) fn io_target(&self) -> IoTarget {
        IoTarget {
            file: Arc::clone(&self.file),
            extent: Extent { offset: 0, len: self.len },
            mode: self.mode,
            transform: None,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Minimum size in bytes.
    pub(crate) fn least(&self) -> u64 {
        self.least
    }

    pub(crate) fn mode(&self) -> IoMode {
        self.mode
    }

    pub(crate) fn shrink(&mut self, len: u64) {
        self.len = len.min(self.len);
    }

    /// Writes back cached data, closes it, and removes the partitions made for the run.
    pub(crate) fn release(self) -> Result<(), SystemError> {
        let Self { file, path, disk, .. } = self;
        let written = file.sync_data();
        drop(file);
        let removed = disk.map_or(Ok(()), Partitioned::remove);
        written.map_err(|source| SystemError::Io { act: "write back", path, source })?;
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::look::existing::{Held, Holes};
    use crate::look::{Place, There, consented};
    use crate::request::Consent;

    fn inspect(path: &Path, consent: &Consent) -> Result<Existing, String> {
        match Place::look(path).there {
            There::Existing(found) => {
                let (found, consented) = (found?, consented(&consent.destroy));
                Existing::admit(&found, consent, &consented).map_err(|why| why.to_string())
            }
            there => panic!("{there:?}"),
        }
    }

    #[test]
    fn what_changes_between_check_and_claim_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let inspect = || inspect(&path, &consent).unwrap();
        let said = |existing: &Existing| {
            claim(existing, 512, true).err().map(|why| why.to_string()).unwrap_or_default()
        };
        fs::write(&path, [7; 4096]).unwrap();
        let same = inspect();
        assert_eq!(said(&same), "");
        let grown = inspect();
        fs::write(&path, [7; 8192]).unwrap();
        let grown = said(&grown);
        let replaced = inspect();
        fs::write(dir.path().join("other"), [9; 8192]).unwrap();
        fs::rename(dir.path().join("other"), &path).unwrap();
        insta::assert_snapshot!([grown, said(&replaced)].join("\n"), @"
            has changed since it was checked (its size): nothing was written
            has changed since it was checked (its device number): nothing was written
            ");
        assert_eq!(fs::read(&path).unwrap(), [9; 8192]);
    }

    #[test]
    fn another_run_on_the_same_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let existing = inspect(&path, &consent).unwrap();
        let first = claim(&existing, 4096, true).ok().unwrap();
        let Err(why) = claim(&existing, 4096, true) else { panic!("claimed twice") };
        insta::assert_snapshot!(why, @"is locked by another program, such as another cryptbench process (a run or an \
            open volume) or a virtual machine: close that first");
        first.release().unwrap();
        assert!(claim(&existing, 4096, true).is_ok());
    }

    #[test]
    fn what_is_neither_file_nor_device_is_refused() {
        let consent = Consent { destroy: vec!["/dev/null".into()], erase: Vec::new() };
        let why = inspect(Path::new("/dev/null"), &consent).unwrap_err();
        insta::assert_snapshot!(why, @"is neither a directory, nor a file, nor a block device: specify one of these, or a file that does not exist yet");
    }

    #[test]
    fn what_another_program_has_locked_is_refused() {
        use std::io::Read as _;
        use std::process::{Command, Stdio};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let existing = inspect(&path, &consent).unwrap();
        // Like QEMU: a lock of fcntl(2), which flock(2) does not see.
        let script = "import fcntl, sys\nf = open(sys.argv[1], 'r+')\nfcntl.lockf(f, fcntl.LOCK_SH)\n\
                      print('held', flush=True)\nsys.stdin.read()";
        let mut python = Command::new("python3");
        let holder = python.args(["-c", script]).arg(&path).stdin(Stdio::piped());
        let Ok(mut holder) = holder.stdout(Stdio::piped()).spawn() else {
            return eprintln!("SKIPPED: no python3 to hold a lock");
        };
        holder.stdout.as_mut().unwrap().read_exact(&mut [0; 4]).unwrap();
        let why = claim(&existing, 4096, true).err().map(|why| why.to_string()).unwrap_or_default();
        drop(holder.stdin.take());
        holder.wait().unwrap();
        insta::assert_snapshot!(why, @"is locked by another program, such as another cryptbench process (a run or an \
            open volume) or a virtual machine: close that first");
        assert!(claim(&existing, 4096, true).is_ok());
    }

    #[test]
    fn a_file_of_several_names_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), dir.path().join("other"));
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let existing = inspect(&path, &consent).unwrap();
        fs::hard_link(&path, &other).unwrap();
        let why = inspect(&path, &consent).unwrap_err();
        insta::assert_snapshot!(why, @"has 2 hard links and would be overwritten under all its names: copy it first, or choose another file");
        let Err(later) = claim(&existing, 4096, true) else { panic!("claimed") };
        assert_eq!(later.to_string(), why);
    }

    #[test]
    fn a_signature_behind_what_is_overwritten_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let mut existing = inspect(&path, &consent).unwrap();
        let name = "linux_raid_member".to_owned();
        existing.held = vec![Held { name, partition: None, start: 0, offset: 2048 }];
        let why = existing.suits(2048, Holes::default()).unwrap_err().to_string();
        insta::assert_snapshot!(why.replace(&path.display().to_string(), "FILE"), @"contains linux_raid_member at byte 2048, beyond the first 2 KiB that would be overwritten: it would survive and make the rest look like damaged data; run `wipefs --all --types linux_raid_member FILE` first");
        assert!(existing.suits(2049, Holes::default()).is_ok());
        assert_eq!(existing.least(4096), 2049);
        // A partition beyond the overwritten part keeps its data and its signature.
        existing.held[0].start = 4096;
        assert!(existing.suits(4096, Holes::default()).is_ok());
    }
}
