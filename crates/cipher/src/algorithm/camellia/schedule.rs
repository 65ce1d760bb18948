//! Camellia's key schedule (RFC 3713, 2.2), shared by all kernels and in constant time.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::function::f;

/// Number of rounds for 192- and 256-bit keys; 128-bit keys use 18 rounds.
pub(super) const MAX_ROUNDS: usize = 24;

/// Number of rounds between two FL layers.
pub(super) const SEGMENT: usize = 6;

/// Subkeys in the order of use for one direction.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct Schedule {
    /// Whitening keys of the left and the right half: first those before the first round, then those after the last.
    pub(super) kw: [u64; 4],
    /// Round keys; only the first [`Self::rounds`] are used.
    pub(super) k: [u64; MAX_ROUNDS],
    /// Keys of FL and its inverse, layer by layer.
    pub(super) ke: [u64; 2 * (MAX_ROUNDS / SEGMENT - 1)],
    pub(super) rounds: usize,
}

impl Schedule {
    /// The schedule for encryption with a key of 16, 24 or 32 bytes.
    pub(super) fn encryption(key: &[u8]) -> Self {
        let half = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u128::from(byte));
        let (left, right) = key.split_at(16);
        let kl = half(left);
        let kr = match right.len() {
            0 => 0,
            8 => half(right) << 64 | !half(right) & u128::from(u64::MAX),
            16 => half(right),
            _ => panic!("Camellia key length"),
        };
        let ka = two_rounds(two_rounds(kl ^ kr, 0) ^ kl, 2);
        if right.is_empty() {
            let turned = [(kl, 0), (ka, 0), (kl, 15), (ka, 15), (ka, 30), (kl, 45)];
            let [w, k1, k3, k5, e1, k7] = turned.map(halves);
            let turned = [(ka, 45), (kl, 60), (ka, 60), (kl, 77), (kl, 94), (ka, 94), (kl, 111)];
            let [k9, k10, k11, e3, k13, k15, k17] = turned.map(halves);
            let last = halves((ka, 111));
            let rounds = [k1, k3, k5, k7, [k9[0], k10[1]], k11, k13, k15, k17];
            return Self::new([w, last], &rounds, &[e1, e3]);
        }
        let kb = two_rounds(ka ^ kr, 4);
        let rounds = [
            (kb, 0),
            (kr, 15),
            (ka, 15),
            (kb, 30),
            (kl, 45),
            (ka, 45),
            (kr, 60),
            (kb, 60),
            (kl, 77),
            (kr, 94),
            (ka, 94),
            (kl, 111),
        ];
        let layers = [(kr, 30), (kl, 60), (ka, 77)].map(halves);
        Self::new([halves((kl, 0)), halves((kb, 111))], &rounds.map(halves), &layers)
    }

    fn new(kw: [[u64; 2]; 2], rounds: &[[u64; 2]], layers: &[[u64; 2]]) -> Self {
        let mut schedule = Self {
            kw: [kw[0][0], kw[0][1], kw[1][0], kw[1][1]],
            k: [0; MAX_ROUNDS],
            ke: [0; 2 * (MAX_ROUNDS / SEGMENT - 1)],
            rounds: 2 * rounds.len(),
        };
        schedule.k.as_chunks_mut().0[..rounds.len()].copy_from_slice(rounds);
        schedule.ke.as_chunks_mut().0[..layers.len()].copy_from_slice(layers);
        schedule
    }

    /// The schedule for decryption: the same subkeys in reverse order (RFC 3713, 2.3.3).
    pub(super) fn decryption(key: &[u8]) -> Self {
        let mut schedule = Self::encryption(key);
        let (rounds, layers) = (schedule.rounds, schedule.rounds / SEGMENT - 1);
        schedule.kw.rotate_left(2);
        schedule.k[..rounds].reverse();
        schedule.ke[..2 * layers].reverse();
        schedule
    }
}

/// Two rounds, whose keys are the constant `sigma` and the next constant.
fn two_rounds(x: u128, sigma: usize) -> u128 {
    /// Hexadecimal digits 2 to 17 of the square roots of the first six primes (RFC 3713, 2.2).
    const SIGMA: [u64; 6] = [
        0xa09e_667f_3bcc_908b,
        0xb67a_e858_4caa_73b2,
        0xc6ef_372f_e94f_82be,
        0x54ff_53a5_f1d3_6f1c,
        0x10e5_27fa_de68_2d1d,
        0xb056_88c2_b3e6_c1fd,
    ];
    let (mut left, mut right) = ((x >> 64) as u64, x as u64);
    right ^= f(left, SIGMA[sigma]);
    left ^= f(right, SIGMA[sigma + 1]);
    u128::from(left) << 64 | u128::from(right)
}

/// The two halves of a key that is rotated left.
fn halves((key, bits): (u128, u32)) -> [u64; 2] {
    let key = key.rotate_left(bits);
    [(key >> 64) as u64, key as u64]
}
