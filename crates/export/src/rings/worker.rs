//! The thread of a ring. It receives requests, accesses the disk and replies until the kernel has released every slot
//! or `stop` is raised.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use cryptbench_blockdev::IoTarget;
use rustix::io::Errno;

use super::requests::{Answer, Buffer, Requests, Success};
use super::ring::{Ring, Tag};
use super::slow::{self, Done, Outcome};
use crate::served::Served;
use crate::stop::Stop;

const STOPPED: usize = 0;
const TOLD: usize = 1;

/// How requests arrive from the kernel, and how replies are sent back.
pub(crate) trait Transport {
    type Buffer: Buffer + Send;

    /// Asks the kernel for the first request of a slot.
    fn fetch(&mut self, requests: &mut Requests<'_, Self::Buffer>, slot: usize) -> io::Result<()>;

    /// Starts executing the request that has arrived in a slot.
    fn begin(
        &mut self,
        requests: &mut Requests<'_, Self::Buffer>,
        slot: usize,
    ) -> io::Result<Arrived>;

    /// Replies, and asks the kernel for the next request.
    fn reply(
        &mut self,
        requests: &mut Requests<'_, Self::Buffer>,
        slot: usize,
        result: Result<Success, Errno>,
    ) -> io::Result<()>;
}

/// The outcome of a request that has just arrived.
pub(crate) enum Arrived {
    /// The request is in progress on this ring, or its result is known.
    Here(Answer),
    /// Another thread has the slot's memory, together with the request.
    Lent,
}

/// Executes the requests of `ring` until no more requests can arrive or `stop` is raised. Reports once whether this has
/// started. `lanes` threads execute requests that would block the ring.
pub(crate) fn serve<T: Transport>(
    (served, io_target): (&Served, &IoTarget),
    stop: &Stop,
    (ring, buffers): (Ring, Vec<T::Buffer>),
    (transport, done): (T, Arc<Done<T::Buffer>>),
    lanes: usize,
    report: &Sender<io::Result<()>>,
) {
    let (jobs, lane) = slow::lane();
    std::thread::scope(|scope| {
        let lane = &lane;
        for _ in 0..lanes {
            let done = Arc::clone(&done);
            scope.spawn(move || slow::run(served, stop, lane, &done));
        }
        let requests = Requests::new(ring, buffers, served, io_target, jobs);
        let mut worker = Worker { requests, transport, done, dead: 0, stopping: false };
        match worker.begin(stop) {
            Ok(()) => {
                let _ = report.send(Ok(()));
                // After an error of the ring itself there is no way to report the error; the server stops.
                let _ = worker.run();
            }
            Err(e) => drop(report.send(Err(e))),
        }
    });
}

struct Worker<'a, T: Transport> {
    requests: Requests<'a, T::Buffer>,
    /// The transport, which is dropped after the ring because the ring may still access its memory.
    transport: T,
    done: Arc<Done<T::Buffer>>,
    /// Number of slots that the kernel has released.
    dead: usize,
    stopping: bool,
}

impl<T: Transport> Worker<'_, T> {
    /// Makes every slot available to the kernel.
    fn begin(&mut self, stop: &Stop) -> io::Result<()> {
        for slot in 0..self.requests.len() {
            self.transport.fetch(&mut self.requests, slot)?;
        }
        let ring = &mut self.requests.ring;
        ring.watch(stop.as_fd(), STOPPED)?;
        ring.watch(self.done.as_fd(), TOLD)?;
        ring.submit()?;
        let mut early = Vec::new();
        ring.take(&mut early);
        for &(tag, result) in &early {
            if matches!(tag, Tag::Fetch(_)) && result < 0 {
                return Err(io::Error::from_raw_os_error(-result));
            }
        }
        early.into_iter().try_for_each(|(tag, result)| self.handle(tag, result))
    }

    fn run(&mut self) -> io::Result<()> {
        let mut completions = Vec::new();
        while self.requests.in_flight() > 0 || !(self.stopping || self.dead == self.requests.len())
        {
            self.requests.ring.wait(&mut completions)?;
            for (tag, result) in completions.drain(..) {
                self.handle(tag, result)?;
            }
        }
        // Submits the last replies, which are only queued so far.
        self.requests.ring.submit()
    }

    fn handle(&mut self, tag: Tag, result: i32) -> io::Result<()> {
        match tag {
            Tag::Fetch(_) if result < 0 => {
                self.dead += 1;
                Ok(())
            }
            Tag::Fetch(slot) => self.begin_request(slot),
            Tag::Transfer(slot) => {
                let answer = self.requests.end_transfer(slot, result)?;
                self.reply(slot, answer)
            }
            Tag::Flush(slot) => {
                let answer = self.requests.end_flush(slot, result);
                self.reply(slot, answer)
            }
            Tag::Event(STOPPED) => {
                self.stopping = true;
                Ok(())
            }
            Tag::Event(_) => {
                for (slot, outcome) in self.done.take() {
                    self.hear(slot, outcome)?;
                }
                self.requests.ring.watch(self.done.as_fd(), TOLD)
            }
        }
    }

    /// Handles another thread's message about a slot.
    fn hear(&mut self, slot: usize, outcome: Outcome<T::Buffer>) -> io::Result<()> {
        match outcome {
            Outcome::Finished(result) => {
                let answer = self.requests.end_slow(slot, result);
                self.reply(slot, answer)
            }
            Outcome::Returned(buffer) => {
                *self.requests.buffer(slot) = Some(buffer);
                self.begin_request(slot)
            }
            Outcome::Released => {
                self.dead += 1;
                Ok(())
            }
        }
    }

    fn begin_request(&mut self, slot: usize) -> io::Result<()> {
        if self.stopping {
            return Ok(());
        }
        match self.transport.begin(&mut self.requests, slot)? {
            Arrived::Here(answer) => self.reply(slot, answer),
            Arrived::Lent => Ok(()),
        }
    }

    fn reply(&mut self, slot: usize, answer: Answer) -> io::Result<()> {
        let Some(result) = answer else { return Ok(()) };
        self.transport.reply(&mut self.requests, slot, result)
    }
}
