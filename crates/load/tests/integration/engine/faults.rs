//! Storage that fails under a running job: full, broken, removed.

use std::fs::OpenOptions;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use cryptbench_blockdev::{Extent, IoMode, IoTarget, MemoryDevice};
use cryptbench_load::{Amount, Direction, Flush, Job, LoadError, Operation, Pattern, Start};

use crate::engine::GO;
use crate::engine::devices::{Event, Faulty, Hooked, Misdeed, Recorder, Served};
use crate::engine::storage::{engines, job, scratch};

const BLOCK: u64 = 16 << 10;

fn whole(operation: Operation, len: u64, depth: u32, threads: u32) -> Job {
    Job {
        amount: Amount::Bytes(len),
        start: Start::First,
        threads,
        ..job(operation, Pattern::Sequential, BLOCK, depth)
    }
}

/// A small separate file system, unmounted at the end.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "cryptbench-test"]).arg(directory.path());
        match mount.output() {
            Ok(out) if out.status.success() => Some(Self(directory)),
            Ok(out) => {
                eprintln!("SKIPPED: mount: {}", String::from_utf8_lossy(&out.stderr).trim());
                None
            }
            Err(e) => {
                eprintln!("SKIPPED: mount: {e}");
                None
            }
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_named() {
    for mut engine in engines() {
        for (threads, depth) in [(1, 1), (1, 4), (2, 4)] {
            let Some(tmpfs) = Tmpfs::new() else { return };
            let path = tmpfs.0.path().join("scratch");
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
            let io_target = IoTarget {
                file: Arc::new(file.unwrap()),
                extent: Extent { offset: 0, len: 4 << 20 },
                mode: IoMode::Buffered,
                transform: None,
            };
            io_target.file.set_len(4 << 20).unwrap();
            let job = whole(Operation::Write, 4 << 20, depth, threads);
            match engine.run(&io_target, &job, &GO).unwrap_err() {
                LoadError::Io { operation: Operation::Write, offset, source, .. } => {
                    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
                    // Of several threads one may still wait for a processor when the others have filled it.
                    let in_order = threads == 1 && (depth == 1 || engine.name() != "threads");
                    assert!(!in_order || offset >= 512 << 10, "{}: {offset}", engine.name());
                }
                LoadError::Short { operation: Operation::Write, .. } => {}
                e => panic!("{}: {e}", engine.name()),
            }
            assert_eq!(
                Arc::strong_count(&io_target.file),
                1,
                "and the file system can be unmounted"
            );
            cryptbench_prove::count(1, "faults: a full disk below the load: named, no file held");
        }
    }
}

#[test]
fn an_error_in_the_middle_ends_the_job_and_names_the_place() {
    for mut engine in engines() {
        let device = Arc::new(Faulty::new(1 << 20));
        let Some(served) = Served::new(device.clone()) else { return };
        let bad = 20 * BLOCK;
        for operation in [Operation::Write, Operation::Read] {
            for (depth, threads) in [(1, 1), (4, 1), (2, 3)] {
                device.misbehave(0..0, Misdeed::Lose);
                let io_target = served.io_target();
                let job = whole(operation, 1 << 20, depth, threads);
                engine.run(&io_target, &job, &GO).unwrap();
                device.misbehave(bad..bad + BLOCK, Misdeed::Fail(5));
                match engine.run(&io_target, &job, &GO).unwrap_err() {
                    LoadError::Io { operation: o, offset, len, source } => {
                        assert_eq!((o, offset, u64::from(len)), (operation, bad, BLOCK));
                        assert_eq!(source.raw_os_error(), Some(5));
                    }
                    e => panic!("{}: {e}", engine.name()),
                }
                cryptbench_prove::count(
                    1,
                    "faults: an error in the middle of a load: place and error named",
                );
            }
        }
    }
}

#[test]
fn a_removed_directory_does_not_disturb_an_open_file() {
    for mut engine in engines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        let io_target = IoTarget {
            file: Arc::new(file),
            extent: Extent { offset: 0, len: 1 << 20 },
            mode: IoMode::Buffered,
            transform: None,
        };
        let job = Job {
            amount: Amount::Time { ramp: Duration::ZERO, duration: Duration::from_millis(80) },
            threads: 2,
            ..job(Operation::Write, Pattern::Random, 4096, 2)
        };
        let m = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                directory.close().unwrap();
            });
            engine.run(&io_target, &job, &GO).unwrap()
        });
        assert!(m.ios > 0 && !m.interrupted);
        assert!(!path.exists());
    }
}

/// Storage that disappears under a job ends it with an error, not silently.
#[test]
fn storage_that_is_gone_is_told() {
    for mut engine in engines() {
        let Some(served) = Served::new(Arc::new(Faulty::new(1 << 20))) else { return };
        let io_target = served.io_target();
        let job = Job {
            amount: Amount::Time { ramp: Duration::ZERO, duration: Duration::from_secs(60) },
            ..job(Operation::Read, Pattern::Random, 4096, 4)
        };
        let result = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                served.server.stop();
            });
            engine.run(&io_target, &job, &GO)
        });
        match result.unwrap_err() {
            LoadError::Io { operation: Operation::Read, .. } => {}
            e => panic!("{}: {e}", engine.name()),
        }
        cryptbench_prove::count(
            1,
            "faults: storage that is gone below the load: an error, and the engine goes on",
        );
        let io_target = scratch(1 << 20, None);
        let job = whole(Operation::Write, 1 << 20, 2, 1);
        engine.run(&io_target, &job, &AtomicBool::new(false)).unwrap();
    }
}

/// Exactly the configured number of writes lies between two flushes, and all are complete.
#[test]
fn writes_are_awaited_before_they_are_flushed() {
    for mut engine in engines() {
        let recorder = Arc::new(Recorder::new(1 << 20));
        let Some(served) = Served::new(recorder.clone()) else { return };
        let io_target = served.io_target();
        let job = Job {
            flush: Flush::Every { writes: 8, data_only: false, drained: true },
            ..whole(Operation::Write, 1 << 20, 4, 1)
        };
        assert_eq!(engine.run(&io_target, &job, &GO).unwrap().flushes, 8);
        let (mut begun, mut ended, mut flushes) = (0, 0, 0);
        for event in recorder.events() {
            match event {
                Event::WriteBegins(_, len) => begun += len,
                Event::WriteEnds => ended += 1,
                Event::Flush => {
                    flushes += 1;
                    assert_eq!(begun as u64, flushes * 8 * BLOCK, "{}", engine.name());
                    assert!(ended > 0);
                }
            }
        }
        assert_eq!(flushes, 8);

        let before = recorder.events().len();
        let job = Job { flush: Flush::EachWrite, ..whole(Operation::Write, 8 * BLOCK, 1, 1) };
        engine.run(&io_target, &job, &GO).unwrap();
        let flushes = recorder.events()[before..].iter().filter(|e| **e == Event::Flush).count();
        assert!(flushes >= 8, "{}: each write is flushed, not {flushes} of 8", engine.name());
    }
}

/// Without a request to stop, an error of one thread waits for the requests that the others have in
/// flight, however long they take.
#[test]
fn an_error_leaves_the_others_the_time_to_finish() {
    for mut engine in engines() {
        let answered = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&answered);
        let begun = AtomicBool::new(false);
        let device = Hooked {
            memory: MemoryDevice::new(vec![0; 1 << 20]),
            before_read: move |offset| {
                match offset / BLOCK {
                    // The first request of the second thread takes longer than the patience after a
                    // stop.
                    1 => {
                        begun.store(true, SeqCst);
                        std::thread::sleep(Duration::from_millis(1500));
                        done.store(true, SeqCst);
                    }
                    // On a busy machine the second thread may not have started yet.
                    20 => {
                        while !begun.load(SeqCst) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        return Err(std::io::Error::from_raw_os_error(5));
                    }
                    _ => {}
                }
                Ok(())
            },
            before_flush: || (),
        };
        let Some(served) = Served::new(Arc::new(device)) else { return };
        let io_target = served.io_target();
        let e = engine.run(&io_target, &whole(Operation::Read, 1 << 20, 1, 2), &GO).unwrap_err();
        assert!(matches!(e, LoadError::Io { offset, .. } if offset == 20 * BLOCK), "{e}");
        assert!(answered.load(SeqCst), "{}: a request was abandoned", engine.name());
        assert_eq!(Arc::strong_count(&io_target.file), 1, "all threads let go of it");
    }
}

/// A flush that is a separate request holds nothing back. Here the first flushes wait until a read
/// arrives during one of them, which never happens if the queue is drained before and after a
/// flush.
#[test]
fn queued_flushes_hold_nothing_back() {
    use std::sync::{Condvar, Mutex};
    for mut engine in engines() {
        for drained in [false, true] {
            let state = Arc::new((Mutex::new((false, 0)), Condvar::new()));
            let (reads, flushes) = (Arc::clone(&state), Arc::clone(&state));
            let device = Hooked {
                memory: MemoryDevice::new(vec![0; 1 << 20]),
                before_read: move |_| {
                    let (lock, changed) = &*reads;
                    let mut state = lock.lock().unwrap();
                    state.1 += u32::from(state.0);
                    changed.notify_all();
                    Ok(())
                },
                before_flush: move || {
                    let (lock, changed) = &*flushes;
                    let mut state = lock.lock().unwrap();
                    state.0 = true;
                    let patience = Duration::from_secs(if drained { 0 } else { 2 });
                    let none = |s: &mut (bool, u32)| s.1 == 0;
                    let (mut state, _) = changed.wait_timeout_while(state, patience, none).unwrap();
                    state.0 = false;
                },
            };
            let Some(served) = Served::new(Arc::new(device)) else { return };
            let job = Job {
                direction: Direction::Mixed { read_percent: 70 },
                flush: Flush::Every { writes: 2, data_only: false, drained },
                ..whole(Operation::Write, 1 << 20, 4, 1)
            };
            let m = engine.run(&served.io_target(), &job, &GO).unwrap();
            assert!(m.flushes > 3 && m.flushes <= m.writes / 2, "{m:?}");
            let reads = state.0.lock().unwrap().1;
            assert_eq!(reads >= 1, !drained, "{}: {reads} reads beside flushes", engine.name());
        }
    }
}
