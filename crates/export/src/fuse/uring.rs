//! FUSE requests over io_uring. Short requests stay on one thread; long requests are passed to the [worker
//! pool](super::long).
//!
//! Source of the protocol: `Documentation/filesystems/fuse/fuse-io-uring.rst` and `fs/fuse/dev_uring.c` of Linux 6.14
//! and later. The kernel has a queue for each CPU, and puts a request into the queue of the CPU that issued it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use cryptbench_blockdev::IoTarget;
use rustix::io::Errno;

use super::abi::Request;
use super::entry::{self, Copied, Entry};
use super::long::{Lent, Pool, is_long};
use super::session::Session;
use crate::rings::{
    self, Answer, Arrived, Command, Done, Queues, Requests, Ring, Success, Transport, Vector, Work,
};
use crate::stop::Stop;

/// Number of threads per ring for requests that would block the ring.
const LANES: usize = 4;

const REGISTER: u32 = 1;
const COMMIT_AND_FETCH: u32 = 2;

/// Stops the worker pool as soon as the first ring ends.
struct EndsPool<'a>(&'a Pool);

impl Drop for EndsPool<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Serves `queues` with `ring` until the mount is gone or `stop` is raised. Reports once whether serving has started.
pub(super) fn serve(
    session: &Session,
    io_target: &IoTarget,
    stop: &Stop,
    (queues, mut ring): (Queues, Ring),
    pool: &Pool,
    report: &Sender<io::Result<()>>,
) {
    let _end = EndsPool(pool);
    let made = || {
        let of = |&(queue, depth): &(u16, usize)| std::iter::repeat_n(queue, depth);
        let mut entries = entry::entries(&queues.iter().flat_map(of).collect::<Vec<_>>())?;
        let vectors = entries.iter_mut().map(Entry::vectors).collect();
        if let Some(entry) = entries.first() {
            let (start, len) = entry.arena();
            // SAFETY: the arena outlives the ring, because the ring is dropped first, together with its requests.
            unsafe { ring.pin(start, len) };
        }
        ring.enable()?;
        let done = Arc::new(Done::new()?);
        let fuse = Fuse { session, vectors, done: Arc::clone(&done), pool };
        Ok(((ring, entries), (fuse, done)))
    };
    match made() {
        Ok((memory, fuse)) => {
            rings::serve((&session.served, io_target), stop, memory, fuse, LANES, report);
        }
        Err(e) => drop(report.send(Err(e))),
    }
}

struct Fuse<'a> {
    session: &'a Session,
    /// Addresses of each entry's parts. The kernel reads these addresses when it processes an entry's registration,
    /// possibly after the registering call has returned.
    vectors: Vec<[Vector; 2]>,
    done: Arc<Done<Entry>>,
    pool: &'a Pool,
}

impl Transport for Fuse<'_> {
    type Buffer = Entry;

    fn fetch(&mut self, requests: &mut Requests<'_, Entry>, slot: usize) -> io::Result<()> {
        let Some(queue) = requests.buffer(slot).as_ref().map(|entry| entry.queue) else {
            return Ok(());
        };
        let address = self.vectors[slot].as_ptr() as u64;
        let register = Command { address, len: 2, ..command(REGISTER, queue, 0) };
        // SAFETY: both parts are in the entry's arena, which outlives the ring. `vectors` also outlives the ring, and
        // no longer changes. Nobody accesses the parts before the entry is fetched.
        unsafe { requests.ring.fetch(&register, slot) }
    }

    fn begin(&mut self, requests: &mut Requests<'_, Entry>, slot: usize) -> io::Result<Arrived> {
        let place = requests.buffer(slot);
        let Some(mut entry) = place.take() else { return Ok(Arrived::Lent) };
        let mut copy = Copied::default();
        let arrived = entry.request(&mut copy);
        let long = matches!(&arrived, Some((_, Some(request))) if is_long(request));
        if long {
            match self.pool.lend(Lent { entry, slot, home: Arc::clone(&self.done) }) {
                Ok(()) => return Ok(Arrived::Lent),
                Err(lent) => entry = lent.entry,
            }
        }
        *place = Some(entry);
        let Some((node, request)) = arrived else { return Ok(Arrived::Here(None)) };
        self.carry_out(requests, slot, node, request).map(Arrived::Here)
    }

    fn reply(
        &mut self,
        requests: &mut Requests<'_, Entry>,
        slot: usize,
        result: Result<Success, Errno>,
    ) -> io::Result<()> {
        let Some(entry) = requests.buffer(slot) else { return Ok(()) };
        let result = result.map(|success| match success {
            Success::Data(len) => len,
            Success::Written(len) => entry.written(len),
        });
        let commit = commit(entry, result);
        // SAFETY: the kernel writes to the parts that it knows from the registration.
        unsafe { requests.ring.fetch(&commit, slot) }
    }
}

impl Fuse<'_> {
    fn carry_out(
        &self,
        requests: &mut Requests<'_, Entry>,
        slot: usize,
        node: u64,
        request: Option<Request<'_>>,
    ) -> io::Result<Answer> {
        let mut out = [0; 1024];
        let answered = match request {
            None | Some(Request::Init { .. }) => Err(Errno::INVAL),
            Some(Request::Read { offset, size }) => return requests.read(slot, offset, size),
            Some(Request::Write { offset, size, sync }) => {
                return requests.write(slot, offset, size, sync);
            }
            Some(Request::Fsync) => return requests.flush(slot),
            Some(Request::Fallocate { offset, len, mode }) => match self.session.zeroing(mode) {
                Ok(may_discard) => {
                    return requests.hand_over(slot, Work::Zero { offset, len, may_discard }, 0);
                }
                Err(e) => Err(e),
            },
            Some(request) => self.session.answer(node, &request, &mut out),
        };
        if let Ok(len) = answered {
            requests.data(slot)[..len].copy_from_slice(&out[..len]);
        }
        Ok(Some(answered.map(Success::Data)))
    }
}

/// Writes the reply's header, for this number of data bytes or for an error, and requests the entry's next request.
pub(super) fn commit(entry: &mut Entry, result: Result<usize, Errno>) -> Command {
    entry.answer(result);
    command(COMMIT_AND_FETCH, entry.queue, entry.commit_id)
}

/// A command with `struct fuse_uring_cmd_req`: flags, `commit_id` and the queue.
fn command(operation: u32, queue: u16, commit_id: u64) -> Command {
    let mut body = [0; 80];
    body[8..16].copy_from_slice(&commit_id.to_ne_bytes());
    body[16..18].copy_from_slice(&queue.to_ne_bytes());
    Command { operation, body, address: 0, len: 0 }
}
