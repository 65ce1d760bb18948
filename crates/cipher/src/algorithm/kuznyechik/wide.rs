//! Kuznyechik byte-sliced: a vector holds the same byte of many blocks.
//!
//! L is therefore the standard's own recurrence: each of its 16 steps is an elementwise sum of
//! products with constants. The taps are symmetric: s[n + 8 - k] and s[n + 8 + k] share a factor.
//! Because 148 = 133 + 16 + 1, six multiplications make a step. Decryption runs the same steps from
//! the other end. Round keys join the recurrence: the value that enters a step only has to be
//! corrected for the keys that earlier steps have already added (see [`super::keys`]).

use super::keys::Keys;
use crate::cpu::Tier;
use crate::kernel::{Buffer, Run, UnitKernel, Visit, tell};

/// Proof that the CPU has an instruction set, and the kernels compiled for it.
pub(super) trait Isa: Copy + Send + Sync + 'static {
    /// Name of the kernels, as stored in records.
    const NAME: &'static str;

    /// The instruction set, if `tier` allows it and the CPU has all of it.
    fn new(tier: Tier) -> Option<Self>;

    /// Expands a key of 32 bytes.
    fn keys(self, key: &[u8]) -> Keys;

    /// Transforms the units of `buffer` in the direction that `ENCRYPT` says.
    fn xts<const ENCRYPT: bool>(self, data: &Keys, tweak: &Keys, run: Run, buffer: Buffer<'_>);
}

/// Implements [`Isa`] and [`Slices`](super::xts::Slices) for a proof by the nibble kernel on a vector of bytes; `$fill`
/// writes the masks.
macro_rules! nibble_kernels {
    ($isa:ident, $vector:ident, $name:literal, $blocks:literal, $features:literal, $proof:expr, $fill:path) => {
        impl Isa for $isa {
            const NAME: &'static str = $name;

            fn new(tier: Tier) -> Option<Self> {
                let has: fn(Tier) -> bool = $proof;
                has(tier).then_some(Self(()))
            }

            fn keys(self, key: &[u8]) -> Keys {
                Keys::new(key, &ENCRYPT_LINEAR, &DECRYPT_LINEAR)
            }

            fn xts<const ENCRYPT: bool>(
                self,
                data: &Keys,
                tweak: &Keys,
                run: Run,
                buffer: Buffer<'_>,
            ) {
                #[target_feature(enable = $features)]
                fn enabled<const ENCRYPT: bool>(
                    data: &Keys,
                    tweak: &Keys,
                    run: Run,
                    buffer: Buffer<'_>,
                ) {
                    // SAFETY: this function enables the kernel's instruction set.
                    unsafe { units::<$isa, ENCRYPT>(data, tweak, run, buffer) }
                }
                // SAFETY: `self` proves the features.
                unsafe { enabled::<ENCRYPT>(data, tweak, run, buffer) }
            }
        }

        impl Slices for $isa {
            const BLOCKS: usize = $blocks;

            #[inline(always)]
            unsafe fn transform<const ENCRYPT: bool>(
                keys: &RoundKeys,
                masks: &[u128],
                src: *const u8,
                dst: *mut u8,
            ) {
                // SAFETY: the trait's contract.
                unsafe {
                    if ENCRYPT {
                        encrypt(keys, masks, src, dst);
                    } else {
                        decrypt(keys, masks, src, dst);
                    }
                }
            }

            #[inline(always)]
            unsafe fn fill(first: u128, masks: &mut [u128]) {
                // SAFETY: the trait's contract.
                unsafe { $fill(first, masks) }
            }
        }

        /// # Safety
        /// As [`Slices::transform`].
        #[target_feature(enable = $features)]
        unsafe fn encrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
            // SAFETY: this function enables the instruction set; the rest is the trait's contract.
            unsafe { nibble::encrypt::<$vector>(keys, masks, src, dst) }
        }

        /// # Safety
        /// As [`Slices::transform`].
        #[target_feature(enable = $features)]
        unsafe fn decrypt(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
            // SAFETY: this function enables the instruction set; the rest is the trait's contract.
            unsafe { nibble::decrypt::<$vector>(keys, masks, src, dst) }
        }
    };
}

pub(super) use nibble_kernels;

/// Kuznyechik-XTS keyed for one instruction set.
struct KuznyechikXts<I> {
    isa: I,
    data: Box<Keys>,
    tweak: Box<Keys>,
}

impl<I: Isa> UnitKernel for KuznyechikXts<I> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.isa.xts::<true>(&self.data, &self.tweak, run, buffer);
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.isa.xts::<false>(&self.data, &self.tweak, run, buffer);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.data, visit);
        tell(&*self.tweak, visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}

/// Kuznyechik-XTS on an instruction set.
pub(super) fn keyed(isa: impl Isa, data_key: &[u8], tweak_key: &[u8]) -> Box<dyn UnitKernel> {
    let data = Box::new(isa.keys(data_key));
    let tweak = Box::new(isa.keys(tweak_key));
    Box::new(KuznyechikXts { isa, data, tweak })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::xts::Slices;
    use super::*;
    use crate::kernel::{BLOCK, Block};

    /// 64 masks, aligned for any vector.
    #[repr(C, align(64))]
    struct Masks([u128; 64]);

    /// RFC 7801, 5.5 and 5.6, in every place of the slices.
    pub(in super::super) fn check<I: Isa + Slices>(tier: Tier) {
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
        let keys = isa.keys(&key);
        let masks = Masks([0; 64]);
        let masks = &masks.0[..I::BLOCKS];
        for place in 0..I::BLOCKS {
            let mut blocks: Vec<Block> = vec![[7; BLOCK]; I::BLOCKS];
            blocks[place] = plain;
            let at = blocks.as_mut_ptr().cast::<u8>();
            // SAFETY: `isa` proves the instruction set; there are enough blocks and aligned masks.
            unsafe { I::transform::<true>(&keys.encrypt, masks, at, at) };
            assert_eq!(blocks[place], cipher, "{}", I::NAME);
            let at = blocks.as_mut_ptr().cast::<u8>();
            // SAFETY: as above.
            unsafe { I::transform::<false>(&keys.decrypt, masks, at, at) };
            assert_eq!(blocks[place], plain, "{}", I::NAME);
            assert_eq!(blocks[(place + 1) % I::BLOCKS], [7; BLOCK], "{}", I::NAME);
        }
    }
}
