//! The AVX-512 kernel: 64 blocks per batch in 16 registers; GFNI is used for multiplications, and VBMI permutations
//! for Pi.

use std::arch::x86_64::*;

use super::super::algebra::{PI, PI_INVERSE, mul};
use super::super::keys::{Keys, Linear, RoundKeys};
use super::super::pi::FACTORS;
use super::super::slices::{load, store};
use super::super::xts::{GROUP, Kernel};
use crate::isa::Vbmi;
use crate::kernel::BLOCK;
use crate::vector::{Gfni, V512, Vector, Words, matrix};

/// State bytes are represented by themselves.
const IDENTITY: Linear = [1, 2, 4, 8, 16, 32, 64, 128];

/// One slice per byte of a block.
type State = [V512; BLOCK];

/// Multiplication by the factors of a step of the recurrence.
static PRODUCTS: [u64; 6] = {
    let mut products = [0; 6];
    let mut at = 0;
    while at < 6 * 8 {
        let (factor, bit) = (at / 8, at % 8);
        let mut image = [0; 8];
        image[bit] = mul(FACTORS[factor], 1 << bit);
        products[factor] |= matrix(image);
        at += 1;
    }
    products
};

/// Repeats a block of code for each step. A loop is close to the compiler's limits for unrolling, beyond which the
/// state would be stored in memory.
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

impl Kernel for Vbmi {
    const NAME: &'static str = "gfni-avx512";

    const BLOCKS: usize = BLOCK * V512::LANES;

    fn keys(key: &[u8]) -> Keys {
        Keys::new(key, &IDENTITY, &IDENTITY)
    }

    #[inline(always)]
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

    #[inline(always)]
    unsafe fn fill(first: u128, masks: &mut [u128]) {
        // SAFETY: the trait's contract.
        unsafe { fill(first, masks) }
    }
}

/// Computes the sixteen elements after `s`; each element replaces the element sixteen positions before it. Each
/// direction has its own copy, because the compiler always inlines a function with a single caller.
#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn recurrence<const ENCRYPT: bool>(steps: &[u32; BLOCK], mut s: State) -> State {
    unrolled!(n => {
        let at = |i: usize| s[(n + i) % BLOCK];
        let pair = |k: usize| at(8 - k) ^ at(8 + k);
        // SAFETY: this function enables the instruction set.
        let times = |factor: usize, x: V512| unsafe { x.affine(PRODUCTS[factor]) };
        // SAFETY: as above.
        let key = unsafe { V512::splat(steps[n]) };
        let far = pair(7);
        let ones = at(0).xor3(at(7), at(9)).xor3(key, far);
        let a = ones.xor3(times(5, at(8)), times(4, pair(2)));
        let b = a.xor3(times(3, pair(3)), times(2, pair(6)));
        let c = times(1, at(4).xor3(at(12), far));
        let d = times(0, at(3).xor3(at(13), far));
        s[n] = b.xor3(c, d);
    });
    s
}

/// Applies a byte permutation to every byte of every slice. Each direction has its own copy, for the same reason as
/// [`recurrence`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn substitute_all<const ENCRYPT: bool>(permutation: &[u8; 256], mut s: State) -> State {
    let quarters = std::array::from_fn(|i| {
        // SAFETY: the permutation is four vectors long.
        unsafe { _mm512_loadu_si512(permutation.as_ptr().add(64 * i).cast()) }
    });
    unrolled!(i => { s[i].0 = substitute(&quarters, s[i].0); });
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

/// See [`Kernel::fill`].
///
/// # Safety
/// As for that method.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
unsafe fn fill(first: u128, masks: &mut [u128]) {
    let at = masks.as_mut_ptr().cast::<__m512i>();
    // x^7 + x^2 + x + 1, the residue of x^128.
    let reduction = _mm512_set1_epi64(0x87);
    let first = _mm512_broadcast_i32x4(_mm_set_epi64x((first >> 64) as i64, first as i64));
    let powers = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    // SAFETY: a vector contains four masks, and all masks are within the slice.
    unsafe {
        let mut x = [first; GROUP / 4];
        for (i, x) in x.iter_mut().enumerate() {
            let powers = _mm512_add_epi64(powers, _mm512_set1_epi64(4 * i as i64));
            let out = _mm512_srlv_epi64(first, _mm512_sub_epi64(_mm512_set1_epi64(64), powers));
            let back = _mm512_clmulepi64_epi128::<0x01>(out, reduction);
            *x = _mm512_ternarylogic_epi64::<0x96>(
                _mm512_sllv_epi64(first, powers),
                _mm512_bslli_epi128::<8>(out),
                back,
            );
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
