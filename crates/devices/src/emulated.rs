//! A block device with a model's timing: it performs each request on the backing, then waits until the model would have
//! completed the request.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cryptbench_blockdev::BlockDevice;
use cryptbench_os::counters::DeviceCounts;

use crate::counted::Counted;
use crate::engine::Engine;
use crate::model::Model;
use crate::request::{Operation, Request};

/// A sleep can end late by about this much. The device polls the clock for this last part of a wait.
const SPIN: Duration = Duration::from_micros(60);

/// A request that completes at most this much later than the model counts as in time.
const TOLERATED: Duration = Duration::from_micros(50);

/// The largest request that FUSE forwards (`export`). A request that starts where another request of this length ends,
/// while the other is in progress, counts as the next piece of the other.
const PIECE: u64 = 256 << 10;

/// A device on top of `D` that is as slow as its model.
///
/// Any number of threads may send requests; the model decides how many it processes in parallel. If the model is faster
/// than the machine, requests complete late; [`kept`](Self::kept) counts such requests.
pub struct EmulatedDevice<D> {
    backing: D,
    engine: Mutex<State>,
    origin: Instant,
    delayed: AtomicBool,
    /// Nanoseconds that a request takes from the host to this device and back; the model does not include this time.
    transport_ns: AtomicU64,
    requests: AtomicU64,
    late: AtomicU64,
    late_ns: AtomicU64,
}

struct State {
    engine: Engine,
    counted: Counted,
    /// End of the last request of [`PIECE`] length, its operation, and its completion time.
    piece: Option<(u64, Operation, f64)>,
}

/// How well an emulated device kept the times of its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Requests that had to wait.
    pub requests: u64,
    /// Number of these requests that completed more than 50 microseconds later than in the model, because the model is
    /// faster than the real storage, or because the machine was busy.
    pub late: u64,
    /// Total delay of these.
    pub late_by: Duration,
}

impl<D: BlockDevice> EmulatedDevice<D> {
    /// An idle device. Requests are not delayed before [`set_delayed`](Self::set_delayed) is called.
    pub fn new(backing: D, model: &Model) -> Self {
        let engine = Engine::new(model, model.capacity_for(backing.size()));
        Self {
            backing,
            engine: Mutex::new(State { engine, counted: Counted::default(), piece: None }),
            origin: Instant::now(),
            delayed: AtomicBool::new(false),
            transport_ns: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            late: AtomicU64::new(0),
            late_ns: AtomicU64::new(0),
        }
    }

    /// Sets whether requests wait for the model. Without delays, the device can be set up and the transport measured.
    pub fn set_delayed(&self, delayed: bool) {
        self.delayed.store(delayed, Ordering::Release);
    }

    /// Sets the round trip time of a request, measured without delays; the device subtracts this time from each wait.
    pub fn set_transport(&self, round_trip: Duration) {
        self.transport_ns.store(round_trip.as_nanos() as u64, Ordering::Release);
    }

    /// How well the device has kept the model's times so far.
    pub fn kept(&self) -> Kept {
        Kept {
            requests: self.requests.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            late_by: Duration::from_nanos(self.late_ns.load(Ordering::Relaxed)),
        }
    }

    /// The requests that have reached the device since delays were enabled, with the model's times. A request that the
    /// transport splits counts as one request.
    pub fn counts(&self) -> DeviceCounts {
        self.state().counted.at(self.origin.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs `act`, and waits until the model would have completed the request.
    fn keep_time(
        &self,
        operation: Operation,
        offset: u64,
        bytes: u64,
        act: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.delayed.load(Ordering::Acquire) {
            return act();
        }
        let half = Duration::from_nanos(self.transport_ns.load(Ordering::Relaxed) / 2);
        let arrived = self.origin.elapsed();
        // The host sent the request earlier than it arrived here.
        let sent = arrived.saturating_sub(half).as_secs_f64();
        let done = {
            let mut state = self.state();
            let continues = state.piece.is_some_and(|(end, kind, until)| {
                end == offset && kind == operation && sent < until
            });
            let request = Request { operation, offset, bytes, arrival_s: sent, continues };
            let done = state.engine.submit(&request);
            let until = state.piece.map(|(.., until)| until);
            state.counted.request(&request, until.filter(|_| continues), done);
            state.piece = (bytes == PIECE).then_some((offset + bytes, operation, done));
            done
        };
        act()?;
        // The host receives the completion later than this device reports it.
        let until = Duration::from_secs_f64(done).saturating_sub(half);
        wait_until(self.origin + until);
        let late = self.origin.elapsed().saturating_sub(until);
        self.requests.fetch_add(1, Ordering::Relaxed);
        if late > TOLERATED {
            self.late.fetch_add(1, Ordering::Relaxed);
            self.late_ns.fetch_add(late.as_nanos() as u64, Ordering::Relaxed);
            self.state().counted.late(operation, done, late.as_secs_f64());
        }
        Ok(())
    }
}

/// Sleeps until shortly before `moment`, then polls the clock.
fn wait_until(moment: Instant) {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > SPIN {
            std::thread::sleep(left - SPIN);
        } else {
            // Other threads may need the CPU; on an idle CPU, this call returns immediately.
            std::thread::yield_now();
        }
    }
}

impl<D: BlockDevice> BlockDevice for EmulatedDevice<D> {
    fn size(&self) -> u64 {
        self.backing.size()
    }

    fn sector(&self) -> usize {
        self.backing.sector()
    }

    fn is_read_only(&self) -> bool {
        self.backing.is_read_only()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let bytes = buf.len() as u64;
        self.keep_time(Operation::Read, offset, bytes, || self.backing.read_at(offset, buf))
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let bytes = data.len() as u64;
        self.keep_time(Operation::Write, offset, bytes, || self.backing.write_at(offset, data))
    }

    fn flush(&self) -> io::Result<()> {
        self.keep_time(Operation::Flush, 0, 0, || self.backing.flush())
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_blockdev::MemoryDevice;

    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_no_request_is_done_before_the_model() {
        let model = Model::named("hdd-7200").unwrap();
        let device = EmulatedDevice::new(MemoryDevice::new(vec![0; 8 << 20]), &model);
        device.write_at(4096, &[7; 4096]).unwrap();
        device.set_delayed(true);
        let mut engine = Engine::new(&model, model.capacity_for(8 << 20));
        let began = Instant::now();
        let mut buf = [0; 4096];
        device.read_at(4096, &mut buf).unwrap();
        assert_eq!(buf, [7; 4096]);
        // A lower bound holds even on a busy machine: only the rotation is not waited for.
        let least = engine.submit(&Request {
            operation: Operation::Read,
            offset: 4096,
            bytes: 4096,
            arrival_s: 0.0,
            continues: false,
        });
        assert!(least > 0.0 && began.elapsed() >= Duration::from_micros(55));
        assert_eq!(device.kept().requests, 1);
        assert!(device.read_at(8 << 20, &mut buf).is_err());
        device.flush().unwrap();
        assert_eq!(device.kept().requests, 2);
    }

    #[test]
    fn a_backing_without_a_name_holds_what_is_written() {
        let dir = tempfile::tempdir_in(".").unwrap();
        for backing in [Backing::memory(1 << 20), Backing::file_in(dir.path(), 1 << 20)] {
            let backing = match backing {
                Err(e) if e.kind() == io::ErrorKind::Unsupported => {
                    eprintln!("SKIPPED: no unnamed files here: {e}");
                    continue;
                }
                other => other.unwrap(),
            };
            backing.write_at(512, &[3; 1024]).unwrap();
            let mut buf = [0; 1536];
            backing.read_at(0, &mut buf).unwrap();
            assert_eq!((buf[511], buf[512], buf[1535]), (0, 3, 3));
            assert!(backing.write_at(1 << 20, &[0; 512]).is_err());
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    use crate::Backing;
}
