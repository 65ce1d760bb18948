//! One job that several I/O targets run in turns.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cryptbench_load::{LoadError, Operation, Pattern, SectorState};

use super::GO;
use super::storage::{engines, extent_of, job, scratch, states, stored};

const SLICE: Duration = Duration::from_millis(4);

#[test]
fn slices_add_up() {
    for mut engine in engines() {
        let targets = [scratch(1 << 20, None), scratch(1 << 20, None)];
        for (operation, threads, depth) in
            [(Operation::Write, 1, 1), (Operation::Read, 1, 8), (Operation::Read, 2, 3)]
        {
            let job =
                cryptbench_load::Job { threads, ..job(operation, Pattern::Random, 4096, depth) };
            let mut slices = engine.slices(&targets, &job).unwrap();
            let mut sums = [(0, 0, Duration::ZERO); 2];
            let (queue, mut most) = (u64::from(depth), 0);
            for turn in [0, 1, 1, 0, 0] {
                let slice = slices.carry(&mut engine, turn, SLICE, &GO).unwrap();
                most = most.max(slice.ios);
                assert!(slice.ios > 0, "{}: {slice:?}", engine.name());
                assert!(slice.bytes == slice.ios * 4096 && !slice.interrupted);
                let around = u64::from(threads) * queue;
                assert!(slice.total_bytes >= slice.bytes + around * 4096, "the first queue counts");
                let (ios, total, elapsed) = &mut sums[turn];
                *ios += slice.ios;
                *total += slice.total_bytes;
                *elapsed += slice.elapsed;
            }
            // One slice may find the processors busy with other tests.
            assert!(most >= 2 * queue, "{}: {most}", engine.name());
            for (measured, (ios, total, elapsed)) in slices.finish().iter().zip(sums) {
                assert_eq!((measured.ios, measured.total_bytes), (ios, total));
                assert_eq!((measured.latency.len(), measured.elapsed), (ios, elapsed));
            }
        }
    }
}

/// The requests to a target do not depend on how its time is sliced.
#[test]
fn slices_continue_their_offsets() {
    for mut engine in engines() {
        let blocks = 4096;
        let targets = [scratch(blocks * 4096, None), scratch(blocks * 4096, None)];
        let job = job(Operation::Write, Pattern::Permutation, 4096, 4);
        let mut slices = engine.slices(&targets, &job).unwrap();
        let mut written = 0;
        while written < blocks / 4 {
            let slice = slices.carry(&mut engine, 0, Duration::from_micros(300), &GO).unwrap();
            written += slice.total_bytes / 4096;
        }
        let bytes = stored(&targets[0]);
        let states = states(extent_of(&bytes, &targets[0]));
        let valid = states.iter().filter(|s| matches!(s, SectorState::Valid { .. })).count() as u64;
        // No block is repeated before all have been written once.
        assert_eq!(valid / 8, written.min(blocks), "{}", engine.name());
        assert!(stored(&targets[1]).iter().all(|&b| b == 0), "the other had no turn");
    }
}

#[test]
fn targets_have_places_of_their_own() {
    let mut engine = engines().pop().unwrap();
    let targets = [scratch(1 << 20, None), scratch(1 << 20, None)];
    let mut slices =
        engine.slices(&targets, &job(Operation::Write, Pattern::Random, 4096, 1)).unwrap();
    let first = |slices: &mut cryptbench_load::Slices, engine: &mut _, turn: usize| {
        slices.carry(engine, turn, Duration::ZERO, &GO).unwrap();
        let bytes = stored(&targets[turn]);
        extent_of(&bytes, &targets[turn]).chunks(4096).map(|b| b.iter().any(|&b| b != 0)).collect()
    };
    let one: Vec<bool> = first(&mut slices, &mut engine, 0);
    let other: Vec<bool> = first(&mut slices, &mut engine, 1);
    assert_ne!(one, other);
}

#[test]
fn the_stop_flag_ends_a_slice() {
    for mut engine in engines() {
        let targets = [scratch(1 << 20, None)];
        let mut slices =
            engine.slices(&targets, &job(Operation::Read, Pattern::Random, 4096, 2)).unwrap();
        let stopped = AtomicBool::new(true);
        let slice = slices.carry(&mut engine, 0, Duration::from_secs(60), &stopped).unwrap();
        assert!(slice.interrupted, "{}", engine.name());
    }
}

#[test]
fn what_does_not_fit_a_target_is_refused() {
    let engine = engines().remove(0);
    let targets = [scratch(1 << 20, None), scratch(4096, None)];
    let job = job(Operation::Read, Pattern::Random, 64 << 10, 1);
    let refused = engine.slices(&targets, &job).err().expect("the second is too small");
    assert!(!matches!(refused, LoadError::Interrupted), "{refused}");
}
