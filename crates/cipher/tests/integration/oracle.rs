//! AES-XTS against an independent implementation, the RustCrypto `aes` and `xts-mode` crates.

use aes::cipher::KeyInit;
use aes::{Aes128, Aes256};
use cryptbench_cipher::{Layout, Tier, find};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use xts_mode::Xts128;

/// What the other implementation makes of `data`.
fn oracle(key: &[u8], layout: Layout, first: u64, data: &mut [u8]) {
    let (data_key, tweak_key) = key.split_at(key.len() / 2);
    for (k, unit) in data.chunks_mut(layout.data_unit).enumerate() {
        let tweak = u128::from(first) + k as u128 * u128::from(layout.tweak_step);
        let tweak = tweak.to_le_bytes().into();
        if key.len() == 32 {
            let xts = Xts128::new(
                Aes128::new_from_slice(data_key).unwrap(),
                Aes128::new_from_slice(tweak_key).unwrap(),
            );
            xts.encrypt_sector(unit, tweak);
        } else {
            let xts = Xts128::new(
                Aes256::new_from_slice(data_key).unwrap(),
                Aes256::new_from_slice(tweak_key).unwrap(),
            );
            xts.encrypt_sector(unit, tweak);
        }
    }
}

#[test]
fn agrees_with_rustcrypto() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for name in ["aes-128-xts", "aes-256-xts"] {
        let info = find(name).unwrap();
        for data_unit in [16, 48, 512, 528, 4096] {
            for tweak_step in [1, 8] {
                let layout = Layout { data_unit, tweak_step };
                let mut key = vec![0; info.key_bytes];
                rng.fill_bytes(&mut key);
                let mut plain = vec![0; 37 * data_unit];
                rng.fill_bytes(&mut plain);
                let first = rng.next_u64();
                let mut expected = plain.clone();
                oracle(&key, layout, first, &mut expected);
                for tier in Tier::available() {
                    let cipher = info.with_key(&key, layout, tier).unwrap();
                    let mut data = plain.clone();
                    cipher.encrypt_in_place(first, &mut data);
                    assert!(data == expected, "{name} {data_unit} {}", cipher.tier());
                    cipher.decrypt_in_place(first, &mut data);
                    assert!(data == plain, "{name} {data_unit} {}", cipher.tier());
                }
            }
        }
    }
}
