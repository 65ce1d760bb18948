//! AVX-512 with GFNI: 64 blocks, the whole state in registers; see [`super::matrices`].

use std::arch::x86_64::*;

use super::super::function::TURNED_INPUT;
use super::super::schedule::{SEGMENT, Schedule};
use super::super::xts::{CHUNK, Wide};
use super::frame::align_frame;
use super::gfni::kernel;
use super::masks::masks_512;
use super::matrices::{AFTER, ENTER, HalfMatrices, Keys, LEAVE, ROTATE};
use super::transpose::transpose_512;
use crate::cpu::Tier;
use crate::kernel::Block;

/// Proof of AVX-512 (F, BW, VL) with GFNI and VPCLMULQDQ.
#[derive(Clone, Copy)]
pub(super) struct Gfni512(());

impl Gfni512 {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("vpclmulqdq");
        (tier >= Tier::Avx512 && has).then_some(Self(()))
    }
}

kernel!(
    Gfni512,
    "gfni-avx512",
    64,
    __m512i,
    "avx512f,avx512bw,gfni",
    masks_512,
    transpose_512,
    _mm512_broadcast_i32x4,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_gf2p8affine_epi64_epi8,
    _mm512_set1_epi64,
    _mm512_xor_si512
);

/// The truth table of a three-input sum.
const SUM: i32 = 0x96;

/// `to + P(S(from))`, with the key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn round(from: Half, to: Half, constants: &[u32; 8]) -> Half {
    let invert = |x: __m512i, i: usize| {
        _mm512_gf2p8affineinv_epi64_epi8::<0>(x, _mm512_set1_epi64(AFTER[i].cast_signed()))
    };
    let z: Half = std::array::from_fn(|i| {
        invert(if TURNED_INPUT[i] { multiply(from[i], ROTATE) } else { from[i] }, i)
    });
    let key = |i: usize| _mm512_set1_epi32(constants[i].cast_signed());
    let a = [xor(z[0], z[5]), xor(z[1], z[6]), xor(z[2], z[7]), xor(z[3], z[4])];
    let c = [
        sum(a[0], a[1], z[7]),
        sum(a[1], a[2], z[4]),
        sum(a[2], a[3], z[5]),
        sum(a[3], a[0], z[6]),
    ];
    [
        sum(sum(to[0], key(0), z[4]), a[2], c[3]),
        sum(sum(to[1], key(1), z[5]), a[3], c[0]),
        sum(sum(to[2], key(2), z[6]), a[0], c[1]),
        sum(sum(to[3], key(3), z[7]), a[1], c[2]),
        sum(to[4], c[0], key(4)),
        sum(to[5], c[1], key(5)),
        sum(to[6], c[2], key(6)),
        sum(to[7], c[3], key(7)),
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn sum(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<SUM>(a, b, c)
}
