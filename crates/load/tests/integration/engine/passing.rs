//! Inline layers that pass requests on one at a time, in pieces, or with two writes for one: what the device below sees.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cryptbench_blockdev::{BlockDevice, IoTarget, MemoryDevice, Passes, SectorTransform};
use cryptbench_load::{Amount, Job, Operation, Pattern, SectorState};

use super::GO;
use super::devices::Served;
use super::storage::{engines, job, states};

/// Time that the device takes for a request.
const TAKES: Duration = Duration::from_millis(1);

const LEN: usize = 4 << 20;

/// Memory that takes a while, and remembers what it got.
struct Slow {
    memory: MemoryDevice,
    now: AtomicUsize,
    most: AtomicUsize,
    requests: Mutex<Vec<(u64, usize)>>,
}

impl Slow {
    fn new() -> Arc<Self> {
        let memory = MemoryDevice::new(vec![0; LEN]);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { memory, now, most, requests: Mutex::default() })
    }

    fn takes(&self, offset: u64, len: usize) {
        self.requests.lock().unwrap().push((offset, len));
        self.most.fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(TAKES);
        self.now.fetch_sub(1, SeqCst);
    }

    /// The most requests at once and all of them, since the last look.
    fn seen(&self) -> (usize, Vec<(u64, usize)>) {
        (self.most.swap(0, SeqCst), std::mem::take(&mut *self.requests.lock().unwrap()))
    }
}

impl BlockDevice for Slow {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        self.memory.sector()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.takes(offset, buf.len());
        self.memory.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.takes(offset, data.len());
        self.memory.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Data that stay as they are.
struct Layer(Passes);

impl SectorTransform for Layer {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
    }

    fn open(&self, _: u64, _: &mut [u8]) {}

    fn passes(&self) -> Passes {
        self.0
    }
}

fn through(served: &Served, passes: Passes) -> IoTarget {
    IoTarget { transform: Some(Arc::new(Layer(passes))), ..served.io_target() }
}

const SERIAL: Passes = Passes { is_serial: true, piece: None, writes_twice: false };

#[test]
fn a_serial_layer_has_one_request_in_flight() {
    let device = Slow::new();
    let Some(served) = Served::new(device.clone()) else { return };
    for mut engine in engines() {
        for (threads, depth) in [(1, 8), (2, 3), (1, 1)] {
            for operation in [Operation::Read, Operation::Write] {
                let job = Job {
                    threads,
                    amount: Amount::Bytes(64 * 4096),
                    ..job(operation, Pattern::Random, 4096, depth)
                };
                let case = format!("{}, {operation:?}, {threads} × {depth}", engine.name());
                let measured = engine.run(&through(&served, SERIAL), &job, &GO).unwrap();
                let (most, requests) = device.seen();
                assert_eq!((most, requests.len(), measured.ios), (1, 64, 64), "{case}");
                // What waits for its turn has been asked for: on average a request takes a whole queue's worth of turns.
                // The first ones wait for less.
                let turns = measured.latency.mean() / TAKES.as_nanos() as f64;
                let asked = f64::from(threads * depth);
                assert!(turns > 0.8 * asked, "{case}: {turns}");
                let plain = through(&served, Passes::default());
                engine.run(&plain, &job, &GO).unwrap();
                let (most, _) = device.seen();
                assert!(most > 1 || asked < 2.0, "{case}, plain: {most}");
            }
        }
    }
}

#[test]
fn pieces_of_a_request_follow_one_another() {
    let device = Slow::new();
    let Some(served) = Served::new(device.clone()) else { return };
    let (block, piece, depth) = (80_u64 << 10, 32_u32 << 10, 2_u32);
    for mut engine in engines() {
        let target = through(&served, Passes { piece: Some(piece), ..Passes::default() });
        for operation in [Operation::Write, Operation::Read] {
            let job = Job {
                amount: Amount::Bytes(12 * block),
                ..job(operation, Pattern::Permutation, block, depth)
            };
            let measured = engine.run(&target, &job, &GO).unwrap();
            let (most, requests) = device.seen();
            assert_eq!((measured.ios, measured.bytes), (12, 12 * block), "{}", engine.name());
            assert!((2..=depth as usize).contains(&most), "{}: {most}", engine.name());
            assert_eq!(requests.len(), 36);
            for (offset, len) in &requests {
                let within = offset % block;
                let last = within == 2 * u64::from(piece);
                assert_eq!(*len as u32, if last { 16 << 10 } else { piece }, "at {within}");
                if within > 0 {
                    let before = offset - u64::from(piece);
                    let at = |offset| requests.iter().position(|(other, _)| *other == offset);
                    assert!(at(before).unwrap() < at(*offset).unwrap(), "{requests:?}");
                }
            }
        }
        // What was written in pieces is whole.
        let mut bytes = vec![0; LEN];
        device.memory.read_at(0, &mut bytes).unwrap();
        let written = states(&bytes).into_iter();
        let valid = written.filter(|s| matches!(s, SectorState::Valid { .. })).count();
        assert!(valid > 0 && valid % (block as usize / 512) == 0, "{}: {valid}", engine.name());
    }
}

#[test]
fn a_layer_that_writes_twice_writes_each_piece_twice_and_reads_once() {
    let device = Slow::new();
    let Some(served) = Served::new(device.clone()) else { return };
    for mut engine in engines() {
        let passes = Passes { piece: Some(8192), writes_twice: true, ..Passes::default() };
        let target = through(&served, passes);
        for operation in [Operation::Write, Operation::Read] {
            let job = Job {
                amount: Amount::Bytes(8 * 12_288),
                ..job(operation, Pattern::Permutation, 12_288, 1)
            };
            let measured = engine.run(&target, &job, &GO).unwrap();
            let (most, requests) = device.seen();
            let times = if operation == Operation::Write { 2 } else { 1 };
            let found = (most, measured.ios, measured.bytes, requests.len());
            assert_eq!(found, (1, 8, 8 * 12_288, 16 * times), "{}", engine.name());
            let is_one = |all: &[(u64, usize)]| all.iter().all(|request| *request == all[0]);
            assert!(requests.chunks(times).all(is_one), "{requests:?}");
        }
    }
}

#[test]
fn slices_of_plain_and_of_a_serial_layer_take_turns() {
    let device = Slow::new();
    let Some(served) = Served::new(device.clone()) else { return };
    for mut engine in engines() {
        let targets = [through(&served, Passes::default()), through(&served, SERIAL)];
        let job = Job { threads: 2, ..job(Operation::Read, Pattern::Random, 4096, 4) };
        let mut slices = engine.slices(&targets, &job).unwrap();
        for _ in 0..2 {
            for (turn, serial) in [(0, false), (1, true)] {
                slices.carry(&mut engine, turn, 10 * TAKES, &GO).unwrap();
                let (most, _) = device.seen();
                assert_eq!(most == 1, serial, "{}: {most}", engine.name());
            }
        }
        let measured = slices.finish();
        let rate = |i: usize| measured[i].ios as f64 / measured[i].elapsed.as_secs_f64();
        assert!(rate(0) > 1.5 * rate(1), "{}: {} and {}", engine.name(), rate(0), rate(1));
    }
}
