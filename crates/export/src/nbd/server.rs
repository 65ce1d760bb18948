//! The socket, its connections, and the handle that stops the server.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cryptbench_blockdev::BlockDevice;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::protocol::export;
use super::{handshake, transmission};
use crate::bytes::Bytes;
use crate::stats::Counters;
use crate::stop::Stop;
use crate::{ExportError, Stats};

/// Options of [`serve`].
#[derive(Clone, Debug)]
pub struct NbdOptions {
    /// Name of the export; also used for clients that do not request a name.
    pub name: String,
    /// Refuses every write.
    pub read_only: bool,
    /// Offers TRIM.
    pub discard: bool,
    /// Maximum number of requests that one connection executes in parallel.
    pub threads: usize,
    /// Maximum number of simultaneous connections; the server disconnects further clients.
    pub connections: usize,
    /// How long a client may pause during the negotiation, and how long it may leave replies unread when the server
    /// stops. At other times, there is no time limit, because a client may be stopped, for example in a debugger.
    pub patience: Duration,
}

impl Default for NbdOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            read_only: false,
            discard: false,
            threads: 16,
            connections: 16,
            patience: Duration::from_secs(20),
        }
    }
}

/// The served device and its options.
pub(super) struct Export {
    pub(super) bytes: Bytes,
    pub(super) counters: Counters,
    pub(super) name: String,
    pub(super) read_only: bool,
    pub(super) discard: bool,
}

impl Export {
    /// Transmission flags.
    pub(super) fn flags(&self) -> u16 {
        let mut flags = export::HAS_FLAGS
            | export::SEND_FLUSH
            | export::SEND_FUA
            | export::SEND_WRITE_ZEROES
            | export::CAN_MULTI_CONN;
        for (given, flag) in
            [(self.read_only, export::READ_ONLY), (self.discard, export::SEND_TRIM)]
        {
            if given {
                flags |= flag;
            }
        }
        flags
    }
}

/// A served socket. Dropping this value closes every connection and removes the socket.
pub struct NbdServer {
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
    /// `None` if another process created the socket.
    socket: Option<NbdSocket>,
}

/// A listening socket, on which this process or another process can serve. Dropping this value removes the socket.
pub struct NbdSocket {
    path: PathBuf,
    listener: File,
}

impl NbdSocket {
    /// Creates a Unix socket at `path`, which only this user can open.
    ///
    /// Replaces a socket that a killed server left at `path`.
    ///
    /// # Errors
    /// [`ExportError::System`], also if something else exists at `path`, or if a running server uses the socket.
    pub fn new(path: &Path) -> Result<Self, ExportError> {
        let failed = |e: io::Error| ExportError::system(format!("serve at {}", path.display()), e);
        let path = std::path::absolute(path).map_err(failed)?;
        let listener = OwnedFd::from(listen(&path).map_err(failed)?).into();
        Ok(Self { path, listener })
    }

    /// The argument of [`serve_on`].
    pub fn listener(&self) -> &File {
        &self.listener
    }
}

impl Drop for NbdSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Shared {
    export: Export,
    stop: Stop,
    options: NbdOptions,
    open: Mutex<HashMap<u64, UnixStream>>,
    /// Signals that a connection has closed.
    closed: Condvar,
}

/// Serves `device` on a new Unix socket at `path`, which only this user can open.
///
/// Replaces a socket that a killed server left at `path`.
///
/// # Errors
/// [`ExportError::System`], also if something else exists at `path`, or if a running server uses the socket.
pub fn serve(
    device: Arc<dyn BlockDevice>,
    path: &Path,
    options: &NbdOptions,
) -> Result<NbdServer, ExportError> {
    let socket = NbdSocket::new(path)?;
    let listener = socket.listener.try_clone();
    let listener = listener.map_err(|e| ExportError::system("share a socket", e))?;
    let mut server = serve_on(device, listener, options)?;
    server.socket = Some(socket);
    Ok(server)
}

/// Like [`serve`], but on the [listener](NbdSocket::listener) of a socket that another process creates
/// and removes.
///
/// # Errors
/// [`ExportError::System`].
pub fn serve_on(
    device: Arc<dyn BlockDevice>,
    listener: File,
    options: &NbdOptions,
) -> Result<NbdServer, ExportError> {
    let failed = |e: io::Error| ExportError::system("serve", e);
    let listener = UnixListener::from(OwnedFd::from(listener));
    let export = Export {
        read_only: options.read_only || device.is_read_only(),
        bytes: Bytes::new(device),
        counters: Counters::default(),
        name: options.name.clone(),
        discard: options.discard,
    };
    let stop = Stop::new().map_err(failed)?;
    let (open, closed) = (Mutex::default(), Condvar::new());
    let shared = Arc::new(Shared { export, stop, options: options.clone(), open, closed });
    let mut server = NbdServer { shared: Arc::clone(&shared), listener: None, socket: None };
    let thread = std::thread::Builder::new().name("nbd".to_owned());
    let thread = thread.spawn(move || shared.accept(&listener)).map_err(failed)?;
    server.listener = Some(thread);
    Ok(server)
}

impl NbdServer {
    /// Path of the socket; empty if another process created it.
    pub fn socket(&self) -> &Path {
        self.socket.as_ref().map_or(Path::new(""), |socket| &socket.path)
    }

    /// Counters of the work so far.
    pub fn stats(&self) -> Stats {
        self.shared.export.counters.snapshot()
    }

    /// Closes every connection once its requests in progress are done, and removes the socket. Aborts the
    /// zeroing of ranges, and drops replies that a client does not read within
    /// [`patience`](NbdOptions::patience).
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(listener) = self.listener.take() else { return };
        self.shared.stop.raise();
        self.socket = None;
        for stream in self.shared.open().values() {
            let _ = stream.shutdown(Shutdown::Read);
        }
        let _ = listener.join();
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, UnixStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts connections until the server stops, then waits until all connections have ended.
    fn accept(&self, listener: &UnixListener) {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for number in 0.. {
                let Some(stream) = self.next(listener) else { break };
                let Ok(second) = stream.try_clone() else { continue };
                {
                    let mut open = self.open();
                    if self.stop.is_raised() || open.len() >= self.options.connections {
                        continue; // Dropping the stream sends the client away.
                    }
                    open.insert(number, second);
                }
                let thread = std::thread::Builder::new().name(format!("nbd-{number}"));
                let started = thread.spawn_scoped(scope, move || {
                    let _closed = Closes { shared: self, number };
                    self.talk(&stream);
                });
                match started {
                    Ok(thread) => threads.push(thread),
                    Err(_) => drop(self.open().remove(&number)),
                }
                let ended = threads.extract_if(.., |thread| thread.is_finished());
                ended.for_each(|thread| drop(thread.join()));
            }
            // Shuts down connections that were accepted after the flag was raised, but before all earlier connections
            // were shut down.
            let open = self.open();
            for stream in open.values() {
                let _ = stream.shutdown(Shutdown::Read);
            }
            let waited = self
                .closed
                .wait_timeout_while(open, self.options.patience, |open| !open.is_empty());
            let (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
            for stream in open.values() {
                // Aborts a write that waits for the client.
                let _ = stream.shutdown(Shutdown::Both);
            }
            drop(open);
            threads.into_iter().for_each(|thread| drop(thread.join()));
        });
    }

    fn next(&self, listener: &UnixListener) -> Option<UnixStream> {
        loop {
            let mut ready =
                [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) if self.stop.is_raised() => return None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
            match listener.accept() {
                Ok((stream, _)) => return Some(stream),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                // All file descriptors are in use: wait until a connection closes.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn talk(&self, stream: &UnixStream) {
        let _ = stream.set_nonblocking(false);
        let timeouts = |patience| {
            stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience))
        };
        // A timeout of zero cannot be set; the shortest possible timeout is used instead.
        let _ = timeouts(Some(self.options.patience.max(Duration::from_millis(1))));
        let agreed = handshake::negotiate(&mut &*stream, &self.export).unwrap_or(false);
        if agreed && timeouts(None).is_ok() {
            let threads = self.options.threads.max(1);
            transmission::serve(stream, &self.export, &self.stop, threads);
        }
    }
}

/// Removes a connection from the list when its thread ends, for whatever reason.
struct Closes<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.shared.open().remove(&self.number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.shared.closed.notify_all();
    }
}

/// A socket that, from its creation on, only this user can open.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // bind(2) gives the file the socket's mode (net/unix/af_unix.c), so no other user ever has
    // access.
    rustix::fs::fchmod(socket.as_fd(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    let address = SocketAddrUnix::new(path)?;
    match rustix::net::bind(&socket, &address) {
        Err(Errno::ADDRINUSE) if is_abandoned(path) => {
            std::fs::remove_file(path)?;
            rustix::net::bind(&socket, &address)?;
        }
        other => other?,
    }
    rustix::net::listen(&socket, 16)?;
    Ok(socket.into())
}

/// Whether `path` is a socket without a listener.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    let refused = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).err().is_some_and(refused)
}
