//! Locked memory of the io_uring engine, in a separate process because the kernel counts it per
//! process.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use cryptbench_blockdev::{Extent, IoMode, IoTarget, SectorTransform};
use cryptbench_load::{Amount, Engine, EngineChoice, Job, Operation, Pattern};

static GO: AtomicBool = AtomicBool::new(false);

/// Bytes locked for registered buffers.
fn pinned() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmPin:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

/// The highest amount locked while sealing.
#[derive(Default)]
struct Most(AtomicU64);

impl SectorTransform for Most {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, _: u64, plain: &[u8], stored: &mut [u8]) {
        self.0.fetch_max(pinned(), Relaxed);
        stored.copy_from_slice(plain);
    }

    fn open(&self, _: u64, _: &mut [u8]) {}
}

#[test]
fn only_the_buffers_of_the_job_that_runs_are_locked() {
    let Ok((mut engine, _)) = Engine::open(EngineChoice::Uring) else {
        return eprintln!("SKIPPED: no io_uring");
    };
    let most = Arc::new(Most::default());
    let file = Arc::new(tempfile::tempfile().unwrap());
    file.set_len(8 << 20).unwrap();
    let (extent, mode) = (Extent { offset: 0, len: 8 << 20 }, IoMode::Buffered);
    let io_target = IoTarget { file, extent, mode, transform: Some(most.clone()) };
    let job = |block, threads| Job {
        amount: Amount::Bytes(16 * block),
        threads,
        ..Job::new(Operation::Write, Pattern::Random, block, 6)
    };
    // Twice six blocks: more than the huge page on which each small buffer of the two threads may
    // lie.
    engine.run(&io_target, &job(512 << 10, 1), &GO).unwrap();
    let large = pinned();
    if large == 0 {
        return eprintln!("SKIPPED: {}", engine.details());
    }
    assert!(large >= 6 << 20, "{large}");
    most.0.store(0, Relaxed);
    engine.run(&io_target, &job(4096, 2), &GO).unwrap();
    let (beside, after) = (most.0.load(Relaxed), pinned());
    assert!(beside > 0 && beside < large, "{beside} of {large}");
    assert_eq!(after, 0, "the rings of the job's threads are gone");
    engine.run(&io_target, &job(512 << 10, 1), &GO).unwrap();
    assert_eq!(pinned(), large);
    drop(engine);
    assert_eq!(pinned(), 0);
}
