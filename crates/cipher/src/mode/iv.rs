//! IV generators, which convert a data unit's number to the initial value of a mode.
//!
//! Names and definitions are those of Linux's dm-crypt (Documentation/admin-guide/device-mapper/dm-crypt.rst).
//! Numbers count 512-byte sectors, whatever the size of data units.

use zeroize::Zeroizing;

use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit, tell};
use crate::sector::Layout;

/// Size in bytes of the sectors that the numbers count.
pub(crate) const SECTOR: u64 = 512;

/// An IV generator for IVs of `N` bytes, which is 8 or 16 for a cipher block, and 32 for the tweak of a wide block.
pub(crate) enum Ivs<const N: usize> {
    /// The low 32 bits of the number, little-endian; repeats after 2 TiB.
    Plain,
    /// The number, little-endian.
    Plain64,
    /// The number, big-endian at the end of the block.
    Plain64Be,
    /// The number of the unit's first cipher block plus one, big-endian in the last eight bytes. This number is derived
    /// from a sector number by the shift.
    Benbi { shift: u32 },
    /// Zeros, with which identical units at different offsets can be recognised.
    Null,
    /// The little-endian number, encrypted with a hash of the key (Fruhwirth, "New Methods in Hard Disk Encryption",
    /// 2005, 4.2).
    Essiv(Box<dyn BlockKernel<N>>),
    /// The number times the length of a data unit, little-endian, encrypted with the data key (Ferguson, "AES-CBC +
    /// Elephant diffuser", 2006, 4.1). If numbers count units, this is the unit's offset in bytes; dm-crypt
    /// multiplies by the same length if they count 512-byte sectors.
    Eboiv(Box<dyn BlockKernel<N>>),
    /// Like `Eboiv`, for XTS or LRW: dm-crypt encrypts zeros in the mode itself, with the offset as the number
    /// (crypt_iv_eboiv_gen).
    EboivOf(Box<dyn UnitKernel>),
    /// A secret seed of which each eight bytes are XORed with the number (TrueCrypt up to 4.0).
    Seeded(Zeroizing<[u8; N]>),
}

impl<const N: usize> Ivs<N> {
    /// Writes the IVs of the first units of `run`, one per element of `ivs`.
    pub(crate) fn fill(&self, run: Run, ivs: &mut [[u8; N]]) {
        for (unit, iv) in ivs.iter_mut().enumerate() {
            let number = run.after(unit).first as u64;
            *iv = match self {
                Self::Plain => padded(u64::from(number as u32)),
                Self::Plain64 | Self::Essiv(_) => padded(number),
                // No device is large enough to need byte offsets of more than 64 bits.
                Self::Eboiv(_) => padded(number.wrapping_mul(run.layout.data_unit as u64)),
                Self::EboivOf(kernel) => {
                    let first = number.wrapping_mul(run.layout.data_unit as u64);
                    let layout = Layout { data_unit: N, tweak_step: 1 };
                    let mut zeros = [0; N];
                    let run = Run { first: u128::from(first), layout };
                    kernel.encrypt_units(run, Buffer::in_place(&mut zeros));
                    zeros
                }
                Self::Plain64Be => at_end(number),
                Self::Benbi { shift } => at_end((number << shift).wrapping_add(1)),
                Self::Null => [0; N],
                Self::Seeded(seed) => {
                    let mut iv = **seed;
                    for eight in iv.as_chunks_mut::<8>().0 {
                        *eight = (u64::from_le_bytes(*eight) ^ number).to_le_bytes();
                    }
                    iv
                }
            };
        }
        if let Self::Essiv(cipher) | Self::Eboiv(cipher) = self {
            cipher.encrypt(ivs);
        }
    }

    /// Reports the memory outside this value that contains keys.
    pub(crate) fn visit_keys(&self, visit: Visit<'_>) {
        if let Self::Essiv(cipher) | Self::Eboiv(cipher) = self {
            tell(&**cipher, visit);
            cipher.visit_keys(visit);
        }
        if let Self::EboivOf(kernel) = self {
            tell(&**kernel, visit);
            kernel.visit_keys(visit);
        }
    }
}

/// A little-endian number followed by zeros.
fn padded<const N: usize>(number: u64) -> [u8; N] {
    let mut block = [0; N];
    block[..8].copy_from_slice(&number.to_le_bytes());
    block
}

/// Zeros followed by a big-endian number.
fn at_end<const N: usize>(number: u64) -> [u8; N] {
    let mut block = padded(number);
    block.reverse();
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_write_the_number_as_dm_crypt_does() {
        let run = Run { first: 0xffff_fff8, layout: Layout::LUKS2_4096 };
        let ivs = |generator: Ivs<16>| {
            let mut ivs = [[0xaa; 16]; 2];
            generator.fill(run, &mut ivs);
            ivs.map(u128::from_le_bytes)
        };
        assert_eq!(ivs(Ivs::Plain), [0xffff_fff8, 0]);
        assert_eq!(ivs(Ivs::Plain64), [0xffff_fff8, 0x1_0000_0000]);
        let big = [0xffff_fff8_u128, 0x1_0000_0000].map(u128::swap_bytes);
        assert_eq!(ivs(Ivs::Plain64Be), big);
        let blocks = [(0xffff_fff8_u128 << 5) + 1, (0x1_0000_0000 << 5) + 1].map(u128::swap_bytes);
        assert_eq!(ivs(Ivs::Benbi { shift: 5 }), blocks);
        assert_eq!(ivs(Ivs::Null), [0, 0]);
        let seed = 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100_u128;
        let seeded = ivs(Ivs::Seeded(Zeroizing::new(seed.to_le_bytes())));
        assert_eq!(seeded[1], seed ^ (0x1_0000_0000 | 0x1_0000_0000 << 64));
    }

    #[test]
    fn short_blocks_have_no_room_for_more_than_the_number() {
        let run = Run { first: 0x0102_0304_0506_0708, layout: Layout::SECTOR_512 };
        let iv = |generator: Ivs<8>| {
            let mut iv = [[0; 8]];
            generator.fill(run, &mut iv);
            iv[0]
        };
        assert_eq!(iv(Ivs::Plain), [8, 7, 6, 5, 0, 0, 0, 0]);
        assert_eq!(iv(Ivs::Plain64), [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(iv(Ivs::Plain64Be), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
