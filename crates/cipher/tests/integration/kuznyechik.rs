//! Kuznyechik-XTS on every tier against an independent implementation, the RustCrypto `kuznyechik`
//! and `xts-mode` crates, which itself is held against RFC 7801.

use cryptbench_cipher::{Layout, Tier, find};
use kuznyechik::Kuznyechik;
use kuznyechik::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use xts_mode::Xts128;

/// Blocks of the widest kernel's batch.
const WIDEST: usize = 64;

/// What the other implementation makes of `data`.
fn oracle(key: &[u8], layout: Layout, first: u64, data: &mut [u8]) {
    let (data_key, tweak_key) = key.split_at(key.len() / 2);
    let xts = Xts128::new(
        Kuznyechik::new_from_slice(data_key).unwrap(),
        Kuznyechik::new_from_slice(tweak_key).unwrap(),
    );
    for (k, unit) in data.chunks_mut(layout.data_unit).enumerate() {
        let tweak = u128::from(first) + k as u128 * u128::from(layout.tweak_step);
        xts.encrypt_sector(unit, tweak.to_le_bytes().into());
    }
}

/// Random data of `units` units on every tier: in place, and from one odd address to another.
fn check(rng: &mut ChaCha8Rng, layout: Layout, units: usize) {
    let info = find("kuznyechik-xts").unwrap();
    let mut key = vec![0; info.key_bytes];
    rng.fill_bytes(&mut key);
    let mut plain = vec![0; units * layout.data_unit];
    rng.fill_bytes(&mut plain);
    let first = rng.next_u64();
    let mut expected = plain.clone();
    oracle(&key, layout, first, &mut expected);
    for tier in Tier::available() {
        let cipher = info.with_key(&key, layout, tier).unwrap();
        let what = || format!("{units} units of {}, {}", layout.data_unit, cipher.tier());
        let mut data = plain.clone();
        cipher.encrypt_in_place(first, &mut data);
        assert!(data == expected, "encrypts {} in place", what());
        cipher.decrypt_in_place(first, &mut data);
        assert!(data == plain, "decrypts {} in place", what());

        let (mut source, mut target) = (vec![0; 3 + plain.len()], vec![0; 1 + plain.len()]);
        source[3..].copy_from_slice(&plain);
        cipher.encrypt(first, &source[3..], &mut target[1..]);
        assert!(target[1..] == expected, "encrypts {}", what());
        source.fill(0);
        cipher.decrypt(first, &target[1..], &mut source[3..]);
        assert!(source[3..] == plain, "decrypts {}", what());
    }
}

/// RFC 7801, 5.4 to 5.6.
#[test]
fn the_oracle_enciphers_the_example_of_rfc_7801() {
    let key = [
        0x8899aabb_ccddeeff_00112233_44556677_u128.to_be_bytes(),
        0xfedcba98_76543210_01234567_89abcdef_u128.to_be_bytes(),
    ]
    .concat();
    let plain = 0x11223344_55667700_ffeeddcc_bbaa9988_u128.to_be_bytes();
    let cipher = Kuznyechik::new_from_slice(&key).unwrap();
    let mut block = plain.into();
    cipher.encrypt_block(&mut block);
    assert_eq!(block.0, 0x7f679d90_bebc2430_5a468d42_b9d4edcd_u128.to_be_bytes());
    cipher.decrypt_block(&mut block);
    assert_eq!(block.0, plain);
}

#[test]
fn every_count_of_blocks_agrees_with_rustcrypto() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for blocks in 1..=3 * WIDEST + 1 {
        // One long unit, and as many units of one block.
        check(&mut rng, Layout { data_unit: 16 * blocks, tweak_step: 1 }, 1);
        check(&mut rng, Layout { data_unit: 16, tweak_step: 5 }, blocks);
    }
}

#[test]
fn common_units_agree_with_rustcrypto() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for data_unit in [48, 128, 144, 512, 528, 1024, 4096, 4112] {
        for tweak_step in [1, 8] {
            for units in [1, 2, 3, 37, 65] {
                check(&mut rng, Layout { data_unit, tweak_step }, units);
            }
        }
    }
}

#[test]
fn a_cpu_with_vectors_uses_them() {
    let info = find("kuznyechik-xts").unwrap();
    for tier in Tier::available() {
        let cipher = info.with_key(&[3; 64], Layout::SECTOR_512, tier).unwrap();
        match tier {
            Tier::Soft | Tier::Aesni => assert_eq!(cipher.tier(), "soft"),
            Tier::Neon | Tier::Crypto => assert_eq!(cipher.tier(), "neon"),
            Tier::Avx2 => assert_eq!(cipher.tier(), "avx2"),
            // Not every CPU with AVX-512 has GFNI.
            Tier::Avx512 => assert!(["avx2", "gfni-avx512"].contains(&cipher.tier())),
        }
    }
}
