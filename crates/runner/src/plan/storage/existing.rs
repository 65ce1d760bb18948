//! An existing file or block device that will be overwritten: only with its user's consent, only if
//! nothing else uses it, and only if it is still the same when the first byte is written.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, IoTarget};
use cryptbench_os::files::{Opening, names_of};
use cryptbench_os::lock::{Lock, lock_within};
use cryptbench_os::storage::space;
use cryptbench_os::{Details, FileIdentity, FileType};
use cryptbench_system::SystemError;
use cryptbench_system::provision::signatures;
use cryptbench_text::shown;

use super::block::{Node, Tree};
use super::holders::{uses, uses_of_file};
use super::refusal::Refusal;

/// What the user has permitted to destroy.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// Files and devices, each named a second time.
    pub destroy: Vec<PathBuf>,
    /// Signatures on them, named as in blkid(8).
    pub erase: Vec<String>,
}

/// How long another program may hold a lock: udev takes it for a moment when a writer closes a
/// disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// A signature on the storage to be overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Its name in blkid(8).
    pub(super) name: String,
    /// The partition with the signature; `None` for the target itself.
    partition: Option<PathBuf>,
    /// Offset of that partition on the target, bytes.
    start: u64,
    /// Its offset on the partition or target, bytes.
    offset: u64,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.partition {
            Some(partition) => write!(f, "{}: {}", shown(partition), self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The kind of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Device,
    Partition,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Device => "device",
            Self::Partition => "partition",
        }
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Device => "block device",
            Self::Partition => "partition",
        }
    }
}

/// Distinguishes it from another one with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    /// Device number; for a file, device and inode number.
    number: (u64, u64),
    size: u64,
    /// Serial number of the disk, or the file of a loop device.
    serial: Option<String>,
    /// The kernel's sequence number, counted as disks are attached (Linux 5.15).
    sequence: Option<String>,
}

/// Existing storage that its user has permitted to overwrite.
#[derive(Clone, Debug)]
pub(crate) struct Existing {
    path: PathBuf,
    pub(crate) kind: Kind,
    identity: Identity,
    /// Names of the signatures that will be lost, without repetitions.
    pub(crate) signatures: Vec<String>,
    held: Vec<Held>,
    /// The file below a loop device.
    pub(crate) backing_file: Option<String>,
}

impl Existing {
    /// Inspects the file or device `path` and refuses it if it must not be overwritten. Changes
    /// nothing.
    pub(super) fn inspect(path: &Path, consent: &Consent) -> Result<Self, Refusal> {
        let found = fs::metadata(path).map_err(failed("look at it"))?;
        let kind = kind(&found)?;
        let tree = Tree::this();
        let details = Details::of(&found);
        let node = tree.of_number(details.device).filter(|_| kind != Kind::File);
        check_uses(path, kind, &found)?;
        if kind == Kind::File {
            refuse_links(&File::open(path).map_err(failed("open it"))?)?;
        }
        let read_only = match (&node, kind) {
            (Some(node), _) => node.attribute("ro").as_deref() == Some("1"),
            _ => false,
        };
        if read_only {
            return Err(Refusal::ReadOnly { remedy: "blockdev --setrw, or name another device" });
        }
        try_claim(path, kind)?;
        let identity = identity(path, kind)?;
        let held = held(path, kind, node.as_ref())?;
        let named =
            |other: &PathBuf| number_at(other, kind).is_ok_and(|other| other == identity.number);
        if !consent.destroy.iter().any(named) {
            return Err(Refusal::NotNamedAgain {
                what: kind.in_words().to_owned() + &node.as_ref().map(maker).unwrap_or_default(),
                path: path.to_owned(),
                size: identity.size,
                signatures: once(held),
            });
        }
        let unsaid: Vec<_> =
            held.iter().filter(|s| !consent.erase.contains(&s.name)).cloned().collect();
        if !unsaid.is_empty() {
            return Err(Refusal::Signature { signatures: once(unsaid) });
        }
        let mut signatures: Vec<String> = Vec::new();
        for one in &held {
            if !signatures.contains(&one.name) {
                signatures.push(one.name.clone());
            }
        }
        Ok(Self {
            path: path.to_owned(),
            kind,
            identity,
            signatures,
            held,
            backing_file: node.and_then(|n| n.backing_file()).map(|f| shown(&f)),
        })
    }

    /// Size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.identity.size
    }

    /// Refuses to overwrite only the first `len` bytes if a signature behind them would outlive the
    /// data that it describes, or if the file system has no space for the holes of a file.
    pub(super) fn suits(&self, len: u64) -> Result<(), Refusal> {
        let survives = |held: &&Held| held.start < len && held.start + held.offset >= len;
        if let Some(held) = self.held.iter().find(survives) {
            let device = held.partition.clone().unwrap_or_else(|| self.path.clone());
            let offset = held.offset;
            return Err(Refusal::Survives { held: held.clone(), device, offset, len });
        }
        if self.kind == Kind::File {
            let found = fs::metadata(&self.path).map_err(failed("look at it"))?;
            let space = space(&self.path).map_err(failed("look at its file system"))?;
            let missing = found.len().saturating_sub(Details::of(&found).allocated).min(len);
            if space.size != 0 && missing > space.free {
                let full = io::Error::from(io::ErrorKind::StorageFull);
                return Err(failed("fill its holes")(full));
            }
        }
        Ok(())
    }

    /// Fewest bytes to overwrite so that no signature outlives the data that it describes.
    fn least(&self, len: u64) -> u64 {
        let ends = self.held.iter().filter(|held| held.start < len);
        ends.map(|held| held.start + held.offset + 1).max().unwrap_or(0)
    }

    /// Whether the existing `path` names the same storage.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        let numbered =
            |kind| number_at(path, kind).is_ok_and(|found| found == self.identity.number);
        fs::metadata(path).is_ok_and(|found| kind(&found).is_ok_and(numbered))
    }

    /// Opens it exclusively, repeats all checks, and returns its first `len` bytes for overwriting.
    /// While it is open, the kernel lets no one mount the device, swap to it or build on it.
    pub(super) fn claim(&self, len: u64, buffered: bool) -> Result<Overwritten, Refusal> {
        self.suits(len)?;
        let alone = Opening::to_write().alone(self.kind != Kind::File);
        let direct = if buffered { None } else { alone.direct(true).open(&self.path).ok() };
        let mode = if direct.is_some() { IoMode::Direct } else { IoMode::Buffered };
        let file = match direct {
            Some(file) => file,
            None => alone.open(&self.path).map_err(|e| match e.kind() {
                io::ErrorKind::ResourceBusy => Refusal::Claimed,
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    Refusal::ReadOnly { remedy: "name another, or run as a user who may write it" }
                }
                _ => Refusal::Io { act: "open it", source: e },
            })?,
        };
        lock(&file)?;
        self.check_again(&file)?;
        let (path, least) = (self.path.clone(), self.least(len));
        Ok(Overwritten { file: Arc::new(file), len, least, mode, path })
    }

    /// Checks that the opened storage is the one that was inspected, and that still nothing uses
    /// it.
    fn check_again(&self, file: &File) -> Result<(), Refusal> {
        let opened = file.metadata().map_err(failed("look at it"))?;
        if number(file, self.kind).map_err(failed("look at it"))? != self.identity.number {
            return Err(Refusal::Changed { what: "its device number" });
        }
        let now = identity(&self.path, self.kind)?;
        if now != self.identity {
            let what =
                if now.size == self.identity.size { "its serial number" } else { "its size" };
            return Err(Refusal::Changed { what });
        }
        check_uses(&self.path, self.kind, &opened)?;
        if self.kind == Kind::File {
            refuse_links(file)?;
        }
        let node = Tree::this().of_number(Details::of(&opened).device);
        if held(&self.path, self.kind, node.as_ref())? != self.held {
            return Err(Refusal::Changed { what: "what it holds" });
        }
        Ok(())
    }
}

/// Takes the lock that keeps udev and other runs away.
fn lock(file: &File) -> Result<(), Refusal> {
    match lock_within(file, Lock::Exclusive, PATIENCE) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(Refusal::Locked),
        // On a file system without locks, no one holds one.
        _ => Ok(()),
    }
}

/// Checks whether it could be claimed now, for dry runs.
fn try_claim(path: &Path, kind: Kind) -> Result<(), Refusal> {
    let file = Opening::to_read().alone(kind != Kind::File).open(path);
    lock(&file.map_err(|e| match e.kind() {
        io::ErrorKind::ResourceBusy => Refusal::Claimed,
        _ => Refusal::Io { act: "open it", source: e },
    })?)
}

/// All signatures on it and on the partitions that overlap with it.
fn held(path: &Path, kind: Kind, node: Option<&Node>) -> Result<Vec<Held>, Refusal> {
    // A file is whatever its user says; but others may rely on the contents of a disk.
    if kind == Kind::File {
        return Ok(Vec::new());
    }
    let gone = |what: &Path| Refusal::Unknown { what: format!("{} is not there", shown(what)) };
    let node = node.ok_or_else(|| gone(path))?;
    let mut all = Vec::new();
    let mut add = |path: &Path, partition: Option<PathBuf>, start: u64| -> Result<(), Refusal> {
        for found in signatures(path)? {
            let partition = partition.clone();
            all.push(Held { name: found.name, partition, start, offset: found.offset });
        }
        Ok(())
    };
    add(path, None, 0)?;
    for partition in node.overlapping() {
        let device = partition.device_path();
        let number = fs::metadata(&device).ok().map(|found| Details::of(&found).device);
        if number.is_none() || number != partition.number() {
            return Err(gone(&device));
        }
        let start = if node.is_partition() { 0 } else { partition.start() };
        add(&device, Some(device.clone()), start)?;
    }
    Ok(all)
}

/// The same with each name only once per device.
fn once(mut held: Vec<Held>) -> Vec<Held> {
    let mut said = Vec::new();
    held.retain(|one| {
        let text = one.to_string();
        let new = !said.contains(&text);
        said.push(text);
        new
    });
    held
}

/// Model and serial number of a disk, in parentheses.
fn maker(node: &Node) -> String {
    let disk = node.disk();
    let find = |names: &[&str]| {
        names.iter().find_map(|name| disk.attribute(name)).filter(|text| !text.is_empty())
    };
    let model = find(&["device/model"]);
    let serial = find(&["device/serial", "serial", "device/wwid"]);
    let known: Vec<_> =
        [model, serial.map(|s| format!("serial {s}"))].into_iter().flatten().collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

fn failed(act: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    move |source| Refusal::Io { act, source }
}

fn kind(found: &fs::Metadata) -> Result<Kind, Refusal> {
    if found.is_file() {
        return Ok(Kind::File);
    }
    let details = Details::of(found);
    if details.kind != FileType::BlockDevice {
        return Err(Refusal::Kind);
    }
    let node = Tree::this().of_number(details.device);
    Ok(if node.is_some_and(|n| n.is_partition()) { Kind::Partition } else { Kind::Device })
}

fn check_uses(path: &Path, kind: Kind, found: &fs::Metadata) -> Result<(), Refusal> {
    let uses = match kind {
        Kind::File => uses_of_file(&Tree::this(), path),
        _ => uses(&Tree::this(), Details::of(found).device),
    }?;
    if uses.is_empty() { Ok(()) } else { Err(Refusal::Used(uses)) }
}

/// What else has another name would be overwritten under that, too.
fn refuse_links(file: &File) -> Result<(), Refusal> {
    match names_of(file).map_err(failed("look at it"))? {
        ..=1 => Ok(()),
        names => Err(Refusal::Links { names }),
    }
}

/// Tells storage from other storage: the number of a device; of a file that of its file system, and its own there.
fn number(file: &File, kind: Kind) -> io::Result<(u64, u64)> {
    match kind {
        Kind::File => FileIdentity::of(file).map(|found| (found.device, found.inode)),
        _ => Ok((Details::of(&file.metadata()?).device, 0)),
    }
}

/// The same of what `path` leads to.
fn number_at(path: &Path, kind: Kind) -> io::Result<(u64, u64)> {
    match kind {
        Kind::File => FileIdentity::reached_by(path).map(|found| (found.device, found.inode)),
        _ => Ok((Details::of(&fs::metadata(path)?).device, 0)),
    }
}

fn identity(path: &Path, kind: Kind) -> Result<Identity, Refusal> {
    let mut file = File::open(path).map_err(failed("open it"))?;
    let found = file.metadata().map_err(failed("look at it"))?;
    let number_of_device = Details::of(&found).device;
    let node = Tree::this().of_number(number_of_device).filter(|_| kind != Kind::File);
    let disk = node.as_ref().map(Node::disk);
    let of_disk = |names: &[&str]| {
        disk.as_ref().and_then(|disk| names.iter().find_map(|name| disk.attribute(name)))
    };
    Ok(Identity {
        number: number(&file, kind).map_err(failed("look at it"))?,
        size: file.seek(SeekFrom::End(0)).map_err(failed("measure it"))?,
        serial: of_disk(&[
            "device/serial",
            "device/wwid",
            "serial",
            "dm/uuid",
            "loop/backing_file",
        ]),
        sequence: of_disk(&["diskseq"]),
    })
}

/// The beginning of a file or device that is being overwritten.
pub(crate) struct Overwritten {
    file: Arc<File>,
    len: u64,
    least: u64,
    mode: IoMode,
    path: PathBuf,
}

impl Overwritten {
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

    /// Size below which it must not be cut, in bytes.
    pub(crate) fn least(&self) -> u64 {
        self.least
    }

    pub(crate) fn mode(&self) -> IoMode {
        self.mode
    }

    pub(crate) fn shrink(&mut self, len: u64) {
        self.len = len.min(self.len);
    }

    /// Writes back cached data and closes it.
    pub(crate) fn release(self) -> Result<(), SystemError> {
        self.file.sync_data().map_err(|source| SystemError::Io {
            act: "write back",
            path: self.path,
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_between_check_and_claim_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let inspect = || Existing::inspect(&path, &consent).unwrap();
        let said = |existing: &Existing| {
            existing.claim(512, true).err().map(|why| why.to_string()).unwrap_or_default()
        };
        fs::write(&path, [7; 4096]).unwrap();
        let same = inspect();
        assert_eq!(said(&same), "");
        let grown = inspect();
        fs::write(&path, [7; 8192]).unwrap();
        assert!(said(&grown).contains("its size has changed"), "{}", said(&grown));
        let replaced = inspect();
        fs::write(dir.path().join("other"), [9; 8192]).unwrap();
        fs::rename(dir.path().join("other"), &path).unwrap();
        assert!(said(&replaced).contains("its device number has changed"));
        assert_eq!(fs::read(&path).unwrap(), [9; 8192]);
    }

    #[test]
    fn another_run_on_the_same_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let existing = Existing::inspect(&path, &consent).unwrap();
        let first = existing.claim(4096, true).ok().unwrap();
        let Err(why) = existing.claim(4096, true) else { panic!("claimed twice") };
        assert!(why.to_string().contains("another cryptbench"), "{why}");
        first.release().unwrap();
        assert!(existing.claim(4096, true).is_ok());
    }

    #[test]
    fn what_is_neither_file_nor_device_is_refused() {
        let consent = Consent { destroy: vec!["/dev/null".into()], erase: Vec::new() };
        let why = Existing::inspect(Path::new("/dev/null"), &consent).unwrap_err();
        assert!(why.to_string().contains("neither a directory"), "{why}");
    }

    #[test]
    fn what_another_program_has_locked_is_refused() {
        use std::io::Read as _;
        use std::process::{Command, Stdio};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let existing = Existing::inspect(&path, &consent).unwrap();
        // Like QEMU: a lock of fcntl(2), which flock(2) does not see.
        let script = "import fcntl, sys\nf = open(sys.argv[1], 'r+')\nfcntl.lockf(f, fcntl.LOCK_SH)\n\
                      print('held', flush=True)\nsys.stdin.read()";
        let mut python = Command::new("python3");
        let holder = python.args(["-c", script]).arg(&path).stdin(Stdio::piped());
        let Ok(mut holder) = holder.stdout(Stdio::piped()).spawn() else {
            return eprintln!("SKIPPED: no python3 to hold a lock");
        };
        holder.stdout.as_mut().unwrap().read_exact(&mut [0; 4]).unwrap();
        let why = existing.claim(4096, true).err().map(|why| why.to_string()).unwrap_or_default();
        drop(holder.stdin.take());
        holder.wait().unwrap();
        assert!(why.contains("locked by another program"), "{why}");
        assert!(existing.claim(4096, true).is_ok());
    }

    #[test]
    fn a_file_of_several_names_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), dir.path().join("other"));
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let existing = Existing::inspect(&path, &consent).unwrap();
        fs::hard_link(&path, &other).unwrap();
        let why = Existing::inspect(&path, &consent).unwrap_err().to_string();
        assert!(why.contains("has 2 names"), "{why}");
        let Err(why) = existing.claim(4096, true) else { panic!("claimed") };
        assert!(why.to_string().contains("has 2 names"), "{why}");
    }

    #[test]
    fn a_signature_behind_what_is_overwritten_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [7; 4096]).unwrap();
        let consent = Consent { destroy: vec![path.clone()], erase: Vec::new() };
        let mut existing = Existing::inspect(&path, &consent).unwrap();
        let name = "linux_raid_member".to_owned();
        existing.held = vec![Held { name, partition: None, start: 0, offset: 2048 }];
        let why = existing.suits(2048).unwrap_err().to_string();
        assert!(why.contains("at byte 2048") && why.contains("wipefs --all --types"), "{why}");
        assert!(existing.suits(2049).is_ok());
        assert_eq!(existing.least(4096), 2049);
        // A partition beyond the overwritten part keeps its data and its signature.
        existing.held[0].start = 4096;
        assert!(existing.suits(4096).is_ok());
    }
}
