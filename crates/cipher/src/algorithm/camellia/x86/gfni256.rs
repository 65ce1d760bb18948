//! AVX2 with GFNI: 32 blocks, for CPUs without AVX-512 (Alder Lake and later); see [`super::matrices`].

use std::arch::x86_64::*;

use super::super::function::TURNED_INPUT;
use super::super::schedule::{SEGMENT, Schedule};
use super::super::xts::{CHUNK, Wide};
use super::frame::align_frame;
use super::gfni::kernel;
use super::masks::masks_256;
use super::matrices::{AFTER, ENTER, HalfMatrices, Keys, LEAVE, ROTATE};
use super::transpose::transpose_256;
use crate::cpu::Tier;
use crate::kernel::Block;

/// Proof of AVX2 with GFNI.
#[derive(Clone, Copy)]
pub(super) struct Gfni256(());

impl Gfni256 {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni");
        (tier >= Tier::Avx2 && has).then_some(Self(()))
    }
}

kernel!(
    Gfni256,
    "gfni-avx2",
    32,
    __m256i,
    "avx2,gfni",
    masks_256,
    transpose_256,
    _mm256_broadcastsi128_si256,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_gf2p8affine_epi64_epi8,
    _mm256_set1_epi64x,
    _mm256_xor_si256
);

/// `to + P(S(from))`, with the key.
#[inline]
#[target_feature(enable = "avx2,gfni")]
fn round(from: Half, to: Half, constants: &[u32; 8]) -> Half {
    let invert = |x: __m256i, i: usize| {
        _mm256_gf2p8affineinv_epi64_epi8::<0>(x, _mm256_set1_epi64x(AFTER[i].cast_signed()))
    };
    let z: Half = std::array::from_fn(|i| {
        invert(if TURNED_INPUT[i] { multiply(from[i], ROTATE) } else { from[i] }, i)
    });
    let key = |i: usize| _mm256_set1_epi32(constants[i].cast_signed());
    let a = [xor(z[0], z[5]), xor(z[1], z[6]), xor(z[2], z[7]), xor(z[3], z[4])];
    let b = [xor(z[4], a[2]), xor(z[5], a[3]), xor(z[6], a[0]), xor(z[7], a[1])];
    let c = [xor(a[0], b[3]), xor(a[1], b[0]), xor(a[2], b[1]), xor(a[3], b[2])];
    let to: Half = std::array::from_fn(|i| xor(to[i], key(i)));
    [
        sum(to[0], b[0], c[3]),
        sum(to[1], b[1], c[0]),
        sum(to[2], b[2], c[1]),
        sum(to[3], b[3], c[2]),
        xor(to[4], c[0]),
        xor(to[5], c[1]),
        xor(to[6], c[2]),
        xor(to[7], c[3]),
    ]
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn sum(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(xor(a, b), c)
}
