//! The worker pool for long requests: threads that execute one request each, from the first byte to the reply.
//!
//! A ring would copy, encrypt and decrypt the parts of a long transfer one after another. Instead it lends the entry of
//! a long request to a thread of the pool. The reply is sent through that thread's own ring, so the entry's next
//! request also arrives on that ring. The kernel assigns a request to the entry that became free last, so the next long
//! transfer is executed on the same threads without involving the original ring. If a short request arrives on such a
//! thread, the entry is returned to the ring that lent it.

use std::io;
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::abi::Request;
use super::entry::{Copied, Entry};
use super::uring::commit;
use crate::rings::{Buffer as _, Done, LONG, MAX_REQUEST, Outcome, Ring, Tag};
use crate::served::Served;
use crate::stop::Stop;

const STOPPED: usize = 0;

/// An entry with a long request, and its ring.
pub(super) struct Lent {
    pub(super) entry: Entry,
    pub(super) slot: usize,
    pub(super) home: Arc<Done<Entry>>,
}

/// The queue through which rings find a free thread of the worker pool.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    /// Number of threads that are waiting for an entry.
    free: usize,
    lent: Vec<Lent>,
    over: bool,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an entry to a free thread, or returns the entry if no thread is free.
    pub(super) fn lend(&self, lent: Lent) -> Result<(), Lent> {
        let mut state = self.state();
        if state.over || state.lent.len() >= state.free {
            return Err(lent);
        }
        state.lent.push(lent);
        drop(state);
        self.came.notify_one();
        Ok(())
    }

    /// Stops the worker pool once no entry is lent.
    pub(super) fn end(&self) {
        self.state().over = true;
        self.came.notify_all();
    }

    fn take(&self) -> Option<Lent> {
        let mut state = self.state();
        state.free += 1;
        while state.lent.is_empty() && !state.over {
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.free -= 1;
        state.lent.pop()
    }
}

/// Whether a request is executed by the worker pool.
pub(super) fn is_long(request: &Request<'_>) -> bool {
    let (Request::Read { size, .. } | Request::Write { size, .. }) = request else { return false };
    (LONG..=MAX_REQUEST).contains(size)
}

/// Executes long requests until the worker pool stops or `stop` is raised. Reports once whether `ring` works.
pub(super) fn serve(
    ring: Ring,
    served: &Served,
    stop: &Stop,
    pool: &Pool,
    report: &Sender<io::Result<()>>,
) -> io::Result<()> {
    // Declared before the ring, so that the memory of an entry that the ring still uses outlives the ring.
    let mut held = None;
    let mut ring = ring;
    ring.enable()?;
    ring.watch(stop.as_fd(), STOPPED)?;
    ring.submit()?;
    let _ = report.send(Ok(()));
    while let Some(lent) = pool.take() {
        let lent = held.insert(lent);
        let Some(has_request) = keep(lent, &mut ring, served, stop)? else { break };
        if let Some(Lent { entry, slot, home }) = held.take() {
            let returned = Outcome::Returned(entry);
            home.put(slot, if has_request { returned } else { Outcome::Released });
        }
    }
    Ok(())
}

/// Executes an entry's requests for as long as these are long requests. Returns whether the entry has another request
/// or has been released by the kernel; `None` after a stop.
fn keep(
    lent: &mut Lent,
    ring: &mut Ring,
    served: &Served,
    stop: &Stop,
) -> io::Result<Option<bool>> {
    let mut completions = Vec::new();
    while let Some(result) = carry_out(&mut lent.entry, served) {
        let commit = commit(&mut lent.entry, result);
        // SAFETY: the kernel writes to the entry's memory, which outlives the ring.
        unsafe { ring.fetch(&commit, lent.slot) }?;
        let mut next = None;
        while next.is_none() {
            ring.wait(&mut completions)?;
            // If the server stops, the entry may already have its next request, which then gets no reply.
            if stop.is_raised() {
                return Ok(None);
            }
            for (tag, result) in completions.drain(..) {
                if matches!(tag, Tag::Fetch(_)) {
                    next = Some(result);
                }
            }
        }
        if next.is_some_and(|result| result < 0) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

/// The result for the reply. `None` if the request is not long.
fn carry_out(entry: &mut Entry, served: &Served) -> Option<Result<usize, Errno>> {
    let mut copy = Copied::default();
    let (_, request) = entry.request(&mut copy)?;
    let request = request.filter(is_long)?;
    let data = entry.data();
    // As in the slow lane, the shared state handles panics, and the data is not used afterwards.
    let work = AssertUnwindSafe(|| match request {
        Request::Read { offset, size } => served.read(offset, &mut data[..size]),
        Request::Write { offset, size, sync } => served.write(offset, &mut data[..size], sync),
        _ => Err(Errno::INVAL),
    });
    let result = catch_unwind(work).unwrap_or(Err(Errno::IO));
    let is_write = matches!(request, Request::Write { .. });
    Some(result.map(|len| if is_write { entry.written(len) } else { len }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lent() -> Lent {
        let entry = super::super::entry::entries(&[0]).unwrap().remove(0);
        Lent { entry, slot: 3, home: Arc::new(Done::new().unwrap()) }
    }

    #[test]
    fn nothing_is_lent_that_nobody_is_free_for() {
        let pool = Pool::default();
        assert!(pool.lend(lent()).is_err_and(|lent| lent.slot == 3));
        std::thread::scope(|scope| {
            let one = scope.spawn(|| pool.take());
            while pool.state().free == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            pool.lend(lent()).map_err(drop).unwrap();
            assert_eq!(one.join().unwrap().map(|lent| lent.slot), Some(3));
            let two = scope.spawn(|| pool.take());
            pool.end();
            assert!(two.join().unwrap().is_none());
            assert!(pool.lend(lent()).is_err(), "the pool has ended");
        });
    }
}
