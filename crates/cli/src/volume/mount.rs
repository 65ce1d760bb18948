//! `cryptbench volume mount`: a process in the background serves the volume until it is unmounted.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_blockdev::BlockDevice as _;
use cryptbench_export::Prepared;
use cryptbench_export::fuse::{FuseOptions, serve_mounted};
use cryptbench_export::ublk::{self, Disk};
use cryptbench_os::confine::Needs;
use cryptbench_os::{files, process, terminal, user};
use cryptbench_system::ServedVolume;
use cryptbench_system::provision::mountinfo::mount_at;
use cryptbench_system::resource::{Journal, Place, cleanup};
use cryptbench_text::shown;
use cryptbench_volume::{Access, Credentials, VolumeError};

use super::args::{MountArgs, Transport};
use super::confined::{Confined, Here, On, Opened, Task};
use super::secrets::{self, Prompt};
use super::target;
use crate::exit::{self, Refusal};
use crate::say;

/// The line by which the background process reports that everything is up.
const READY: &str = "ready\n";

/// How long a killed process may take to end.
const DYING: Duration = Duration::from_secs(2);

/// How often to check for a signal, or for an unmount by somebody else.
const POLL: Duration = Duration::from_millis(50);

pub fn mount(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if args.unlock.confinement.confined {
        return confined(args, stop);
    }
    if !args.secrets_on_stdin {
        sweep(&std::path::absolute(&args.mountpoint)?);
    }
    let found = std::fs::metadata(&args.mountpoint);
    if !found.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err(Refusal::target(&args.mountpoint, "the mount point is not a directory").into());
    }
    if matches!(args.transport, Transport::Ublk) && (args.raw || !user::is_root()) {
        let reason =
            "--transport ublk makes a disk and mounts its file system: it needs root and no --raw";
        return Err(Refusal::target(&args.mountpoint, reason).into());
    }
    if args.secrets_on_stdin {
        return in_background(args, stop);
    }
    let (credentials, protected) = ask(args, stop)?;
    let named = [Some(&args.unlock.volume), args.unlock.header.as_ref()];
    let is_own = |path: &&PathBuf| terminal::is_descriptor(path);
    if let Some(path) = named.into_iter().flatten().find(is_own).filter(|_| !args.foreground) {
        let reason = "it is a descriptor of this process, which the one in the background does not have; name the \
                      file, or use --foreground";
        return Err(Refusal::usage(path, reason).into());
    }
    if args.foreground {
        let all: Vec<_> = [&credentials].into_iter().chain(&protected).collect();
        let mut mounted = secrets::through_pipe(&all, |secrets| up(args, secrets, stop))?;
        drop((credentials, protected));
        say::message(&mounted.what);
        return serve(&mut mounted, stop);
    }
    hand_over(&credentials, protected.as_ref(), stop)
}

/// Removes what a killed server left on this mount point. A process that is just ending releases
/// its journal a moment after it was killed.
fn sweep(place: &Path) {
    let until = Instant::now() + DYING;
    cleanup();
    while mount_at(place).is_some() && Instant::now() < until {
        std::thread::sleep(POLL);
        cleanup();
    }
}

fn ask(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<(Credentials, Option<Credentials>)> {
    // Opened briefly, so that a missing or busy volume is reported before anyone types a passphrase.
    let volume = target::open_for_child(&args.unlock.volume, Access::ReadOnly)?;
    let asks = Task::on(&args.unlock, Access::ReadOnly).ask(&volume, None, stop)?;
    drop(volume);
    let credentials = target::credentials(&args.unlock, asks, stop)?;
    let hidden = args.protect_hidden.then(|| {
        secrets::read(&(&args.protected).into(), "the hidden volume", false, Prompt::Once, stop)
    });
    Ok((credentials, hidden.transpose()?))
}

fn access(args: &MountArgs) -> Access {
    if args.read_only { Access::ReadOnly } else { Access::ReadWrite }
}

/// What the kernel is told of the mount.
fn fuse(args: &MountArgs, read_only: bool) -> FuseOptions {
    FuseOptions {
        read_only,
        allow_other: args.allow_other,
        transport: args.transport.into(),
        ..FuseOptions::default()
    }
}

/// The process without rights that opens the volume and serves it.
fn confined(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let options = fuse(args, args.read_only);
    let prepare = || {
        let prepared = match args.transport {
            Transport::Device => Prepared::nothing(),
            _ => Prepared::rings(options.threads),
        };
        (Needs { sockets: false, rings: prepared.has_rings() }, prepared)
    };
    let begun = super::confined::begin(&args.unlock, access(args), prepare, stop)?;
    let Some((mut here, prepared)) = begun else { return Ok(ExitCode::SUCCESS) };
    let Some((on, mut files)) = here.wait()? else { return Ok(ExitCode::SUCCESS) };
    let volume = Arc::clone(&here.volume);
    if on == On::Disk {
        let connection = files.pop().context("no disk came")?;
        let read_only = volume.is_read_only();
        let server = ublk::serve(Arc::clone(&volume) as _, connection, read_only, prepared)?;
        until_the_end(&mut here, stop, || server.has_ended())?;
        server.stop();
        return super::confined::flush(&volume);
    }
    let options =
        FuseOptions { read_only: here.volume.is_read_only(), owner: Some(here.owner), ..options };
    let server = serve_mounted(Arc::clone(&volume) as _, files, &options, prepared)?;
    until_the_end(&mut here, stop, || server.has_ended())?;
    server.stop();
    super::confined::flush(&volume)
}

fn until_the_end(
    here: &mut Here,
    stop: &AtomicBool,
    ended: impl Fn() -> bool,
) -> anyhow::Result<()> {
    here.is_up()?;
    while here.goes_on(stop, &ended)? {}
    Ok(())
}

/// A disk of the kernel for a volume that the child can serve as one, if there is ublk and it is wanted.
fn disk(
    args: &MountArgs,
    opened: Opened,
    journal: &Journal,
) -> anyhow::Result<Option<(ServedVolume, File)>> {
    let must = matches!(args.transport, Transport::Ublk);
    let is_auto = matches!(args.transport, Transport::Auto);
    let may = is_auto && !args.raw && user::is_root() && opened.as_disk;
    if !may && !must {
        return Ok(None);
    }
    if !opened.as_disk {
        let reason = "a disk of ublk needs a machine that permits io_uring";
        return Err(Refusal::target(&args.mountpoint, reason).into());
    }
    let Opened { read_only, sector, size, .. } = opened;
    let disk = Disk { size, sector: sector.clamp(512, 4096), read_only, mark: 0 };
    match ServedVolume::disk_by_child(&disk, journal) {
        Ok(made) => Ok(Some(made)),
        Err(_) if may => Ok(None),
        Err(e) => {
            Err(anyhow::Error::from(e).context("ublk needs Linux 6.5 and its module ublk_drv"))
        }
    }
}

/// Where a volume is mounted, as somebody sees who may unmount it.
enum Where {
    /// A directory that was opened by root.
    Place(Arc<Place>),
    /// A path that this user mounted at.
    Path(PathBuf),
}

impl Where {
    fn open(args: &MountArgs) -> anyhow::Result<Self> {
        if user::is_root() {
            return Ok(Self::Place(Arc::new(Place::open(&args.mountpoint)?)));
        }
        let path = std::fs::canonicalize(&args.mountpoint)?;
        if mount_at(&path).is_some() || path.read_dir()?.next().is_some() {
            let reason = "the mount point is not empty, or something is mounted there";
            return Err(Refusal::target(&args.mountpoint, reason).into());
        }
        Ok(Self::Path(path))
    }

    fn is_mounted(&self) -> bool {
        match self {
            Self::Place(place) => place.is_mounted(),
            Self::Path(path) => mount_at(path).is_some(),
        }
    }

    fn sync(&self) {
        let _ = match self {
            Self::Place(place) => place.sync(),
            Self::Path(path) => File::open(path).and_then(|place| files::sync_file_system(&place)),
        };
    }
}

/// What is up, and what to tell the user about it.
struct Up {
    mounted: ServedVolume,
    place: Where,
    what: String,
    /// Serves, and ends after what is mounted.
    server: Option<Confined>,
}

/// Sets everything up; the secrets come through `secrets`. This process keeps its rights, to take everything down.
fn up(args: &MountArgs, secrets: File, stop: &AtomicBool) -> anyhow::Result<Up> {
    let volume = target::open_for_child(&args.unlock.volume, access(args))?;
    let most = target::size_of(&args.unlock.volume, &volume)?;
    let header = args.unlock.header.as_ref();
    let header = header.map(|header| target::open_for_child(header, Access::ReadOnly));
    let place = Where::open(args)?;
    let credentials = 1 + u8::from(args.protect_hidden);
    let mut server = Confined::open(&volume, header.transpose()?.as_ref(), &secrets, credentials)?;
    drop((volume, secrets));
    let opened = server.opened(args.read_only, most, stop)?;
    let read_only = opened.read_only;
    let raw = args.raw || !user::is_root();
    let journal = journal(&args.unlock.volume)?;
    let mut mounted = match disk(args, opened, &journal)? {
        Some((mounted, connection)) => {
            server.serve_on(On::Disk, &[&connection], stop)?;
            mounted
        }
        None => {
            let options = fuse(args, read_only);
            let path = match &place {
                Where::Path(path) => Some(path.as_path()),
                // Seen there once it is served.
                Where::Place(_) => None,
            };
            let (mounted, connection) =
                ServedVolume::by_child(path, opened.size, &options, &journal)?;
            let files: Vec<_> = connection.files().iter().collect();
            server.serve_on(On::Connection, &files, stop)?;
            mounted
        }
    };
    let shown_at = server.watched(stop, || show(args, &mut mounted, &place, read_only, raw));
    match shown_at {
        Ok(what) => Ok(Up { mounted, place, what, server: Some(server) }),
        Err(e) => {
            // Taken down while the server can still be ended.
            server.watched(stop, || drop(mounted));
            Err(if stop.load(Ordering::Relaxed) { VolumeError::Stopped.into() } else { e })
        }
    }
}

/// Lets the volume be seen, and says where.
fn show(
    args: &MountArgs,
    mounted: &mut ServedVolume,
    place: &Where,
    read_only: bool,
    raw: bool,
) -> anyhow::Result<String> {
    let volume = shown(&args.unlock.volume);
    match (place, raw) {
        (Where::Place(place), false) => {
            let device = mounted.attach(read_only)?;
            let options = args.options.as_deref();
            mounted.mount_file_system(&device, Arc::clone(place), read_only, options).context(
                "its file system cannot be mounted; --raw gives the plaintext as a file",
            )?;
            Ok(format!("{volume} is mounted at {}", shown(place.path())))
        }
        (place, _) => {
            if let Where::Place(place) = place {
                mounted.show_at(Arc::clone(place))?;
            }
            Ok(format!("the plaintext of {volume} is {}", shown(mounted.file())))
        }
    }
}

/// The journal of a process that serves a volume.
pub fn journal(volume: &Path) -> anyhow::Result<Journal> {
    // A volume that is being created has no name yet.
    let subject = std::fs::canonicalize(volume).or_else(|_| std::path::absolute(volume))?;
    let number = std::process::id();
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos());
    Ok(Journal::create_about(&format!("volume-{number}-{now}"), &subject)?)
}

/// Waits until a signal comes, somebody unmounts with the system's own program, or the server ends.
fn serve(up: &mut Up, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let Some(server) = up.server.take() else { return Ok(ExitCode::SUCCESS) };
    while !stop.load(Ordering::Relaxed) && up.place.is_mounted() {
        if server.says_something_within(POLL)? {
            break;
        }
    }
    let mut result = up.mounted.destroy_at_once();
    if result.is_err() {
        // Whatever happens to this process while it waits, written data is on the disk.
        up.place.sync();
    }
    // Asked to end while the mount is in use: waits as long as it takes, because dirty data would be lost.
    while result.is_err() && up.place.is_mounted() {
        std::thread::sleep(POLL);
        result = up.mounted.destroy_at_once();
    }
    if result.is_err() {
        // Others that have the disk open, such as udev, close it a moment after it was unmounted.
        result = up.mounted.destroy();
    }
    result?;
    // Unmounted means stable.
    server.end()?;
    Ok(ExitCode::SUCCESS)
}

/// Starts this program again in the background, with the secrets on its standard input.
fn hand_over(
    credentials: &Credentials,
    protected: Option<&Credentials>,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let mut child = process::this_program()?
        .args(super::arguments_with("--secrets-on-stdin"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("the serving process cannot be started")?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) else { bail!("no pipes") };
    // A child that ended at once has said why: its exit code counts, not the broken pipe.
    let _ = secrets::send(&mut stdin, credentials)
        .and_then(|()| protected.map_or(Ok(()), |p| secrets::send(&mut stdin, p)));
    drop(stdin);
    let said = hear(&mut stdout, &child, stop);
    let ready = said.strip_suffix(READY);
    if let Some(what) = ready
        && !stop.load(Ordering::Relaxed)
    {
        say::message(what.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if ready.is_some() {
        // It was up when the signal came, and now takes everything down.
        child.wait()?;
        bail!(VolumeError::Stopped);
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.filter(|code| *code != 0).unwrap_or(exit::FAILURE)))
}

/// Reads the child's output until it is up, or ends. Passes on a signal that only this process received.
fn hear(stdout: &mut ChildStdout, child: &Child, stop: &AtomicBool) -> String {
    let (mut said, mut piece) = (Vec::new(), [0; 512]);
    let mut told = false;
    loop {
        if !told && stop.load(Ordering::Relaxed) {
            told = true;
            let _ = process::terminate(child);
        }
        if let Ok(false) = terminal::readable_within(stdout, POLL) {
            continue;
        }
        match stdout.read(&mut piece) {
            Ok(0) => break,
            Ok(got) => said.extend_from_slice(&piece[..got]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn in_background(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    // What comes there is for the process that opens the volume alone.
    let secrets = terminal::unbuffered_input()?;
    let mut up = up(args, secrets, stop)?;
    if stop.load(Ordering::Relaxed) {
        bail!(VolumeError::Stopped);
    }
    // In a session of its own from here on, so that neither the terminal's Ctrl-C nor its end reaches it.
    let _ = process::leave_terminal();
    std::io::stdout().write_all(format!("{}\n{READY}", up.what).as_bytes())?;
    terminal::silence()?;
    // The process does not keep the directory busy in which it was started.
    let _ = std::env::set_current_dir("/");
    serve(&mut up, stop)
}
