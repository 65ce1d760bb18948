//! The compared ways to access a file. Each removes what it sets up.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::fill;

/// What rows are built from.
#[derive(Clone)]
pub struct Place {
    /// An empty directory on the disk to measure.
    pub directory: PathBuf,
    /// Our server.
    pub serve: PathBuf,
    /// Another build of the same program.
    pub against: Option<PathBuf>,
    /// How it receives requests.
    pub transport: String,
    /// Size of each file.
    pub mib: u64,
    /// The disk for dm-crypt, if not a loop device over a file.
    pub disk: Option<PathBuf>,
}

pub type Build = fn(&Place) -> anyhow::Result<Row>;

/// The reference row, to which the other rows are compared.
pub const OURS: &str = "ours, AES-256-XTS 512 B, FUSE + loop";

/// The rows that `--against` adds.
pub const OF_AGAINST: [&str; 2] = [AGAINST, AGAINST_NULL];
const AGAINST: &str = "the other build, AES-256-XTS 512 B, FUSE + loop";
const AGAINST_NULL: &str = "the other build's null layer, FUSE + loop";

/// Without FUSE and a loop device, if the kernel supports ublk.
const UBLK: &str = "ours, AES-256-XTS 512 B, ublk";
const UBLK_NULL: &str = "our null layer, ublk";

/// A server that costs nothing would be this fast behind a loop device.
const BOUND: &str = "loop over plain file";

/// The rows that are compared with the other build, in addition to the reference row.
pub const PAIRS: [(&str, &str); 3] = [(UBLK, AGAINST), (UBLK_NULL, AGAINST_NULL), (BOUND, AGAINST)];

/// All rows, by name.
pub const ROWS: &[(&str, Build)] = &[
    ("plain file", |place| Ok(Row::file(place.file("plain")?))),
    (BOUND, |place| Row::file(place.file("plain")?).on_loop(512)),
    ("our null layer, FUSE + loop", |place| ours(place, "none", 512)),
    (OURS, |place| ours(place, "aes-256-xts", 512)),
    (UBLK, |place| ours_over_ublk(place, "aes-256-xts")),
    (UBLK_NULL, |place| ours_over_ublk(place, "none")),
    (AGAINST, |place| against(place, "aes-256-xts")),
    (AGAINST_NULL, |place| against(place, "none")),
    ("ours, AES-256-XTS 4096 B, FUSE + loop", |place| ours(place, "aes-256-xts", 4096)),
    ("qemu-storage-daemon raw, FUSE + loop", |place| qemu(place, false)),
    ("qemu-storage-daemon LUKS, FUSE + loop", |place| qemu(place, true)),
    ("gocryptfs (its files through the page cache)", gocryptfs),
    ("nbdkit LUKS filter, NBD", nbdkit),
    ("ours, AES-256-XTS 512 B, NBD", ours_over_nbd),
];

/// A row to measure, with the parts that must be removed with it.
pub struct Row {
    /// A file, a device, or the socket of an NBD server.
    path: PathBuf,
    is_nbd: bool,
    parts: Parts,
}

/// In order of creation; they are dropped in reverse order.
struct Parts(Vec<Part>);

pub enum Part {
    Loop(PathBuf),
    /// A device of the device mapper, by name.
    Mapped(String),
    /// Exits when its standard input is closed.
    Ours(Child),
    /// Exits on SIGTERM.
    Daemon(Child),
    Mount(PathBuf),
}

impl Drop for Parts {
    fn drop(&mut self) {
        while let Some(part) = self.0.pop() {
            drop(part);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        match self {
            Self::Loop(device) => {
                let _ = apart(Command::new("losetup").arg("--detach").arg(device)).status();
            }
            Self::Mapped(name) => {
                let mut dmsetup = Command::new("dmsetup");
                let _ = apart(dmsetup.args(["remove", "--retry", name])).status();
            }
            Self::Ours(child) => {
                drop(child.stdin.take());
                let _ = child.wait();
            }
            Self::Daemon(child) => {
                if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
                let _ = child.wait();
            }
            Self::Mount(point) => {
                let _ = apart(Command::new("fusermount").arg("-u").arg(point)).status();
            }
        }
    }
}

impl Row {
    pub fn file(path: PathBuf) -> Self {
        Self { path, is_nbd: false, parts: Parts(Vec::new()) }
    }

    /// This row with `part` on top, which is accessed at another path.
    pub fn with(mut self, part: Part, path: PathBuf) -> Self {
        self.parts.0.push(part);
        self.path = path;
        self
    }

    /// This row on top of `below`; it is removed before `below`.
    pub fn above(mut self, mut below: Self) -> Self {
        below.parts.0.append(&mut self.parts.0);
        std::mem::swap(&mut self.parts, &mut below.parts);
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// This row through a loop device with direct I/O.
    pub fn on_loop(self, sector: u32) -> anyhow::Result<Self> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--direct-io=on"]);
        losetup.arg(format!("--sector-size={sector}")).arg(&self.path);
        let device = PathBuf::from(said(&mut losetup)?);
        Ok(self.with(Part::Loop(device.clone()), device))
    }

    /// The arguments that select fio's target.
    pub fn fio_arguments(&self) -> Vec<String> {
        if self.is_nbd {
            let uri = format!("--uri=nbd+unix:///?socket={}", self.path.display());
            return vec!["--ioengine=nbd".to_owned(), uri];
        }
        let file = format!("--filename={}", self.path.display());
        vec!["--ioengine=io_uring".to_owned(), "--direct=1".to_owned(), file]
    }
}

impl Place {
    /// A file of random data, created once for all rows that request the same name. Rows that do not change its
    /// layout share a file, so that no row has a better part of the disk.
    pub fn file(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.directory.join(name);
        if !path.exists() {
            fill(&path, self.mib)?;
        }
        Ok(path)
    }

    fn subdirectory(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.directory.join(name);
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// A file with the passphrase of volumes that are used only for measuring.
    fn passphrase(&self) -> anyhow::Result<String> {
        let path = self.directory.join("passphrase");
        fs::write(&path, "only measured")?;
        Ok(path.display().to_string())
    }
}

fn ours(place: &Place, cipher: &str, unit: u32) -> anyhow::Result<Row> {
    let point = place.subdirectory(&format!("ours-{cipher}-{unit}"))?;
    start_ours(place, &place.transport, &point, cipher, unit)?.on_loop(unit)
}

fn against(place: &Place, cipher: &str) -> anyhow::Result<Row> {
    let serve = place.against.clone().context("no --against")?;
    let place = &Place { serve, ..place.clone() };
    let point = place.subdirectory(&format!("against-{cipher}"))?;
    // A build that does not have this transport uses its default.
    start_ours(place, "auto", &point, cipher, 512)?.on_loop(512)
}

fn ours_over_ublk(place: &Place, cipher: &str) -> anyhow::Result<Row> {
    start_ours(place, "ublk", &place.directory, cipher, 512)
}

fn ours_over_nbd(place: &Place) -> anyhow::Result<Row> {
    let socket = place.directory.join("ours.sock");
    Ok(Row { is_nbd: true, ..start_ours(place, "nbd", &socket, "aes-256-xts", 512)? })
}

fn start_ours(place: &Place, way: &str, at: &Path, cipher: &str, unit: u32) -> anyhow::Result<Row> {
    start_ours_on(place, way, &place.file("plain")?, at, cipher, unit)
}

/// Our server over a file or device.
pub fn start_ours_on(
    place: &Place,
    way: &str,
    on: &Path,
    at: &Path,
    cipher: &str,
    unit: u32,
) -> anyhow::Result<Row> {
    let mut serve = Command::new(&place.serve);
    serve.arg(way).arg(on).arg(at).arg(cipher).arg(unit.to_string());
    let mut child = apart(&mut serve).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().context("no output")?;
    // The server cannot remove the mount itself.
    let mount = way.starts_with("confined").then(|| Part::Mount(at.to_owned()));
    let parts = Parts(mount.into_iter().chain([Part::Ours(child)]).collect());
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let path = line.trim().strip_prefix("ready ").context("our server did not start")?;
    Ok(Row { path: path.into(), is_nbd: false, parts })
}

fn qemu(place: &Place, luks: bool) -> anyhow::Result<Row> {
    let mut daemon = Command::new("qemu-storage-daemon");
    let file = if luks { qemu_luks(place)? } else { place.file("plain")? };
    let below = "node-name=below,cache.direct=on,aio=io_uring";
    daemon.arg("--blockdev").arg(format!("driver=file,filename={},{below}", file.display()));
    if luks {
        daemon.arg("--object").arg(format!("secret,id=key,file={}", place.passphrase()?));
        daemon.args(["--blockdev", "driver=luks,file=below,key-secret=key,node-name=disk"]);
    } else {
        daemon.args(["--blockdev", "driver=raw,file=below,node-name=disk"]);
    }
    // QEMU mounts on a file.
    let point = place.directory.join(if luks { "qemu-luks" } else { "qemu-raw" });
    fs::write(&point, b"")?;
    let export = "type=fuse,id=export,node-name=disk,writable=on";
    daemon.arg("--export").arg(format!("{export},mountpoint={}", point.display()));
    let child = apart(&mut daemon).stdin(Stdio::null()).spawn().context("qemu-storage-daemon")?;
    let row = Row { parts: Parts(vec![Part::Daemon(child)]), ..Row::file(point.clone()) };
    until("qemu-storage-daemon", || fs::metadata(&point).is_ok_and(|m| m.len() > 0))?;
    row.on_loop(512)
}

/// A LUKS image created by qemu-img, filled.
fn qemu_luks(place: &Place) -> anyhow::Result<PathBuf> {
    let path = place.directory.join("luks");
    if !path.exists() {
        let secret = format!("secret,id=key,file={}", place.passphrase()?);
        let options =
            "key-secret=key,cipher-alg=aes-256,cipher-mode=xts,ivgen-alg=plain64,iter-time=10";
        let mut create = Command::new("qemu-img");
        create.args(["create", "-q", "-f", "luks", "--object", &secret, "-o", options]);
        said(create.arg(&path).arg(format!("{}M", place.mib)))?;
        // Any data decrypts to something; the file only has to be allocated.
        let header = 4 << 20;
        let mut file = fs::File::options().write(true).open(&path)?;
        let mut random = fs::File::open(place.file("plain")?)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(header))?;
        std::io::copy(&mut random, &mut file)?;
        file.sync_all()?;
    }
    Ok(path)
}

fn gocryptfs(place: &Place) -> anyhow::Result<Row> {
    let (store, point) = (place.subdirectory("gocryptfs")?, place.subdirectory("gocryptfs-mount")?);
    let passphrase = place.passphrase()?;
    let with = ["-q", "-passfile", &passphrase];
    said(Command::new("gocryptfs").args(["-init", "-scryptn", "10"]).args(with).arg(&store))?;
    said(Command::new("gocryptfs").args(with).arg(&store).arg(&point))?;
    let row =
        Row { parts: Parts(vec![Part::Mount(point.clone())]), ..Row::file(point.join("file")) };
    fill(&row.path, place.mib)?;
    Ok(row)
}

fn nbdkit(place: &Place) -> anyhow::Result<Row> {
    let (socket, file) = (place.directory.join("nbdkit.sock"), qemu_luks(place)?);
    let mut nbdkit = Command::new("nbdkit");
    nbdkit.args(["--foreground", "--exit-with-parent", "--filter=luks", "--unix"]);
    nbdkit.arg(&socket).args(["file", "cache=none"]).arg(format!("file={}", file.display()));
    nbdkit.arg(format!("passphrase=+{}", place.passphrase()?));
    let child = apart(&mut nbdkit).stdin(Stdio::null()).spawn().context("nbdkit")?;
    let parts = Parts(vec![Part::Daemon(child)]);
    let row = Row { path: socket, is_nbd: true, parts };
    until("nbdkit", || row.path.exists())?;
    Ok(row)
}

/// Runs a program and returns its output.
pub fn said(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().display().to_string();
    let out = apart(command).stdin(Stdio::null()).output().with_context(|| name.clone())?;
    if !out.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(String::from_utf8(out.stdout)?.trim().to_owned())
}

/// Puts a command into its own process group, which Ctrl-C at the terminal does not reach.
pub fn apart(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > Duration::from_secs(10) {
            bail!("{what} does not start");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
