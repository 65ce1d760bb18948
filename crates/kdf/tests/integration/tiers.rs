//! Every PRF on every tier against the `pbkdf2` crate: random passwords, salts, lengths, threads.

use cryptbench_kdf::{Effort, Prf, Target, Tier, prfs};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The oracle: RustCrypto's PBKDF2 over its own hashes, a block at a time.
fn oracle(prf: &Prf, password: &[u8], salt: &[u8], iterations: u32, out: &mut [u8]) {
    use pbkdf2::pbkdf2_hmac as run;
    match prf.name {
        "sha-512" => run::<sha2::Sha512>(password, salt, iterations, out),
        "sha-256" => run::<sha2::Sha256>(password, salt, iterations, out),
        "sha-1" => run::<sha1::Sha1>(password, salt, iterations, out),
        "whirlpool" => run::<whirlpool::Whirlpool>(password, salt, iterations, out),
        "ripemd-160" => run::<ripemd::Ripemd160>(password, salt, iterations, out),
        "streebog-512" => run::<streebog::Streebog512>(password, salt, iterations, out),
        // BLAKE2 buffers lazily, which HMAC's fast form does not take.
        "blake2s-256" => {
            let hash = pbkdf2::pbkdf2::<pbkdf2::hmac::SimpleHmac<blake2::Blake2s256>>;
            hash(password, salt, iterations, out).unwrap();
        }
        other => panic!("no oracle for {other}"),
    }
}

fn bytes(rng: &mut ChaCha8Rng, most: usize) -> Vec<u8> {
    let length = rng.random_range(0..=most);
    (0..length).map(|_| rng.random()).collect()
}

/// The cheap hashes of miri's interpreter are still slow.
const ROUNDS: usize = if cfg!(miri) { 2 } else { 150 };

#[test]
fn all_tiers_agree_with_the_oracle() {
    for prf in prfs() {
        let mut rng = ChaCha8Rng::seed_from_u64(20);
        for round in 0..ROUNDS {
            // Longer than the longest block, in some rounds.
            let password = bytes(&mut rng, if round % 3 == 0 { 300 } else { 64 });
            let salt = bytes(&mut rng, 200);
            let iterations = rng.random_range(1..=7);
            let most = if cfg!(miri) { 3 } else { 21 };
            let mut expected = vec![0; rng.random_range(0..=most * prf.output_bytes)];
            oracle(prf, &password, &salt, iterations, &mut expected);
            for tier in Tier::available() {
                for threads in [1, 3] {
                    let effort = Effort::new(tier, threads);
                    let mut out = vec![0; expected.len()];
                    prf.pbkdf2(&password, &salt, iterations, &mut out, effort).unwrap();
                    assert_eq!(out, expected, "{} {tier} {threads} threads", prf.name);
                }
            }
        }
    }
}

#[test]
fn all_block_counts_agree_with_the_oracle_beyond_a_chunk() {
    for prf in prfs() {
        let most = if cfg!(miri) { 2 } else { 20 };
        let iterations = if cfg!(miri) { 2 } else { 1030 };
        let mut expected = vec![0; most * prf.output_bytes];
        oracle(prf, b"password", b"salt", iterations, &mut expected);
        for tier in Tier::available() {
            for blocks in 1..=most {
                let mut out = vec![0; blocks * prf.output_bytes];
                let effort = Effort::new(tier, 1);
                prf.pbkdf2(b"password", b"salt", iterations, &mut out, effort).unwrap();
                assert_eq!(out, expected[..out.len()], "{} {tier} {blocks} blocks", prf.name);
            }
        }
    }
}

#[test]
fn several_salts_are_several_derivations() {
    let salts = [&b"outer"[..], b"", b"hidden"];
    for prf in prfs() {
        for tier in Tier::available() {
            let mut keys = [vec![0; 192], vec![0; 1], vec![0; 64]];
            let mut targets: Vec<Target<'_>> =
                salts.iter().zip(&mut keys).map(|(salt, out)| Target { salt, out }).collect();
            prf.pbkdf2_each(b"password", 3, &mut targets, Effort::new(tier, 1)).unwrap();
            for (salt, key) in salts.iter().zip(&keys) {
                let mut expected = vec![0; key.len()];
                oracle(prf, b"password", salt, 3, &mut expected);
                assert_eq!(key, &expected, "{} {tier}", prf.name);
            }
        }
    }
}
