//! The AVX-512 kernel: 64 blocks per batch in 16 registers; GFNI multiplies, and VBMI permutations
//! compute Pi.

use std::arch::x86_64::*;

use super::super::algebra::{PI, PI_INVERSE, mul};
use super::super::keys::{Keys, Linear, RoundKeys};
use super::super::wide::Isa;
use super::super::xts::{GROUP, Slices, units};
use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, Buffer, Run};

/// Proof of AVX-512 F, BW, DQ, VL, VBMI with GFNI and VPCLMULQDQ (Ice Lake, Zen 4 and later).
#[derive(Clone, Copy)]
pub(super) struct Gfni512(());

impl Isa for Gfni512 {
    const NAME: &'static str = "gfni-avx512";

    fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("vpclmulqdq");
        (tier >= Tier::Avx512 && has).then_some(Self(()))
    }

    fn keys(self, key: &[u8]) -> Keys {
        Keys::new(key, &IDENTITY, &IDENTITY)
    }

    fn xts<const ENCRYPT: bool>(self, data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
        // SAFETY: `self` proves the features.
        unsafe { xts::<ENCRYPT>(data, tweak, run, buffer) }
    }
}

/// # Safety
/// The CPU must have the features.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,vpclmulqdq")]
unsafe fn xts<const ENCRYPT: bool>(data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>) {
    // SAFETY: this function enables the kernel's instruction set; the rest is passed on.
    unsafe { units::<Gfni512, ENCRYPT>(data, tweak, run, buffer) }
}

/// State bytes are represented as they are.
const IDENTITY: Linear = [1, 2, 4, 8, 16, 32, 64, 128];

/// One slice for each byte of a block.
type State = [__m512i; BLOCK];

/// Multiplication by 133, 16, 32, 194, 192, 251, the factors of a step.
static FACTORS: [i64; 6] =
    [matrix(133), matrix(16), matrix(32), matrix(194), matrix(192), matrix(251)];

/// Repeats a block for each step. A loop close to the compiler's unrolling limits would leave the
/// state in memory.
macro_rules! unrolled {
    ($i:ident => $body:block) => {
        unrolled!(@ $i 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 => $body)
    };
    (@ $i:ident $($number:literal)* => $body:block) => {
        $({
            let $i: usize = $number;
            $body
        })*
    };
}

impl Slices for Gfni512 {
    const BLOCKS: usize = 64;

    #[inline(always)]
    unsafe fn transform<const ENCRYPT: bool>(
        keys: &RoundKeys,
        masks: &[u128],
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: the trait's contract.
        unsafe { transform::<ENCRYPT>(keys, masks, src, dst) }
    }

    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        // SAFETY: the trait's contract.
        unsafe { fill(first, masks) }
    }
}

/// # Safety
/// As [`Slices::transform`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni,vpclmulqdq")]
unsafe fn transform<const ENCRYPT: bool>(
    keys: &RoundKeys,
    masks: &[u128],
    src: *const u8,
    dst: *mut u8,
) {
    // SAFETY: the trait's contract.
    unsafe {
        let none = &[0; BLOCK];
        let (before, after) = if ENCRYPT { (&keys.plain, none) } else { (none, &keys.plain) };
        let mut s = load(masks, src, before);
        if ENCRYPT {
            // The recurrence starts at the last byte.
            s.reverse();
        }
        for steps in &keys.steps {
            if ENCRYPT {
                s = recurrence::<ENCRYPT>(steps, substitute_all::<ENCRYPT>(&PI, s));
            } else {
                s = substitute_all::<ENCRYPT>(&PI_INVERSE, recurrence::<ENCRYPT>(steps, s));
            }
        }
        if ENCRYPT {
            s.reverse();
        }
        store(s, masks, dst, after);
    }
}

/// Computes the sixteen elements after `s`; element `n` replaces the one sixteen places before it.
/// Each direction has its own copy, because the compiler always inlines a function with a single
/// caller.
#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn recurrence<const ENCRYPT: bool>(steps: &[u32; BLOCK], mut s: State) -> State {
    unrolled!(n => {
        let at = |i: usize| s[(n + i) % BLOCK];
        let pair = |k: usize| _mm512_xor_si512(at(8 - k), at(8 + k));
        let times = |factor: usize, x| {
            let matrix = _mm512_set1_epi64(FACTORS[factor]);
            _mm512_gf2p8affine_epi64_epi8::<0>(x, matrix)
        };
        let key = _mm512_set1_epi32(steps[n].cast_signed());
        let far = pair(7);
        let ones = xor3(xor3(at(0), at(7), at(9)), key, far);
        let a = xor3(ones, times(5, at(8)), times(4, pair(2)));
        let b = xor3(a, times(3, pair(3)), times(2, pair(6)));
        let c = times(1, xor3(at(4), at(12), far));
        let d = times(0, xor3(at(3), at(13), far));
        s[n] = xor3(b, c, d);
    });
    s
}

/// Applies a permutation of bytes to every byte of every slice. Each direction has its own copy, as
/// for [`recurrence`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn substitute_all<const ENCRYPT: bool>(permutation: &[u8; 256], mut s: State) -> State {
    let quarters = std::array::from_fn(|i| {
        // SAFETY: four vectors are in the permutation.
        unsafe { _mm512_loadu_si512(permutation.as_ptr().add(64 * i).cast()) }
    });
    unrolled!(i => { s[i] = substitute(&quarters, s[i]); });
    s
}

/// Looks up each byte: the low 6 bits select an entry in each quarter of the table, and the top
/// bits select the quarter.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn substitute(table: &[__m512i; 4], x: __m512i) -> __m512i {
    let odd = _mm512_test_epi8_mask(x, _mm512_set1_epi8(0x40));
    let upper = _mm512_movepi8_mask(x);
    let low = _mm512_permutexvar_epi8(x, table[0]);
    let low = _mm512_mask_permutexvar_epi8(low, odd, x, table[1]);
    let high = _mm512_permutexvar_epi8(x, table[2]);
    let high = _mm512_mask_permutexvar_epi8(high, odd, x, table[3]);
    _mm512_mask_blend_epi8(upper, low, high)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

/// Loads slices of 64 blocks and adds masks and a key: slice `i` holds byte `i` of each block.
///
/// # Safety
/// `src` and `masks` must have 64 blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn load(masks: &[u128], src: *const u8, key: &Block) -> State {
    // SAFETY: the caller's promise.
    unsafe {
        let key = _mm512_broadcast_i32x4(_mm_loadu_si128(key.as_ptr().cast()));
        let mut x = [key; BLOCK];
        unrolled!(i => {
            let mask = _mm512_load_si512(masks.as_ptr().cast::<__m512i>().add(i));
            x[i] = xor3(key, mask, _mm512_loadu_si512(src.cast::<__m512i>().add(i)));
        });
        transpose(x)
    }
}

/// The inverse of [`load`].
///
/// # Safety
/// `dst` and `masks` must have 64 blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn store(slices: State, masks: &[u128], dst: *mut u8, key: &Block) {
    // SAFETY: the caller's promise.
    unsafe {
        let key = _mm512_broadcast_i32x4(_mm_loadu_si128(key.as_ptr().cast()));
        let x = transpose(slices);
        unrolled!(i => {
            let mask = _mm512_load_si512(masks.as_ptr().cast::<__m512i>().add(i));
            _mm512_storeu_si512(dst.cast::<__m512i>().add(i), xor3(x[i], mask, key));
        });
    }
}

/// Transposes the 16 x 16 bytes in each quarter of the vectors. A byte's position consists of
/// register and index, 4 bits each; each pass rotates these 8 bits by one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn transpose(mut x: State) -> State {
    for _ in 0..4 {
        let before = x;
        unrolled!(i => {
            let (a, b) = (before[i / 2], before[i / 2 + 8]);
            x[i] = if i.is_multiple_of(2) { _mm512_unpacklo_epi8(a, b) } else { _mm512_unpackhi_epi8(a, b) };
        });
    }
    x
}

/// See [`Slices::fill`].
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
unsafe fn fill(first: u128, masks: &mut [u128]) {
    let at = masks.as_mut_ptr().cast::<__m512i>();
    // x^7 + x^2 + x + 1, the residue of x^128.
    let reduction = _mm512_set1_epi64(0x87);
    let first = _mm512_broadcast_i32x4(_mm_set_epi64x((first >> 64) as i64, first as i64));
    let powers = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    // SAFETY: a vector has four masks, and all of them are in the slice.
    unsafe {
        let mut x = [first; GROUP / 4];
        for (i, x) in x.iter_mut().enumerate() {
            let powers = _mm512_add_epi64(powers, _mm512_set1_epi64(4 * i as i64));
            let out = _mm512_srlv_epi64(first, _mm512_sub_epi64(_mm512_set1_epi64(64), powers));
            let back = _mm512_clmulepi64_epi128::<0x01>(out, reduction);
            *x = xor3(_mm512_sllv_epi64(first, powers), _mm512_bslli_epi128::<8>(out), back);
            _mm512_storeu_si512(at.add(i), *x);
        }
        for start in (GROUP / 4..masks.len() / 4).step_by(GROUP / 4) {
            for (i, x) in x.iter_mut().enumerate() {
                let out = _mm512_bsrli_epi128::<15>(*x);
                let back = _mm512_clmulepi64_epi128::<0>(out, reduction);
                *x = _mm512_xor_si512(_mm512_bslli_epi128::<1>(*x), back);
                _mm512_storeu_si512(at.add(start + i), *x);
            }
        }
    }
}

/// Multiplication by `factor` in GFNI's form: byte 7 - i is the row that yields bit i of the
/// product.
const fn matrix(factor: u8) -> i64 {
    let mut rows = [0u8; 8];
    let mut bit = 0;
    while bit < 8 {
        let column = mul(factor, 1 << bit);
        let mut i = 0;
        while i < 8 {
            rows[7 - i] |= (column >> i & 1) << bit;
            i += 1;
        }
        bit += 1;
    }
    i64::from_le_bytes(rows)
}
