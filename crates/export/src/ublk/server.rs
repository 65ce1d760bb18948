//! The threads that serve a disk: one per kernel queue.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use cryptbench_blockdev::{BlockDevice, IoTarget};
use rustix::io::Errno;

use super::abi::{self, Request};
use super::descriptors::Descriptors;
use crate::arena::Arena;
use crate::bytes::Bytes;
use crate::rings::{
    self, Arrived, Buffer, DATA_STRIDE, Done, LONG, MAX_REQUEST, Prepared, Requests, Ring, Success,
    Transport, Work, depth,
};
use crate::served::Served;
use crate::stop::Stop;
use crate::threads::{Threads, all_serve};
use crate::{ExportError, Stats};

/// Number of threads per ring for requests that would block the ring, including long requests.
const LANES: usize = 16;

/// A served disk. Dropping this value stops the server; the kernel then removes the disk.
pub struct Server {
    served: Arc<Served>,
    threads: Threads,
}

/// Serves `device` as the disk of this connection, with rings that already exist. Does not open files. Returns once
/// the disk can be [started](super::Control::start).
///
/// # Errors
/// [`ExportError::Option`] if there are no rings, or if the device is not a range of a file; [`ExportError::System`].
pub fn serve(
    device: Arc<dyn BlockDevice>,
    connection: File,
    read_only: bool,
    prepared: Prepared,
) -> Result<Server, ExportError> {
    let (Some(mut rings), Some(io_target)) = (prepared.0, device.io_target()) else {
        let reason = "ublk needs a machine that permits io_uring, and a device that is a contiguous part of a file";
        return Err(ExportError::Option(reason.to_owned()));
    };
    let failed = |e| ExportError::system("serve the disk", e);
    rings.open(connection.as_fd(), &io_target).map_err(failed)?;
    let served = Arc::new(Served::new(Bytes::new(device), read_only));
    let server = Server { served, threads: Threads::new(|| {})? };
    let (connection, io_target) = (Arc::new(connection), Arc::new(io_target));
    let (report, reports) = channel();
    let count = rings.queues.len();
    let size = (depth(count, super::MOST), rings.page);
    for (queue, (_, ring)) in (0..).zip(rings.queues) {
        let (served, io_target) = (Arc::clone(&server.served), Arc::clone(&io_target));
        let (connection, report) = (Arc::clone(&connection), report.clone());
        server.threads.start(format!("export-{queue}"), move |stop| {
            match Queue::new(&connection, queue, size, ring) {
                Ok(parts) => parts.serve((&served, &io_target), stop, &report),
                Err(e) => drop(report.send(Err(e))),
            }
        })?;
    }
    drop(report);
    all_serve(&reports, count).map_err(failed)?;
    Ok(server)
}

impl Server {
    /// Whether the disk was removed, or the server stopped, and every thread has finished.
    pub fn has_ended(&self) -> bool {
        self.threads.have_ended()
    }

    /// Stops the server. Requests in progress are completed; later requests fail.
    pub fn stop(&self) {
        self.threads.stop();
    }

    /// Counters of the work so far.
    pub fn stats(&self) -> Stats {
        self.served.counters.snapshot()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A slot's memory.
struct Place {
    arena: Arc<Arena>,
    at: usize,
}

impl Place {
    fn address(&self) -> u64 {
        self.arena.at(self.at, MAX_REQUEST) as u64
    }
}

impl Buffer for Place {
    fn data(&mut self) -> &mut [u8] {
        let start = self.arena.at(self.at, MAX_REQUEST);
        // SAFETY: the part is in the arena, as `at` checks, and belongs only to this slot.
        unsafe { std::slice::from_raw_parts_mut(start, MAX_REQUEST) }
    }

    fn leak(&self) {
        self.arena.leak();
    }
}

/// One of the kernel's queues.
struct Queue {
    number: u16,
    descriptors: Descriptors,
    ring: Ring,
    places: Vec<Place>,
}

impl Queue {
    /// Creates `depth` slots, on a machine with pages of `page` bytes.
    fn new(
        connection: &File,
        number: u16,
        (depth, page): (usize, usize),
        mut ring: Ring,
    ) -> io::Result<Self> {
        let descriptors = Descriptors::new(connection.as_fd(), number, depth, page)?;
        let arena = Arc::new(Arena::new(depth * DATA_STRIDE)?);
        // SAFETY: the arena outlives the ring, which is dropped first, together with its requests.
        unsafe { ring.pin(arena.at(0, arena.len()), arena.len()) };
        ring.enable()?;
        let place = |slot| Place { arena: Arc::clone(&arena), at: slot * DATA_STRIDE };
        Ok(Self { number, descriptors, ring, places: (0..depth).map(place).collect() })
    }

    fn serve(self, served: (&Served, &IoTarget), stop: &Stop, report: &Sender<io::Result<()>>) {
        let Self { number, descriptors, ring, places } = self;
        let done = match Done::new() {
            Ok(done) => Arc::new(done),
            Err(e) => return drop(report.send(Err(e))),
        };
        let ublk = Ublk { queue: number, descriptors };
        rings::serve(served, stop, (ring, places), (ublk, done), LANES, report);
    }
}

struct Ublk {
    queue: u16,
    descriptors: Descriptors,
}

impl Transport for Ublk {
    type Buffer = Place;

    fn fetch(&mut self, requests: &mut Requests<'_, Place>, slot: usize) -> io::Result<()> {
        let address = requests.buffer(slot).as_ref().map_or(0, Place::address);
        let fetch = abi::fetch(self.queue, slot, address);
        // SAFETY: the memory outlives the ring, and is not accessed before the request has arrived.
        unsafe { requests.ring.fetch(&fetch, slot) }
    }

    fn begin(&mut self, requests: &mut Requests<'_, Place>, slot: usize) -> io::Result<Arrived> {
        let answer = match self.descriptors.request(slot) {
            Request::Read { len, .. } | Request::Write { len, .. } if len > MAX_REQUEST => {
                Some(Err(Errno::INVAL))
            }
            // The kernel accepts a reply only from the thread that fetched the request.
            Request::Read { offset, len } if len >= LONG => {
                requests.hand_over(slot, Work::Read { offset }, len)?
            }
            Request::Read { offset, len } => requests.read(slot, offset, len)?,
            Request::Write { offset, len, sync } => requests.write(slot, offset, len, sync)?,
            Request::Flush => requests.flush(slot)?,
            Request::Other => Some(Err(Errno::OPNOTSUPP)),
        };
        Ok(Arrived::Here(answer))
    }

    fn reply(
        &mut self,
        requests: &mut Requests<'_, Place>,
        slot: usize,
        result: Result<Success, Errno>,
    ) -> io::Result<()> {
        let address = requests.buffer(slot).as_ref().map_or(0, Place::address);
        let result = match result {
            Ok(Success::Data(len) | Success::Written(len)) => len as i32,
            Err(e) => -e.raw_os_error(),
        };
        let commit = abi::commit(self.queue, slot, result, address);
        // SAFETY: as for the first request of the slot.
        unsafe { requests.ring.fetch(&commit, slot) }
    }
}
