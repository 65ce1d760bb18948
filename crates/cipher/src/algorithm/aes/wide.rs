//! AES with the CPU's AES instructions: single blocks, CBC chains, and XTS fused with the cipher.

use super::blocks::{PARALLEL, blocks};
use super::chains::chains;
use super::keys::{BlockKeys, RoundKeys, XtsKeys};
use crate::isa::Isa;
use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};
use crate::vector::{V128, Vector};

/// AES on an instruction set.
pub(super) trait Kernel: Isa {
    /// Name of the kernels, as stored in records.
    const NAME: &'static str;

    /// The widest vector of blocks.
    type Vector: Cipher;

    /// The instruction set for which CBC chains are compiled: they process single blocks, whatever the vector width.
    type Narrow: Isa + From<Self>;

    /// Encrypts or decrypts the units of `buffer`, depending on `ENCRYPT`.
    ///
    /// # Safety
    /// The instruction set must be enabled in the calling function. `R` must be the number of rounds of `keys`.
    unsafe fn units<const R: usize, const ENCRYPT: bool>(
        keys: &XtsKeys,
        run: Run,
        buffer: Buffer<'_>,
    );
}

/// Several cipher blocks in one register.
///
/// # Safety
/// As for [`Vector`]. `R` must be the number of rounds of the keys.
pub(super) trait Cipher: Vector {
    /// Encrypts or decrypts `N` vectors.
    unsafe fn cipher<const R: usize, const N: usize, const ENCRYPT: bool>(
        keys: &RoundKeys,
        x: [Self; N],
    ) -> [Self; N];

    /// Encrypts or decrypts `blocks < LANES` blocks in place; `at` must be valid for them.
    unsafe fn cipher_part<const R: usize, const ENCRYPT: bool>(
        keys: &RoundKeys,
        at: *mut u8,
        blocks: usize,
    );
}

/// Evaluates an expression with the number of rounds as a constant.
macro_rules! with_rounds {
    ($rounds:expr, $constant:ident => $result:expr) => {
        match $rounds {
            10 => {
                const $constant: usize = 10;
                $result
            }
            12 => {
                const $constant: usize = 12;
                $result
            }
            _ => {
                const $constant: usize = 14;
                $result
            }
        }
    };
}

/// AES with a key, for one instruction set and for modes that are not fused with it.
pub(super) struct AesBlocks<K> {
    kernel: K,
    keys: Box<BlockKeys>,
}

impl<K: Kernel> AesBlocks<K> {
    /// Expands a 16-, 24- or 32-byte key.
    pub(super) fn new(kernel: K, key: &[u8]) -> Self {
        Self { kernel, keys: BlockKeys::new(key) }
    }

    fn transform<const ENCRYPT: bool>(&self, data: &mut [Block]) {
        let keys = if ENCRYPT { &self.keys.encrypt } else { &self.keys.decrypt };
        with_rounds!(self.keys.rounds, R => self.kernel.run(
            #[inline(always)]
            // SAFETY: the instruction set is enabled, and `R` is the number of rounds of the keys.
            move || unsafe { blocks::<K::Vector, R, ENCRYPT>(keys, data) }
        ));
    }
}

impl<K: Kernel> BlockKernel<BLOCK> for AesBlocks<K> {
    fn parallel(&self) -> usize {
        PARALLEL
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        self.transform::<true>(blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        self.transform::<false>(blocks);
    }

    fn encrypt_chains(&self, chain: &mut [Block], buffer: Buffer<'_>) {
        let keys = &self.keys.encrypt;
        with_rounds!(self.keys.rounds, R => K::Narrow::from(self.kernel).run(
            #[inline(always)]
            // SAFETY: the instruction set is enabled, and `R` is the number of rounds of the keys.
            move || unsafe { chains::<V128, R>(keys, chain, buffer) }
        ));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}

/// AES-XTS with a key, for one instruction set.
pub(super) struct AesXts<K> {
    kernel: K,
    keys: Box<XtsKeys>,
}

impl<K: Kernel> AesXts<K> {
    /// Expands two keys of the same length: 16, 24 or 32 bytes.
    pub(super) fn new(kernel: K, data_key: &[u8], tweak_key: &[u8]) -> Self {
        Self { kernel, keys: XtsKeys::new(data_key, tweak_key) }
    }

    fn transform<const ENCRYPT: bool>(&self, run: Run, buffer: Buffer<'_>) {
        let keys = &*self.keys;
        with_rounds!(keys.data.rounds, R => self.kernel.run(
            #[inline(always)]
            // SAFETY: the instruction set is enabled, and `R` is the number of rounds of the keys.
            move || unsafe { K::units::<R, ENCRYPT>(keys, run, buffer) }
        ));
    }
}

impl<K: Kernel> UnitKernel for AesXts<K> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<true>(run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<false>(run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}
