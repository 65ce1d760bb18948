//! The kernels for any vector: any number of blocks, and XTS with the tweaks in registers.

use std::sync::Arc;

use zeroize::Zeroize;

use super::rounds::{ROUND_KEYS, RoundKeys, decrypt, encrypt};
use super::schedule::Schedule;
use super::word::Word;
use crate::isa::Isa;
use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::xts::Xts;
use crate::vector::Vector;

/// Number of groups processed in parallel. One group's chain of dependent operations takes about as long as issuing the
/// operations of two groups.
pub(super) const GROUPS: usize = 2;

/// Number of vectors in a group: each block has four words.
pub(super) const VECTORS: usize = 4;

/// The masks of a batch of [`GROUPS`] groups.
pub(super) type Masks<V> = [V; GROUPS * VECTORS];

/// Serpent on an instruction set.
pub(super) trait Kernel: Isa {
    /// The vector, used for words or for whole blocks.
    type Vector: Vector + Word<Key: Zeroize + Send + Sync>;

    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    /// The masks of a unit, starting with `tweak`: block `k` of vector `j` is `tweak * x^(LANES j + k)`.
    ///
    /// # Safety
    /// The instruction set must be enabled in the calling function.
    unsafe fn masks(tweak: u128) -> Masks<Self::Vector>;
}

/// Number of data units whose tweaks are encrypted together: a batch of the widest kernel.
const TWEAKS: usize = 32;

/// Serpent with a key, for one instruction set.
pub(super) struct Keyed<K: Kernel> {
    kernel: K,
    /// Stored on the heap, so that the keys are never moved, which would leave copies behind; shared with the general
    /// XTS mode.
    keys: Arc<Keys<K>>,
}

/// The round keys.
struct Keys<K: Kernel>(RoundKeys<K::Vector>);

impl<K: Kernel> Keyed<K> {
    /// The key must not be longer than 32 bytes.
    pub(super) fn new(kernel: K, key: &[u8]) -> Self {
        let schedule = Schedule::new(key);
        let mut keys = Arc::new(Keys([[<K::Vector as Word>::Key::default(); 4]; ROUND_KEYS]));
        // The keys are not shared yet.
        if let Some(Keys(keys)) = Arc::get_mut(&mut keys) {
            for (key, words) in keys.iter_mut().zip(&schedule.0) {
                *key = words.map(Into::into);
            }
        }
        Self { kernel, keys }
    }

    /// Encrypts or decrypts any number of blocks in place.
    fn blocks<const ENCRYPT: bool>(&self, blocks: &mut [Block]) {
        let whole = blocks.len() / batch::<K>() * batch::<K>();
        let (batches, rest) = blocks.split_at_mut(whole);
        self.batches::<ENCRYPT>(batches);
        if !rest.is_empty() {
            // The array is long enough for the largest batch of any kernel; this kernel uses only as much as its own
            // batch needs.
            const { assert!(batch::<K>() <= TWEAKS) };
            let mut padded = [[0; BLOCK]; TWEAKS];
            padded[..rest.len()].copy_from_slice(rest);
            self.batches::<ENCRYPT>(&mut padded[..batch::<K>()]);
            rest.copy_from_slice(&padded[..rest.len()]);
        }
    }

    /// Transforms whole batches in place.
    fn batches<const ENCRYPT: bool>(&self, blocks: &mut [Block]) {
        let keys = &self.keys.0;
        self.kernel.run(
            #[inline(always)]
            move || {
                for batch in blocks.chunks_exact_mut(batch::<K>()) {
                    let start = batch.as_mut_ptr().cast::<u8>();
                    // SAFETY: the chunk is one batch; the instruction set is enabled.
                    unsafe { masked_batch::<K, ENCRYPT>(keys, None, start, start) }
                }
            },
        );
    }

    /// Encrypts or decrypts a unit with the sequence of masks that starts with `tweak`.
    ///
    /// # Safety
    /// `src` and `dst` must be valid for `blocks` blocks, and equal or disjoint. `blocks` must be a
    /// multiple of a batch.
    unsafe fn unit<const ENCRYPT: bool>(
        &self,
        mut tweak: u128,
        src: *const u8,
        dst: *mut u8,
        blocks: usize,
    ) {
        let keys = &self.keys.0;
        self.kernel.run(
            #[inline(always)]
            move || {
                for start in (0..blocks).step_by(batch::<K>()) {
                    let at = start * BLOCK;
                    // SAFETY: the instruction set is enabled; the caller guarantees the memory.
                    unsafe {
                        let masks = Some(K::masks(tweak));
                        masked_batch::<K, ENCRYPT>(keys, masks, src.add(at), dst.add(at));
                    }
                    tweak = times_x_to_batch::<K>(tweak);
                }
            },
        );
    }
}

impl<K: Kernel> Clone for Keyed<K> {
    fn clone(&self) -> Self {
        Self { kernel: self.kernel, keys: Arc::clone(&self.keys) }
    }
}

impl<K: Kernel> Drop for Keys<K> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<K: Kernel> BlockKernel<BLOCK> for Keyed<K> {
    fn parallel(&self) -> usize {
        batch::<K>()
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        self.blocks::<true>(blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        self.blocks::<false>(blocks);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}

/// Serpent-XTS with a key, for one instruction set.
pub(super) struct SerpentXts<K: Kernel> {
    data: Keyed<K>,
    tweak: Keyed<K>,
    /// The same keys in the general XTS mode, for units that are not a whole number of batches.
    any: Xts<Keyed<K>>,
}

impl<K: Kernel> SerpentXts<K> {
    /// Each key must be at most 32 bytes long.
    pub(super) fn new(kernel: K, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let [data, tweak] = [data_key, tweak_key].map(|key| Keyed::new(kernel, key));
        let any = Xts::new(data.clone(), tweak.clone());
        Self { data, tweak, any }
    }

    /// Encrypts or decrypts the units of `buffer`; each must be a whole number of batches.
    fn units<const ENCRYPT: bool>(&self, mut run: Run, mut buffer: Buffer<'_>) {
        let unit = run.layout.data_unit;
        let mut left = buffer.len() / unit;
        let (mut src, mut dst) = buffer.pointers();
        let mut tweaks = [[0; BLOCK]; TWEAKS];
        while left > 0 {
            let tweaks = &mut tweaks[..left.min(TWEAKS)];
            run.tweaks(tweaks);
            self.tweak.blocks::<true>(tweaks);
            for tweak in &*tweaks {
                let tweak = u128::from_le_bytes(*tweak);
                // SAFETY: `src` and `dst` are valid for `left` units, and there are at least as many tweaks. Units
                // consist of whole batches.
                unsafe {
                    self.data.unit::<ENCRYPT>(tweak, src, dst, unit / BLOCK);
                    src = src.add(unit);
                    dst = dst.add(unit);
                }
            }
            run = run.after(tweaks.len());
            left -= tweaks.len();
        }
    }
}

/// Whether data units consist of whole batches.
fn fits<K: Kernel>(run: Run) -> bool {
    run.layout.data_unit.is_multiple_of(batch::<K>() * BLOCK)
}

impl<K: Kernel> UnitKernel for SerpentXts<K> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if fits::<K>(run) {
            self.units::<true>(run, buffer);
        } else {
            self.any.encrypt_units(run, buffer);
        }
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if fits::<K>(run) {
            self.units::<false>(run, buffer);
        } else {
            self.any.decrypt_units(run, buffer);
        }
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        // The general mode has the same keys.
        self.any.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}

/// Number of blocks in a batch of [`GROUPS`] groups.
const fn batch<K: Kernel>() -> usize {
    GROUPS * VECTORS * K::Vector::LANES
}

/// Encrypts or decrypts a batch, with masks added before and after.
///
/// # Safety
/// The instruction set must be enabled in the calling function. `src` and `dst` must be valid for a batch, and equal
/// or disjoint.
#[inline(always)]
unsafe fn masked_batch<K: Kernel, const ENCRYPT: bool>(
    keys: &RoundKeys<K::Vector>,
    masks: Option<Masks<K::Vector>>,
    src: *const u8,
    dst: *mut u8,
) {
    let bytes = K::Vector::BYTES;
    // Uses loops instead of closures, because the instruction set is not enabled inside closures. SAFETY: guaranteed
    // by the caller; a batch has `GROUPS * VECTORS` vectors.
    unsafe {
        let mut groups = [[K::Vector::load(src); VECTORS]; GROUPS];
        for (group, vectors) in groups.iter_mut().enumerate() {
            for (vector, value) in vectors.iter_mut().enumerate() {
                let vector = VECTORS * group + vector;
                *value = K::Vector::load(src.add(vector * bytes));
                if let Some(masks) = &masks {
                    *value ^= masks[vector];
                }
            }
            *vectors = K::Vector::transpose(*vectors);
        }
        if ENCRYPT {
            encrypt::<K::Vector, GROUPS>(&mut groups, keys);
        } else {
            decrypt::<K::Vector, GROUPS>(&mut groups, keys);
        }
        for (group, words) in groups.into_iter().enumerate() {
            for (vector, mut value) in K::Vector::transpose(words).into_iter().enumerate() {
                let vector = VECTORS * group + vector;
                if let Some(masks) = &masks {
                    value ^= masks[vector];
                }
                value.store(dst.add(vector * bytes));
            }
        }
    }
}

/// A tweak times `x^batch`, which is the first mask of the next batch.
#[inline(always)]
fn times_x_to_batch<K: Kernel>(tweak: u128) -> u128 {
    let carry = tweak >> (128 - batch::<K>());
    tweak << batch::<K>() ^ carry ^ carry << 1 ^ carry << 2 ^ carry << 7
}
