//! AVX2 with GFNI: 32 blocks, for CPUs without AVX-512 (Alder Lake and later); see [`super::matrices`].

use std::arch::x86_64::*;

use super::super::function::TURNED_INPUT;
use super::super::schedule::{SEGMENT, Schedule};
use super::super::xts::{CHUNK, Wide};
use super::frame::align_frame;
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

impl Wide for Gfni256 {
    const NAME: &'static str = "gfni-avx2";
    const BLOCKS: usize = 32;
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
        unsafe { masks_256(first, masks) }
    }
}

/// A half of the state: byte positions, most significant first.
type Half = [__m256i; 8];

/// # Safety
/// The CPU must have the features; for the rest see [`Wide::transform`].
#[target_feature(enable = "avx2,gfni")]
unsafe fn transform(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    align_frame();
    let block = |[low, high]: [u64; 2]| {
        let block = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
        _mm256_broadcastsi128_si256(block)
    };
    // SAFETY: each pointer goes through 32 blocks, two at a time.
    let load = |from: *const u8, i: usize| unsafe { _mm256_loadu_si256(from.add(32 * i).cast()) };
    let first = block(keys.first);
    let x: [_; 16] = std::array::from_fn(|i| sum(load(from, i), load(masks, i), first));
    let x = transpose_256(x);
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
    let x = transpose_256(x);
    let last = block(keys.last);
    for (i, x) in x.into_iter().enumerate() {
        // SAFETY: the pointer goes through 32 blocks, two at a time.
        unsafe { _mm256_storeu_si256(to.add(32 * i).cast(), sum(x, load(masks, i), last)) };
    }
}

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

/// Adds the rotated left word to the right one.
#[inline]
#[target_feature(enable = "avx2,gfni")]
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
#[target_feature(enable = "avx2,gfni")]
fn back(mut x: Half, matrices: &HalfMatrices) -> Half {
    for i in 0..4 {
        x[i] = xor(x[i], multiply(x[4 + i], matrices.back[i]));
    }
    x
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn multiply(x: __m256i, matrix: u64) -> __m256i {
    _mm256_gf2p8affine_epi64_epi8::<0>(x, _mm256_set1_epi64x(matrix.cast_signed()))
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn sum(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(xor(a, b), c)
}
