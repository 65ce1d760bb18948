//! The threads behind a mount, and the handle that stops them.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use cryptbench_blockdev::{BlockDevice, IoTarget, never_waits};

use super::channel::{self, End};
use super::long::{self, Pool};
use super::mount::Mount;
use super::options::{FuseOptions, Transport};
use super::session::Session;
use super::switch::UringSwitch;
use super::uring::{self, Rings};
use crate::bytes::Bytes;
use crate::stop::Stop;
use crate::{ExportError, Stats};

/// A served mount. Dropping it removes the mount, even if it is in use.
pub struct Server {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    transport: &'static str,
}

/// State shared by a server's threads.
struct Shared {
    session: Session,
    stop: Stop,
    /// `None` if another process has made it.
    mount: Option<Mount>,
    /// Set once the mount is gone, so that nobody removes another mount from the same path.
    gone: AtomicBool,
    /// Number of threads that are still running.
    threads: AtomicUsize,
}

/// Serves `device` as the only file of a mount at the directory `path`, until it is unmounted.
///
/// The file exists when this function returns. Any end of the server, including a panic, removes
/// the mount; after a kill, [`remove_stale_mount`](super::remove_stale_mount) does.
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
    // io_uring drives the disk directly; threads serve a device that needs a call for each request.
    if options.transport != Transport::Device
        && let Some(io_target) = device.io_target()
        && let Some(switch) = UringSwitch::on()
    {
        let (device, rings) = (Arc::clone(&device), rings(options));
        let started = Mount::new(path, options).and_then(|(mount, fuse)| {
            // The switch is on until the kernel has read it.
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
    let reason = "FUSE over io_uring needs Linux 6.14, the module option fuse.enable_uring, a machine \
                  that permits io_uring, and a device that is a run of a file";
    ExportError::Option(reason.to_owned())
}

/// The rings for a server with these options; `None` if there are none to be had.
pub(super) fn rings(options: &FuseOptions) -> Option<Rings> {
    // Of the worker pool some wait for the next request on one CPU while requests arrive on another.
    (options.transport != Transport::Device)
        .then(|| Rings::new(2 * options.threads.max(1)))
        .flatten()
}

/// Serves a new mount by a connection to the kernel and, if there are any, its clones; by the rings of `direct`, if
/// there are any.
pub(super) fn begin(
    device: Arc<dyn BlockDevice>,
    mount: Option<Mount>,
    connections: Vec<OwnedFd>,
    options: &FuseOptions,
    direct: Option<(IoTarget, Rings)>,
) -> Result<Server, ExportError> {
    let session = Session::new(Bytes::new(device), options);
    let stop = Stop::new().map_err(|e| ExportError::system("make an event", e))?;
    let mut connections = connections.into_iter().map(Arc::new);
    let none = || std::io::ErrorKind::NotConnected.into();
    let fuse = connections.next().ok_or_else(|| ExportError::NoFuse(none()))?;
    let shared = Arc::new(Shared {
        session,
        stop,
        mount,
        gone: AtomicBool::new(false),
        threads: AtomicUsize::new(0),
    });
    let mut server =
        Server { shared: Arc::clone(&shared), threads: Mutex::default(), transport: "device" };
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
        // The first thread has the original connection; the others have clones of it, or share it if there are none.
        let own = if number == 0 { Some(Arc::clone(&fuse)) } else { connections.next() };
        let own = own.or_else(|| channel::clone(fuse.as_fd()).ok().map(Arc::new));
        server.start_channel(own.unwrap_or_else(|| Arc::clone(&fuse)), number)?;
    }
    Ok(server)
}

impl Server {
    /// Removes the mount and waits until the server has ended.
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
        self.shared.stop.raise();
        self.wait();
        Ok(())
    }

    /// Ends the server even if the file is in use. Requests in progress are completed, except that
    /// zeroing of ranges is aborted; later requests fail.
    pub fn stop(&self) {
        self.shared.stop.raise();
        self.wait();
        self.shared.remove_mount();
    }

    /// Waits until the mount is unmounted or [`stop`](Self::stop) is called.
    pub fn wait(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic was already reported, and has ended the server.
            let _ = thread.join();
        }
    }

    /// Whether the mount was unmounted, or the server stopped, and every thread has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.threads.load(Ordering::Acquire) == 0
    }

    /// Path of the file that represents the device; its name alone if another process has made the mount.
    #[must_use]
    pub fn file(&self) -> std::path::PathBuf {
        let mount = self.shared.mount.as_ref();
        mount.map_or(Path::new(""), Mount::path).join(self.shared.session.name())
    }

    /// How requests arrive: `io_uring` or `device`.
    #[must_use]
    pub fn transport(&self) -> &'static str {
        self.transport
    }

    /// Counters of the work so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.session.counters.snapshot()
    }

    fn start_channel(&self, fuse: Arc<OwnedFd>, number: usize) -> Result<(), ExportError> {
        self.start(format!("fuse-{number}"), move |shared| {
            if channel::serve(fuse.as_fd(), &shared.session, &shared.stop).ok()
                == Some(End::Unmounted)
            {
                shared.gone.store(true, Ordering::Release);
            }
        })
    }

    fn start_rings(&self, io_target: IoTarget, rings: Rings) -> Result<(), ExportError> {
        // Otherwise each request to a file in RAM would pass through a worker thread.
        let _ = never_waits(&io_target.file);
        let io_target = Arc::new(io_target);
        let (report, reports) = std::sync::mpsc::channel();
        let pool = Arc::new(Pool::default());
        let threads = rings.queues.len() + rings.pool.len();
        for (number, own) in rings.queues.into_iter().enumerate() {
            let io_target = Arc::clone(&io_target);
            let (pool, report) = (Arc::clone(&pool), report.clone());
            self.start(format!("fuse-ring-{number}"), move |shared| {
                let Shared { session, stop, .. } = shared;
                uring::serve(session, &io_target, stop, own, &pool, &report);
            })?;
        }
        for (number, ring) in rings.pool.into_iter().enumerate() {
            let (pool, report) = (Arc::clone(&pool), report.clone());
            self.start(format!("fuse-long-{number}"), move |shared| {
                let Shared { session, stop, .. } = shared;
                let ended = long::serve(ring, session, stop, &pool, &report);
                // After an error the server ends. Who started it listens until all have a ring.
                let _ = ended.or_else(|e| report.send(Err(e)));
            })?;
        }
        drop(report);
        for _ in 0..threads {
            reports
                .recv()
                .unwrap_or_else(|_| Err(std::io::ErrorKind::BrokenPipe.into()))
                .map_err(|e| ExportError::system("set up FUSE over io_uring", e))?;
        }
        Ok(())
    }

    /// Starts a thread whose end, for whatever reason, ends the server.
    fn start(
        &self,
        name: String,
        body: impl FnOnce(&Shared) + Send + 'static,
    ) -> Result<(), ExportError> {
        let shared = Arc::clone(&self.shared);
        shared.threads.fetch_add(1, Ordering::AcqRel);
        let ended = EndsServer(shared);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || {
                let ended = ended;
                body(&ended.0);
            })
            .map_err(|e| ExportError::system("start a thread", e))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }
}

impl Shared {
    fn remove_mount(&self) {
        if !self.gone.swap(true, Ordering::AcqRel) {
            let _ = self.mount.as_ref().map(|mount| mount.remove(true));
        }
    }
}

/// A thread's share in the server: when one thread ends, all others do too, and the last one
/// removes the mount.
struct EndsServer(Arc<Shared>);

impl Drop for EndsServer {
    fn drop(&mut self) {
        self.0.stop.raise();
        if self.0.threads.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.remove_mount();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
