//! Requests through a stdio buffer.

use std::sync::Arc;

use cryptbench_blockdev::SectorTransform;
use cryptbench_load::{
    Amount, Direction, Engine, EngineChoice, Flush, Job, LoadError, Operation, Pattern,
    SectorState, Start,
};

use crate::engine::GO;
use crate::engine::devices::{Recorder, Served};
use crate::engine::storage::{Xor, extent_of, job, scratch, states, stored};

fn stdio_job(operation: Operation, block: u64, bytes: u64) -> Job {
    Job {
        amount: Amount::Bytes(bytes),
        start: Start::First,
        ..job(operation, Pattern::Sequential, block, 1)
    }
}

#[test]
fn what_goes_through_the_buffer_arrives() {
    let mut engine = Engine::open(EngineChoice::Threads).unwrap().0;
    let len = 240 << 10;
    for block in [512, 1536, 4096, 6144, 20480] {
        for start in [Start::First, Start::Seeded] {
            let xor = Arc::new(Xor::default());
            let io_target = scratch(len, Some(xor.clone() as Arc<dyn SectorTransform>));
            let write =
                Job { start, flush: Flush::AtEnd, ..stdio_job(Operation::Write, block, len) };
            let m = engine.run_stdio(&io_target, &write, &GO).unwrap();
            assert_eq!((m.ios, m.bytes, m.flushes), (len / block, len, 1), "{block}");
            let mut bytes = extent_of(&stored(&io_target), &io_target).to_vec();
            xor.open(0, &mut bytes);
            let five = |s: &SectorState| matches!(s, SectorState::Valid { generation: 5, .. });
            assert!(states(&bytes).iter().all(five), "{block}");

            xor.opened.lock().unwrap().clear();
            let read = stdio_job(Operation::Read, block, len);
            assert_eq!(engine.run_stdio(&io_target, &read, &GO).unwrap().ios, len / block);
            let opened = xor.opened.lock().unwrap();
            assert_eq!(opened.len() as u64, len / 512);
            assert!(opened.iter().all(|(_, s)| five(s)), "{block}");
        }
    }
}

/// Requests smaller than the buffer reach the kernel in whole buffers.
#[test]
fn small_requests_are_gathered() {
    let recorder = Arc::new(Recorder::new(64 << 10));
    let Some(served) = Served::new(recorder.clone()) else { return };
    let mut engine = Engine::open(EngineChoice::Threads).unwrap().0;
    let io_target = served.io_target();
    engine.run_stdio(&io_target, &stdio_job(Operation::Write, 512, 64 << 10), &GO).unwrap();
    let writes = recorder.writes();
    assert!(writes.iter().all(|&(_, len)| len == 4096), "{writes:?}");
    assert_eq!(writes.len(), 16);
}

#[test]
fn what_no_stream_can_carry_is_refused() {
    let mut engine = Engine::open(EngineChoice::Threads).unwrap().0;
    let io_target = scratch(1 << 20, None);
    let changes: &[fn(&mut Job)] = &[
        |j| j.pattern = Pattern::Random,
        |j| j.threads = 2,
        |j| j.queue_depth = 2,
        |j| j.direction = Direction::Mixed { read_percent: 50 },
        |j| j.flush = Flush::EachWrite,
    ];
    for change in changes {
        let mut job = stdio_job(Operation::Write, 512, 1 << 20);
        change(&mut job);
        let e = engine.run_stdio(&io_target, &job, &GO).unwrap_err();
        assert!(matches!(e, LoadError::Stdio), "{e}");
    }
}
