//! The keeper of a mounted volume: keeps its privileges, sets everything up, and cleans up at the end.
#![expect(
    clippy::disallowed_methods,
    reason = "the mount itself, and /dev/null; words to the process that waits for it"
)]

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use cryptbench_export::ublk::Disk;
use cryptbench_os::{files, process, terminal, user};
use cryptbench_system::ServedVolume;
use cryptbench_system::provision::mountinfo::mount_at;
use cryptbench_system::resource::{Journal, Place};
use cryptbench_text::{quoted_path, shown};
use cryptbench_volume::{Access, Credentials, VolumeError};

use super::{POLL, READY, access, fuse, serve};
use crate::exit::Refusal;
use crate::say;
use crate::volume::args::{MountArgs, Transport};
use crate::volume::confined::{self, Confined, On, Opened};
use crate::volume::{secrets, target};

/// `volume keep`: the keeper in the background, which gets the secrets on standard input.
pub fn keep(args: &MountArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if confined::is_child() {
        return serve::serve(args, stop);
    }
    // Standard input is only for the process that opens the volume.
    let secrets = terminal::unbuffered_input()?;
    let mut up = up(args, secrets, stop)?;
    if stop.load(Ordering::Relaxed) {
        bail!(VolumeError::Stopped);
    }
    // From here on, this process has its own session, so that neither Ctrl-C nor closing the terminal affects it.
    let _ = process::leave_terminal();
    std::io::stdout().write_all(format!("{}\n{READY}", up.what).as_bytes())?;
    terminal::silence()?;
    // This process must not keep the directory busy in which it was started.
    let _ = std::env::set_current_dir("/");
    until_unmounted(&mut up, stop)
}

/// Sets everything up in the process that the user started.
pub fn up_here(
    args: &MountArgs,
    credentials: &Credentials,
    protected: Option<&Credentials>,
    stop: &AtomicBool,
) -> anyhow::Result<Up> {
    let all: Vec<_> = [credentials].into_iter().chain(protected).collect();
    secrets::through_pipe(&all, |secrets| up(args, secrets, stop))
}

/// The keeper in the process that the user started.
pub fn in_foreground(mut up: Up, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    say::message(&up.what);
    until_unmounted(&mut up, stop)
}

/// Checks the mount point before the passphrase prompt.
pub fn check_place(args: &MountArgs) -> anyhow::Result<()> {
    Where::open(args).map(drop)
}

/// The mounted volume, and the messages about it for the user.
pub struct Up {
    mounted: ServedVolume,
    place: Where,
    what: String,
    /// Serves the volume, and exits after the unmount.
    server: Option<Confined>,
}

/// Sets everything up with the secrets from `secrets`. This process keeps its privileges, so that it can clean up.
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
                // The volume becomes visible at this location once it is served.
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
            // The volume is unmounted while the server can still be stopped.
            server.watched(stop, || drop(mounted));
            Err(if stop.load(Ordering::Relaxed) { VolumeError::Stopped.into() } else { e })
        }
    }
}

/// Makes the volume visible, and reports its location.
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
            mounted
                .mount_file_system(&device, Arc::clone(place), read_only, options)
                .context("cannot mount its file system (--raw shows the plaintext as a file)")?;
            Ok(format!("{volume} is mounted at {}; {}", shown(place.path()), to_unmount(args)))
        }
        (place, _) => {
            if let Where::Place(place) = place {
                mounted.show_at(Arc::clone(place))?;
            }
            let file = quoted_path(mounted.file());
            Ok(format!(
                "the plaintext of {volume} is the file {}; to use it: sudo mount -o loop {file} DIRECTORY, fuse2fs {file} DIRECTORY \
                 (ext4), or 7-Zip; {}",
                shown(mounted.file()),
                to_unmount(args)
            ))
        }
    }
}

fn to_unmount(args: &MountArgs) -> String {
    format!("to unmount: cryptbench volume umount {}", quoted_path(&args.mountpoint))
}

/// A ublk device for a volume that the child can serve as a disk. `None` if another transport is to be used.
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
        let reason = "--transport ublk requires io_uring, which this machine does not permit";
        return Err(Refusal::target(&args.mountpoint, reason).into());
    }
    let Opened { read_only, sector, size, .. } = opened;
    let disk = Disk { size, sector: sector.clamp(512, 4096), read_only, mark: 0 };
    match ServedVolume::disk_by_child(&disk, journal) {
        Ok(made) => Ok(Some(made)),
        Err(_) if may => Ok(None),
        Err(e) => {
            Err(anyhow::Error::from(e)
                .context("ublk needs Linux 6.5 or later and the module ublk_drv"))
        }
    }
}

/// The location of the mount, which depends on the user who may unmount it.
enum Where {
    /// A directory that was opened by root.
    Place(Arc<Place>),
    /// A path at which this user has mounted the volume.
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

/// Waits until a signal arrives, the volume is unmounted with the system's own program, or the server exits.
fn until_unmounted(up: &mut Up, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let Some(server) = up.server.take() else { return Ok(ExitCode::SUCCESS) };
    while !stop.load(Ordering::Relaxed) && up.place.is_mounted() {
        if server.says_something_within(POLL)? {
            break;
        }
    }
    let mut result = up.mounted.destroy_at_once();
    if result.is_err() {
        // Ensures that all written data is on the disk, whatever happens to this process while it waits.
        up.place.sync();
    }
    // This process was asked to exit while the mount is in use. It waits as long as necessary, because dirty data
    // would be lost.
    while result.is_err() && up.place.is_mounted() {
        std::thread::sleep(POLL);
        result = up.mounted.destroy_at_once();
    }
    if result.is_err() {
        // Other programs that have the disk open, such as udev, close the disk shortly after the unmount.
        result = up.mounted.destroy();
    }
    result?;
    // Once the volume is unmounted, all written data must be on stable storage.
    server.end()?;
    Ok(ExitCode::SUCCESS)
}

/// The journal of a process that serves a volume.
pub fn journal(volume: &Path) -> anyhow::Result<Journal> {
    // A volume that is being created has no name yet.
    let subject = std::fs::canonicalize(volume).or_else(|_| std::path::absolute(volume))?;
    let number = std::process::id();
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos());
    Ok(Journal::create_about(&format!("volume-{number}-{now}"), &subject)?)
}
