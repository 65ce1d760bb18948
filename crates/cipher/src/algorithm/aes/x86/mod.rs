//! AES on x86: single blocks, and XTS fused with the cipher, both written once over a vector of
//! blocks.

mod aesni;
mod ahead;
mod blocks;
mod chains;
mod keys;
mod vaes256;
mod vaes512;
mod vector;
mod xts;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockCipher, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

use aesni::AesNi;
use keys::{BlockKeys, XtsKeys};

/// Proof that the CPU has an instruction set, and the kernels compiled for it.
trait Isa: Copy + Send + Sync + 'static {
    /// Name of the kernels, as stored in records.
    const NAME: &'static str;

    /// The instruction set, if `tier` allows it and the CPU has all of it.
    fn new(tier: Tier) -> Option<Self>;

    /// Transforms the units of `buffer` in the direction that `ENCRYPT` says.
    fn xts<const ENCRYPT: bool>(self, keys: &XtsKeys, run: Run, buffer: Buffer<'_>);

    /// Transforms blocks where they lie.
    fn blocks<const ENCRYPT: bool>(self, keys: &BlockKeys, data: &mut [Block]);
}

/// AES keyed for one instruction set, for modes in general.
struct AesBlocks<I> {
    isa: I,
    /// Runs the chains of CBC, which work on single blocks whatever the width of the vectors.
    chains: AesNi,
    keys: Box<BlockKeys>,
}

impl<I: Isa> BlockCipher for AesBlocks<I> {
    const PARALLEL: usize = blocks::PARALLEL;

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.isa.blocks::<true>(&self.keys, blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.isa.blocks::<false>(&self.keys, blocks);
    }

    fn encrypt_chains(&self, chain: &mut [Block], buffer: Buffer<'_>) {
        self.chains.chains(&self.keys, chain, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}

/// AES-XTS keyed for one instruction set.
struct AesXts<I> {
    isa: I,
    keys: Box<XtsKeys>,
}

impl<I: Isa> UnitKernel for AesXts<I> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.isa.xts::<true>(&self.keys, run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.isa.xts::<false>(&self.keys, run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}

/// AES-XTS with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    if let Some(isa) = vaes512::Vaes512::new(tier) {
        keyed(isa, data_key, tweak_key)
    } else if let Some(isa) = vaes256::Vaes256::new(tier) {
        keyed(isa, data_key, tweak_key)
    } else if let Some(isa) = AesNi::new(tier) {
        keyed(isa, data_key, tweak_key)
    } else {
        None
    }
}

fn keyed(isa: impl Isa, data_key: &[u8], tweak_key: &[u8]) -> Option<Box<dyn UnitKernel>> {
    let keys = XtsKeys::new(data_key, tweak_key)?;
    Some(Box::new(AesXts { isa, keys }))
}

/// AES with the best kernel that the CPU has and `tier` allows, if there is one.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    // Every CPU with VAES also has AES-NI.
    let chains = AesNi::new(tier)?;
    let keys = BlockKeys::new(key);
    Some(if let Some(isa) = vaes512::Vaes512::new(tier) {
        Box::new(AesBlocks { isa, chains, keys })
    } else if let Some(isa) = vaes256::Vaes256::new(tier) {
        Box::new(AesBlocks { isa, chains, keys })
    } else {
        Box::new(AesBlocks { isa: chains, chains, keys })
    })
}
