//! AVX-512 with GFNI: 64 blocks, the whole state in registers; see [`super::matrices`].

use std::arch::x86_64::*;

use super::super::function::TURNED_INPUT;
use super::super::schedule::{SEGMENT, Schedule};
use super::super::xts::{CHUNK, Wide};
use super::frame::align_frame;
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

impl Wide for Gfni512 {
    const NAME: &'static str = "gfni-avx512";
    const BLOCKS: usize = 64;
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        // SAFETY: `self` proves the features; the rest is the trait's contract.
        unsafe { transform(keys, from, masks, to) }
    }

    fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: `self` proves the features.
        unsafe { masks_512(first, masks) }
    }
}

/// A half of the state: byte positions, most significant first.
type Half = [__m512i; 8];

/// The truth table of a three-input sum.
const SUM: i32 = 0x96;

/// # Safety
/// The CPU must have the features; for the rest see [`Wide::transform`].
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn transform(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    align_frame();
    let block = |[low, high]: [u64; 2]| {
        let block = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
        _mm512_broadcast_i32x4(block)
    };
    // SAFETY: each pointer goes through 64 blocks, four at a time.
    let load = |from: *const u8, i: usize| unsafe { _mm512_loadu_si512(from.add(64 * i).cast()) };
    let first = block(keys.first);
    let x: [_; 16] = std::array::from_fn(|i| sum(load(from, i), load(masks, i), first));
    let x = transpose_512(x);
    let mut left: Half = std::array::from_fn(|i| multiply(x[i], ENTER));
    let mut right: Half = std::array::from_fn(|i| multiply(x[8 + i], ENTER));

    let segments = keys.rounds[..keys.count].as_chunks::<SEGMENT>().0;
    for (segment, constants) in segments.iter().enumerate() {
        if segment > 0 {
            let [for_left, for_right] = &keys.layers[segment - 1];
            left = back(rotation(left, for_left), for_left);
            right = rotation(back(right, for_right), for_right);
        }
        for [first, second] in constants.as_chunks().0 {
            right = round(left, right, first);
            left = round(right, left, second);
        }
    }

    let x = std::array::from_fn(|i| {
        let byte = if i < 8 { right[i] } else { left[i - 8] };
        multiply(byte, LEAVE)
    });
    let x = transpose_512(x);
    let last = block(keys.last);
    for (i, x) in x.into_iter().enumerate() {
        // SAFETY: the pointer goes through 64 blocks, four at a time.
        unsafe { _mm512_storeu_si512(to.add(64 * i).cast(), sum(x, load(masks, i), last)) };
    }
}

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

/// Adds the rotated left word to the right one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn rotation(mut x: Half, matrices: &HalfMatrices) -> Half {
    for i in 0..4 {
        let next = (i + 1) % 4;
        let same = multiply(x[i], matrices.same[i]);
        let carry = multiply(x[next], matrices.carry[next]);
        x[4 + i] = sum(x[4 + i], same, carry);
    }
    x
}

/// Adds the selected bits of the right word to the left one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn back(mut x: Half, matrices: &HalfMatrices) -> Half {
    for i in 0..4 {
        x[i] = xor(x[i], multiply(x[4 + i], matrices.back[i]));
    }
    x
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn multiply(x: __m512i, matrix: u64) -> __m512i {
    _mm512_gf2p8affine_epi64_epi8::<0>(x, _mm512_set1_epi64(matrix.cast_signed()))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn xor(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn sum(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<SUM>(a, b, c)
}
