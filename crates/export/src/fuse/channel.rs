//! Transfers requests with read(2) and write(2) on `/dev/fuse`. Any number of threads can do so; each thread has its
//! own clone of the connection and executes one request at a time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::abi::{self, Header, IN_HEADER, OUT_HEADER, Request, WRITE_IN};
use super::session::{Agreed, Session};
use crate::ExportError;
use crate::arena::Arena;
use crate::rings::MAX_REQUEST;
use crate::stop::Stop;

const PAGE: usize = 4096;

/// Why a thread stopped reading requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The mount is gone.
    Unmounted,
    /// Another thread or the user stopped the server.
    Stopped,
}

/// Opens `/dev/fuse` for non-blocking reads.
pub(super) fn open() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::open("/dev/fuse", flags, Mode::empty())?)
}

/// Clones the connection. The clone has its own queue of requests in progress.
pub(super) fn clone(connection: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let other = open()?;
    let number = connection.as_raw_fd() as u32;
    // SAFETY: FUSE_DEV_IOC_CLONE reads one u32, the number of a file descriptor that is open in
    // this process.
    unsafe {
        let request = rustix::ioctl::Setter::<{ abi::IOC_CLONE }, u32>::new(number);
        rustix::ioctl::ioctl(&other, request)?;
    }
    Ok(other)
}

/// A thread's buffer. The data of a WRITE begins on a page boundary, and so does the data of a
/// reply to READ; each directly follows its headers:
///
/// ```text
/// page 0 ... | in_header write_in | data ...
///                    | out_header | data ...
/// ```
struct Buffer(Arena);

const REQUEST_AT: usize = PAGE - IN_HEADER - WRITE_IN;
const REPLY_AT: usize = PAGE - OUT_HEADER;

/// Waits for INIT, the first request of a new connection, and replies to it.
pub(super) fn greet(
    fuse: BorrowedFd<'_>,
    session: &Session,
    uring: bool,
) -> Result<Agreed, ExportError> {
    let failed = |e: io::Error| ExportError::system("take the first request of the mount", e);
    let mut buffer = Buffer(Arena::new(PAGE + MAX_REQUEST).map_err(failed)?);
    let header = loop {
        let mut ready =
            [rustix::event::PollFd::from_borrowed_fd(fuse, rustix::event::PollFlags::IN)];
        match rustix::event::poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            other => other.map_err(|e| failed(e.into()))?,
        };
        match rustix::io::read(fuse, &mut buffer.0.bytes()[REQUEST_AT..]) {
            Ok(_) => break Header::parse(&buffer.0.bytes()[REQUEST_AT..]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => return Err(failed(e.into())),
        }
    };
    let header = header.ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
    let (before, after) = buffer.0.bytes().split_at_mut(PAGE);
    let mut body = before[REQUEST_AT + IN_HEADER..].to_vec();
    body.extend_from_slice(&after[..WRITE_IN]);
    let request = Request::parse(header.opcode, &[], &body);
    let Some(agreed) = request.and_then(|r| session.init(&r, uring, after)) else {
        buffer.send(fuse, header.unique, Err(Errno::PROTO));
        let (major, minor) = match request {
            Some(Request::Init { major, minor, .. }) => (major, minor),
            _ => (0, 0),
        };
        return Err(ExportError::Protocol { major, minor });
    };
    buffer.send(fuse, header.unique, Ok(agreed.len));
    Ok(agreed)
}

/// Executes requests until the mount is gone or `stop` is raised.
pub(super) fn serve(fuse: BorrowedFd<'_>, session: &Session, stop: &Stop) -> io::Result<End> {
    let waiting = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    // With EXCLUSIVE, a request wakes only one thread.
    let one = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
    epoll::add(&waiting, fuse, epoll::EventData::new_u64(0), one)?;
    epoll::add(&waiting, stop.as_fd(), epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
    let mut buffer = Buffer(Arena::new(PAGE + MAX_REQUEST)?);
    while !stop.is_raised() {
        match rustix::io::read(fuse, &mut buffer.0.bytes()[REQUEST_AT..]) {
            Ok(len) => buffer.handle(fuse, session, stop, len),
            Err(Errno::AGAIN) => {
                let mut events = [epoll::Event { flags: one, data: epoll::EventData::new_u64(0) }];
                match epoll::wait(&waiting, &mut events[..], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(e) => return Err(e.into()),
                }
            }
            // ENOENT: the request was cancelled before it was read.
            Err(Errno::INTR | Errno::NOENT) => {}
            Err(Errno::NODEV) => return Ok(End::Unmounted),
            // The connection was aborted. The mount still exists but cannot be used.
            Err(Errno::CONNABORTED) => return Ok(End::Stopped),
            Err(e) => return Err(e.into()),
        }
    }
    // Another thread may have detected the unmount first and raised `stop`.
    match rustix::io::read(fuse, &mut buffer.0.bytes()[REQUEST_AT..]) {
        Err(Errno::NODEV) => Ok(End::Unmounted),
        _ => Ok(End::Stopped),
    }
}

impl Buffer {
    /// Executes the request of `len` bytes in the buffer and sends the reply.
    fn handle(&mut self, fuse: BorrowedFd<'_>, session: &Session, stop: &Stop, len: usize) {
        let request = &self.0.bytes()[REQUEST_AT..REQUEST_AT + len];
        let Some(header) = Header::parse(request).filter(|h| h.len == len) else {
            return; // The kernel sends none such; there is nobody to reply to.
        };
        let body = request[IN_HEADER..].split_at_checked(abi::arguments_len(header.opcode));
        let parsed = body.and_then(|(a, payload)| Request::parse(header.opcode, a, payload));
        let data = PAGE..PAGE + MAX_REQUEST;
        let result = match parsed {
            None => Err(Errno::INVAL),
            Some(Request::Silent) => return,
            Some(Request::Read { offset, size }) if size <= MAX_REQUEST => {
                session.served.read(offset, &mut self.0.bytes()[data][..size])
            }
            Some(Request::Write { offset, size, sync }) if REQUEST_AT + len == PAGE + size => {
                let written = session.served.write(offset, &mut self.0.bytes()[data][..size], sync);
                written.map(|n| self.written(n))
            }
            Some(Request::Read { .. } | Request::Write { .. }) => Err(Errno::INVAL),
            Some(Request::Fsync) => session.served.flush(),
            Some(Request::Fallocate { offset, len, mode }) => {
                let zero = |may_discard| session.served.zero(offset, len, may_discard, stop);
                session.zeroing(mode).and_then(zero)
            }
            Some(other) => {
                // The buffer contains only names from the request, so the reply may overwrite its contents.
                let mut out = [0; 1024];
                let answered = session.answer(header.node, &other, &mut out);
                self.0.bytes()[data][..out.len()].copy_from_slice(&out);
                answered
            }
        };
        self.send(fuse, header.unique, result);
    }

    /// `struct fuse_write_out`.
    fn written(&mut self, bytes: usize) -> usize {
        let mut reply = abi::Reply::new(&mut self.0.bytes()[PAGE..]);
        reply.u32(bytes as u32).u32(0);
        reply.len()
    }

    /// Sends the reply; its data is already in the buffer.
    fn send(&mut self, fuse: BorrowedFd<'_>, unique: u64, result: Result<usize, Errno>) {
        let header = abi::out_header(unique, result.map_err(Errno::raw_os_error));
        let end = PAGE + result.unwrap_or(0);
        self.0.bytes()[REPLY_AT..PAGE].copy_from_slice(&header);
        // ENOENT: the requester is gone. The next read reports any other problem.
        let _ = rustix::io::write(fuse, &self.0.bytes()[REPLY_AT..end]);
    }
}
