//! Both engines against scratch files: data, counts, transforms, errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::engine::GO;
use crate::engine::storage::{BASE, Xor, engines, extent_of, job, scratch, states, stored};
use cryptbench_blockdev::{Extent, IoMode, IoTarget, SectorTransform};
use cryptbench_load::{
    Amount, Engine, EngineChoice, LoadError, MARKER, Operation, Pattern, SectorState,
};

fn surroundings_are_blank(bytes: &[u8]) {
    assert!(bytes[..BASE as usize].iter().all(|&b| b == 0), "bytes before the extent changed");
    assert!(bytes[bytes.len() - BASE as usize..].iter().all(|&b| b == 0), "bytes after it changed");
}

fn contains_marker(bytes: &[u8]) -> bool {
    bytes.windows(MARKER.len()).any(|w| w == MARKER)
}

fn is_generation(state: SectorState, wanted: u64) -> bool {
    matches!(state, SectorState::Valid { generation, .. } if generation == wanted)
}

#[test]
fn a_prefill_stamps_every_sector_once_and_nothing_else() {
    // Not a whole number of requests, nor of pages.
    let len = (5 << 20) + 8 * 1024 + 4096;
    for mut engine in engines() {
        let io_target = scratch(len, None);
        let mut told = Vec::new();
        engine.prefill(&io_target, 9, &GO, &mut |n| told.push(n)).unwrap();
        assert_eq!(told.last(), Some(&len), "{}", engine.name());
        assert!(told.is_sorted());
        let bytes = stored(&io_target);
        surroundings_are_blank(&bytes);
        let states = states(extent_of(&bytes, &io_target));
        assert!(states.iter().all(|&s| s == SectorState::Valid { generation: 0, seed: 9 }));
    }
}

#[test]
fn verify_headers_hold_offset_and_generation() {
    for mut engine in engines() {
        for (pattern, block, depth) in [
            (Pattern::Sequential, 64 << 10, 1),
            (Pattern::Sequential, 256 << 10, 8),
            (Pattern::Random, 4096, 32),
        ] {
            let io_target = scratch(2 << 20, None);
            engine.prefill(&io_target, 1, &GO, &mut |_| ()).unwrap();
            let m =
                engine.run(&io_target, &job(Operation::Write, pattern, block, depth), &GO).unwrap();
            assert!(m.ios > 0 && !m.interrupted);
            let bytes = stored(&io_target);
            surroundings_are_blank(&bytes);
            let states = states(extent_of(&bytes, &io_target));
            let new = states.iter().filter(|&&s| is_generation(s, 5)).count();
            let old = states.iter().filter(|&&s| is_generation(s, 0)).count();
            assert_eq!(new + old, states.len(), "{} {pattern} {block}", engine.name());
            assert!(new as u64 >= block / 512);
        }
    }
}

#[test]
fn counts_add_up() {
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        for operation in [Operation::Write, Operation::Read] {
            for (block, depth) in [(512, 1), (4096, 3), (1 << 20, 1), (128 << 10, 16)] {
                let block = if io_target.mode == IoMode::Direct { block.max(4096) } else { block };
                let m = engine
                    .run(&io_target, &job(operation, Pattern::Random, block, depth), &GO)
                    .unwrap();
                assert!(m.ios > 0);
                assert_eq!(m.latency.len(), m.ios);
                assert_eq!(m.bytes, m.ios * block);
                assert!(m.elapsed >= Duration::from_millis(40), "closed before its time");
                assert!(m.latency.min() > 0);
            }
        }
    }
}

#[test]
fn sealed_data_hides_the_marker_and_opens_again() {
    for mut engine in engines() {
        let xor = Arc::new(Xor::default());
        let io_target = scratch(1 << 20, Some(xor.clone() as Arc<dyn SectorTransform>));
        engine.prefill(&io_target, 3, &GO, &mut |_| ()).unwrap();
        for (block, depth) in [(4096, 32), (64 << 10, 4)] {
            engine
                .run(&io_target, &job(Operation::Write, Pattern::Random, block, depth), &GO)
                .unwrap();
        }
        let bytes = stored(&io_target);
        surroundings_are_blank(&bytes);
        assert!(!contains_marker(&bytes), "plaintext reached the storage");
        assert!(xor.opened.lock().unwrap().is_empty(), "nothing was read yet");

        // The storage holds sealed sectors with valid verify headers.
        let mut opened = extent_of(&bytes, &io_target).to_vec();
        xor.open(0, &mut opened);
        assert!(states(&opened).iter().all(|&s| is_generation(s, 5) || is_generation(s, 0)));

        // Reading through the engine opens them.
        xor.opened.lock().unwrap().clear();
        for (pattern, block, depth) in
            [(Pattern::Sequential, 256 << 10, 2), (Pattern::Random, 4096, 16)]
        {
            engine.run(&io_target, &job(Operation::Read, pattern, block, depth), &GO).unwrap();
        }
        let opened = xor.opened.lock().unwrap();
        assert!(!opened.is_empty());
        for &(offset, state) in opened.iter() {
            assert!(
                is_generation(state, 5) || is_generation(state, 0),
                "{} at {offset}: {state:?}",
                engine.name()
            );
        }
    }
}

#[test]
fn plain_data_shows_the_marker() {
    for mut engine in engines() {
        let io_target = scratch(64 << 10, None);
        engine.prefill(&io_target, 1, &GO, &mut |_| ()).unwrap();
        assert!(contains_marker(&stored(&io_target)));
    }
}

#[test]
fn both_engines_visit_the_same_places() {
    for (pattern, seed) in
        [(Pattern::Random, 1), (Pattern::Random, 2), (Pattern::Sequential, 1), (Pattern::Random, 1)]
    {
        let mut visits = Vec::new();
        for mut engine in engines() {
            let xor = Arc::new(Xor::default());
            let io_target = scratch(64 << 20, Some(xor.clone() as Arc<dyn SectorTransform>));
            let mut job = job(Operation::Read, pattern, 4096, 1);
            job.seed = seed;
            engine.run(&io_target, &job, &GO).unwrap();
            let opened = xor.opened.lock().unwrap();
            let offsets: Vec<u64> = opened.iter().step_by(8).map(|o| o.0).collect();
            assert!(offsets.len() > 3, "{}", engine.name());
            visits.push(offsets);
        }
        let shortest = visits.iter().map(Vec::len).min().unwrap();
        assert!(visits.windows(2).all(|w| w[0][..shortest] == w[1][..shortest]));
    }
}

fn time(ms: u64) -> Amount {
    Amount::Time { ramp: Duration::ZERO, duration: Duration::from_millis(ms) }
}

#[test]
fn an_empty_window_holds_the_request_that_closes_it() {
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        let mut job = job(Operation::Read, Pattern::Random, 4096, 1);
        job.amount = time(0);
        let m = engine.run(&io_target, &job, &GO).unwrap();
        assert_eq!((m.ios, m.bytes, m.interrupted), (1, 4096, false));
    }
}

#[test]
fn extremes_of_depth_and_duration_work() {
    for mut engine in engines() {
        let io_target = scratch(8 << 20, None);
        for (block, depth, ms) in [(4096, 1, 0), (4096, 1024, 1), (8 << 20, 2, 0), (4096, 1, 1)] {
            for operation in [Operation::Write, Operation::Read] {
                let mut job = job(operation, Pattern::Random, block, depth);
                job.amount = time(ms);
                let m = engine.run(&io_target, &job, &GO).unwrap();
                assert!(m.ios > 0 && m.elapsed > Duration::ZERO, "{block} {depth} {ms}");
                assert_eq!(m.latency.len(), m.ios);
            }
        }
        assert!(!engine.details().is_empty());
    }
}

#[test]
fn buffered_surfaces_work() {
    for mut engine in engines() {
        let scratch = scratch(1 << 20, None);
        let file = cryptbench_os::files::with_direct(&scratch.file, false).unwrap();
        let extent = Extent { offset: 4097, len: 1 << 20 };
        let io_target = IoTarget { file, extent, mode: IoMode::Buffered, transform: None };
        engine.prefill(&io_target, 1, &GO, &mut |_| ()).unwrap();
        let job = job(Operation::Write, Pattern::Sequential, 1024, 4);
        engine.run(&io_target, &job, &GO).unwrap();
        let bytes = stored(&io_target);
        let states = states(&bytes[4097..][..1 << 20]);
        assert!(states.iter().all(|&s| is_generation(s, 5) || is_generation(s, 0)));
    }
}

#[test]
fn jobs_that_do_not_fit_are_refused() {
    struct Wide;
    impl SectorTransform for Wide {
        fn unit(&self) -> usize {
            4096
        }
        fn seal(&self, _: u64, _: &[u8], _: &mut [u8]) {}
        fn open(&self, _: u64, _: &mut [u8]) {}
    }
    for mut engine in engines() {
        let plain = scratch(1 << 20, None);
        let wide = scratch(1 << 20, Some(Arc::new(Wide)));
        let mut refused = |io_target: &IoTarget, block, depth| {
            let job = job(Operation::Read, Pattern::Random, block, depth);
            engine.run(io_target, &job, &GO).unwrap_err()
        };
        assert!(matches!(
            refused(&wide, 4096 + 512, 1),
            LoadError::BlockNotUnits { block_size: 4608, unit: 4096 }
        ));
        for block in [0, 1, 513, 1 << 31] {
            assert!(matches!(refused(&plain, block, 1), LoadError::BlockSize { .. }));
        }
        for depth in [0, 1025] {
            assert!(matches!(refused(&plain, 512, depth), LoadError::QueueDepth { .. }));
        }
        assert!(matches!(refused(&plain, 2 << 20, 1), LoadError::ExtentTooSmall { .. }));
        let mut huge = plain.clone();
        huge.extent.len = 1 << 40;
        assert!(matches!(refused(&huge, 1 << 30, 1024), LoadError::Memory { .. }));
        let mut odd = plain.clone();
        odd.extent.len = (1 << 20) - 1;
        let e = engine.prefill(&odd, 1, &GO, &mut |_| ()).unwrap_err();
        assert!(matches!(e, LoadError::ExtentUnaligned { .. }));
        odd.extent = Extent { offset: u64::MAX - 4096, len: 1 << 20 };
        let e = engine.prefill(&odd, 1, &GO, &mut |_| ()).unwrap_err();
        assert!(matches!(e, LoadError::ExtentRange { .. }));
    }
}

/// Windows gives a second handle what the file's access list allows, not what the first one could do.
#[cfg(target_os = "linux")]
#[test]
fn failing_requests_name_operation_place_and_reason() {
    for mut engine in engines() {
        // A device that is always full.
        let file =
            Arc::new(std::fs::File::options().read(true).write(true).open("/dev/full").unwrap());
        let extent = Extent { offset: 0, len: 1 << 20 };
        let mode = IoMode::Buffered;
        let full = IoTarget { file, extent, mode, transform: None };
        let write = job(Operation::Write, Pattern::Sequential, 4096, 8);
        match engine.run(&full, &write, &GO).unwrap_err() {
            LoadError::Io { operation: Operation::Write, offset, len: 4096, source } => {
                assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
                assert!(offset < 1 << 20);
            }
            e => panic!("{}: {e}", engine.name()),
        }
        let e = engine.prefill(&full, 1, &GO, &mut |_| ()).unwrap_err();
        assert!(matches!(e, LoadError::Io { .. }), "{e}");

        // A file that was opened read-only.
        let named = tempfile::NamedTempFile::new().unwrap();
        named.as_file().set_len(1 << 20).unwrap();
        let file = Arc::new(std::fs::File::open(named.path()).unwrap());
        let read_only = IoTarget { file, extent, mode, transform: None };
        let e = engine.run(&read_only, &write, &GO).unwrap_err();
        assert!(matches!(e, LoadError::Io { operation: Operation::Write, .. }), "{e}");

        // The engine still works and has released the files.
        let io_target = scratch(1 << 20, None);
        engine.run(&io_target, &write, &GO).unwrap();
        assert_eq!(Arc::strong_count(&read_only.file), 1);
        assert_eq!(Arc::strong_count(&full.file), 1);
    }
}

#[test]
fn a_file_that_has_become_shorter_fails_with_what_was_got() {
    for mut engine in engines() {
        let named = tempfile::NamedTempFile::new().unwrap();
        named.as_file().set_len(6000).unwrap();
        let file = Arc::new(std::fs::File::open(named.path()).unwrap());
        let extent = Extent { offset: 0, len: 1 << 20 };
        let shorter = IoTarget { file, extent, mode: IoMode::Buffered, transform: None };
        let mut read = job(Operation::Read, Pattern::Sequential, 4096, 2);
        read.seed = 0;
        match engine.run(&shorter, &read, &GO).unwrap_err() {
            LoadError::Short { operation: Operation::Read, offset, wanted: 4096, got } => {
                assert_eq!(u64::from(got), 6000u64.saturating_sub(offset).min(4096));
            }
            e => panic!("{}: {e}", engine.name()),
        }
        assert_eq!(Arc::strong_count(&shorter.file), 1);
    }
}

#[test]
fn the_stop_flag_ends_a_run() {
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        let mut job = job(Operation::Read, Pattern::Random, 4096, 4);
        job.amount = time(3_600_000);
        let stop = AtomicBool::new(false);
        let m = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(60));
                stop.store(true, Ordering::Relaxed);
            });
            engine.run(&io_target, &job, &stop).unwrap()
        });
        assert!(m.interrupted);
        assert!(m.ios > 0);
        assert_eq!(m.latency.len(), m.ios);
        let e = engine.prefill(&io_target, 1, &stop, &mut |_| ()).unwrap_err();
        assert!(matches!(e, LoadError::Interrupted), "{e}");
    }
}

/// A pipe without a writer stands for a device that hangs.
#[cfg(target_os = "linux")]
#[test]
fn the_stop_flag_ends_a_run_on_a_hung_device() {
    use std::os::fd::OwnedFd;
    for mut engine in engines() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let io_target = IoTarget {
            file: Arc::new(OwnedFd::from(reader).into()),
            extent: Extent { offset: 0, len: 1 << 20 },
            mode: IoMode::Buffered,
            transform: None,
        };
        if engine.name() == "threads" {
            // Positioned reads of pipes fail at once instead of hanging.
            continue;
        }
        let stop = AtomicBool::new(false);
        let m = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                stop.store(true, Ordering::Relaxed);
            });
            engine.run(&io_target, &job(Operation::Read, Pattern::Random, 4096, 4), &stop)
        });
        match m {
            Ok(m) => assert!(m.interrupted && m.ios == 0 && m.cpu == Duration::ZERO),
            Err(e) => panic!("{e:?}"),
        }
        // The abandoned requests do not disturb later ones.
        let io_target = scratch(1 << 20, None);
        let m = engine.run(&io_target, &job(Operation::Write, Pattern::Random, 4096, 4), &GO);
        assert!(m.unwrap().ios > 0);
    }
}

/// A layer that never returns stands for a positioned read that hangs.
#[test]
fn the_stop_flag_leaves_hung_threads_behind() {
    struct Stuck(std::sync::Barrier);
    impl SectorTransform for Stuck {
        fn unit(&self) -> usize {
            512
        }
        fn seal(&self, _: u64, _: &[u8], _: &mut [u8]) {}
        fn open(&self, _: u64, _: &mut [u8]) {
            self.0.wait();
        }
    }
    let (mut engine, _) = Engine::open(EngineChoice::Threads).unwrap();
    let stuck = Arc::new(Stuck(std::sync::Barrier::new(3)));
    let io_target = scratch(1 << 20, Some(stuck.clone() as Arc<dyn SectorTransform>));
    let stop = AtomicBool::new(true);
    let job = job(Operation::Read, Pattern::Random, 4096, 2);
    let m = engine.run(&io_target, &job, &stop).unwrap();
    assert!(m.interrupted && m.ios == 0);
    stuck.0.wait(); // lets the two threads end
}

#[test]
fn an_engine_may_change_threads() {
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        let write = job(Operation::Write, Pattern::Random, 4096, 4);
        engine.run(&io_target, &write, &GO).unwrap();
        let m = std::thread::scope(|s| s.spawn(|| engine.run(&io_target, &write, &GO)).join());
        assert!(m.unwrap().unwrap().ios > 0);
        assert!(engine.run(&io_target, &write, &GO).unwrap().ios > 0);
    }
}

/// A panic in the inline layer must not free buffers that the kernel still writes to.
#[test]
fn a_panicking_layer_leaves_the_engine_usable() {
    struct Bomb;
    impl SectorTransform for Bomb {
        fn unit(&self) -> usize {
            512
        }
        fn seal(&self, _: u64, _: &[u8], _: &mut [u8]) {
            panic!("a test's panic");
        }
        fn open(&self, _: u64, _: &mut [u8]) {
            panic!("a test's panic");
        }
    }
    for mut engine in engines() {
        let io_target = scratch(1 << 20, Some(Arc::new(Bomb)));
        for operation in [Operation::Read, Operation::Write] {
            let mut job = job(operation, Pattern::Random, 4096, 8);
            // However slow the machine is, there is a request to panic at.
            job.amount = Amount::Bytes(1 << 20);
            let run = std::panic::AssertUnwindSafe(|| engine.run(&io_target, &job, &GO));
            match std::panic::catch_unwind(run) {
                Ok(result) => assert!(matches!(result, Err(LoadError::Panicked))),
                Err(_) => assert_ne!(engine.name(), "threads"),
            }
        }
        let plain = scratch(1 << 20, None);
        let m = engine.run(&plain, &job(Operation::Read, Pattern::Random, 4096, 8), &GO);
        assert!(m.unwrap().ios > 0);
    }
}

#[test]
fn choices_are_honoured() {
    let (engine, why) = Engine::open(EngineChoice::Threads).unwrap();
    assert_eq!((engine.name(), why), ("threads", None));
    let (engine, why) = Engine::open(EngineChoice::Auto).unwrap();
    match engine.name() {
        "io_uring" | "completion port" => assert_eq!(why, None),
        _ => assert!(why.is_some_and(|w| !w.is_empty())),
    }
}
