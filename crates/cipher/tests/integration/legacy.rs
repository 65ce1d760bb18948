//! TrueCrypt's old modes against the results that its own self-test expects.

use cryptbench_cipher::{CipherError, LegacyCipher, LegacyMode, Tier, legacy_ciphers};

/// CRC-32s of 1024 bytes that TrueCrypt 4.3a's self-test has (Common/Tests.c, TestSectorBufEncryption):
/// after enciphering two sectors, and after enciphering all as a header. Not every LRW has the latter.
const EXPECTED: [(&str, LegacyMode, u32, Option<u32>); 23] = [
    ("AES", LegacyMode::Lrw, 0x5237_acf9, Some(0x5ae1_e3d8)),
    ("Blowfish", LegacyMode::Lrw, 0xf94d_5300, Some(0x2738_426f)),
    ("CAST5", LegacyMode::Lrw, 0x3397_1e82, None),
    ("Serpent", LegacyMode::Lrw, 0x7fb8_6805, None),
    ("Triple DES", LegacyMode::Lrw, 0x2b20_bb84, None),
    ("Twofish", LegacyMode::Lrw, 0xa9de_0f0b, None),
    ("AES(Twofish)", LegacyMode::Lrw, 0x4ed0_fd80, None),
    ("AES(Twofish(Serpent))", LegacyMode::Lrw, 0xea04_b3cf, Some(0x14f2_948a)),
    ("Serpent(AES)", LegacyMode::Lrw, 0x0d33_596a, None),
    ("Serpent(Twofish(AES))", LegacyMode::Lrw, 0x2845_d0e3, None),
    ("Twofish(Serpent)", LegacyMode::Lrw, 0xca65_c5cd, None),
    ("AES", LegacyMode::Cbc, 0x2274_f53d, Some(0x960f_740e)),
    ("Blowfish", LegacyMode::Cbc, 0x0338_99a1, Some(0x7e1c_fabb)),
    ("CAST5", LegacyMode::Cbc, 0x331c_ecc7, Some(0xeaae_21c8)),
    ("Serpent", LegacyMode::Cbc, 0x42df_f3d4, Some(0xa813_9d62)),
    ("Triple DES", LegacyMode::Cbc, 0xfe49_7d0c, Some(0xecf5_d7d0)),
    ("AES(Blowfish)", LegacyMode::InnerCbc, 0xa7a8_0c84, Some(0xb701_71b6)),
    ("AES(Blowfish(Serpent))", LegacyMode::InnerCbc, 0xa058_4562, Some(0x1e74_9a87)),
    ("AES(Twofish)", LegacyMode::OuterCbc, 0x3c22_6444, Some(0xb4b8_bb9b)),
    ("AES(Twofish(Serpent))", LegacyMode::OuterCbc, 0x5e5e_77fd, Some(0x76b6_c1cb)),
    ("Serpent(AES)", LegacyMode::OuterCbc, 0x57c6_12d5, Some(0x634f_12ed)),
    ("Serpent(Twofish(AES))", LegacyMode::OuterCbc, 0x081e_045a, Some(0xe54b_c1b9)),
    ("Twofish(Serpent)", LegacyMode::OuterCbc, 0xa7b6_59f3, Some(0x21cd_b382)),
];

/// The sector of that test: in CBC as it is, in LRW from the end of the header of 512 bytes on.
const SECTOR: u64 = 0x0234_5678_90ab_cdef;

/// The CRC-32 of what TrueCrypt's test starts with and comes back to.
const PLAIN_CRC: u32 = 0xb70b_4c26;

fn plain() -> Vec<u8> {
    (0..1024).map(|i| i as u8).collect()
}

fn iv_key() -> Vec<u8> {
    (0..32).collect()
}

fn crc32(data: &[u8]) -> u32 {
    let byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb8_8320))
    };
    !data.iter().fold(!0, byte)
}

fn number(cipher: &LegacyCipher) -> u64 {
    if cipher.mode == LegacyMode::Lrw { SECTOR - 1 } else { SECTOR }
}

#[test]
fn every_cipher_has_the_result_of_truecrypt_s_self_test() {
    assert_eq!(crc32(&plain()), PLAIN_CRC);
    let mut found = 0;
    for cipher in legacy_ciphers() {
        let what = format!("{} {}", cipher.name, cipher.mode);
        let expected =
            EXPECTED.iter().find(|(name, mode, ..)| *name == cipher.name && *mode == cipher.mode);
        // The self-test knows no number for Twofish in CBC; a volume of it is among the fixtures.
        let Some((_, _, sectors, header)) = expected else {
            assert_eq!(what, "Twofish CBC");
            continue;
        };
        found += 1;
        let keys = &plain()[..cipher.key_bytes];
        for tier in Tier::available() {
            let keyed = cipher.with_key(keys, &iv_key(), tier).unwrap();
            let mut data = plain();
            keyed.encrypt_in_place(number(cipher), &mut data);
            assert_eq!(crc32(&data), *sectors, "{what}, {}", keyed.tier());
            keyed.decrypt_in_place(number(cipher), &mut data);
            assert_eq!(data, plain(), "{what}, {}", keyed.tier());

            cipher.encrypt_header(keys, &iv_key(), tier, &mut data).unwrap();
            if let Some(header) = header {
                assert_eq!(crc32(&data), *header, "header of {what}, {}", keyed.tier());
            }
            assert_ne!(data, plain());
            cipher.decrypt_header(keys, &iv_key(), tier, &mut data).unwrap();
            assert_eq!(data, plain(), "header of {what}, {}", keyed.tier());
        }
    }
    assert_eq!(found, EXPECTED.len());
}

/// Vectors of IEEE P1619 draft 00 for LRW-AES, as TrueCrypt 4.3a and Linux (crypto/testmgr.h) have
/// them: key, tweak key, block index, ciphertext of "0123456789ABCDEF".
#[test]
fn lrw_of_ieee_p1619() {
    let aes = legacy_ciphers().iter().find(|c| c.name == "AES" && c.mode == LegacyMode::Lrw);
    let vectors = [
        (
            "f8d476ffd646ee6c2384cb1c77d6195dfef1a9f37bbc8d21a79c21f8cb900289",
            "a845348ec8c5b5f126f50e76fefd1b1e",
            1,
            "bd06b8e1db98899ec498e491cf1c702b",
        ),
        (
            "fb7615b23d80891dd470980bc79584c8b2fb64ce6097878d17fce45a49e830b7",
            "6e7817e72d5e12d46064047af12f9e0c",
            0x2_0000_0000,
            "5b908ec1abdd675f3d698a9553c89ce5",
        ),
    ];
    for (key, tweak_key, index, expected) in vectors {
        for tier in Tier::available() {
            let mut iv_key = hex(tweak_key);
            iv_key.resize(LegacyCipher::IV_KEY_BYTES, 0);
            let cipher = aes.unwrap().with_key(&hex(key), &iv_key, tier).unwrap();
            // Block index 1 is the first of sector 0, which has 32 of them.
            let (sector, block) = ((index - 1) / 32, (index - 1) as usize % 32);
            let mut data = vec![0; 512];
            data[16 * block..][..16].copy_from_slice(b"0123456789ABCDEF");
            cipher.encrypt_in_place(sector, &mut data);
            assert_eq!(data[16 * block..][..16], hex(expected), "{}", cipher.tier());
        }
    }
}

#[test]
fn a_run_is_its_sectors_one_by_one_on_every_tier() {
    let plain: Vec<u8> = (0..75 * 512).map(|i: u32| (i * 7 / 3) as u8).collect();
    for cipher in legacy_ciphers() {
        let keys: Vec<u8> = (0..cipher.key_bytes).map(|i| (i * 29) as u8).collect();
        let soft = cipher.with_key(&keys, &iv_key(), Tier::Soft).unwrap();
        let first = (1 << 32) - 40;
        let mut expected = plain.clone();
        for (number, sector) in (first..).zip(expected.chunks_mut(512)) {
            soft.encrypt_in_place(number, sector);
        }
        for tier in Tier::available() {
            let keyed = cipher.with_key(&keys, &iv_key(), tier).unwrap();
            let what = format!("{} {}, {}", cipher.name, cipher.mode, keyed.tier());
            let mut data = vec![0; plain.len()];
            keyed.encrypt(first, &plain, &mut data);
            assert!(data == expected, "encrypt {what}");
            let mut back = vec![0; plain.len()];
            keyed.decrypt(first, &data, &mut back);
            assert!(back == plain, "decrypt {what}");
            keyed.decrypt_in_place(first, &mut data);
            assert!(data == plain, "decrypt in place {what}");
        }
    }
}

#[test]
fn mistakes_are_errors() {
    let aes = &legacy_ciphers()[0];
    let error = aes.with_key(&[0; 31], &[0; 32], Tier::Soft).map(|_| ()).unwrap_err();
    assert_eq!(error, CipherError::KeyLength { cipher: "AES", expected: 32, actual: 31 });
    let error = aes.with_key(&[0; 32], &[0; 16], Tier::Soft).map(|_| ()).unwrap_err();
    assert_eq!(error, CipherError::KeyLength { cipher: "AES", expected: 32, actual: 16 });
    let error = aes.decrypt_header(&[0; 32], &[0; 32], Tier::Soft, &mut [0; 440]).unwrap_err();
    assert_eq!(error, CipherError::DataUnit { bytes: 440 });
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.iter().map(byte).collect()
}
