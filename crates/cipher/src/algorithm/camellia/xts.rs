//! XTS (IEEE 1619-2018, 5) around a kernel that transforms a fixed, large number of blocks.

use zeroize::ZeroizeOnDrop;

use super::schedule::Schedule;
use crate::isa::Isa;
use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::xts::{Sequence, Tweaks};

/// Number of masks that a kernel derives from one mask: enough for 512 bytes, the usual data unit.
pub(super) const CHUNK: usize = 32;

/// Maximum number of blocks that a kernel processes in one call.
const MAX_BLOCKS: usize = 64;

/// Camellia for one instruction set.
///
/// # Safety
/// The instruction set must be enabled in the caller of an unsafe function.
pub(super) trait Kernel: Isa {
    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    /// Number of blocks that the kernel processes in one call: [`CHUNK`] or [`MAX_BLOCKS`].
    const BLOCKS: usize;

    /// The expanded key for one direction.
    type Keys: ZeroizeOnDrop + Send + Sync;

    fn keys(schedule: &Schedule) -> Self::Keys;

    /// Encrypts or decrypts [`Self::BLOCKS`] blocks, and adds the masks before and after. `from` and `masks` must be
    /// readable and `to` writable for that many blocks; `from` and `to` may be equal.
    unsafe fn transform(keys: &Self::Keys, from: *const u8, masks: *const u8, to: *mut u8);

    /// Multiplies `first` by 1, x ... x^31.
    unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]);
}

/// Calls [`Kernel::transform`] in a separate function.
///
/// # Safety
/// The memory requirements of [`Kernel::transform`].
unsafe fn transform<K: Kernel>(
    kernel: K,
    keys: &K::Keys,
    from: *const u8,
    masks: &Blocks,
    to: *mut u8,
) {
    kernel.run(
        #[inline(always)]
        // SAFETY: the instruction set is enabled; the caller guarantees the memory.
        move || unsafe { K::transform(keys, from, masks.0.as_ptr().cast(), to) },
    );
}

/// Blocks on the stack, aligned for the widest vector.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Blocks([Block; MAX_BLOCKS]);

static NO_MASKS: Blocks = Blocks([[0; BLOCK]; MAX_BLOCKS]);

/// Encrypts or decrypts any number of blocks in place, without a mode.
pub(super) fn bare<K: Kernel>(kernel: K, keys: &K::Keys, blocks: &mut [Block]) {
    for part in blocks.chunks_mut(K::BLOCKS) {
        part_of_batch(kernel, keys, Buffer::in_place(part.as_flattened_mut()), &NO_MASKS);
    }
}

/// Transforms up to `K::BLOCKS` blocks.
fn part_of_batch<K: Kernel>(kernel: K, keys: &K::Keys, mut buffer: Buffer<'_>, masks: &Blocks) {
    let len = buffer.len();
    if len == K::BLOCKS * BLOCK {
        let (from, to) = buffer.pointers();
        // SAFETY: the buffer has the required length, and there are at least as many masks as blocks.
        unsafe { transform(kernel, keys, from, masks, to) };
        return;
    }
    let mut blocks = Blocks([[0; BLOCK]; MAX_BLOCKS]);
    blocks.0.as_flattened_mut()[..len].copy_from_slice(buffer.src());
    let memory = blocks.0.as_mut_ptr().cast::<u8>();
    // SAFETY: both arrays have the maximum number of blocks of a kernel.
    unsafe { transform(kernel, keys, memory, masks, memory) };
    buffer.dst().copy_from_slice(&blocks.0.as_flattened()[..len]);
}

/// Camellia with a key, for one instruction set and for modes that are not fused with it.
pub(super) struct WideBlocks<K: Kernel> {
    kernel: K,
    keys: Box<BlockKeys<K>>,
}

/// Boxed, because the keys are large, and moving them would leave copies behind.
struct BlockKeys<K: Kernel> {
    encryption: K::Keys,
    decryption: K::Keys,
}

impl<K: Kernel> WideBlocks<K> {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(kernel: K, key: &[u8]) -> Self {
        let encryption = K::keys(&Schedule::encryption(key));
        let decryption = K::keys(&Schedule::decryption(key));
        Self { kernel, keys: Box::new(BlockKeys { encryption, decryption }) }
    }
}

impl<K: Kernel> BlockKernel<BLOCK> for WideBlocks<K> {
    fn parallel(&self) -> usize {
        K::BLOCKS
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        bare(self.kernel, &self.keys.encryption, blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        bare(self.kernel, &self.keys.decryption, blocks);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}

/// Camellia-XTS with a key, for one instruction set.
pub(super) struct WideXts<K: Kernel> {
    kernel: K,
    keys: Box<XtsKeys<K>>,
}

/// Boxed, because the keys are large, and moving them would leave copies behind.
struct XtsKeys<K: Kernel> {
    encryption: K::Keys,
    decryption: K::Keys,
    tweak: K::Keys,
}

impl<K: Kernel> WideXts<K> {
    /// Expands two 16-, 24- or 32-byte keys.
    pub(super) fn new(kernel: K, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let keys = Box::new(XtsKeys {
            encryption: K::keys(&Schedule::encryption(data_key)),
            decryption: K::keys(&Schedule::decryption(data_key)),
            tweak: K::keys(&Schedule::encryption(tweak_key)),
        });
        Self { kernel, keys }
    }

    fn units(&self, keys: &K::Keys, run: Run, mut buffer: Buffer<'_>) {
        let total = buffer.len();
        let encipher = |tweaks: &mut Tweaks, count: usize| {
            for part in tweaks.0.chunks_exact_mut(K::BLOCKS).take(count.div_ceil(K::BLOCKS)) {
                let memory = part.as_mut_ptr().cast::<u8>();
                // SAFETY: a part has as many blocks as the kernel processes.
                unsafe { transform(self.kernel, &self.keys.tweak, memory, &NO_MASKS, memory) };
            }
        };
        let mut sequence = Sequence::new(encipher, run, total / run.layout.data_unit);
        let mut masks = NO_MASKS;
        let batch = K::BLOCKS * BLOCK;
        for start in (0..total).step_by(batch) {
            let end = total.min(start + batch);
            let wanted = (end - start) / BLOCK;
            if (run.layout.data_unit / BLOCK).is_multiple_of(CHUNK) {
                for chunk in masks.0[..wanted].as_chunks_mut().0 {
                    let first = sequence.chunk(CHUNK, times_x32);
                    self.kernel.run(
                        #[inline(always)]
                        // SAFETY: the instruction set is enabled.
                        move || unsafe { K::masks(first, chunk) },
                    );
                }
            } else {
                let mut numbers = [0; MAX_BLOCKS];
                sequence.fill(&mut numbers[..wanted]);
                masks.0 = numbers.map(u128::to_le_bytes);
            }
            part_of_batch(self.kernel, keys, buffer.part(start..end), &masks);
        }
    }
}

impl<K: Kernel> UnitKernel for WideXts<K> {
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
        K::NAME
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
    use crate::mode::xts::double;

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
