//! The hot loop: prepares, submits, waits for and completes requests.
//!
//! One thread performs all of these steps for its ring. A slot is one request in flight; its buffers belong to the
//! request from submission to completion.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::io_buffers::IoBuffers;
use super::pipe::{Pipe, TICK};
use super::session::Session;
use super::submit::{Hold, Submitter};
use crate::clock::Clock;
use crate::engine::transfer::{Task, flush_or_stop};
use crate::engine::{STOP_PATIENCE, STOP_POLL};
use crate::offsets::OffsetGenerator;
use crate::window::{Completed, Sink};
use crate::{LoadError, Operation};

/// Maximum number of resubmitted reads per task, so that a device that refuses all resubmissions ends the task.
const MOST_AGAIN: u32 = 1 << 16;

/// Flags that end the requests early.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    /// Set when another ring of the job has failed: no further requests are submitted.
    pub(super) halt: &'a AtomicBool,
    /// Set by the user: requests in flight that take too long are abandoned.
    pub(super) stop: &'a AtomicBool,
}

/// Executes requests until the sink has enough, no requests remain, a request fails, or a flag in `ends` is set. Then
/// waits for the requests in flight. Returns whether the stop flag ended the job.
///
/// Afterwards `session.in_flight` is zero unless the device hung.
pub(super) fn drive<P: OffsetGenerator, S: Sink>(
    session: &mut Session,
    mut submitter: Submitter<'_, P>,
    (io_buffers, task): (&IoBuffers, &Task),
    (clock, began): (&Clock, u64),
    sink: &mut S,
    Ends { halt, stop }: Ends<'_>,
) -> Result<bool, LoadError> {
    let transfer = &task.transfer;
    let mut pipe = Pipe::new(session);
    // Optional: saves a look-up in the kernel per call.
    let fixed_ring = pipe.submitter.register_ring_fd().is_ok();

    let mut failure = None;
    let mut draining = false;
    let mut stopped: Option<u64> = None;
    // Slots without a request: initially all slots, later the slots whose next request has to wait.
    let mut idle: Vec<usize> = (0..io_buffers.depth).rev().collect();
    // Whether the sink has been notified that nothing is in flight.
    let mut idled = false;
    let mut again = 0_u32;
    submitter.begin(began);
    let mut now = clock.ns();
    submitter.at(now);
    loop {
        while !draining && let Some(&slot) = idle.last() {
            if !submitter.start(&mut pipe.sq, slot) {
                break;
            }
            idle.pop();
            if idled {
                idled = false;
                sink.resumed();
            }
            *pipe.in_flight += 1;
            submitter.submit_if_full(&mut pipe);
        }
        let mut pause = None;
        if submitter.governed && !draining {
            match submitter.hold(now) {
                Hold::Flush if *pipe.in_flight == 0 => {
                    let data_only = transfer.every.is_some_and(|every| every.data_only);
                    let flushed = flush(&mut pipe, &submitter, task, data_only, clock, stop);
                    now = clock.ns();
                    submitter.at(now);
                    match flushed {
                        Ok(true) => {
                            submitter.flushed();
                            sink.flushed(now);
                            continue;
                        }
                        Ok(false) if *pipe.in_flight > 0 => return Ok(true),
                        Ok(false) => stopped = Some(now),
                        Err(e) => failure = Some(e),
                    }
                    break;
                }
                Hold::Until(due) if !submitter.ended => pause = Some(due - now),
                _ => {}
            }
        }
        if *pipe.in_flight == 0 {
            let Some(pause) = pause else { break };
            std::thread::sleep(Duration::from_nanos(pause).min(STOP_POLL));
            now = clock.ns();
            sink.idle(now);
            draining |= sink.finished();
            idled = true;
        } else {
            submitter.before_wait(&mut pipe);
            if let Err(e) = pipe.wait(pause) {
                // After this error, it is not possible to wait for the requests in flight.
                let what = "waiting for io_uring";
                return Err(failure.unwrap_or(LoadError::Setup { what, source: e }));
            }
            now = clock.ns();
        }
        submitter.at(now);
        draining |= halt.load(Relaxed);
        if stop.load(Relaxed) {
            draining = true;
            stopped.get_or_insert(now);
        }
        while let Some(completion) = pipe.cq.next() {
            if completion.user_data() == TICK {
                *pipe.ticking = false;
                continue;
            }
            *pipe.in_flight -= 1;
            let slot = completion.user_data() as usize;
            let request = submitter.slots[slot];
            let (operation, offset, len) = (request.operation, request.offset, request.len);
            // Device mapper may refuse a request if the kernel can no longer pass it to a worker.
            if completion.result() == -libc::EAGAIN
                && operation == Operation::Read
                && len > 0
                && again < MOST_AGAIN
            {
                again += 1;
                submitter.read_again(&mut pipe.sq, slot);
                *pipe.in_flight += 1;
                submitter.submit_if_full(&mut pipe);
                continue;
            }
            if completion.result() != request.piece as i32 {
                draining = true;
                let offset = offset + u64::from(request.moved);
                failure.get_or_insert(refused(
                    operation,
                    offset,
                    request.piece,
                    completion.result(),
                ));
                continue;
            }
            if submitter.goes_on(&mut pipe.sq, slot) {
                *pipe.in_flight += 1;
                submitter.submit_if_full(&mut pipe);
                continue;
            }
            if len == 0 {
                sink.flushed(now);
            } else {
                let mut done = now;
                if let (Operation::Read, Some(transform)) = (operation, &transfer.transform) {
                    // SAFETY: the slot's request has completed, and `slot` came from `start`.
                    transform.open(offset, unsafe { io_buffers.read(slot, len as usize) });
                    done = clock.ns();
                    submitter.at(done);
                }
                let (started, taken) = (request.started, request.taken);
                sink.completed(&Completed { operation, offset, len, started, taken, done });
                submitter.asks_again(done);
            }
            draining |= sink.finished();
            if !draining && submitter.start(&mut pipe.sq, slot) {
                *pipe.in_flight += 1;
                submitter.submit_if_full(&mut pipe);
            } else {
                idle.push(slot);
            }
        }
        // Tells the kernel which entries were processed. Otherwise the kernel counts these entries as new and ends the
        // wait immediately.
        pipe.cq.sync();
        if *pipe.in_flight > 0
            && stopped.is_some_and(|at| now - at > STOP_PATIENCE.as_nanos() as u64)
        {
            return failure.map_or(Ok(true), Err);
        }
    }
    if failure.is_none() && stopped.is_none() && submitter.ended && sink.exhausted(now) {
        match flush(&mut pipe, &submitter, task, false, clock, stop) {
            Ok(true) => sink.flushed(clock.ns()),
            Ok(false) if *pipe.in_flight > 0 => return Ok(true),
            Ok(false) => stopped = Some(now),
            Err(e) => failure = Some(e),
        }
    }
    if fixed_ring {
        let _ = pipe.submitter.unregister_ring_fd();
    }
    failure.map_or(Ok(stopped.is_some()), Err)
}

/// Flushes the file while no other request is in flight. Returns false if the stop flag interrupted the flush.
fn flush<P: OffsetGenerator>(
    pipe: &mut Pipe<'_>,
    submitter: &Submitter<'_, P>,
    task: &Task,
    data_only: bool,
    clock: &Clock,
    stop: &AtomicBool,
) -> Result<bool, LoadError> {
    if pipe.can_flush() {
        pipe.flush(submitter.file(), data_only, clock, stop)
    } else {
        flush_or_stop(&task.transfer.file, data_only, stop)
    }
}

#[cold]
fn refused(operation: Operation, offset: u64, len: u32, result: i32) -> LoadError {
    if result < 0 {
        let source = io::Error::from_raw_os_error(-result);
        if len == 0 {
            return LoadError::Sync { source };
        }
        LoadError::Io { operation, offset, len, source }
    } else {
        LoadError::Short { operation, offset, wanted: len, got: result as u32 }
    }
}
