//! Invalid jobs are refused with a specific error that says what to do.

use std::time::Duration;

use cryptbench_load::{
    Amount, Content, Direction, Flush, Job, LoadError, MAX_THREADS, Operation, Pattern, Rate,
};

use crate::engine::GO;
use crate::engine::storage::{engines, job, scratch};

#[test]
fn senseless_jobs_are_refused() {
    type Change = fn(&mut Job);
    type Wanted = fn(&LoadError) -> bool;
    let cases: &[(Change, Wanted)] = &[
        (|j| j.threads = 0, |e| matches!(e, LoadError::Threads { threads: 0 })),
        (|j| j.threads = MAX_THREADS + 1, |e| matches!(e, LoadError::Threads { .. })),
        (|j| j.pattern = Pattern::Zipf { theta: 0.0 }, |e| matches!(e, LoadError::Theta { .. })),
        (|j| j.pattern = Pattern::Zipf { theta: -1.0 }, |e| matches!(e, LoadError::Theta { .. })),
        (
            |j| j.pattern = Pattern::Zipf { theta: f64::NAN },
            |e| matches!(e, LoadError::Theta { .. }),
        ),
        (
            |j| j.pattern = Pattern::Zipf { theta: f64::INFINITY },
            |e| matches!(e, LoadError::Theta { .. }),
        ),
        (
            |j| j.pattern = Pattern::Strided { stride: 1 },
            |e| matches!(e, LoadError::Stride { stride: 1 }),
        ),
        (
            |j| j.pattern = Pattern::Sampled { points: 257, run: 1 },
            |e| matches!(e, LoadError::Sampled { points: 257, run: 1, blocks: 256 }),
        ),
        (
            |j| j.pattern = Pattern::Sampled { points: u32::MAX, run: u32::MAX },
            |e| matches!(e, LoadError::Sampled { .. }),
        ),
        (
            |j| j.pattern = Pattern::Sampled { points: 0, run: 1 },
            |e| matches!(e, LoadError::Sampled { .. }),
        ),
        (
            |j| j.direction = Direction::Mixed { read_percent: 0 },
            |e| matches!(e, LoadError::ReadPercent { read_percent: 0 }),
        ),
        (
            |j| j.direction = Direction::Mixed { read_percent: 100 },
            |e| matches!(e, LoadError::ReadPercent { .. }),
        ),
        (
            |j| j.content = Content::Compressible { percent: 100 },
            |e| matches!(e, LoadError::CompressPercent { percent: 100 }),
        ),
        (|j| j.amount = Amount::Bytes(0), |e| matches!(e, LoadError::NoBytes)),
        (|j| j.flush = Flush::AtEnd, |e| matches!(e, LoadError::FlushAtNoEnd)),
        (
            |j| j.flush = Flush::Every { writes: 0, data_only: false, drained: true },
            |e| matches!(e, LoadError::FlushInterval),
        ),
        (|j| j.rate = Some(Rate::Requests(0.0)), |e| matches!(e, LoadError::Rate { .. })),
        (|j| j.rate = Some(Rate::Bytes(-1.0)), |e| matches!(e, LoadError::Rate { .. })),
        (|j| j.rate = Some(Rate::Bytes(f64::NAN)), |e| matches!(e, LoadError::Rate { .. })),
    ];
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        for (number, (change, wanted)) in cases.iter().enumerate() {
            let mut job = job(Operation::Write, Pattern::Random, 4096, 1);
            change(&mut job);
            let e = engine.run(&io_target, &job, &GO).unwrap_err();
            assert!(wanted(&e), "case {number}: {e:?}");
            assert!(e.to_string().len() > 20, "{e}");
        }
    }
}

#[test]
fn odd_jobs_that_make_sense_run() {
    let changes: &[fn(&mut Job)] = &[
        |j| j.pattern = Pattern::Same,
        |j| j.flush = Flush::EachWrite,
        |j| j.pattern = Pattern::Strided { stride: u32::MAX },
        |j| j.pattern = Pattern::Sampled { points: 1, run: 256 },
        |j| j.pattern = Pattern::Zipf { theta: 100.0 },
        |j| j.rate = Some(Rate::Requests(1e300)),
        |j| j.amount = Amount::Time { ramp: Duration::ZERO, duration: Duration::ZERO },
    ];
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        for change in changes {
            let mut job = job(Operation::Read, Pattern::Random, 4096, 8);
            change(&mut job);
            assert!(engine.run(&io_target, &job, &GO).unwrap().ios > 0, "{job:?}");
        }
    }
}
