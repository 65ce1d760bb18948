//! XTS on 256-bit vectors, with masks computed in advance of the rounds, for 512-byte sectors and whole KiB.
//!
//! With two rounds per cycle and a latency of four cycles, eight vectors keep the CPU busy; with eleven vectors, stalls
//! of one vector are hidden by the other vectors. Eleven vectors, a round key and the registers for computing masks
//! occupy all sixteen registers, so the masks are stored in memory. While a piece of one KiB passes through the rounds,
//! the masks of the next piece are computed by shifts and additions, which use different execution ports from the AES
//! rounds. Carry-less multiplications, which use the same ports, are needed only between pieces. Each vector contains
//! two blocks that are half a piece apart, so that each doubling computes the masks of both.

use std::arch::asm;

use super::super::keys::{RoundKeys, XtsKeys};
use super::rounds::{Rounds, final_round, round_of, unrolled};
use super::xts::{Tweaks, UNITS, encrypt_tweaks};
use crate::kernel::{BLOCK, Buffer, Run};
use crate::vector::{V256, Vector, Words};

/// Number of bytes whose masks are computed together: two sectors, or one KiB of a longer unit.
const PIECE: usize = 1024;

/// Size in bytes of a data unit that fills half a piece.
const SECTOR: usize = PIECE / 2;

/// Bytes of a vector.
const BYTES: usize = V256::BYTES;

/// Vectors of a piece.
const VECTORS: usize = PIECE / BYTES;

/// The masks of a piece in the order of its blocks, each XORed with the last round key.
#[repr(C, align(64))]
struct Masks([u8; PIECE]);

/// Whether [`pieces`] can process `bytes` bytes of data in units of `unit` bytes. For a single sector, this is not
/// worthwhile.
pub(super) fn takes(unit: usize, bytes: usize) -> bool {
    bytes >= PIECE && (unit == SECTOR || unit.is_multiple_of(PIECE))
}

/// Transforms the units of `buffer`.
///
/// # Safety
/// The instruction set of [`V256`] must be enabled in the calling function. `R` must be the number of rounds of `keys`,
/// and [`takes`] must hold for the buffer.
#[inline(always)]
pub(super) unsafe fn pieces<const R: usize, const ENCRYPT: bool>(
    keys: &XtsKeys,
    run: Run,
    mut buffer: Buffer<'_>,
) {
    let mut left = buffer.len();
    let (mut src, mut dst) = buffer.pointers();
    let data_keys = if ENCRYPT { &keys.data.encrypt } else { &keys.data.decrypt };
    let mut masks = [Masks([0; PIECE]), Masks([0; PIECE])];
    let [first, second] = &mut masks;
    let (mut now, mut next) = (first.0.as_mut_ptr(), second.0.as_mut_ptr());
    // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for `left` bytes, and
    // `now` and `next` for a piece each.
    unsafe {
        let mut starts = Starts::<R>::new(keys, run, left);
        let start = starts.next(V256::key(&data_keys[0]));
        let mut end = all_masks(start, V256::key(&data_keys[R]), now);
        while left >= PIECE {
            let chains = two_chains(starts.next(end));
            let chains = group::<R, 11, 0, ENCRYPT, true>(data_keys, chains, src, dst, now, next);
            let chains = group::<R, 11, 11, ENCRYPT, true>(data_keys, chains, src, dst, now, next);
            let chains = group::<R, 10, 22, ENCRYPT, true>(data_keys, chains, src, dst, now, next);
            end = chains[1];
            (now, next) = (next, now);
            src = src.add(PIECE);
            dst = dst.add(PIECE);
            left -= PIECE;
        }
        if left > 0 {
            group::<R, 8, 0, ENCRYPT, false>(data_keys, [end; 2], src, dst, now, next);
            group::<R, 8, 8, ENCRYPT, false>(data_keys, [end; 2], src, dst, now, next);
        }
    }
}

/// The masks at the start of each piece.
struct Starts<'a, const R: usize> {
    keys: &'a RoundKeys,
    tweaks: Tweaks,
    /// Number of encrypted tweaks already used, and their total number.
    used: usize,
    ready: usize,
    number: u128,
    step: u128,
    units_left: usize,
    /// Number of whole pieces in a unit; 0 for a sector.
    pieces: usize,
    /// Number of remaining pieces of the current unit.
    pieces_left: usize,
}

impl<'a, const R: usize> Starts<'a, R> {
    #[inline(always)]
    fn new(keys: &'a XtsKeys, run: Run, bytes: usize) -> Self {
        Self {
            keys: &keys.tweak,
            tweaks: [[0; BLOCK]; UNITS + 1],
            used: 0,
            ready: 0,
            number: run.first,
            step: u128::from(run.layout.tweak_step),
            units_left: bytes / run.layout.data_unit,
            pieces: run.layout.data_unit / PIECE,
            pieces_left: 0,
        }
    }

    /// The first masks of the next piece's two halves; they are arbitrary after the last piece. `end` is the mask
    /// that follows those of the previous piece.
    ///
    /// # Safety
    /// As for [`pieces`].
    #[inline(always)]
    unsafe fn next(&mut self, end: V256) -> V256 {
        // SAFETY: the caller guarantees the instruction set. There is one more tweak at the end, so two tweaks can be
        // read at any position.
        unsafe {
            if self.pieces_left > 0 {
                self.pieces_left -= 1;
                // The end mask is half a piece after the start mask.
                return end.half_a_piece_on();
            }
            if self.used >= self.ready {
                self.encipher();
            }
            let tweak = self.tweaks[self.used..].as_ptr();
            if self.pieces == 0 {
                self.used += 2;
                V256::load(tweak.cast())
            } else {
                self.used += 1;
                self.pieces_left = self.pieces - 1;
                V256::halves_of_a_piece(&*tweak)
            }
        }
    }

    /// Encrypts the tweaks of the next units.
    ///
    /// # Safety
    /// As for [`pieces`].
    #[inline(always)]
    unsafe fn encipher(&mut self) {
        self.used = 0;
        self.ready = self.units_left.min(UNITS);
        self.units_left -= self.ready;
        for tweak in &mut self.tweaks[..self.ready] {
            *tweak = self.number.to_le_bytes();
            self.number = self.number.wrapping_add(self.step);
        }
        // SAFETY: the caller guarantees the instruction set; at most `UNITS` tweaks are ready.
        unsafe { encrypt_tweaks::<V256, R>(self.keys, &mut self.tweaks, self.ready) }
    }
}

/// Computes the masks of a piece together, in four parallel sequences, because a single sequence would have the latency
/// of 32 doublings. Returns the mask that follows the piece's last mask.
///
/// # Safety
/// As for [`pieces`]; `masks` must be valid for a piece.
#[inline(always)]
unsafe fn all_masks(start: V256, last: V256, masks: *mut u8) -> V256 {
    // SAFETY: the caller guarantees the instruction set and the memory.
    unsafe {
        let mut eighths = [start; 4];
        for i in 1..4 {
            eighths[i] = eighths[i - 1].eighth_on();
        }
        for i in 0..VECTORS / 4 {
            for (q, chain) in eighths.iter_mut().enumerate() {
                *chain = one_mask(*chain, last, masks, q * VECTORS / 4 + i);
            }
        }
        eighths[3]
    }
}

/// The masks from which the next doublings start: one vector for the first quarter of the piece and one for the second,
/// with the masks of the third and the fourth quarter in the other lanes. With a single sequence, each doubling would
/// wait for the previous doubling.
type Chains = [V256; 2];

/// The sequences of a piece that starts with the mask `start`.
///
/// # Safety
/// As for [`pieces`].
#[inline(always)]
unsafe fn two_chains(start: V256) -> Chains {
    // SAFETY: the caller guarantees the instruction set.
    unsafe { [start, start.quarter_on()] }
}

/// Stores mask `i` of both halves of a piece, and returns the next masks.
///
/// # Safety
/// As for [`all_masks`]; `i` must be less than [`VECTORS`].
#[inline(always)]
unsafe fn one_mask(chain: V256, last: V256, masks: *mut u8, i: usize) -> V256 {
    // SAFETY: the caller guarantees the instruction set and the memory.
    unsafe {
        chain.xor(last).store_apart(masks.add(i * BLOCK), masks.add(SECTOR + i * BLOCK));
        chain.double()
    }
}

/// Transforms `N` vectors of a piece, starting with number `FIRST`. If `MAKE` is set, also computes as many masks of
/// the next piece. Returns the masks that follow.
///
/// # Safety
/// As for [`pieces`]; all pointers must be valid for a piece, or for half a piece if the group ends there. `src` and
/// `dst` must be equal or disjoint.
#[inline(always)]
unsafe fn group<
    const R: usize,
    const N: usize,
    const FIRST: usize,
    const ENCRYPT: bool,
    const MAKE: bool,
>(
    keys: &RoundKeys,
    mut chains: Chains,
    src: *const u8,
    dst: *mut u8,
    now: *const u8,
    next: *mut u8,
) -> Chains {
    // The unrolled loops below assume these values.
    const { assert!(N <= 11 && FIRST + N <= VECTORS && R <= 14) };
    let mut x = [chains[0]; N];
    // SAFETY: the caller guarantees the instruction set and the memory.
    unsafe {
        // The masks include the last round key, which is therefore removed before the first round.
        let whiten = V256::key(&keys[0]).xor(V256::key(&keys[R]));
        unrolled!(j in 0 1 2 3 4 5 6 7 8 9 10 => {
            if j < N {
                let at = (FIRST + j) * BYTES;
                x[j] = V256::load(now.add(at)).xor(whiten).xor(V256::load(src.add(at))).pin();
            }
        });
        unrolled!(round in 1 2 3 4 5 6 7 8 9 10 11 12 13 => {
            if round < R {
                x = round_of::<V256, N, ENCRYPT>(x, &keys[round]);
                if MAKE {
                    // Without this, the compiler would move the computation of masks to before the rounds.
                    for x in &mut x {
                        *x = x.pin();
                    }
                    // The masks are distributed evenly: one or two in each round.
                    unrolled!(j in 0 1 2 3 4 5 6 7 8 9 10 => {
                        if j < N && j * (R - 1) / N == round - 1 {
                            let (which, i) = ((FIRST + j) % 2, (FIRST + j) / 2);
                            let at = which * VECTORS / 2 + i;
                            let last = V256::key(&keys[R]);
                            chains[which] = one_mask(chains[which], last, next, at).pin();
                        }
                    });
                }
            }
        });
        // A second load is cheaper than keeping each mask in a register.
        let now = again(now);
        unrolled!(j in 0 1 2 3 4 5 6 7 8 9 10 => {
            if j < N {
                let at = (FIRST + j) * BYTES;
                final_round::<V256, ENCRYPT>(x[j], V256::load(now.add(at))).store(dst.add(at));
            }
        });
    }
    chains
}

/// Returns the same pointer, but hides this from the compiler.
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read through the pointer there")]
fn again(mut pointer: *const u8) -> *const u8 {
    // SAFETY: the assembly is empty and leaves the register unchanged.
    unsafe { asm!("/* {0} */", inout(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}
