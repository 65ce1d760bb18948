//! The fused XTS kernel for any [`Planes`]: each group is loaded, masked and converted to words only once.
//!
//! A group consists of the four vectors of each word that the rounds use. Masks are computed where they are needed, in
//! the same word form as the text, so that masks need not be transposed. Within a group, the masks continue from one
//! unit to the next, so 512-byte units are as fast as long ones.

use super::keys::Keys;
use super::rounds::{State, rounds};
use super::vector::{Kernel, Planes, first_masks, next_masks};
use crate::kernel::{BLOCK, Block, Buffer, Run};
use crate::vector::{Vector, Words};

/// Masks of a group: four words for each of its four parts.
type GroupMasks<V> = [[V; 4]; 4];

/// Maximum number of blocks in a group, and the number of tweaks that are encrypted together.
const MOST: usize = 64;

/// Blocks in a group.
pub(super) const fn group_blocks<V: Planes>() -> usize {
    const { assert!(4 * V::WORDS <= MOST) };
    4 * V::WORDS
}

/// Size in bytes of the parts of a group, each of which has its own masks. Data units must be a multiple of this
/// size.
pub(super) const fn part_bytes<V: Planes>() -> usize {
    V::WORDS * BLOCK
}

/// Encrypts or decrypts the units of `buffer`; each must consist of whole parts.
///
/// # Safety
/// The instruction set of `kernel` must be enabled in the calling function.
#[inline(always)]
pub(super) unsafe fn units<K: Kernel, const ENCRYPT: bool>(
    kernel: K,
    keys: &Keys<K::Vector>,
    tweak: &Keys<K::Vector>,
    run: Run,
    mut buffer: Buffer<'_>,
) {
    let group = group_blocks::<K::Vector>() * BLOCK;
    let mut left = buffer.len();
    let (mut src, mut dst) = buffer.pointers();
    // SAFETY: the caller guarantees the instruction set. `src` and `dst` are valid for `left` bytes; the last,
    // partial group is copied to memory that is valid for a whole group.
    unsafe {
        let mut masks = Masks::new(kernel, tweak, run, left / run.layout.data_unit);
        while left >= 2 * group {
            let masks = [masks.next_group(), masks.next_group()];
            groups::<K, 2, ENCRYPT>(kernel, keys, &masks, src, dst);
            src = src.add(2 * group);
            dst = dst.add(2 * group);
            left -= 2 * group;
        }
        if left >= group {
            groups::<K, 1, ENCRYPT>(kernel, keys, &[masks.next_group()], src, dst);
            src = src.add(group);
            dst = dst.add(group);
            left -= group;
        }
        if left > 0 {
            let mut text = [[0; BLOCK]; MOST];
            let text = text.as_mut_ptr().cast::<u8>();
            src.copy_to_nonoverlapping(text, left);
            groups::<K, 1, ENCRYPT>(kernel, keys, &[masks.next_group()], text, text);
            text.copy_to_nonoverlapping(dst, left);
        }
    }
}

/// Transforms blocks without masks.
pub(super) fn transform<K: Kernel, const ENCRYPT: bool>(
    kernel: K,
    keys: &Keys<K::Vector>,
    blocks: &mut [Block],
) {
    let group = group_blocks::<K::Vector>();
    kernel.run(
        #[inline(always)]
        // SAFETY: the instruction set is enabled. A chunk has the size of a whole group, as has the memory to which the
        // last, partial group is copied.
        move || unsafe {
            let none = [[[K::Vector::splat(0); 4]; 4]];
            for chunk in blocks.chunks_mut(group) {
                if chunk.len() == group {
                    let text = chunk.as_mut_ptr().cast::<u8>();
                    groups::<K, 1, ENCRYPT>(kernel, keys, &none, text, text);
                } else {
                    let mut whole = [[0; BLOCK]; MOST];
                    whole[..chunk.len()].copy_from_slice(chunk);
                    let text = whole.as_mut_ptr().cast::<u8>();
                    groups::<K, 1, ENCRYPT>(kernel, keys, &none, text, text);
                    chunk.copy_from_slice(&whole[..chunk.len()]);
                }
            }
        },
    );
}

/// Applies all rounds. This is a separate function, because all group sizes share it.
#[inline(always)]
fn rounds_apart<K: Kernel, const N: usize, const ENCRYPT: bool>(
    kernel: K,
    keys: &Keys<K::Vector>,
    states: &mut [State<K::Vector>; N],
) {
    kernel.run(
        #[inline(always)]
        // SAFETY: the instruction set is enabled.
        move || unsafe { rounds::<K::Vector, N, ENCRYPT>(keys, states) },
    );
}

/// Encrypts or decrypts `N` groups with their masks.
///
/// # Safety
/// As for [`units`]; `src` and `dst` must be valid for the groups, and equal or disjoint.
#[inline(always)]
unsafe fn groups<K: Kernel, const N: usize, const ENCRYPT: bool>(
    kernel: K,
    keys: &Keys<K::Vector>,
    masks: &[GroupMasks<K::Vector>; N],
    src: *const u8,
    dst: *mut u8,
) {
    let part = part_bytes::<K::Vector>();
    let k = &keys.words;
    // The rounds process the words a, b, c, d. Because the last swap of halves is omitted, the output is c, d, a, b.
    let (input, output) = if ENCRYPT { (0, 2) } else { (2, 0) };
    // SAFETY: the caller guarantees the instruction set and the memory: parts and their quarters are within the
    // groups.
    unsafe {
        let mut states: [State<K::Vector>; N] = [[[K::Vector::splat(0); 4]; 4]; N];
        for (j, masks) in masks.as_flattened().iter().enumerate() {
            let from = src.add(j * part);
            let mut text = *masks;
            for (q, text) in text.iter_mut().enumerate() {
                *text = K::Vector::load(from.add(q * part / 4));
            }
            let words = K::Vector::transpose(text);
            for i in 0..4 {
                let key = K::Vector::splat(k[if ENCRYPT { i } else { 4 + i }]);
                states[j / 4][(input + i) % 4][j % 4] = words[i].xor3(masks[i], key);
            }
        }
        rounds_apart::<K, N, ENCRYPT>(kernel, keys, &mut states);
        for (j, masks) in masks.as_flattened().iter().enumerate() {
            let mut words = *masks;
            for (i, word) in words.iter_mut().enumerate() {
                let key = K::Vector::splat(k[if ENCRYPT { 4 + i } else { i }]);
                *word = word.xor3(states[j / 4][(output + i) % 4][j % 4], key);
            }
            let to = dst.add(j * part);
            for (q, text) in K::Vector::transpose(words).into_iter().enumerate() {
                text.store(to.add(q * part / 4));
            }
        }
    }
}

/// The masks for a run of units, part by part.
struct Masks<'a, K: Kernel> {
    kernel: K,
    keys: &'a Keys<K::Vector>,
    run: Run,
    /// Number of units whose tweak has not been encrypted yet.
    units_left: usize,
    /// Encrypted tweaks of the next units.
    tweaks: [Block; MOST],
    next_tweak: usize,
    tweak_count: usize,
    /// Masks of the previous part, and the number of remaining parts in its unit.
    masks: [K::Vector; 4],
    parts_left: usize,
}

impl<'a, K: Kernel> Masks<'a, K> {
    /// # Safety
    /// As for [`units`].
    #[inline(always)]
    unsafe fn new(kernel: K, keys: &'a Keys<K::Vector>, run: Run, units: usize) -> Self {
        Self {
            kernel,
            keys,
            run,
            units_left: units,
            tweaks: [[0; BLOCK]; MOST],
            next_tweak: 0,
            tweak_count: 0,
            // SAFETY: the caller guarantees the instruction set.
            masks: unsafe { [K::Vector::splat(0); 4] },
            parts_left: 0,
        }
    }

    /// Masks of the next group; masks beyond the end of the run are meaningless.
    ///
    /// # Safety
    /// As for [`units`].
    #[inline(always)]
    unsafe fn next_group(&mut self) -> GroupMasks<K::Vector> {
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let mut group = [self.masks; 4];
            for masks in &mut group {
                if self.parts_left == 0 {
                    self.next_unit();
                } else {
                    self.masks = next_masks(self.masks);
                }
                self.parts_left -= 1;
                *masks = self.masks;
            }
            group
        }
    }

    /// # Safety
    /// As for [`units`].
    #[inline(always)]
    unsafe fn next_unit(&mut self) {
        if self.next_tweak == self.tweak_count {
            self.next_tweak = 0;
            self.tweak_count = self.units_left.clamp(1, group_blocks::<K::Vector>());
            self.units_left = self.units_left.saturating_sub(self.tweak_count);
            let tweaks = &mut self.tweaks[..self.tweak_count];
            self.run.tweaks(tweaks);
            self.run = self.run.after(self.tweak_count);
            transform::<K, true>(self.kernel, self.keys, tweaks);
        }
        // SAFETY: the caller guarantees the instruction set.
        self.masks = unsafe { first_masks(&self.tweaks[self.next_tweak]) };
        self.next_tweak += 1;
        self.parts_left = self.run.layout.data_unit / part_bytes::<K::Vector>();
    }
}
