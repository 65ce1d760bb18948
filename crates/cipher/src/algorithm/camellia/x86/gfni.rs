//! The kernels with GFNI: 32 blocks with AVX2, or 64 with AVX-512, where the whole state is in registers; see
//! [`super::matrices`].

use super::super::function::TURNED_INPUT;
use super::super::schedule::{SEGMENT, Schedule};
use super::super::xts::{CHUNK, Kernel};
use super::masks::{masks_256, masks_512};
use super::matrices::{AFTER, ENTER, HalfMatrices, Keys, LEAVE, ROTATE};
use crate::isa::{Gfni256, Gfni512};
use crate::kernel::{BLOCK, Block};
use crate::vector::{Gfni, V256, V512, Vector, Words, align_frame, transpose_bytes};

macro_rules! kernel {
    ($isa:ident, $vector:ident, $name:literal, $masks:ident) => {
        impl Kernel for $isa {
            const NAME: &'static str = $name;
            const BLOCKS: usize = BLOCK * $vector::LANES;
            type Keys = Keys;

            fn keys(schedule: &Schedule) -> Keys {
                Keys::new(schedule)
            }

            #[inline(always)]
            unsafe fn transform(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
                // SAFETY: the trait's contract.
                unsafe { transform::<$vector>(keys, from, masks, to) }
            }

            #[inline(always)]
            unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]) {
                // SAFETY: the trait's contract.
                unsafe { $masks(first, masks) }
            }
        }
    };
}

kernel!(Gfni256, V256, "gfni-avx2", masks_256);
kernel!(Gfni512, V512, "gfni-avx512", masks_512);

/// Half of the state: byte positions, the most significant first.
type Half<V> = [V; 8];

/// A vector with its own order of the additions in a round.
///
/// # Safety
/// As for [`Gfni`].
trait Diffuse: Gfni {
    /// `to + P(z)`, with the key.
    unsafe fn diffuse(z: Half<Self>, to: Half<Self>, key: Half<Self>) -> Half<Self>;
}

/// # Safety
/// As for [`Kernel::transform`].
#[inline(always)]
unsafe fn transform<V: Diffuse>(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    align_frame();
    // SAFETY: guaranteed by the caller; through each pointer, the blocks are accessed one vector at a time.
    unsafe {
        let first = V::lanes(&keys.first);
        let mut x = [first; 16];
        for (i, x) in x.iter_mut().enumerate() {
            *x = V::load(from.add(V::BYTES * i)).xor3(V::load(masks.add(V::BYTES * i)), first);
        }
        let x = transpose_bytes(x);
        let [mut left, mut right] = [[first; 8]; 2];
        for i in 0..8 {
            left[i] = x[i].affine(ENTER);
            right[i] = x[8 + i].affine(ENTER);
        }

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

        let last = V::lanes(&keys.last);
        let mut x = [last; 16];
        for i in 0..8 {
            x[i] = right[i].affine(LEAVE);
            x[8 + i] = left[i].affine(LEAVE);
        }
        for (i, x) in transpose_bytes(x).into_iter().enumerate() {
            x.xor3(V::load(masks.add(V::BYTES * i)), last).store(to.add(V::BYTES * i));
        }
    }
}

/// `to + P(S(from))`, including the round key.
///
/// # Safety
/// As for [`Gfni`].
#[inline(always)]
unsafe fn round<V: Diffuse>(from: Half<V>, to: Half<V>, constants: &[u32; 8]) -> Half<V> {
    let (mut z, mut key) = (from, from);
    // SAFETY: guaranteed by the caller.
    unsafe {
        for i in 0..8 {
            let x = if TURNED_INPUT[i] { from[i].affine(ROTATE) } else { from[i] };
            z[i] = x.affine_inverse(AFTER[i]);
            key[i] = V::splat(constants[i]);
        }
        V::diffuse(z, to, key)
    }
}

impl Diffuse for V256 {
    #[inline(always)]
    unsafe fn diffuse(z: Half<Self>, to: Half<Self>, key: Half<Self>) -> Half<Self> {
        let a = [z[0] ^ z[5], z[1] ^ z[6], z[2] ^ z[7], z[3] ^ z[4]];
        let b = [z[4] ^ a[2], z[5] ^ a[3], z[6] ^ a[0], z[7] ^ a[1]];
        let c = [a[0] ^ b[3], a[1] ^ b[0], a[2] ^ b[1], a[3] ^ b[2]];
        [
            (to[0] ^ key[0]).xor3(b[0], c[3]),
            (to[1] ^ key[1]).xor3(b[1], c[0]),
            (to[2] ^ key[2]).xor3(b[2], c[1]),
            (to[3] ^ key[3]).xor3(b[3], c[2]),
            (to[4] ^ key[4]) ^ c[0],
            (to[5] ^ key[5]) ^ c[1],
            (to[6] ^ key[6]) ^ c[2],
            (to[7] ^ key[7]) ^ c[3],
        ]
    }
}

/// A sum of three terms takes only one instruction.
impl Diffuse for V512 {
    #[inline(always)]
    unsafe fn diffuse(z: Half<Self>, to: Half<Self>, key: Half<Self>) -> Half<Self> {
        let a = [z[0] ^ z[5], z[1] ^ z[6], z[2] ^ z[7], z[3] ^ z[4]];
        let c = [
            a[0].xor3(a[1], z[7]),
            a[1].xor3(a[2], z[4]),
            a[2].xor3(a[3], z[5]),
            a[3].xor3(a[0], z[6]),
        ];
        [
            to[0].xor3(key[0], z[4]).xor3(a[2], c[3]),
            to[1].xor3(key[1], z[5]).xor3(a[3], c[0]),
            to[2].xor3(key[2], z[6]).xor3(a[0], c[1]),
            to[3].xor3(key[3], z[7]).xor3(a[1], c[2]),
            to[4].xor3(c[0], key[4]),
            to[5].xor3(c[1], key[5]),
            to[6].xor3(c[2], key[6]),
            to[7].xor3(c[3], key[7]),
        ]
    }
}

/// Adds the rotated left word to the right word.
///
/// # Safety
/// As for [`Gfni`].
#[inline(always)]
unsafe fn rotation<V: Gfni>(mut x: Half<V>, matrices: &HalfMatrices) -> Half<V> {
    for i in 0..4 {
        let next = (i + 1) % 4;
        // SAFETY: guaranteed by the caller.
        let [same, carry] =
            unsafe { [x[i].affine(matrices.same[i]), x[next].affine(matrices.carry[next])] };
        x[4 + i] = x[4 + i].xor3(same, carry);
    }
    x
}

/// Adds the selected bits of the right word to the left word.
///
/// # Safety
/// As for [`Gfni`].
#[inline(always)]
unsafe fn back<V: Gfni>(mut x: Half<V>, matrices: &HalfMatrices) -> Half<V> {
    for i in 0..4 {
        // SAFETY: guaranteed by the caller.
        x[i] ^= unsafe { x[4 + i].affine(matrices.back[i]) };
    }
    x
}
