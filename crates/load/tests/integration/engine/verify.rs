//! A reader finds and names the faults of a faulty device.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cryptbench_load::{
    Acknowledged, Amount, Content, Fault, Job, LoadError, Operation, Pattern, SectorState, Start,
    Verification,
};

use crate::engine::GO;
use crate::engine::devices::{Faulty, Misdeed, Served};
use crate::engine::storage::{engines, job, scratch};

const BLOCK: u64 = 16 << 10;
const BLOCKS: u64 = 64;
const SECTORS: u64 = BLOCK / 512;

/// The block that the device mishandles.
const BAD: u64 = 5 * BLOCK;

/// Writes all blocks, from the last to the first.
fn rewrite(generation: u64) -> Job {
    Job {
        amount: Amount::Bytes(BLOCKS * BLOCK),
        start: Start::First,
        generation,
        ..job(Operation::Write, Pattern::Backward, BLOCK, 1)
    }
}

/// Fills, writes generation 1, then mishandles all `generations`; returns the findings of a reader.
fn after(misdeed: &Misdeed, generations: &[u64]) -> Vec<Verification> {
    let mut found = Vec::new();
    for mut engine in engines() {
        let device = Arc::new(Faulty::new((BLOCKS * BLOCK) as usize));
        let Some(served) = Served::new(device.clone()) else { return Vec::new() };
        let io_target = served.io_target();
        engine.prefill(&io_target, 1, &GO, &mut |_| ()).unwrap();
        let map = Arc::new(Acknowledged::filled(io_target.extent.len, BLOCK, 1).unwrap());
        engine.run_traced(&io_target, &rewrite(1), &map, &GO).unwrap();
        let before = map.verify(&io_target, &GO, &mut |_| ()).unwrap();
        assert_eq!((before.valid, before.faults()), (BLOCKS * SECTORS, 0));
        device.misbehave(BAD..BAD + BLOCK, misdeed.clone());
        for &generation in generations {
            engine.run_traced(&io_target, &rewrite(generation), &map, &GO).unwrap();
        }
        let mut told = 0;
        let result = map.verify(&io_target, &GO, &mut |n| told = n).unwrap();
        assert_eq!(told, BLOCKS * BLOCK);
        assert_eq!(result.valid + result.faults(), BLOCKS * SECTORS, "every sector has its state");
        found.push(result);
    }
    found
}

/// Checks that exactly `count` sectors have this fault, that all others are valid, and that the
/// first faulty one is named.
fn only(found: &[Verification], fault: Fault, count: u64, first: u64) {
    for v in found {
        assert_eq!(v.faults(), count, "{v:?}");
        assert!(v.findings.iter().all(|f| f.fault == fault), "{v:?}");
        assert_eq!(v.findings.len() as u64, count.min(16));
        assert_eq!((v.findings[0].offset, v.findings[0].acknowledged), (first, Some(2)));
    }
}

#[test]
fn a_lost_write_is_found() {
    let found = after(&Misdeed::Lose, &[2]);
    only(&found, Fault::Lost, SECTORS, BAD);
    for v in found {
        assert!(matches!(v.findings[0].found, SectorState::Valid { generation: 1, .. }));
        assert_eq!(v.lost, SECTORS);
    }
}

#[test]
fn a_stale_block_is_found() {
    // A read answered by a cache that missed the write; the second one is correct.
    only(&after(&Misdeed::AnswerOld(1), &[2]), Fault::Stale, SECTORS, BAD);
    // A device that fell back by more than one write.
    for v in after(&Misdeed::Lose, &[2, 3]) {
        assert_eq!((v.stale, v.faults()), (SECTORS, SECTORS), "{v:?}");
    }
}

#[test]
fn a_flipped_bit_is_found() {
    for bit in [3, 100, 2000, 4095] {
        let third = 3 * 4096 + bit;
        only(&after(&Misdeed::Flip(third), &[2]), Fault::Damaged, 1, BAD + 3 * 512);
    }
}

#[test]
fn a_torn_write_is_found() {
    only(&after(&Misdeed::Tear(10 * 512), &[2]), Fault::Torn, SECTORS - 10, BAD + 10 * 512);
}

/// Found twice: where it went, and where it is missing.
#[test]
fn a_misdirected_write_is_found() {
    let there = 9 * BLOCK;
    for v in after(&Misdeed::Misdirect(there), &[2]) {
        assert_eq!((v.misplaced, v.lost, v.faults()), (SECTORS, SECTORS, 2 * SECTORS), "{v:?}");
    }
}

#[test]
fn zeros_and_foreign_bytes_are_found() {
    only(&after(&Misdeed::Overwrite(0), &[2]), Fault::Blank, SECTORS, BAD);
    only(&after(&Misdeed::Overwrite(0xa5), &[2]), Fault::Unmarked, SECTORS, BAD);
}

#[test]
fn sound_storage_verifies_under_concurrent_writes() {
    for mut engine in engines() {
        let io_target = scratch(2 << 20, None);
        let map = Arc::new(Acknowledged::nothing(io_target.extent.len, 4096).unwrap());
        for (generation, pattern, block, threads) in [
            (1, Pattern::Random, 8192, 1),
            (2, Pattern::Zipf { theta: 1.0 }, 4096, 3),
            (3, Pattern::Sequential, 64 << 10, 2),
        ] {
            let job = Job { generation, threads, ..job(Operation::Write, pattern, block, 4) };
            let job = Job { amount: Amount::Bytes(512 << 10), ..job };
            engine.run_traced(&io_target, &job, &map, &GO).unwrap();
        }
        let v = map.verify(&io_target, &GO, &mut |_| ()).unwrap();
        assert_eq!(v.faults(), 0, "{v:?}");
        assert_eq!(v.valid + v.unwritten, (2 << 20) / 512);
        assert!(v.valid > 512 && v.unwritten > 512, "{v:?}");
    }
}

#[test]
fn what_cannot_be_traced_is_refused() {
    for mut engine in engines() {
        let io_target = scratch(1 << 20, None);
        let map = Arc::new(Acknowledged::filled(1 << 20, 4096, 1).unwrap());
        let mut refused = |job: &Job| {
            let e = engine.run_traced(&io_target, job, &map, &GO).unwrap_err();
            assert!(matches!(e, LoadError::Untraceable { unit: 4096 }), "{e}");
        };
        let write = job(Operation::Write, Pattern::Random, 4096, 1);
        refused(&Job { content: Content::Zeros, ..write.clone() });
        refused(&Job { block_size: 6144, ..write });
        let stop = AtomicBool::new(true);
        let e = map.verify(&io_target, &stop, &mut |_| ()).unwrap_err();
        assert!(matches!(e, LoadError::Interrupted));
    }
}

/// A newer generation proves nothing if none of the traced jobs wrote it.
#[test]
fn what_another_run_left_is_a_fault() {
    for mut engine in engines() {
        let io_target = scratch(BLOCKS * BLOCK, None);
        let map = Arc::new(Acknowledged::nothing(io_target.extent.len, BLOCK).unwrap());
        engine.run_traced(&io_target, &rewrite(5), &map, &GO).unwrap();
        let verify = || map.verify(&io_target, &GO, &mut |_| ()).unwrap();
        assert_eq!(verify().valid, BLOCKS * SECTORS);
        for (generation, seed) in [(9, rewrite(5).seed), (5, 3), (9, 3)] {
            engine.run(&io_target, &Job { seed, ..rewrite(generation) }, &GO).unwrap();
            let v = verify();
            assert_eq!((v.valid, v.lost), (0, BLOCKS * SECTORS), "{generation}, {seed}");
            engine.run(&io_target, &rewrite(5), &GO).unwrap();
            assert_eq!(verify().valid, BLOCKS * SECTORS);
        }
        // The same holds for a traced job if all its writes were acknowledged elsewhere.
        let one = Job { amount: Amount::Bytes(BLOCK), ..rewrite(6) };
        engine.run_traced(&io_target, &one, &map, &GO).unwrap();
        engine.run(&io_target, &rewrite(6), &GO).unwrap();
        let v = verify();
        assert_eq!((v.valid, v.lost), (SECTORS, (BLOCKS - 1) * SECTORS), "{v:?}");
    }
}
