//! XTS (IEEE 1619-2018, 5) around a kernel that transforms a fixed, large number of blocks.

use zeroize::ZeroizeOnDrop;

use super::schedule::Schedule;
use crate::kernel::{BLOCK, Block, BlockCipher, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::xts::double;

/// Masks that a kernel makes from one, 512 bytes in all: the usual data unit.
pub(super) const CHUNK: usize = 32;

/// Most blocks that a kernel transforms at once.
const MAX_BLOCKS: usize = 64;

/// Proof that the CPU has an instruction set, and the kernel compiled for it.
pub(super) trait Wide: Copy + Send + Sync + 'static {
    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    /// Number of blocks that it transforms at once: [`CHUNK`] or [`MAX_BLOCKS`].
    const BLOCKS: usize;

    /// The expanded key of one direction.
    type Keys: ZeroizeOnDrop + Send + Sync;

    fn keys(schedule: &Schedule) -> Self::Keys;

    /// Transforms [`Self::BLOCKS`] blocks, adding the masks before and after.
    ///
    /// # Safety
    /// `from` and `masks` must be readable and `to` writable for that many blocks; `from` and `to`
    /// may be equal.
    unsafe fn transform(self, keys: &Self::Keys, from: *const u8, masks: *const u8, to: *mut u8);

    /// Multiplies `first` by 1, x ... x^31.
    fn masks(self, first: u128, masks: &mut [Block; CHUNK]);
}

/// Blocks on the stack, aligned for the widest vectors.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Blocks([Block; MAX_BLOCKS]);

static NO_MASKS: Blocks = Blocks([[0; BLOCK]; MAX_BLOCKS]);

/// Transforms any number of blocks in place, without a mode.
pub(super) fn bare<W: Wide>(isa: W, keys: &W::Keys, blocks: &mut [Block]) {
    for part in blocks.chunks_mut(W::BLOCKS) {
        part_of_batch(isa, keys, Buffer::in_place(part.as_flattened_mut()), &NO_MASKS);
    }
}

/// Transforms up to `W::BLOCKS` blocks.
fn part_of_batch<W: Wide>(isa: W, keys: &W::Keys, mut buffer: Buffer<'_>, masks: &Blocks) {
    let len = buffer.len();
    if len == W::BLOCKS * BLOCK {
        let (from, to) = buffer.pointers();
        // SAFETY: the buffer has the required length, and the masks have at least that.
        unsafe { isa.transform(keys, from, masks.0.as_ptr().cast(), to) };
        return;
    }
    let mut blocks = Blocks([[0; BLOCK]; MAX_BLOCKS]);
    blocks.0.as_flattened_mut()[..len].copy_from_slice(buffer.src());
    let memory = blocks.0.as_mut_ptr().cast::<u8>();
    // SAFETY: both arrays hold the largest number of blocks that a kernel takes.
    unsafe { isa.transform(keys, memory, masks.0.as_ptr().cast(), memory) };
    buffer.dst().copy_from_slice(&blocks.0.as_flattened()[..len]);
}

/// Camellia keyed for one instruction set, for modes in general.
pub(super) struct WideBlocks<W: Wide> {
    isa: W,
    keys: Box<BlockKeys<W>>,
}

/// Boxed, because the keys are large and must not leave copies behind.
struct BlockKeys<W: Wide> {
    encryption: W::Keys,
    decryption: W::Keys,
}

impl<W: Wide> WideBlocks<W> {
    /// Expands a key of 16, 24 or 32 bytes.
    pub(super) fn new(isa: W, key: &[u8]) -> Self {
        let encryption = W::keys(&Schedule::encryption(key));
        let decryption = W::keys(&Schedule::decryption(key));
        Self { isa, keys: Box::new(BlockKeys { encryption, decryption }) }
    }
}

impl<W: Wide> BlockCipher for WideBlocks<W> {
    const PARALLEL: usize = W::BLOCKS;

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        bare(self.isa, &self.keys.encryption, blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        bare(self.isa, &self.keys.decryption, blocks);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        W::NAME
    }
}

/// Camellia-XTS keyed for one instruction set.
pub(super) struct WideXts<W: Wide> {
    isa: W,
    keys: Box<XtsKeys<W>>,
}

/// Boxed, because the keys are large and must not leave copies behind.
struct XtsKeys<W: Wide> {
    encryption: W::Keys,
    decryption: W::Keys,
    tweak: W::Keys,
}

impl<W: Wide> WideXts<W> {
    /// Expands two keys of 16, 24 or 32 bytes.
    pub(super) fn new(isa: W, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let keys = Box::new(XtsKeys {
            encryption: W::keys(&Schedule::encryption(data_key)),
            decryption: W::keys(&Schedule::decryption(data_key)),
            tweak: W::keys(&Schedule::encryption(tweak_key)),
        });
        Self { isa, keys }
    }

    fn units(&self, keys: &W::Keys, run: Run, mut buffer: Buffer<'_>) {
        let total = buffer.len();
        let mut sequence = Sequence {
            isa: self.isa,
            keys: &self.keys.tweak,
            run,
            units_left: total / run.layout.data_unit,
            ready: NO_MASKS,
            next_ready: 0,
            ready_count: 0,
            mask: 0,
            blocks_left: 0,
        };
        let mut masks = NO_MASKS;
        let batch = W::BLOCKS * BLOCK;
        for start in (0..total).step_by(batch) {
            let end = total.min(start + batch);
            let wanted = (end - start) / BLOCK;
            if (run.layout.data_unit / BLOCK).is_multiple_of(CHUNK) {
                for chunk in masks.0[..wanted].as_chunks_mut().0 {
                    sequence.fill_chunk(chunk);
                }
            } else {
                sequence.fill(&mut masks.0[..wanted]);
            }
            part_of_batch(self.isa, keys, buffer.part(start..end), &masks);
        }
    }
}

impl<W: Wide> UnitKernel for WideXts<W> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.units(&self.keys.encryption, run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.units(&self.keys.decryption, run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        W::NAME
    }
}

/// The masks of all blocks of a run, in order: E(K2, unit) * x^block.
struct Sequence<'a, W: Wide> {
    isa: W,
    keys: &'a W::Keys,
    run: Run,
    /// Units whose tweak is not yet enciphered.
    units_left: usize,
    /// First masks of the units ahead, enciphered together.
    ready: Blocks,
    next_ready: usize,
    ready_count: usize,
    /// Mask of the next block, followed by the number of blocks left in its unit.
    mask: u128,
    blocks_left: usize,
}

impl<W: Wide> Sequence<'_, W> {
    /// Writes the next masks; the unit must have at least that many left.
    fn fill_chunk(&mut self, masks: &mut [Block; CHUNK]) {
        if self.blocks_left == 0 {
            self.next_unit();
        }
        self.isa.masks(self.mask, masks);
        self.mask = times_x32(self.mask);
        self.blocks_left -= CHUNK;
    }

    /// Writes the next masks across unit borders; the run must have that many left.
    fn fill(&mut self, masks: &mut [Block]) {
        for mask in masks {
            if self.blocks_left == 0 {
                self.next_unit();
            }
            *mask = self.mask.to_le_bytes();
            self.mask = double(self.mask);
            self.blocks_left -= 1;
        }
    }

    fn next_unit(&mut self) {
        if self.next_ready == self.ready_count {
            self.next_ready = 0;
            self.ready_count = self.units_left.min(W::BLOCKS);
            for (unit, block) in self.ready.0[..self.ready_count].iter_mut().enumerate() {
                *block = self.run.after(unit).first.to_le_bytes();
            }
            let memory = self.ready.0.as_mut_ptr().cast::<u8>();
            // SAFETY: both arrays hold the largest number of blocks that a kernel takes.
            unsafe { self.isa.transform(self.keys, memory, NO_MASKS.0.as_ptr().cast(), memory) };
            self.units_left -= self.ready_count;
            self.run = self.run.after(self.ready_count);
        }
        self.mask = u128::from_le_bytes(self.ready.0[self.next_ready]);
        self.next_ready += 1;
        self.blocks_left = self.run.layout.data_unit / BLOCK;
    }
}

fn times_x32(tweak: u128) -> u128 {
    (tweak << 32) ^ reduced((tweak >> 96) as u64)
}

#[cfg(target_arch = "x86_64")]
pub(super) fn times_x16(tweak: u128) -> u128 {
    (tweak << 16) ^ reduced((tweak >> 112) as u64)
}

/// `carry * x^128`; `carry` has at most 57 bits.
fn reduced(carry: u64) -> u128 {
    u128::from(carry ^ carry << 1 ^ carry << 2 ^ carry << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_doublings() {
        let mut tweak = 0x8000_0000_0000_0001_8765_4321_0fed_cba9;
        for _ in 0..200 {
            let doubled = |times| (0..times).fold(tweak, |tweak, _| double(tweak));
            #[cfg(target_arch = "x86_64")]
            assert_eq!(times_x16(tweak), doubled(16));
            assert_eq!(times_x32(tweak), doubled(32));
            tweak = double(tweak);
        }
    }
}
