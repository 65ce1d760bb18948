//! Argon2 against the `argon2` crate, and what a stop does to one that would take minutes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use cryptbench_kdf::{Argon2Kind, Argon2Params, Effort, KdfError, Tier};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn bytes(rng: &mut ChaCha8Rng, least: usize, most: usize) -> Vec<u8> {
    let length = rng.random_range(least..=most);
    (0..length).map(|_| rng.random()).collect()
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of memory")]
fn every_cost_gives_the_key_of_the_oracle() {
    let mut rng = ChaCha8Rng::seed_from_u64(9106);
    for round in 0..300 {
        let kind = if round % 2 == 0 { Argon2Kind::Id } else { Argon2Kind::I };
        let lanes = [1, 1, 2, 3, 4, 7][rng.random_range(0..6)];
        // Odd amounts too: what is no whole segment is left out. Segments beyond 128 blocks take several blocks of
        // addresses.
        let memory_kib = 8 * lanes + rng.random_range(0..[20, 300, 3000][round % 3]);
        let params = Argon2Params { memory_kib, passes: rng.random_range(1..=4), lanes };
        let password = bytes(&mut rng, 0, 200);
        let salt = bytes(&mut rng, 8, 80);
        let mut expected = vec![0; rng.random_range(4..=200)];
        let algorithm = match kind {
            Argon2Kind::I => Algorithm::Argon2i,
            Argon2Kind::Id => Algorithm::Argon2id,
        };
        let checked = Params::new(memory_kib, params.passes, lanes, Some(expected.len())).unwrap();
        let mut blocks = vec![Block::default(); checked.block_count()];
        let oracle = Argon2::new(algorithm, Version::V0x13, checked);
        oracle
            .hash_password_into_with_memory(&password, &salt, &mut expected, &mut blocks)
            .unwrap();
        for tier in Tier::available() {
            for threads in [1, 3] {
                let mut key = vec![0; expected.len()];
                let effort = Effort::new(tier, threads);
                cryptbench_kdf::argon2(kind, &password, &salt, params, &mut key, effort).unwrap();
                assert_eq!(key, expected, "{kind} {params:?} on {tier}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_stop_ends_it_at_once_and_gives_the_memory_back() {
    // What a header from a stranger may ask for.
    let params = Argon2Params { memory_kib: 1 << 20, passes: 64, lanes: 4 };
    if cryptbench_kdf::memory::available_kib().is_none_or(|free| free < 2 << 20) {
        eprintln!("SKIPPED: less than a GiB of memory is free");
        return;
    }
    let stop = AtomicBool::new(false);
    let (taken, result) = std::thread::scope(|scope| {
        let derivation = scope.spawn(|| {
            let mut key = [7; 64];
            let effort = Effort::new(Tier::Soft, 4).stopped_by(&stop);
            let kind = Argon2Kind::Id;
            let result = cryptbench_kdf::argon2(kind, b"p", b"saltsalt", params, &mut key, effort);
            (key, result)
        });
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(100));
        while resident_kib().is_some_and(|kib| kib <= 10 << 10) {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!derivation.is_finished());
        let begun = Instant::now();
        stop.store(true, Ordering::Relaxed);
        let result = derivation.join().unwrap();
        (begun.elapsed(), result)
    });
    assert_eq!(result, ([7; 64], Err(KdfError::Stopped)));
    assert!(taken < Duration::from_secs(1), "{taken:?}");
    let kept = resident_kib();
    assert!(kept.is_none_or(|kib| kib < 100 << 10), "{kept:?} KiB are still there");
}

#[test]
fn what_cannot_be_had_is_refused_before_it_is_touched() {
    let Some(free) = cryptbench_kdf::memory::available_kib() else {
        eprintln!("SKIPPED: the system does not report its free memory");
        return;
    };
    let params = Argon2Params { memory_kib: u32::MAX, passes: 1, lanes: 1 };
    if u64::from(params.memory_kib) <= free {
        eprintln!("SKIPPED: this machine has 4 TiB of memory");
        return;
    }
    let effort = Effort::new(Tier::Soft, 1);
    let refused =
        cryptbench_kdf::argon2(Argon2Kind::Id, b"", &[0; 8], params, &mut [0; 32], effort);
    assert!(matches!(refused, Err(KdfError::Memory { free: Some(_), .. })), "{refused:?}");
}

/// Memory of this process that is there, in KiB; `None` on Windows.
fn resident_kib() -> Option<u64> {
    if cfg!(windows) {
        // Wine would open its server's.
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    Some(line.trim().trim_end_matches(" kB").parse().unwrap())
}
