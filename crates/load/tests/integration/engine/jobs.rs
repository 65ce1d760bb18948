//! What jobs do on both engines: patterns, mixes, flushes, contents.

use std::sync::Arc;
use std::time::Duration;

use cryptbench_blockdev::{IoTarget, SectorTransform};
use cryptbench_load::{
    Amount, Content, Direction, Engine, EngineChoice, Flush, Job, LoadError, Operation, Pattern,
    Precondition, Rate, SectorState, Start,
};

use crate::engine::GO;
use crate::engine::storage::{Xor, engines, extent_of, job, scratch, states, stored};

const BLOCK: u64 = 4096;

fn bytes_job(operation: impl Into<Direction>, pattern: Pattern, requests: u64) -> Job {
    Job {
        amount: Amount::Bytes(requests * BLOCK),
        direction: operation.into(),
        ..job(Operation::Write, pattern, BLOCK, 1)
    }
}

fn all_are(io_target: &IoTarget, wanted: u64) -> bool {
    let bytes = stored(io_target);
    states(extent_of(&bytes, io_target))
        .iter()
        .all(|s| matches!(s, SectorState::Valid { generation, .. } if *generation == wanted))
}

#[test]
fn every_byte_is_counted_and_written_once() {
    let patterns = [
        Pattern::Sequential,
        Pattern::Permutation,
        Pattern::Backward,
        Pattern::Strided { stride: 7 },
    ];
    for mut engine in engines() {
        for pattern in patterns {
            for (threads, depth) in [(1, 1), (1, 16), (3, 1), (4, 5)] {
                let io_target = scratch(100 * BLOCK + 512, None);
                let job = Job {
                    threads,
                    queue_depth: depth,
                    ..bytes_job(Operation::Write, pattern, 100)
                };
                let m = engine.run(&io_target, &job, &GO).unwrap();
                let what = format!("{} {pattern} {threads} x {depth}", engine.name());
                assert_eq!((m.ios, m.writes, m.interrupted), (100, 100, false), "{what}");
                assert_eq!((m.bytes, m.total_bytes), (100 * BLOCK, 100 * BLOCK));
                assert_eq!(m.total_written_bytes, m.bytes);
                assert_eq!(m.latency.len(), 100);
                assert!(
                    m.elapsed > Duration::ZERO && m.elapsed.as_nanos() as u64 >= m.latency.min()
                );
                let bytes = stored(&io_target);
                let extent = &extent_of(&bytes, &io_target)[..100 * BLOCK as usize];
                let five = |s: &SectorState| matches!(s, SectorState::Valid { generation: 5, .. });
                assert!(states(extent).iter().all(five), "{what}");
            }
        }
    }
}

#[test]
fn bytes_round_up_and_wrap() {
    for mut engine in engines() {
        let io_target = scratch(10 * BLOCK, None);
        let mut job = bytes_job(Operation::Write, Pattern::Sequential, 25);
        job.amount = Amount::Bytes(24 * BLOCK + 1);
        let m = engine.run(&io_target, &job, &GO).unwrap();
        assert_eq!((m.ios, m.bytes), (25, 25 * BLOCK));
        assert!(all_are(&io_target, 5));
    }
}

/// Both engines make the same requests with any number of threads.
#[test]
fn requests_do_not_depend_on_engine_and_threads() {
    for pattern in [
        Pattern::Zipf { theta: 1.1 },
        Pattern::Permutation,
        Pattern::Same,
        Pattern::Sampled { points: 8, run: 3 },
    ] {
        let mut seen = Vec::new();
        for mut engine in engines() {
            for (threads, depth) in [(1, 1), (3, 2)] {
                let xor = Arc::new(Xor::default());
                let io_target = scratch(8 << 20, Some(xor.clone() as Arc<dyn SectorTransform>));
                engine.prefill(&io_target, 1, &GO, &mut |_| ()).unwrap();
                let direction = Direction::Mixed { read_percent: 60 };
                let job = Job { threads, queue_depth: depth, ..bytes_job(direction, pattern, 200) };
                let m = engine.run(&io_target, &job, &GO).unwrap();
                assert_eq!(m.ios, 200);
                assert!((50..120).contains(&m.writes), "{}", m.writes);
                assert_eq!(m.total_written_bytes, m.writes * BLOCK);
                let opened = xor.opened.lock().unwrap();
                assert!(opened.iter().all(|(_, s)| matches!(s, SectorState::Valid { .. })));
                let mut reads: Vec<u64> = opened.iter().step_by(8).map(|o| o.0).collect();
                reads.sort_unstable();
                seen.push((m.writes, reads));
            }
        }
        assert!(seen.windows(2).all(|w| w[0] == w[1]), "{pattern}");
    }
}

/// Data read in a mix must not be written by the next request.
#[test]
fn a_mix_writes_sound_sectors() {
    for transform in [None, Some(Arc::new(Xor::default()) as Arc<dyn SectorTransform>)] {
        for mut engine in engines() {
            let io_target = scratch(64 * BLOCK, transform.clone());
            // Foreign bytes, which the sectors' check words would reveal.
            let mut zeros = bytes_job(Operation::Write, Pattern::Sequential, 64);
            zeros.content = Content::Zeros;
            engine.run(&io_target, &zeros, &GO).unwrap();
            let direction = Direction::Mixed { read_percent: 50 };
            let job = Job { queue_depth: 4, ..bytes_job(direction, Pattern::Permutation, 64) };
            let m = engine.run(&io_target, &job, &GO).unwrap();
            let mut bytes = extent_of(&stored(&io_target), &io_target).to_vec();
            if let Some(transform) = &transform {
                transform.open(0, &mut bytes);
            }
            let of = |wanted: fn(&SectorState) -> bool| {
                states(&bytes).iter().filter(|s| wanted(s)).count() as u64
            };
            assert_eq!(of(|s| matches!(s, SectorState::Valid { generation: 5, .. })), m.writes * 8);
            assert_eq!(of(|s| *s == SectorState::Blank), (m.ios - m.writes) * 8);
        }
    }
}

#[test]
fn flushes_are_done_and_counted() {
    let every = |writes| Flush::Every { writes, data_only: writes % 2 == 0, drained: true };
    let queued = |writes| Flush::Every { writes, data_only: writes % 2 == 0, drained: false };
    for mut engine in engines() {
        let io_target = scratch(100 * BLOCK, None);
        for (flush, threads, depth, flushes) in [
            (Flush::Never, 1, 4, 0),
            (Flush::EachWrite, 1, 4, 0),
            (every(5), 1, 1, 4),
            (every(6), 1, 3, 3),
            (every(30), 1, 8, 0),
            (every(5), 2, 1, 4),
            (every(4), 2, 3, 4),
            // As with fio: 19 / 5 and 19 / 6, because no flush follows the last write.
            (queued(5), 1, 1, 3),
            (queued(5), 1, 4, 3),
            (queued(6), 1, 3, 3),
            (queued(1), 1, 8, 19),
            (queued(5), 2, 2, 2),
            (Flush::AtEnd, 1, 1, 1),
            (Flush::AtEnd, 3, 2, 1),
        ] {
            let mut job = bytes_job(Operation::Write, Pattern::Random, 20);
            (job.flush, job.threads, job.queue_depth) = (flush, threads, depth);
            let m = engine.run(&io_target, &job, &GO).unwrap();
            let what = format!("{} {flush:?} {threads} x {depth}", engine.name());
            assert_eq!((m.ios, m.flushes), (20, flushes), "{what}");
        }
        let mut job = job(Operation::Write, Pattern::Random, BLOCK, 3);
        job.flush = every(3);
        let m = engine.run(&io_target, &job, &GO).unwrap();
        assert!(m.flushes <= m.ios / 3 + 1);
        let mut reads = bytes_job(Operation::Read, Pattern::Random, 20);
        reads.flush = every(5);
        assert_eq!(engine.run(&io_target, &reads, &GO).unwrap().flushes, 0);
        reads.flush = Flush::EachWrite;
        engine.run(&io_target, &reads, &GO).unwrap();
    }
}

#[test]
fn contents_are_as_asked() {
    for mut engine in engines() {
        let io_target = scratch(32 * BLOCK, None);
        let mut job = bytes_job(Operation::Write, Pattern::Sequential, 32);
        engine.run(&io_target, &job, &GO).unwrap();
        assert!(all_are(&io_target, 5));
        // The buffers held random bytes before.
        job.content = Content::Zeros;
        engine.run(&io_target, &job, &GO).unwrap();
        assert!(stored(&io_target).iter().all(|&b| b == 0));
        job.content = Content::Compressible { percent: 50 };
        engine.run(&io_target, &job, &GO).unwrap();
        assert!(all_are(&io_target, 5));
        let bytes = stored(&io_target);
        let zeros = extent_of(&bytes, &io_target).iter().filter(|&&b| b == 0).count();
        let share = zeros as f64 / (32 * BLOCK) as f64;
        assert!((0.45..0.52).contains(&share), "{share}");
    }
}

/// The last of 20 requests is due after 19 intervals and cannot complete before that on any
/// machine.
#[test]
fn no_request_comes_before_its_time() {
    for mut engine in engines() {
        let io_target = scratch(100 * BLOCK, None);
        for (rate, threads, depth) in [
            (Rate::Requests(1000.0), 1, 1),
            (Rate::Bytes(1000.0 * BLOCK as f64), 1, 8),
            (Rate::Requests(1000.0), 2, 1),
            (Rate::Requests(1000.0), 2, 4),
        ] {
            let mut job = bytes_job(Operation::Write, Pattern::Random, 20);
            (job.rate, job.threads, job.queue_depth) = (Some(rate), threads, depth);
            job.flush = Flush::Every { writes: 4, data_only: true, drained: true };
            let m = engine.run(&io_target, &job, &GO).unwrap();
            assert_eq!(m.ios, 20);
            assert!(m.elapsed >= Duration::from_millis(19), "{} {:?}", engine.name(), m.elapsed);
        }
        // One request per hour: the window still ends.
        let mut slow = job(Operation::Read, Pattern::Random, BLOCK, 2);
        slow.rate = Some(Rate::Requests(1.0 / 3600.0));
        for threads in [1, 2] {
            slow.threads = threads;
            let m = engine.run(&io_target, &slow, &GO).unwrap();
            assert!(m.ios <= 1 && !m.interrupted);
            assert!(m.elapsed >= Duration::from_millis(40));
        }
    }
}

/// The only request has completed; the next one, which does not exist, would be due in an hour.
#[test]
fn a_paced_job_ends_with_its_last_request() {
    for mut engine in engines() {
        let io_target = scratch(100 * BLOCK, None);
        for (threads, depth) in [(1, 1), (1, 4), (2, 2)] {
            let mut job = bytes_job(Operation::Write, Pattern::Random, 1);
            (job.rate, job.threads, job.queue_depth) =
                (Some(Rate::Requests(1.0 / 3600.0)), threads, depth);
            let stop = std::sync::atomic::AtomicBool::new(false);
            let (over, ended) = std::sync::mpsc::channel::<()>();
            let raise = &stop;
            let m = std::thread::scope(|s| {
                s.spawn(move || {
                    // Raises the flag only if the job does not end by itself.
                    let _ = ended.recv_timeout(Duration::from_secs(5));
                    raise.store(true, std::sync::atomic::Ordering::Relaxed);
                });
                let m = engine.run(&io_target, &job, &stop).unwrap();
                drop(over);
                m
            });
            assert_eq!((m.ios, m.interrupted), (1, false), "{} {threads} x {depth}", engine.name());
        }
    }
}

/// What a job leaves depends neither on the engine nor on the queue depth: two of its writes that
/// race for a block write the same bytes.
#[test]
fn what_is_written_follows_from_the_job_alone() {
    for content in [Content::Random, Content::Compressible { percent: 40 }] {
        let mut left = Vec::new();
        for mut engine in engines() {
            for (threads, depth) in [(1, 1), (1, 16), (3, 4)] {
                let io_target = scratch(64 * BLOCK, None);
                let mut job = bytes_job(Operation::Write, Pattern::Permutation, 64);
                (job.content, job.threads, job.queue_depth) = (content, threads, depth);
                engine.run(&io_target, &job, &GO).unwrap();
                left.push(extent_of(&stored(&io_target), &io_target).to_vec());
            }
        }
        assert!(left.windows(2).all(|w| w[0] == w[1]), "{content:?}");
        // Another generation of the same seed writes other data, not only other verify headers.
        let io_target = scratch(BLOCK, None);
        let mut job = bytes_job(Operation::Write, Pattern::Same, 1);
        (job.content, job.generation) = (content, 6);
        engines()[0].run(&io_target, &job, &GO).unwrap();
        let bytes = stored(&io_target);
        assert_ne!(extent_of(&bytes, &io_target)[32..512], left[0][32..512]);
    }
}

#[test]
fn samples_are_the_first_requests() {
    for mut engine in engines() {
        let io_target = scratch(64 * BLOCK, None);
        let pattern = Pattern::Sampled { points: 8, run: 2 };
        let mut job =
            Job { start: Start::First, samples: 10, ..bytes_job(Operation::Read, pattern, 16) };
        let m = engine.run(&io_target, &job, &GO).unwrap();
        let offsets: Vec<u64> = m.samples.iter().map(|s| s.offset / BLOCK).collect();
        assert_eq!(offsets, [0, 1, 8, 9, 16, 17, 24, 25, 32, 33]);
        assert!(m.samples.iter().all(|s| s.latency > 0 && s.latency <= m.latency.max()));
        job.samples = 1000;
        (job.threads, job.queue_depth) = (2, 2);
        let m = engine.run(&io_target, &job, &GO).unwrap();
        let mut offsets: Vec<u64> = m.samples.iter().map(|s| s.offset / BLOCK).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, [0, 1, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57]);
        job.samples = 0;
        assert!(engine.run(&io_target, &job, &GO).unwrap().samples.is_empty());
    }
}

#[test]
fn latencies_have_their_parts_where_there_are_two_calls() {
    for mut engine in engines() {
        let io_target = scratch(64 * BLOCK, None);
        for depth in [1, 32] {
            let mut job = bytes_job(Operation::Write, Pattern::Random, 1000);
            job.queue_depth = depth;
            let m = engine.run(&io_target, &job, &GO).unwrap();
            let looked_at = m.submission.len();
            assert_eq!(looked_at, m.completion.len());
            match engine.name() {
                "threads" => assert_eq!(looked_at, 0),
                // At least every 31st submission, with up to four requests each.
                _ => assert!((1000 / 31 / 4..=1000).contains(&looked_at), "{looked_at}"),
            }
            assert!(m.submission.max() <= m.latency.max());
            assert!(m.completion.max() <= m.latency.max());
        }
    }
}

#[test]
fn preconditioning_writes_all_of_it_so_many_times() {
    for mut engine in engines() {
        for (pattern, passes, block_size) in [
            (Pattern::Sequential, 2, 128 << 10),
            (Pattern::Permutation, 2, 4096),
            (Pattern::Permutation, 1, 64 << 10),
        ] {
            let len = (1 << 20) + 3 * 4096;
            let io_target = scratch(len, None);
            let how = Precondition { pattern, passes, block_size, seed: 6 };
            let mut told = 0;
            engine.precondition(&io_target, &how, &GO, &mut |n| told = n).unwrap();
            assert_eq!(told, len * u64::from(passes));
            assert!(all_are(&io_target, 0), "{} {pattern}", engine.name());
        }
        let io_target = scratch(1 << 20, None);
        for (pattern, passes) in [(Pattern::Random, 1), (Pattern::Sequential, 0)] {
            let how = Precondition { pattern, passes, block_size: 4096, seed: 6 };
            let e = engine.precondition(&io_target, &how, &GO, &mut |_| ()).unwrap_err();
            assert!(matches!(e, LoadError::Precondition), "{e}");
        }
    }
}

/// While a thread polls a hung device, another one must watch the stop flag. Whether the storage
/// supports polling shows at the first request, which is sealed before that.
#[cfg(target_os = "linux")]
#[test]
fn a_polling_thread_is_never_the_callers() {
    struct Name(std::sync::Mutex<String>);
    impl SectorTransform for Name {
        fn unit(&self) -> usize {
            512
        }
        fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            *self.0.lock().unwrap() = name;
            stored.copy_from_slice(plain);
        }
        fn open(&self, _: u64, _: &mut [u8]) {}
    }
    let mut engine = match Engine::open(EngineChoice::Polled) {
        Ok((engine, _)) => engine,
        Err(e) => return eprintln!("SKIPPED: {e}"),
    };
    let device = Arc::new(crate::engine::devices::Recorder::new(1 << 20));
    let Some(served) = crate::engine::devices::Served::new(device) else { return };
    let name = Arc::new(Name(std::sync::Mutex::default()));
    let mut io_target = served.io_target();
    io_target.transform = Some(name.clone());
    let _ = engine.run(&io_target, &bytes_job(Operation::Write, Pattern::Random, 1), &GO);
    assert_eq!(*name.0.lock().unwrap(), "load-0");
    name.0.lock().unwrap().clear();
    let _ = engine.prefill(&io_target, 1, &GO, &mut |_| ());
    assert_eq!(*name.0.lock().unwrap(), "load-0");
}

/// Polling either works or is refused with a reason, depending on the device.
#[test]
fn polling_works_or_says_why_not() {
    let mut engine = match Engine::open(EngineChoice::Polled) {
        Ok((engine, _)) => engine,
        Err(e) => {
            assert!(matches!(e, LoadError::Unavailable { .. }));
            eprintln!("SKIPPED: {e}");
            return;
        }
    };
    let io_target = scratch(100 * BLOCK, None);
    for operation in [Operation::Write, Operation::Read] {
        for (threads, flush) in [(1, Flush::AtEnd), (2, Flush::Never)] {
            let mut job = bytes_job(operation, Pattern::Permutation, 100);
            (job.threads, job.flush, job.queue_depth) = (threads, flush, 4);
            match engine.run(&io_target, &job, &GO) {
                Ok(m) => assert_eq!(m.ios, 100),
                Err(LoadError::Unavailable { engine, reason }) => {
                    eprintln!("SKIPPED: {engine}: {reason}");
                }
                Err(e) => panic!("{e}"),
            }
        }
    }
    let mut buffered = io_target;
    buffered.mode = cryptbench_blockdev::IoMode::Buffered;
    let e = engine.run(&buffered, &bytes_job(Operation::Read, Pattern::Random, 1), &GO);
    assert!(matches!(e.unwrap_err(), LoadError::Unavailable { .. }));
}
