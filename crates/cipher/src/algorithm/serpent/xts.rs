//! The kernels over any [`Isa`]: any number of blocks, and XTS with its tweaks in registers.

use std::sync::Arc;

use zeroize::Zeroize;

use super::rounds::{ROUND_KEYS, RoundKeys, decrypt, encrypt};
use super::schedule::Schedule;
use super::vector::{GROUPS, Isa, VECTORS, Vector};
use super::word::Word;
use crate::kernel::{BLOCK, Block, BlockCipher, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::xts::Xts;

/// Data units whose tweaks are enciphered together: a batch of the widest kernel.
const TWEAKS: usize = 32;

/// Serpent keyed for one instruction set.
pub(super) struct Keyed<I: Isa> {
    isa: I,
    /// Boxed, so that the keys do not move and leave no copies behind.
    keys: Box<RoundKeys<I::Vector>>,
}

impl<I: Isa> Keyed<I> {
    /// The key must be of at most 32 bytes.
    pub(super) fn new(isa: I, key: &[u8]) -> Self {
        let schedule = Schedule::new(key);
        let mut keys = Box::new([[<I::Vector as Word>::Key::default(); 4]; ROUND_KEYS]);
        for (key, words) in keys.iter_mut().zip(&schedule.0) {
            for (key, word) in key.iter_mut().zip(words) {
                *key = I::key(*word);
            }
        }
        Self { isa, keys }
    }

    /// Transforms any number of blocks in place.
    fn blocks<const ENCRYPT: bool>(&self, blocks: &mut [Block]) {
        let whole = blocks.len() / batch::<I::Vector>() * batch::<I::Vector>();
        let (batches, rest) = blocks.split_at_mut(whole);
        self.isa.batches::<ENCRYPT>(&self.keys, batches);
        if !rest.is_empty() {
            // The array fits the longest batch of any kernel; this kernel uses as much as its own
            // batch needs.
            const { assert!(batch::<I::Vector>() <= TWEAKS) };
            let mut padded = [[0; BLOCK]; TWEAKS];
            padded[..rest.len()].copy_from_slice(rest);
            self.isa.batches::<ENCRYPT>(&self.keys, &mut padded[..batch::<I::Vector>()]);
            rest.copy_from_slice(&padded[..rest.len()]);
        }
    }
}

impl<I: Isa> Drop for Keyed<I> {
    fn drop(&mut self) {
        self.keys.zeroize();
    }
}

impl<I: Isa> BlockCipher for Arc<Keyed<I>> {
    const PARALLEL: usize = batch::<I::Vector>();

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.blocks::<true>(blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.blocks::<false>(blocks);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}

/// Serpent-XTS keyed for one instruction set.
pub(super) struct SerpentXts<I: Isa> {
    data: Arc<Keyed<I>>,
    tweak: Arc<Keyed<I>>,
    /// The same keys in the general mode, for units that are not a whole number of batches.
    any: Xts<Arc<Keyed<I>>>,
}

impl<I: Isa> SerpentXts<I> {
    /// Both keys must be of at most 32 bytes.
    pub(super) fn new(isa: I, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let data = Arc::new(Keyed::new(isa, data_key));
        let tweak = Arc::new(Keyed::new(isa, tweak_key));
        let any = Xts::new(Arc::clone(&data), Arc::clone(&tweak));
        Self { data, tweak, any }
    }

    /// Transforms the units of `buffer`; each must be a whole number of batches.
    fn units<const ENCRYPT: bool>(&self, mut run: Run, mut buffer: Buffer<'_>) {
        let unit = run.layout.data_unit;
        let mut left = buffer.len() / unit;
        let (mut src, mut dst) = buffer.pointers();
        let mut tweaks = [[0; BLOCK]; TWEAKS];
        while left > 0 {
            let tweaks = &mut tweaks[..left.min(TWEAKS)];
            for (index, tweak) in tweaks.iter_mut().enumerate() {
                *tweak = run.after(index).first.to_le_bytes();
            }
            self.tweak.blocks::<true>(tweaks);
            for tweak in &*tweaks {
                let tweak = u128::from_le_bytes(*tweak);
                let Keyed { isa, keys } = &*self.data;
                // SAFETY: `src` and `dst` are valid for `left` units, and there are at least as
                // many tweaks. Units are whole batches.
                unsafe {
                    isa.unit::<ENCRYPT>(keys, tweak, src, dst, unit / BLOCK);
                    src = src.add(unit);
                    dst = dst.add(unit);
                }
            }
            run = run.after(tweaks.len());
            left -= tweaks.len();
        }
    }
}

/// Whether data units are whole batches.
fn fits<V: Vector>(run: Run) -> bool {
    run.layout.data_unit.is_multiple_of(batch::<V>() * BLOCK)
}

impl<I: Isa> UnitKernel for SerpentXts<I> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if fits::<I::Vector>(run) {
            self.units::<true>(run, buffer);
        } else {
            self.any.encrypt_units(run, buffer);
        }
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if fits::<I::Vector>(run) {
            self.units::<false>(run, buffer);
        } else {
            self.any.decrypt_units(run, buffer);
        }
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        // The general mode shares the keys.
        self.any.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}

/// Number of blocks in a batch of [`GROUPS`] groups.
const fn batch<V: Vector>() -> usize {
    GROUPS * VECTORS * V::BLOCKS
}

/// A batch between two maskings.
///
/// # Safety
/// The CPU must have `V`'s instruction set, and the caller must enable it. `src` and `dst` must be
/// valid for a batch, and equal or apart.
#[inline(always)]
unsafe fn masked_batch<V: Vector, const ENCRYPT: bool>(
    keys: &RoundKeys<V>,
    masks: Option<[V; GROUPS * VECTORS]>,
    src: *const u8,
    dst: *mut u8,
) {
    let bytes = V::BLOCKS * BLOCK;
    // Uses loops instead of closures, because the instruction set is not enabled inside closures.
    // SAFETY: the caller's promise; a batch has `GROUPS * VECTORS` vectors.
    unsafe {
        let mut groups = [[V::load(src); VECTORS]; GROUPS];
        for (group, vectors) in groups.iter_mut().enumerate() {
            for (vector, value) in vectors.iter_mut().enumerate() {
                let vector = VECTORS * group + vector;
                *value = V::load(src.add(vector * bytes));
                if let Some(masks) = &masks {
                    *value = *value ^ masks[vector];
                }
            }
            *vectors = V::transpose(*vectors);
        }
        if ENCRYPT {
            encrypt::<V, GROUPS>(&mut groups, keys);
        } else {
            decrypt::<V, GROUPS>(&mut groups, keys);
        }
        for (group, words) in groups.into_iter().enumerate() {
            for (vector, mut value) in V::transpose(words).into_iter().enumerate() {
                let vector = VECTORS * group + vector;
                if let Some(masks) = &masks {
                    value = value ^ masks[vector];
                }
                value.store(dst.add(vector * bytes));
            }
        }
    }
}

/// Encrypts or decrypts the whole batches of `blocks`.
///
/// # Safety
/// The CPU must have `V`'s instruction set, and the caller must enable it.
#[inline(always)]
pub(super) unsafe fn batches<V: Vector, const ENCRYPT: bool>(
    keys: &RoundKeys<V>,
    blocks: &mut [Block],
) {
    for batch in blocks.chunks_exact_mut(batch::<V>()) {
        let start = batch.as_mut_ptr().cast::<u8>();
        // SAFETY: the chunk is a batch; the rest is the caller's promise.
        unsafe { masked_batch::<V, ENCRYPT>(keys, None, start, start) }
    }
}

/// Transforms a unit as [`Isa::unit`] specifies.
///
/// # Safety
/// As there; in addition, the CPU must have `V`'s instruction set, and the caller must enable it.
#[inline(always)]
pub(super) unsafe fn unit<V: Vector, const ENCRYPT: bool>(
    keys: &RoundKeys<V>,
    mut tweak: u128,
    src: *const u8,
    dst: *mut u8,
    blocks: usize,
) {
    for start in (0..blocks).step_by(batch::<V>()) {
        // SAFETY: the caller's promise; `blocks` is a multiple of a batch.
        unsafe {
            let masks = Some(V::masks(tweak));
            masked_batch::<V, ENCRYPT>(keys, masks, src.add(start * BLOCK), dst.add(start * BLOCK));
        }
        tweak = times_x_to_batch::<V>(tweak);
    }
}

/// A tweak times `x^batch`, the first mask of the next batch.
#[inline(always)]
fn times_x_to_batch<V: Vector>(tweak: u128) -> u128 {
    let carry = tweak >> (128 - batch::<V>());
    tweak << batch::<V>() ^ carry ^ carry << 1 ^ carry << 2 ^ carry << 7
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::soft::Soft;
    use super::*;
    use crate::cpu::Tier;
    use crate::sector::Layout;

    /// A kernel against the portable one, even if a better one hides it.
    pub(in super::super) fn check<I: Isa>(tier: Tier) {
        let Some(isa) = I::new(tier) else {
            eprintln!("SKIPPED: this CPU has no {}", I::NAME);
            return;
        };
        let (data_key, tweak_key) = ([0xa7; 32], [0x3c; 32]);
        let kernel = SerpentXts::new(isa, &data_key, &tweak_key);
        let soft = Xts::new(Soft::new(&data_key), Soft::new(&tweak_key));
        for data_unit in [16, 80, 512, 4096] {
            let layout = Layout { data_unit, tweak_step: 1 };
            let run = Run { first: u128::MAX / 3, layout };
            let plain: Vec<u8> = (0..35 * data_unit).map(|i| (i * 7 / 3) as u8).collect();
            let mut expected = plain.clone();
            soft.encrypt_units(run, Buffer::in_place(&mut expected));
            let mut data = plain.clone();
            kernel.encrypt_units(run, Buffer::in_place(&mut data));
            assert_eq!(data, expected);
            kernel.decrypt_units(run, Buffer::in_place(&mut data));
            assert_eq!(data, plain);
        }
    }
}
