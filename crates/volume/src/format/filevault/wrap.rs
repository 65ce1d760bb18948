//! AES key wrap (RFC 3394), which seals every key here.

use cryptbench_blockdev::LockedBytes;
use cryptbench_cipher::{Layout, Tier, dm_crypt};

use super::KEY;
use crate::VolumeError;

/// Bytes of a wrapped key.
pub(super) const WRAPPED: usize = KEY + 8;

/// Rounds over the halves of the key (RFC 3394, 2.2.2).
const ROUNDS: usize = 6;

/// Unwraps the key in `wrapped`; `None` if `key` does not fit.
pub(super) fn unwrap(
    key: &[u8],
    wrapped: &[u8; WRAPPED],
    tier: Tier,
) -> Result<Option<LockedBytes>, VolumeError> {
    let cipher = dm_crypt("aes", "ecb", key, Layout { data_unit: 16, tweak_step: 1 }, tier)?;
    let halves = KEY / 8;
    let (mut state, mut block) = (LockedBytes::copy_of(wrapped), LockedBytes::zeroed(16));
    for step in (1..=ROUNDS * halves).rev() {
        let half = 8 + 8 * ((step - 1) % halves);
        block[..8].copy_from_slice(&state[..8]);
        block[8..].copy_from_slice(&state[half..half + 8]);
        block[7] ^= step as u8;
        cipher.decrypt_in_place(0, &mut block);
        state[..8].copy_from_slice(&block[..8]);
        state[half..half + 8].copy_from_slice(&block[8..]);
    }
    // Compares all bytes, so that the time does not reveal how many bytes match.
    let wrong = state[..8].iter().fold(0, |wrong, byte| wrong | (byte ^ 0xa6));
    Ok((wrong == 0).then(|| LockedBytes::copy_of(&state[8..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3394, 4.1.
    #[test]
    fn the_example_of_the_standard() {
        let key: Vec<u8> = (0..16).collect();
        let mut wrapped = 0x1fa6_8b0a_8112_b447_u64.to_be_bytes().to_vec();
        wrapped.extend(0xaef3_4bd8_fb5a_7b82_9d3e_8623_71d2_cfe5_u128.to_be_bytes());
        let wrapped: [u8; WRAPPED] = wrapped.try_into().unwrap();
        let expected = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
        assert_eq!(&*unwrap(&key, &wrapped, Tier::Soft).unwrap().unwrap(), expected);
        for at in 0..WRAPPED {
            let mut wrong = wrapped;
            wrong[at] ^= 0x10;
            assert!(unwrap(&key, &wrong, Tier::Soft).unwrap().is_none(), "{at}");
        }
        assert!(unwrap(&key[1..], &wrapped, Tier::Soft).is_err());
    }
}
