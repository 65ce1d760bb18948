//! Kuznyechik byte-sliced: a vector contains the same byte of many blocks.
//!
//! L is therefore computed by the standard's own recurrence: each of its 16 steps is an elementwise sum of products
//! with constants. The taps are symmetric: s[n + 8 - k] and s[n + 8 + k] have the same factor. Because 148 = 133 +
//! 16 + 1, a step needs six multiplications. Decryption performs the same steps from the other end. Round keys are
//! added in the recurrence: the value added in a step is corrected for the effect of the keys that were added in
//! earlier steps (see [`super::keys`]).

use super::keys::Keys;
use super::xts::{Kernel, units};
use crate::kernel::{Buffer, Run, UnitKernel, Visit, tell};

/// Kuznyechik-XTS with a key, for one instruction set.
pub(super) struct KuznyechikXts<K> {
    kernel: K,
    data: Box<Keys>,
    tweak: Box<Keys>,
}

impl<K: Kernel> KuznyechikXts<K> {
    /// Expands two 32-byte keys.
    pub(super) fn new(kernel: K, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let [data, tweak] = [data_key, tweak_key].map(|key| Box::new(K::keys(key)));
        Self { kernel, data, tweak }
    }

    fn units<const ENCRYPT: bool>(&self, run: Run, buffer: Buffer<'_>) {
        let Self { kernel, data, tweak } = self;
        kernel.run(
            #[inline(always)]
            // SAFETY: the instruction set is enabled.
            move || unsafe { units::<K, ENCRYPT>(*kernel, data, tweak, run, buffer) },
        );
    }
}

impl<K: Kernel> UnitKernel for KuznyechikXts<K> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.units::<true>(run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.units::<false>(run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.data, visit);
        tell(&*self.tweak, visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::xts::transform;
    use super::*;
    use crate::cpu::Tier;
    use crate::kernel::{BLOCK, Block};

    /// 64 masks, aligned for any vector.
    #[repr(C, align(64))]
    struct Masks([u128; 64]);

    /// Checks the examples of RFC 7801, 5.5 and 5.6, in every position of the slices.
    pub(in super::super) fn check<I: Kernel>(tier: Tier) {
        let Some(isa) = I::new(tier) else {
            eprintln!("SKIPPED: this CPU has no {}", I::NAME);
            return;
        };
        let key = [
            0x8899aabb_ccddeeff_00112233_44556677_u128.to_be_bytes(),
            0xfedcba98_76543210_01234567_89abcdef_u128.to_be_bytes(),
        ]
        .concat();
        let plain = 0x11223344_55667700_ffeeddcc_bbaa9988_u128.to_be_bytes();
        let cipher = 0x7f679d90_bebc2430_5a468d42_b9d4edcd_u128.to_be_bytes();
        let keys = I::keys(&key);
        let masks = Masks([0; 64]);
        let masks = &masks.0[..I::BLOCKS];
        for place in 0..I::BLOCKS {
            let mut blocks: Vec<Block> = vec![[7; BLOCK]; I::BLOCKS];
            blocks[place] = plain;
            let at = blocks.as_mut_ptr().cast::<u8>();
            // SAFETY: `isa` proves that the instruction set is available; there are enough blocks and aligned masks.
            unsafe { transform::<I, true>(isa, &keys.encrypt, masks, at, at) };
            assert_eq!(blocks[place], cipher, "{}", I::NAME);
            let at = blocks.as_mut_ptr().cast::<u8>();
            // SAFETY: as above.
            unsafe { transform::<I, false>(isa, &keys.decrypt, masks, at, at) };
            assert_eq!(blocks[place], plain, "{}", I::NAME);
            assert_eq!(blocks[(place + 1) % I::BLOCKS], [7; BLOCK], "{}", I::NAME);
        }
    }
}
