//! Jobs of several threads: names, one window, the stop flag, hung devices.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cryptbench_blockdev::SectorTransform;
use cryptbench_load::{Amount, Flush, Job, LoadError, Operation, Pattern};

use crate::engine::GO;
use crate::engine::storage::{engines, job, scratch};

/// Records which threads read.
#[derive(Default)]
struct Names(Mutex<BTreeSet<String>>);

impl SectorTransform for Names {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
    }

    fn open(&self, _: u64, _: &mut [u8]) {
        let name = std::thread::current().name().unwrap_or("nameless").to_owned();
        self.0.lock().unwrap().insert(name);
    }
}

#[test]
fn threads_have_names_and_share_a_window() {
    for mut engine in engines() {
        let names = Arc::new(Names::default());
        let io_target = scratch(4 << 20, Some(names.clone() as Arc<dyn SectorTransform>));
        let timed = Job { threads: 3, ..job(Operation::Read, Pattern::Random, 4096, 1) };
        let m = engine.run(&io_target, &timed, &GO).unwrap();
        assert!(m.ios > 0 && m.elapsed >= Duration::from_millis(40));
        assert_eq!((m.latency.len(), m.bytes), (m.ios, m.ios * 4096));
        // With an amount of bytes, each thread gets its share.
        let whole = Job { amount: Amount::Bytes(1 << 20), ..timed };
        assert_eq!(engine.run(&io_target, &whole, &GO).unwrap().ios, 256);
        assert!(!engine.details().is_empty());
        let names = names.0.lock().unwrap();
        let expected = ["load-0", "load-1", "load-2"].map(str::to_owned);
        assert_eq!(*names, BTreeSet::from(expected), "{}", engine.name());
        drop(engine);
        assert_eq!(Arc::strong_count(&io_target.file), 1);
    }
}

#[test]
fn the_stop_flag_ends_all_threads() {
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        for amount in [
            Amount::Time { ramp: Duration::ZERO, duration: Duration::from_secs(3600) },
            Amount::Bytes(1 << 50),
        ] {
            let stop = AtomicBool::new(false);
            let job = Job { amount, threads: 3, ..job(Operation::Read, Pattern::Random, 4096, 4) };
            let m = std::thread::scope(|s| {
                s.spawn(|| {
                    std::thread::sleep(Duration::from_millis(60));
                    stop.store(true, Ordering::Relaxed);
                });
                engine.run(&io_target, &job, &stop).unwrap()
            });
            assert!(m.interrupted && m.ios > 0, "{}", engine.name());
            assert_eq!(m.latency.len(), m.ios);
            assert_eq!(Arc::strong_count(&io_target.file), 1, "all threads let go of it");
        }
    }
}

/// A pipe without a writer stands for a device that hangs.
#[cfg(target_os = "linux")]
#[test]
fn the_stop_flag_ends_several_rings_on_a_hung_device() {
    use cryptbench_blockdev::{Extent, IoMode};
    use std::os::fd::OwnedFd;
    for mut engine in engines() {
        if engine.name() == "threads" {
            // Positioned reads of pipes fail at once instead of hanging.
            continue;
        }
        let (reader, _writer) = std::io::pipe().unwrap();
        let io_target = cryptbench_blockdev::IoTarget {
            file: Arc::new(OwnedFd::from(reader).into()),
            extent: Extent { offset: 0, len: 1 << 20 },
            mode: IoMode::Buffered,
            transform: None,
        };
        let stop = AtomicBool::new(false);
        let m = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                stop.store(true, Ordering::Relaxed);
            });
            let job = Job { threads: 2, ..job(Operation::Read, Pattern::Random, 4096, 4) };
            engine.run(&io_target, &job, &stop)
        });
        assert!(m.is_ok_and(|m| m.interrupted && m.ios == 0));
        let io_target = scratch(1 << 20, None);
        let job = Job { threads: 2, ..job(Operation::Write, Pattern::Random, 4096, 4) };
        assert!(engine.run(&io_target, &job, &GO).unwrap().ios > 0);
    }
}

#[test]
fn a_panicking_layer_ends_all_threads() {
    struct Bomb;
    impl SectorTransform for Bomb {
        fn unit(&self) -> usize {
            512
        }
        fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
            assert_ne!(offset, 4096 * 20, "a test's panic");
            stored.copy_from_slice(plain);
        }
        fn open(&self, _: u64, _: &mut [u8]) {}
    }
    for mut engine in engines() {
        let io_target = scratch(1 << 20, Some(Arc::new(Bomb)));
        let job = Job {
            threads: 3,
            amount: Amount::Bytes(1 << 20),
            flush: Flush::Every { writes: 3, data_only: true, drained: true },
            ..job(Operation::Write, Pattern::Permutation, 4096, 2)
        };
        let result = engine.run(&io_target, &job, &GO).map(|m| m.ios);
        assert!(matches!(result, Err(LoadError::Panicked)), "{}: {result:?}", engine.name());
        let plain = scratch(1 << 20, None);
        assert!(engine.run(&plain, &job, &GO).unwrap().ios > 0);
    }
}
