//! The AVX2 compression function compared with the portable one, and the examples of RFC 6986 through both.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::{ZERO, compress, first, schedule};
use super::*;
use crate::cpu::Tier;
use crate::pbkdf2::Hash;

type Compress = fn(&State, &State, &State) -> State;

#[target_feature(enable = "avx2")]
fn compress_avx2(h: &State, n: &State, m: &State) -> State {
    let h = load(h);
    store(super::compress(h, xor(h, load(n)), load(m)))
}

#[target_feature(enable = "avx2")]
fn first_avx2(mid: &Mid, m: &State) -> State {
    store(super::first(&super::schedule(mid), load(m)))
}

fn has_avx2() -> bool {
    let has = Tier::Avx2.allows(Tier::Avx2);
    if !has {
        eprintln!("SKIPPED: this CPU has no {}", Tier::Avx2);
    }
    has
}

/// A sum modulo 2^512.
fn add(a: &State, b: &State) -> State {
    sigma(&Mid { h: ZERO, keys: [ZERO; SCHEDULE], sigma: *a }, &minus_one(b))
}

/// `sigma` adds the padding's 1 as well.
fn minus_one(x: &State) -> State {
    let mut borrow = true;
    x.map(|word| {
        let (word, next) = word.overflowing_sub(u64::from(borrow));
        borrow = next;
        word
    })
}

/// The hash of RFC 6986, section 8.
fn hash(compress: Compress, message: &[u8]) -> [u8; 64] {
    let (mut h, mut n, mut sum) = (ZERO, ZERO, ZERO);
    let whole = message.chunks_exact(64);
    let mut rest = whole.remainder().to_vec();
    let bits = 8 * rest.len() as u64;
    rest.push(1);
    rest.resize(64, 0);
    let whole = whole.map(|block| (Streebog::decode(block), 512));
    for (block, bits) in whole.chain([(Streebog::decode(&rest), bits)]) {
        h = compress(&h, &n, &block);
        n = add(&n, &[bits, 0, 0, 0, 0, 0, 0, 0]);
        sum = add(&sum, &block);
    }
    h = compress(&h, &ZERO, &n);
    let mut digest = [0; 64];
    Streebog::encode(&compress(&h, &ZERO, &sum), &mut digest);
    digest
}

fn check_rfc_6986(compress: Compress) {
    let hex = |digest: [u8; 64]| digest.map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(
        hex(hash(compress, b"012345678901234567890123456789012345678901234567890123456789012")),
        "1b54d01a4af5b9d5cc3d86d68d285462b19abc2475222f35c085122be4ba1ffa\
         00ad30f8767b3a82384c6574f024c311e2a481332b08ef7f41797891c1646f48"
    );
    let words = [
        &[0xd1, 0xe5, 0x20, 0xe2, 0xe5, 0xf2, 0xf0, 0xe8, 0x2c, 0x20, 0xd1, 0xf2][..],
        &[0xf0, 0xe8, 0xe1, 0xee, 0xe6, 0xe8, 0x20, 0xe2, 0xed, 0xf3, 0xf6, 0xe8],
        &[0x2c, 0x20, 0xe2, 0xe5, 0xfe, 0xf2, 0xfa, 0x20, 0xf1, 0x20, 0xec, 0xee],
        &[0xf0, 0xff, 0x20, 0xf1, 0xf2, 0xf0, 0xe5, 0xeb, 0xe0, 0xec, 0xe8, 0x20],
        &[0xed, 0xe0, 0x20, 0xf5, 0xf0, 0xe0, 0xe1, 0xf0, 0xfb, 0xff, 0x20, 0xef],
        &[0xeb, 0xfa, 0xea, 0xfb, 0x20, 0xc8, 0xe3, 0xee, 0xf0, 0xe5, 0xe2, 0xfb],
    ];
    assert_eq!(
        hex(hash(compress, &words.concat())),
        "1e88e62226bfca6f9994f1f2d51569e0daf8475a3b0fe61a5300eee46d961376\
         035fe83549ada2b8620fcd7c496ce5b33f0cb9dddc2b6460143b03dabac9fb28"
    );
}

#[test]
fn rfc_6986_in_portable_code() {
    check_rfc_6986(compress);
}

#[test]
fn rfc_6986_on_avx2() {
    if has_avx2() {
        // SAFETY: the CPU has AVX2.
        check_rfc_6986(|h, n, m| unsafe { compress_avx2(h, n, m) });
    }
}

#[test]
fn avx2_agrees_with_portable_code() {
    if !has_avx2() {
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    // Every byte in every place, then random ones.
    let same = (0..=255).map(|byte| [[u64::from_le_bytes([byte; 8]); 8]; 3]);
    let random = (0..if cfg!(miri) { 2 } else { 20_000 }).map(|_| rng.random());
    for [h, n, m] in same.chain(random) {
        let mid = Mid { h, keys: schedule(&h, &n), sigma: ZERO };
        let expected = compress(&h, &n, &m);
        assert_eq!(first(&mid, &m), expected);
        // SAFETY: the CPU has AVX2.
        unsafe {
            assert_eq!(compress_avx2(&h, &n, &m), expected);
            assert_eq!(first_avx2(&mid, &m), expected);
        }
    }
}
