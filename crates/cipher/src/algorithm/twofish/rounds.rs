//! The sixteen rounds on four vectors of each word, written once for any [`Planes`].
//!
//! The additions and rotations of the cipher work on words. For the S-boxes and the MDS matrix, the two input words
//! of a round are converted to planes of their bytes. One look-up then processes a whole vector of bytes that all use
//! the same S-box, and the matrix becomes a few sums of planes.

use std::arch::asm;

use super::keys::Keys;
use super::vector::Planes;
use crate::vector::align_frame;

/// The words a, b, c and d, each for four vectors of blocks.
pub(super) type State<V> = [[V; 4]; 4];

/// Applies all rounds to `N` states, without the last swap of halves.
///
/// Every operation of a round depends on the whole previous round. With two states, the work on one state fills the
/// waiting times of the other.
///
/// # Safety
/// `V`'s instruction set must be enabled in the calling function (see [`Planes`]).
#[inline(always)]
pub(super) unsafe fn rounds<V: Planes, const N: usize, const ENCRYPT: bool>(
    keys: &Keys<V>,
    states: &mut [State<V>; N],
) {
    align_frame();
    let pairs = keys.words[8..].as_chunks::<4>().0;
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        if ENCRYPT {
            for pair in pairs {
                for [a, b, c, d] in states.iter_mut() {
                    round::<V, ENCRYPT>(keys, a, b, c, d, [pair[0], pair[1]]);
                }
                for [a, b, c, d] in states.iter_mut() {
                    round::<V, ENCRYPT>(keys, c, d, a, b, [pair[2], pair[3]]);
                }
            }
        } else {
            for pair in pairs.iter().rev() {
                for [a, b, c, d] in states.iter_mut() {
                    round::<V, ENCRYPT>(keys, c, d, a, b, [pair[2], pair[3]]);
                }
                for [a, b, c, d] in states.iter_mut() {
                    round::<V, ENCRYPT>(keys, a, b, c, d, [pair[0], pair[1]]);
                }
            }
        }
    }
}

/// One round: applies F to `a` and `b`, and adds the results to `c` and `d`.
///
/// # Safety
/// As for [`rounds`].
#[inline(always)]
unsafe fn round<V: Planes, const ENCRYPT: bool>(
    keys: &Keys<V>,
    a: &[V; 4],
    b: &[V; 4],
    c: &mut [V; 4],
    d: &mut [V; 4],
    k: [u32; 2],
) {
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        let [a0, a1, a2, a3] = V::to_planes(*a);
        let [b0, b1, b2, b3] = V::to_planes(*b);
        let [s0, s1, s2, s3] = unknown(&keys.tables);
        // The input of the second g is rotated left by one byte.
        let [a0, b3] = V::substitute(s0, [a0, b3]);
        let [a1, b0] = V::substitute(s1, [a1, b0]);
        let [a2, b1] = V::substitute(s2, [a2, b1]);
        let [a3, b2] = V::substitute(s3, [a3, b2]);
        let a = V::to_words(V::mds([a0, a1, a2, a3]));
        let b = V::to_words(V::mds([b3, b0, b1, b2]));
        let [k0, k1] = [V::splat(k[0]), V::splat(k[1])];
        for i in 0..4 {
            let sum = a[i].add(b[i]);
            let (f, g) = (sum.add(k0), sum.add(b[i].add(k1)));
            if ENCRYPT {
                c[i] = c[i].xor(f).rotate::<31, 1>();
                d[i] = d[i].rotate::<1, 31>().xor(g);
            } else {
                c[i] = c[i].rotate::<1, 31>().xor(f);
                d[i] = d[i].xor(g).rotate::<31, 1>();
            }
        }
    }
}

/// Returns the same reference, but hides this from the compiler, which would otherwise load the tables before all
/// rounds and spill them.
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read through the pointer")]
fn unknown<T>(reference: &T) -> &T {
    let mut pointer: *const T = reference;
    // SAFETY: the assembly is empty; it changes neither the pointer nor the memory to which it points.
    unsafe {
        asm!("/* {0} */", inout(reg) pointer, options(nomem, nostack, preserves_flags));
        &*pointer
    }
}
