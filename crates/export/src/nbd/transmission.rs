//! Requests and replies of one connection. The connection's threads take turns to read the socket, and each executes
//! the requests that it has read, so that no request is passed from one thread to another.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};

use cryptbench_blockdev::AlignedBuf;
use rustix::io::Errno;

use super::protocol::{self, Request, command};
use super::server::Export;
use crate::errno::errno;
use crate::stop::Stop;

/// Maximum amount of data held in memory per connection: two requests of the maximum length.
const BUDGET: usize = 2 * protocol::MAX_REQUEST as usize;

/// Buffers up to this length are kept for the next request.
const KEPT: usize = 1 << 20;

/// Executes requests on `threads` threads until the client disconnects or violates the protocol. Aborts the zeroing
/// of ranges once `stop` is raised.
pub(super) fn serve(stream: &UnixStream, export: &Export, stop: &Stop, threads: usize) {
    let connection = Connection {
        stream,
        export,
        stop,
        reading: Mutex::new(true),
        writing: Mutex::new(()),
        budget: Mutex::new(BUDGET),
        freed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        // If not all requested threads start, fewer requests are in flight.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || connection.work());
        let others: Vec<_> = (1..threads).flat_map(start).collect();
        connection.work();
        // At its end, a scope waits until a thread's work is done, but not until the thread has exited.
        others.into_iter().for_each(|thread| drop(thread.join()));
    });
}

struct Connection<'a> {
    stream: &'a UnixStream,
    export: &'a Export,
    stop: &'a Stop,
    /// Locked by the thread that reads; `false` once there is nothing more to read.
    reading: Mutex<bool>,
    writing: Mutex<()>,
    /// Bytes still available for data.
    budget: Mutex<usize>,
    freed: Condvar,
}

/// A thread's memory for data.
struct Buffer {
    kept: Option<AlignedBuf>,
}

impl Buffer {
    /// `len` bytes of memory; `len` must not be 0.
    fn room(&mut self, len: usize) -> &mut [u8] {
        if self.kept.as_ref().is_none_or(|kept| kept.len() < len) {
            self.kept = None;
            self.kept = Some(AlignedBuf::zeroed(len.next_power_of_two().max(64 << 10)));
        }
        let kept = self.kept.as_mut().map(|kept| &mut kept[..len]);
        kept.unwrap_or_default()
    }

    fn tidy(&mut self) {
        if self.kept.as_ref().is_some_and(|kept| kept.len() > KEPT) {
            self.kept = None;
        }
    }
}

impl Connection<'_> {
    fn work(&self) {
        let mut buffer = Buffer { kept: None };
        while let Some(request) = self.next(&mut buffer) {
            let result = self.carry_out(&request, &mut buffer);
            let sent = self.send(&request, result, &buffer);
            self.give_back(request.data());
            buffer.tidy();
            if sent.is_err() {
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
            }
        }
    }

    /// Reads the next request, with its data in `buffer`. `None` at the end of the stream.
    fn next(&self, buffer: &mut Buffer) -> Option<Request> {
        let mut going_on = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if !*going_on {
            return None;
        }
        let request = self.read(buffer).ok().flatten();
        *going_on = request.is_some();
        request
    }

    fn read(&self, buffer: &mut Buffer) -> io::Result<Option<Request>> {
        let mut stream = self.stream;
        let mut header = [0; Request::LEN];
        stream.read_exact(&mut header)?;
        let Some(request) = Request::parse(&header) else { return Ok(None) };
        if request.command == command::DISCONNECT {
            return Ok(None);
        }
        if request.data() > protocol::MAX_REQUEST as usize {
            if request.command == command::WRITE {
                return Ok(None); // Its data would have to be read to find the next request.
            }
            return Ok(Some(request)); // Answered without any.
        }
        self.take_from_budget(request.data());
        if request.command == command::WRITE && request.len > 0 {
            let data = buffer.room(request.len as usize);
            if let Err(e) = stream.read_exact(data) {
                self.give_back(request.data());
                return Err(e);
            }
        }
        Ok(Some(request))
    }

    /// Executes a request; the data of a READ is then in `buffer`.
    fn carry_out(&self, request: &Request, buffer: &mut Buffer) -> Result<(), Errno> {
        let Export { bytes, counters, .. } = self.export;
        let Request { flags, offset, len, .. } = *request;
        let writes =
            matches!(request.command, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if writes && self.export.read_only {
            return Err(Errno::PERM);
        }
        let end = offset.checked_add(u64::from(len));
        if request.command != command::FLUSH && end.is_none_or(|end| end > bytes.size()) {
            return Err(if writes { Errno::NOSPC } else { Errno::INVAL });
        }
        let done = match request.command {
            command::READ if len > protocol::MAX_REQUEST => return Err(Errno::OVERFLOW),
            command::READ => {
                counters.read(len as usize);
                if len == 0 { Ok(()) } else { bytes.read(offset, buffer.room(len as usize)) }
            }
            command::WRITE => {
                counters.write(len as usize);
                if len == 0 { Ok(()) } else { bytes.write(offset, buffer.room(len as usize)) }
            }
            command::FLUSH => {
                counters.flush();
                bytes.flush()
            }
            command::TRIM if self.export.discard => bytes.discard(offset..offset + u64::from(len)),
            command::WRITE_ZEROES => {
                let may_discard = self.export.discard && flags & protocol::NO_HOLE == 0;
                bytes.zero(offset, u64::from(len), may_discard, self.stop)
            }
            _ => return Err(Errno::INVAL),
        };
        let done = match done {
            Ok(()) if writes && flags & protocol::FUA != 0 => {
                counters.flush();
                bytes.flush()
            }
            other => other,
        };
        done.map_err(|e| {
            counters.error();
            errno(&e)
        })
    }

    fn send(
        &self,
        request: &Request,
        result: Result<(), Errno>,
        buffer: &Buffer,
    ) -> io::Result<()> {
        let header = protocol::reply(request.cookie, result.map_or_else(on_the_wire, |()| 0));
        let data = match (&buffer.kept, request.command, result) {
            (Some(kept), command::READ, Ok(())) => &kept[..request.len as usize],
            _ => &[],
        };
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stream = self.stream;
        let mut sent = stream.write_vectored(&[IoSlice::new(&header), IoSlice::new(data)])?;
        if sent < header.len() {
            stream.write_all(&header[sent..])?;
            sent = header.len();
        }
        stream.write_all(&data[sent - header.len()..])
    }

    fn take_from_budget(&self, bytes: usize) {
        let mut left = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        while *left < bytes {
            left = self.freed.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        *left -= bytes;
    }

    fn give_back(&self, bytes: usize) {
        if bytes == 0 || bytes > protocol::MAX_REQUEST as usize {
            return;
        }
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        self.freed.notify_one();
    }
}

impl Request {
    /// Number of data bytes that the request contains or asks for.
    fn data(&self) -> usize {
        match self.command {
            command::READ | command::WRITE => self.len as usize,
            _ => 0,
        }
    }
}

/// Maps an error to one of the protocol's error numbers; all other errors become `EIO`.
fn on_the_wire(error: Errno) -> u32 {
    let known = [
        Errno::PERM,
        Errno::NOMEM,
        Errno::INVAL,
        Errno::NOSPC,
        Errno::OVERFLOW,
        Errno::OPNOTSUPP,
        Errno::SHUTDOWN,
    ];
    let error = match error {
        Errno::ROFS => Errno::PERM,
        e if known.contains(&e) => e,
        _ => Errno::IO,
    };
    error.raw_os_error() as u32
}
