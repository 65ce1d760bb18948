//! Tweak numbers that pass 2^64: a run in one piece is the same as unit by unit, as in dm-crypt.

use cryptbench_cipher::{
    Layout, LegacyCipher, SectorCipher, Tier, ciphers, dm_crypt, dm_crypt_ciphers,
    dm_crypt_key_bytes, legacy_ciphers, tier,
};

/// Every IV generator and mode of dm-crypt, and BitLocker's.
const MODES: [&str; 26] = [
    "xts-plain64",
    "xts-plain",
    "xts-plain64be",
    "xts-essiv:sha256",
    "cbc-essiv:sha256",
    "cbc-plain64",
    "cbc-plain",
    "cbc-plain64be",
    "cbc-eboiv",
    "xts-eboiv",
    "lrw-eboiv",
    "pcbc-eboiv",
    "cbc-elephant",
    "lrw-benbi",
    "lrw-plain64",
    "lrw-plain",
    "lrw-plain64be",
    "lrw-essiv:sha256",
    "ecb",
    "xts-benbi",
    "cbc-null",
    "cbc-lmk",
    "ctr-plain64",
    "ofb-plain64be",
    "hctr2-benbi",
    "adiantum-plain64",
];

const LAYOUTS: [Layout; 3] =
    [Layout::SECTOR_512, Layout::LUKS2_4096, Layout { data_unit: 4096, tweak_step: 1 }];

/// Enough units for the widest kernels, with the turn in the middle, at the edges and beside them.
const UNITS: usize = 40;

fn check(what: &str, cipher: &dyn SectorCipher, layout: Layout) {
    let unit = layout.data_unit;
    let plain: Vec<u8> = (0..UNITS * unit).map(|i| (i * 31 / 7) as u8).collect();
    for before in [1, 2, 7, 20, UNITS - 1, UNITS] {
        // Aligned as a volume's first number is, and one that is not a multiple of the step.
        for odd in [0, layout.tweak_step / 2] {
            let first = 0u64.wrapping_sub(before as u64 * layout.tweak_step).wrapping_add(odd);
            let mut whole = plain.clone();
            cipher.encrypt_in_place(first, &mut whole);
            let mut apart = vec![0; plain.len()];
            cipher.encrypt(first, &plain, &mut apart);
            assert!(whole == apart, "{what}: in place or not, from {first}");
            let mut pieces = plain.clone();
            for (index, piece) in pieces.chunks_mut(unit).enumerate() {
                let number = first.wrapping_add((index as u64).wrapping_mul(layout.tweak_step));
                cipher.encrypt_in_place(number, piece);
            }
            assert!(whole == pieces, "{what}: in one piece or unit by unit, from {first}");
            cipher.decrypt_in_place(first, &mut whole);
            assert!(whole == plain, "{what}: back, from {first}");
        }
    }
}

#[test]
fn a_run_over_the_last_number_is_the_same_in_one_piece_and_in_many() {
    let key: Vec<u8> = (0..256).map(|i| (i * 73 + 11) as u8).collect();
    let mut checked = 0;
    let mut tiers = vec![tier().unwrap(), Tier::Soft];
    tiers.dedup();
    for tier in tiers {
        for layout in LAYOUTS {
            for name in dm_crypt_ciphers().chain(["aes:4", "twofish:2"]) {
                for mode in MODES {
                    let Ok(lengths) = dm_crypt_key_bytes(name, mode) else { continue };
                    let key = &key[..lengths.last().copied().unwrap_or(16)];
                    let Ok(cipher) = dm_crypt(name, mode, key, layout, tier) else { continue };
                    check(&format!("{name}-{mode}, {layout:?}"), &*cipher, layout);
                    checked += 1;
                }
            }
            for info in ciphers() {
                let cipher = info.with_key(&key[..info.key_bytes], layout, tier).unwrap();
                check(info.name, &*cipher, layout);
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn truecrypts_old_modes_turn_over_as_well() {
    let key: Vec<u8> = (0..=255).collect();
    for cipher in legacy_ciphers() {
        let (keys, iv_key) = (&key[..cipher.key_bytes], &key[..LegacyCipher::IV_KEY_BYTES]);
        let keyed = cipher.with_key(keys, iv_key, Tier::Soft).unwrap();
        check(cipher.name, &*keyed, Layout::SECTOR_512);
    }
}
