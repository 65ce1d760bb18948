//! CAST-256 (RFC 2612) from RustCrypto, only for rare volumes: a scalar kernel, which is not constant time.

use cast6::Cast6;
use cipher::array::Array;
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

use crate::cpu::Tier;
use crate::kernel::{BLOCK, Block, BlockKernel, UnitKernel};
use crate::mode::xts::Xts;

/// The cipher as a kernel.
struct Soft(Cast6);

impl Soft {
    fn new(key: &[u8]) -> Self {
        Self(Cast6::new_from_slice(key).expect("the tables have the cipher's key lengths"))
    }
}

impl BlockKernel<BLOCK> for Soft {
    fn parallel(&self) -> usize {
        1
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        let blocks: &mut [cipher::Block<Cast6>] = Array::cast_slice_from_core_mut(blocks);
        self.0.encrypt_blocks(blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        let blocks: &mut [cipher::Block<Cast6>] = Array::cast_slice_from_core_mut(blocks);
        self.0.decrypt_blocks(blocks);
    }

    fn name(&self) -> &'static str {
        "soft"
    }
}

/// CAST-256 with keys of 16 to 32 bytes.
pub(crate) fn blocks(key: &[u8], _: Tier) -> Box<dyn BlockKernel<BLOCK>> {
    Box::new(Soft::new(key))
}

/// Keys the cipher in XTS mode.
pub(crate) fn xts(data_key: &[u8], tweak_key: &[u8], _: Tier) -> Box<dyn UnitKernel> {
    let [data, tweak] = [data_key, tweak_key].map(Soft::new);
    Box::new(Xts::new(data, tweak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::hex;

    #[test]
    fn rfc_2612_appendix_a() {
        for (key, encrypted) in [
            ("2342bb9efa38542c0af75647f29f615d", "c842a08972b43d20836c91d1b7530f6b"),
            (
                "2342bb9efa38542cbed0ac83940ac298bac77a7717942863",
                "1b386c0210dcadcbdd0e41aa08a7a7e8",
            ),
            (
                "2342bb9efa38542cbed0ac83940ac2988d7c47ce264908461cc1b5137ae6b604",
                "4f6a2038286897b9c9870136553317fa",
            ),
        ] {
            let mut block = [[0; BLOCK]];
            let kernel = blocks(&hex(key), Tier::Soft);
            kernel.encrypt(&mut block);
            assert_eq!(block[0].to_vec(), hex(encrypted));
            kernel.decrypt(&mut block);
            assert_eq!(block, [[0; BLOCK]]);
        }
    }
}
