//! The threads behind a mount, and the handle that stops these threads.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cryptbench_blockdev::{BlockDevice, IoTarget};

use super::channel::{self, End};
use super::long::{self, Pool};
use super::mount::Mount;
use super::options::{FuseOptions, Transport};
use super::session::Session;
use super::switch::UringSwitch;
use super::uring;
use crate::bytes::Bytes;
use crate::rings::Rings;
use crate::threads::{Threads, all_serve};
use crate::{ExportError, Stats};

/// A served mount. Dropping this value removes the mount, even if the mount is in use.
pub struct Server {
    shared: Arc<Shared>,
    threads: Threads,
    transport: &'static str,
}

/// State shared by a server's threads.
struct Shared {
    session: Session,
    /// `None` if another process created the mount.
    mount: Option<Mount>,
    /// Set once the mount is gone, so that another mount at the same path is not removed.
    gone: AtomicBool,
}

/// Serves `device` as the only file of a mount at the directory `path`, until the mount is removed.
///
/// The file exists when this function returns. Whenever the server ends, even by a panic, the mount is removed. After
/// a kill, use [`remove_stale_mount`](super::remove_stale_mount).
///
/// # Errors
/// [`ExportError::NoFuse`], [`ExportError::Mount`], [`ExportError::Protocol`];
/// [`ExportError::Option`] for an invalid file name, or for a transport that this machine or device
/// does not support.
pub fn mount(
    device: Arc<dyn BlockDevice>,
    path: &Path,
    options: &FuseOptions,
) -> Result<Server, ExportError> {
    check_name(&options.file_name)?;
    // With io_uring the rings access the disk directly; a device that needs a call for each request is served by
    // threads.
    if options.transport != Transport::Device
        && let Some(io_target) = device.io_target()
        && let Some(switch) = UringSwitch::on()
    {
        let (device, rings) = (Arc::clone(&device), Rings::new(options.threads));
        let started = Mount::new(path, options).and_then(|(mount, fuse)| {
            // The setting remains enabled until the kernel has read it.
            let _switch = switch;
            begin(device, Some(mount), vec![fuse], options, rings.map(|rings| (io_target, rings)))
        });
        match started {
            Err(_) if options.transport == Transport::Auto => {}
            other => return other,
        }
    }
    if options.transport == Transport::Uring {
        return Err(no_uring());
    }
    let (mount, fuse) = Mount::new(path, options)?;
    begin(device, Some(mount), vec![fuse], options, None)
}

/// Checks the name of the only file.
pub(super) fn check_name(name: &str) -> Result<(), ExportError> {
    if name.is_empty()
        || name == "."
        || name == ".."
        || name.contains(['/', '\0'])
        || name.len() > 255
    {
        return Err(ExportError::Option(format!("{name:?} is not a file name")));
    }
    Ok(())
}

fn no_uring() -> ExportError {
    let reason = "FUSE over io_uring needs Linux 6.14, the module option fuse.enable_uring, a machine that permits \
                  io_uring, and a device that is a contiguous part of a file";
    ExportError::Option(reason.to_owned())
}

/// Serves a new mount through a connection to the kernel and its clones, or through the rings in `direct`, if there are
/// any.
pub(super) fn begin(
    device: Arc<dyn BlockDevice>,
    mount: Option<Mount>,
    connections: Vec<OwnedFd>,
    options: &FuseOptions,
    direct: Option<(IoTarget, Rings)>,
) -> Result<Server, ExportError> {
    let session = Session::new(Bytes::new(device), options);
    let mut connections = connections.into_iter().map(Arc::new);
    let none = || std::io::ErrorKind::NotConnected.into();
    let fuse = connections.next().ok_or_else(|| ExportError::NoFuse(none()))?;
    let shared = Arc::new(Shared { session, mount, gone: AtomicBool::new(false) });
    let last = Arc::clone(&shared);
    let threads = Threads::new(move || last.remove_mount())?;
    let mut server = Server { shared: Arc::clone(&shared), threads, transport: "device" };
    let open = |(io_target, mut rings): (IoTarget, Rings)| {
        rings.open(fuse.as_fd(), &io_target).is_ok().then_some((io_target, rings))
    };
    let direct = direct.and_then(open);
    // From here on, returning an error drops `server`, which removes the mount.
    let agreed = channel::greet(fuse.as_fd(), &shared.session, direct.is_some())?;
    let mut threads = options.threads.max(1);
    if options.transport == Transport::Uring && !agreed.uring {
        return Err(no_uring());
    }
    if let Some((io_target, rings)) = direct.filter(|_| agreed.uring) {
        server.start_rings(io_target, rings)?;
        // FORGET and INTERRUPT still arrive through `/dev/fuse`.
        (server.transport, threads) = ("io_uring", 1);
    }
    for number in 0..threads {
        // The first thread has the original connection; the other threads have clones of it, or share the original
        // connection if cloning is not supported.
        let own = if number == 0 { Some(Arc::clone(&fuse)) } else { connections.next() };
        let own = own.or_else(|| channel::clone(fuse.as_fd()).ok().map(Arc::new));
        server.start_channel(own.unwrap_or_else(|| Arc::clone(&fuse)), number)?;
    }
    Ok(server)
}

impl Server {
    /// Removes the mount and waits until the server has finished.
    ///
    /// # Errors
    /// [`ExportError::Busy`] if the file is open or something is mounted on it; the server then
    /// continues.
    pub fn unmount(&self) -> Result<(), ExportError> {
        if let Some(mount) = &self.shared.mount
            && !self.shared.gone.load(Ordering::Acquire)
        {
            mount.remove(false)?;
            self.shared.gone.store(true, Ordering::Release);
        }
        self.threads.stop();
        Ok(())
    }

    /// Stops the server even if the file is in use. Requests in progress are completed, except that zeroing of ranges
    /// is aborted; later requests fail.
    pub fn stop(&self) {
        self.threads.stop();
        self.shared.remove_mount();
    }

    /// Waits until the mount is unmounted or [`stop`](Self::stop) is called.
    pub fn wait(&self) {
        self.threads.wait();
    }

    /// Whether the mount was unmounted, or the server stopped, and every thread has finished.
    pub fn has_ended(&self) -> bool {
        self.threads.have_ended()
    }

    /// Path of the file that represents the device; only its name if another process has created the mount.
    pub fn file(&self) -> std::path::PathBuf {
        let mount = self.shared.mount.as_ref();
        mount.map_or(Path::new(""), Mount::path).join(self.shared.session.name())
    }

    /// How requests arrive: `io_uring` or `device`.
    pub fn transport(&self) -> &'static str {
        self.transport
    }

    /// Counters of the work so far.
    pub fn stats(&self) -> Stats {
        self.shared.session.served.counters.snapshot()
    }

    fn start_channel(&self, fuse: Arc<OwnedFd>, number: usize) -> Result<(), ExportError> {
        let shared = Arc::clone(&self.shared);
        self.threads.start(format!("fuse-{number}"), move |stop| {
            if channel::serve(fuse.as_fd(), &shared.session, stop).ok() == Some(End::Unmounted) {
                shared.gone.store(true, Ordering::Release);
            }
        })
    }

    fn start_rings(&self, io_target: IoTarget, rings: Rings) -> Result<(), ExportError> {
        let io_target = Arc::new(io_target);
        let (report, reports) = std::sync::mpsc::channel();
        let pool = Arc::new(Pool::default());
        let threads = rings.queues.len() + rings.pool.len();
        for (number, own) in rings.queues.into_iter().enumerate() {
            let io_target = Arc::clone(&io_target);
            let (pool, report) = (Arc::clone(&pool), report.clone());
            let shared = Arc::clone(&self.shared);
            self.threads.start(format!("fuse-ring-{number}"), move |stop| {
                uring::serve(&shared.session, &io_target, stop, own, &pool, &report);
            })?;
        }
        for (number, ring) in rings.pool.into_iter().enumerate() {
            let (pool, report) = (Arc::clone(&pool), report.clone());
            let shared = Arc::clone(&self.shared);
            self.threads.start(format!("fuse-long-{number}"), move |stop| {
                let ended = long::serve(ring, &shared.session.served, stop, &pool, &report);
                // After an error the server stops. The thread that started the server waits until all rings have
                // reported.
                let _ = ended.or_else(|e| report.send(Err(e)));
            })?;
        }
        drop(report);
        all_serve(&reports, threads)
            .map_err(|e| ExportError::system("set up FUSE over io_uring", e))
    }
}

impl Shared {
    fn remove_mount(&self) {
        if !self.gone.swap(true, Ordering::AcqRel) {
            let _ = self.mount.as_ref().map(|mount| mount.remove(true));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
