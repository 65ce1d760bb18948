//! The AVX2 kernel: 32 blocks per batch; shuffles on nibbles compute every function of a byte.

use std::arch::x86_64::*;

use super::Isa;
use super::keys::{Keys, ROUNDS, RoundKeys};
use super::nibbles::{
    BACKWARD, BACKWARD_LAST, Backward, Change, DECRYPT_IN, DECRYPT_LINEAR, DECRYPT_PRODUCTS,
    ENCRYPT_IN, ENCRYPT_LINEAR, ENCRYPT_OUT, ENCRYPT_PRODUCTS, FORWARD, Forward, Table,
};
use super::xts::{GROUP, Slices, units};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, Buffer, Run};
use crate::mode::xts::double;

/// Proof of AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Isa for Avx2 {
    const NAME: &'static str = "avx2";

    fn new(tier: Tier) -> Option<Self> {
        (tier >= Tier::Avx2 && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }

    fn keys(self, key: &[u8]) -> Keys {
        Keys::new(key, &ENCRYPT_LINEAR, &DECRYPT_LINEAR)
    }

    fn xts<const ENCRYPT: bool>(self, data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
        // SAFETY: `self` proves AVX2.
        unsafe { xts::<ENCRYPT>(data, tweak, run, buffer) }
    }
}

/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn xts<const ENCRYPT: bool>(data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
    // SAFETY: this function enables the kernel's instruction set; the rest is passed on.
    unsafe { units::<Avx2, ENCRYPT>(data, tweak, run, buffer) }
}

/// One slice for each byte of a block, or 32 elements of the recurrence. Both exceed the number of
/// registers, so the sequence lies in memory and instructions read it as an operand.
type Sequence = [__m256i; 2 * BLOCK];

impl Slices for Avx2 {
    const BLOCKS: usize = 32;

    #[inline(always)]
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: the trait's contract.
        unsafe {
            if ENCRYPT {
                encrypt(keys, masks, src, dst);
            } else {
                decrypt(keys, masks, src, dst);
            }
        }
    }

    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        // SAFETY: the trait's contract.
        unsafe { fill(first, masks) }
    }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "avx2")]
unsafe fn encrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: the trait's contract.
    unsafe {
        let plain = load(masks, src, &keys.plain);
        let mut s: Sequence = [_mm256_setzero_si256(); 2 * BLOCK];
        for (i, slice) in plain.into_iter().enumerate() {
            s[2 * BLOCK - 1 - i] = change(&ENCRYPT_IN, slice);
        }
        for steps in &keys.steps {
            for i in 0..BLOCK {
                s[i] = substitute(&FORWARD, s[BLOCK + i]);
            }
            recurrence(&ENCRYPT_PRODUCTS, steps, &mut s);
        }
        let mut slices = [_mm256_setzero_si256(); BLOCK];
        for i in 0..BLOCK {
            slices[i] = change(&ENCRYPT_OUT, s[2 * BLOCK - 1 - i]);
        }
        store(slices, masks, dst, &[0; BLOCK]);
    }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "avx2")]
unsafe fn decrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: the trait's contract.
    unsafe {
        let cipher = load(masks, src, &[0; BLOCK]);
        let mut s: Sequence = [_mm256_setzero_si256(); 2 * BLOCK];
        for (i, slice) in cipher.into_iter().enumerate() {
            s[i] = change(&DECRYPT_IN, slice);
        }
        for (round, steps) in keys.steps.iter().enumerate() {
            recurrence(&DECRYPT_PRODUCTS, steps, &mut s);
            let tables = if round + 1 == ROUNDS { &BACKWARD_LAST } else { &BACKWARD };
            for i in 0..BLOCK {
                s[i] = substitute_inverse(tables, s[BLOCK + i]);
            }
        }
        let mut slices = [_mm256_setzero_si256(); BLOCK];
        slices.copy_from_slice(&s[..BLOCK]);
        store(slices, masks, dst, &keys.plain);
    }
}

/// Computes the sixteen elements after the first sixteen. The last two stay in registers, because
/// otherwise each step would wait for them to pass through memory.
#[inline]
#[target_feature(enable = "avx2")]
fn recurrence(products: &[[Table; 2]; 6], steps: &[u32; BLOCK], s: &mut Sequence) {
    let (mut s14, mut s15) = (s[BLOCK - 2], s[BLOCK - 1]);
    for (n, &key) in steps.iter().enumerate() {
        let s: &mut [__m256i; BLOCK + 1] = (&mut s[n..=n + BLOCK]).try_into().expect("17 elements");
        let pair = |k: usize| _mm256_xor_si256(s[8 - k], s[8 + k]);
        let times = |factor: usize, x: __m256i| look_up(&products[factor], x);
        let ones = xor3(s[0], pair(1), _mm256_set1_epi32(key.cast_signed()));
        let far = _mm256_xor_si256(s[1], s15);
        let a = xor3(ones, times(5, s[8]), times(4, pair(2)));
        let b = xor3(far, times(3, pair(3)), times(2, _mm256_xor_si256(s[2], s14)));
        let c = times(1, xor3(s[4], s[12], far));
        let d = times(0, xor3(s[3], s[13], far));
        (s14, s15) = (s15, xor3(_mm256_xor_si256(a, b), c, d));
        s[BLOCK] = s15;
    }
}

/// Pi, in the representation used for encryption.
#[inline]
#[target_feature(enable = "avx2")]
fn substitute(tables: &Forward, x: __m256i) -> __m256i {
    let (r, l) = split(x);
    let d = _mm256_adds_epu8(shuffle(&tables.left, l), shuffle(&tables.right_inverse, r));
    let t = reduce(d);
    let j = reduce(_mm256_add_epi8(shuffle(&tables.right, r), shuffle(&tables.left_log, t)));
    let alone = _mm256_add_epi8(t, _mm256_set1_epi8(0x90_u8.cast_signed()));
    xor3(
        shuffle(&tables.left_part, t),
        shuffle(&tables.right_part, j),
        shuffle(&tables.left_alone, alone),
    )
}

/// Inverse Pi, in the representation used for decryption.
#[inline]
#[target_feature(enable = "avx2")]
fn substitute_inverse(tables: &Backward, x: __m256i) -> __m256i {
    let (s, m) = split(x);
    let right = shuffle(&tables.right, s);
    let r = reduce(_mm256_add_epi8(right, shuffle(&tables.left_inverse, m)));
    let l = reduce(_mm256_adds_epu8(shuffle(&tables.left, m), r));
    xor3(
        shuffle(&tables.right_part, r),
        shuffle(&tables.left_part, l),
        shuffle(&tables.left_alone, _mm256_sub_epi8(m, right)),
    )
}

/// Reduces sums below 30 modulo 15; sums from 0x90 on stay above 0x80.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce(x: __m256i) -> __m256i {
    _mm256_min_epu8(x, _mm256_sub_epi8(x, _mm256_set1_epi8(15)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn change(change: &Change, x: __m256i) -> __m256i {
    look_up(&change.0, x)
}

/// A linear function of a byte.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up(tables: &[Table; 2], x: __m256i) -> __m256i {
    let (low, high) = split(x);
    _mm256_xor_si256(shuffle(&tables[0], low), shuffle(&tables[1], high))
}

/// The low and the high nibbles.
#[inline]
#[target_feature(enable = "avx2")]
fn split(x: __m256i) -> (__m256i, __m256i) {
    let nibble = _mm256_set1_epi8(15);
    (_mm256_and_si256(x, nibble), _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shuffle(table: &Table, x: __m256i) -> __m256i {
    // SAFETY: a table has the size and alignment of a vector.
    let table = unsafe { _mm256_load_si256(table.0.as_ptr().cast()) };
    _mm256_shuffle_epi8(table, x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

/// Loads slices of 32 blocks and adds masks and a key: slice `i` holds byte `i` of each block.
///
/// # Safety
/// `src` and `masks` must have 32 blocks.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(masks: &[u128], src: *const u8, key: &Block) -> [__m256i; BLOCK] {
    // SAFETY: the caller's promise.
    unsafe {
        let key = _mm256_broadcastsi128_si256(_mm_loadu_si128(key.as_ptr().cast()));
        let mut x = [key; BLOCK];
        for (i, x) in x.iter_mut().enumerate() {
            let mask = _mm256_load_si256(masks.as_ptr().cast::<__m256i>().add(i));
            *x = xor3(*x, mask, _mm256_loadu_si256(src.cast::<__m256i>().add(i)));
        }
        transpose(x)
    }
}

/// The inverse of [`load`].
///
/// # Safety
/// `dst` and `masks` must have 32 blocks.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(slices: [__m256i; BLOCK], masks: &[u128], dst: *mut u8, key: &Block) {
    // SAFETY: the caller's promise.
    unsafe {
        let key = _mm256_broadcastsi128_si256(_mm_loadu_si128(key.as_ptr().cast()));
        for (i, x) in transpose(slices).into_iter().enumerate() {
            let mask = _mm256_load_si256(masks.as_ptr().cast::<__m256i>().add(i));
            _mm256_storeu_si256(dst.cast::<__m256i>().add(i), xor3(x, mask, key));
        }
    }
}

/// Transposes the 16 x 16 bytes in each half of the vectors. A byte's position consists of register
/// and index, 4 bits each; each pass rotates these 8 bits by one.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(mut x: [__m256i; BLOCK]) -> [__m256i; BLOCK] {
    for _ in 0..4 {
        let before = x;
        for i in 0..8 {
            x[2 * i] = _mm256_unpacklo_epi8(before[i], before[i + 8]);
            x[2 * i + 1] = _mm256_unpackhi_epi8(before[i], before[i + 8]);
        }
    }
    x
}

/// See [`Slices::fill`].
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn fill(first: u128, masks: &mut [u128]) {
    let mut next = first;
    for mask in &mut masks[..GROUP] {
        *mask = next;
        next = double(next);
    }
    let at = masks.as_mut_ptr().cast::<__m256i>();
    // SAFETY: a vector has two masks, and all of them are in the slice.
    unsafe {
        let mut x: [__m256i; GROUP / 2] = [_mm256_setzero_si256(); GROUP / 2];
        for (i, x) in x.iter_mut().enumerate() {
            *x = _mm256_loadu_si256(at.add(i));
        }
        for start in (GROUP / 2..masks.len() / 2).step_by(GROUP / 2) {
            for (i, x) in x.iter_mut().enumerate() {
                // The byte shifted out comes back multiplied by x^7 + x^2 + x + 1.
                let out = _mm256_bsrli_epi128::<15>(*x);
                let low = xor3(out, _mm256_slli_epi64::<1>(out), _mm256_slli_epi64::<2>(out));
                let back = _mm256_xor_si256(low, _mm256_slli_epi64::<7>(out));
                *x = _mm256_xor_si256(_mm256_bslli_epi128::<1>(*x), back);
                _mm256_storeu_si256(at.add(start + i), *x);
            }
        }
    }
}
