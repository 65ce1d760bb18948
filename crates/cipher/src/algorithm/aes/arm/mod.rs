//! AES with ARM's cryptography extension: single blocks, chains of CBC, and XTS fused with the cipher.

mod blocks;
mod chains;
mod keys;
mod rounds;
mod xts;

use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockCipher, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

use keys::{BlockKeys, XtsKeys};

/// Name of the kernels, as stored in records; Linux's drivers have the same ending.
const NAME: &str = "aes-ce";

/// Proof that the CPU has the AES and polynomial instructions of the cryptography extension.
#[derive(Clone, Copy)]
struct Crypto(());

impl Crypto {
    /// The instruction set, if `tier` allows it and the CPU has it.
    fn new(tier: Tier) -> Option<Self> {
        tier.allows(Tier::Crypto).then_some(Self(()))
    }
}

/// AES keyed for modes in general.
struct AesBlocks {
    isa: Crypto,
    keys: Box<BlockKeys>,
}

impl BlockCipher for AesBlocks {
    const PARALLEL: usize = blocks::PARALLEL;

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        blocks::run::<true>(self.isa, &self.keys, blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        blocks::run::<false>(self.isa, &self.keys, blocks);
    }

    fn encrypt_chains(&self, chain: &mut [Block], buffer: Buffer<'_>) {
        chains::run(self.isa, &self.keys, chain, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        NAME
    }
}

/// AES keyed for XTS.
struct AesXts {
    isa: Crypto,
    keys: Box<XtsKeys>,
}

impl UnitKernel for AesXts {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        xts::run::<true>(self.isa, &self.keys, run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        xts::run::<false>(self.isa, &self.keys, run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        NAME
    }
}

/// AES-XTS, if the CPU has the instructions and `tier` allows them.
pub(super) fn xts(data_key: &[u8], tweak_key: &[u8], tier: Tier) -> Option<Box<dyn UnitKernel>> {
    let isa = Crypto::new(tier)?;
    Some(Box::new(AesXts { isa, keys: XtsKeys::new(isa, data_key, tweak_key)? }))
}

/// AES, if the CPU has the instructions and `tier` allows them.
pub(super) fn blocks(key: &[u8], tier: Tier) -> Option<Box<dyn BlockKernel<BLOCK>>> {
    let isa = Crypto::new(tier)?;
    Some(Box::new(AesBlocks { isa, keys: BlockKeys::new(isa, key) }))
}
