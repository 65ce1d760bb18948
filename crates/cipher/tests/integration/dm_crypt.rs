//! dm-crypt's specifications against vectors, OpenSSL, and plain modes over RustCrypto's block ciphers.

use std::io::Write;
use std::process::{Command, Stdio};

use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};
use cryptbench_cipher::{
    CipherError, Layout, Tier, dm_crypt, dm_crypt_ciphers, dm_crypt_key_bytes,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::Digest;

/// Encrypts one block where it lies.
type Cipher = Box<dyn Fn(&mut [u8])>;

fn keyed<C: KeyInit + BlockCipherEncrypt + 'static>(key: &[u8]) -> Cipher {
    let cipher = C::new_from_slice(key).unwrap();
    Box::new(move |block| {
        let block: &mut Block<C> = block.try_into().unwrap();
        cipher.encrypt_block(block);
    })
}

/// RustCrypto's cipher of that name.
fn reference(name: &str, key: &[u8]) -> Cipher {
    match (name, key.len()) {
        ("aes", 16) => keyed::<aes::Aes128>(key),
        ("aes", 24) => keyed::<aes::Aes192>(key),
        ("aes", 32) => keyed::<aes::Aes256>(key),
        ("camellia", 16) => keyed::<camellia::Camellia128>(key),
        ("camellia", 24) => keyed::<camellia::Camellia192>(key),
        ("camellia", 32) => keyed::<camellia::Camellia256>(key),
        ("serpent", _) => keyed::<serpent::Serpent>(key),
        ("twofish", _) => keyed::<twofish::Twofish>(key),
        ("blowfish", _) => keyed::<blowfish::Blowfish>(key),
        ("cast6", _) => keyed::<cast6::Cast6>(key),
        ("cast5", _) => keyed::<cast5::Cast5>(key),
        ("des3_ede", _) => keyed::<des::TdesEde3>(key),
        ("des", _) => keyed::<des::Des>(key),
        other => panic!("{other:?}"),
    }
}

fn block_bytes(name: &str) -> usize {
    if matches!(name, "blowfish" | "cast5" | "des" | "des3_ede") { 8 } else { 16 }
}

/// The IV of a unit of so many bytes, as Linux's drivers/md/dm-crypt.c documents its generators.
fn iv_of(name: &str, generator: &str, key: &[u8], sector: u64, unit: usize) -> Vec<u8> {
    let mut iv = vec![0; block_bytes(name)];
    match generator {
        "plain" => iv[..4].copy_from_slice(&(sector as u32).to_le_bytes()),
        "plain64" => iv[..8].copy_from_slice(&sector.to_le_bytes()),
        "plain64be" => {
            let start = iv.len() - 8;
            iv[start..].copy_from_slice(&sector.to_be_bytes());
        }
        "benbi" => {
            let start = iv.len() - 8;
            let block = sector * (512 / block_bytes(name) as u64) + 1;
            iv[start..].copy_from_slice(&block.to_be_bytes());
        }
        "null" => {}
        "eboiv" => {
            iv[..8].copy_from_slice(&(sector * unit as u64).to_le_bytes());
            reference(name, key)(&mut iv);
        }
        essiv => {
            let salt = match essiv.strip_prefix("essiv:").unwrap() {
                "sha1" => sha1::Sha1::digest(key).to_vec(),
                "md5" => md5::Md5::digest(key).to_vec(),
                "sm3" => sm3::Sm3::digest(key).to_vec(),
                "sha3-256" => sha3::Sha3_256::digest(key).to_vec(),
                "blake2s-256" => blake2::Blake2s256::digest(key).to_vec(),
                "streebog256" => streebog::Streebog256::digest(key).to_vec(),
                "sha256" => sha2::Sha256::digest(key).to_vec(),
                "wp256" => whirlpool::Whirlpool::digest(key)[..32].to_vec(),
                "rmd160" | "ripemd160" => ripemd::Ripemd160::digest(key).to_vec(),
                other => panic!("{other}"),
            };
            iv[..8].copy_from_slice(&sector.to_le_bytes());
            reference(name, &salt)(&mut iv);
        }
    }
    iv
}

fn add(block: &mut [u8], other: &[u8]) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

/// Times x in GF(2^128), the first byte being the least significant.
fn double(block: &mut [u8]) {
    let value = u128::from_le_bytes((*block).try_into().unwrap());
    let doubled = (value << 1) ^ ((value >> 127) * 0x87);
    block.copy_from_slice(&doubled.to_le_bytes());
}

/// `a * b` in GF(2^128), the first byte being the most significant; slow and plain.
fn product(a: u128, b: u128) -> u128 {
    (0..128).rev().fold(0, |sum: u128, bit| {
        let doubled = (sum << 1) ^ ((sum >> 127) * 0x87);
        doubled ^ (a * ((b >> bit) & 1))
    })
}

/// The diffuser as Ferguson's paper of 2006 writes it, A and then B, backwards for encryption.
fn elephant(unit: &mut [u8]) {
    let bytes = unit.as_chunks::<4>().0;
    let mut d: Vec<u32> = bytes.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let n = d.len();
    for i in (0..5).flat_map(|_| (0..n).rev()) {
        let rotated = d[(i + n - 5) % n].rotate_left([9, 0, 13, 0][i % 4]);
        d[i] = d[i].wrapping_sub(d[(i + n - 2) % n] ^ rotated);
    }
    for i in (0..3).flat_map(|_| (0..n).rev()) {
        let rotated = d[(i + 5) % n].rotate_left([0, 10, 0, 25][i % 4]);
        d[i] = d[i].wrapping_sub(d[(i + 2) % n] ^ rotated);
    }
    for (bytes, word) in unit.as_chunks_mut::<4>().0.iter_mut().zip(d) {
        *bytes = word.to_le_bytes();
    }
}

/// Encrypts a data unit in the most obvious way.
fn encrypt_unit(name: &str, mode: &str, key: &[u8], sector: u64, unit: &mut [u8]) {
    let size = block_bytes(name);
    let (chain, iv) = mode.split_once('-').unwrap_or((mode, ""));
    let bytes = unit.len();
    // Zeros enciphered in the mode itself, with the offset as the number.
    let eboiv = |plain64| {
        let mut zeros = vec![0; size];
        encrypt_unit(name, plain64, key, sector * bytes as u64, &mut zeros);
        zeros
    };
    // Only ESSIV has an option that counts.
    let iv = if iv.starts_with("essiv") { iv } else { iv.split(':').next().unwrap() };
    match chain {
        "ecb" => {
            let cipher = reference(name, key);
            unit.chunks_mut(size).for_each(cipher);
        }
        "cbc" if iv == "elephant" => {
            let (data_key, sector_key) = key.split_at(key.len() / 2);
            let cipher = reference(name, sector_key);
            let mut halves = vec![0; 32];
            for half in halves.chunks_mut(16) {
                half[..8].copy_from_slice(&(sector * bytes as u64).to_le_bytes());
            }
            halves[31] = 0x80;
            halves.chunks_mut(16).for_each(cipher);
            unit.chunks_mut(32).for_each(|piece| add(piece, &halves));
            elephant(unit);
            encrypt_unit(name, "cbc-eboiv", data_key, sector, unit);
        }
        "cbc" => {
            let cipher = reference(name, key);
            let mut before = iv_of(name, iv, key, sector, bytes);
            for block in unit.chunks_mut(size) {
                add(block, &before);
                cipher(block);
                before.copy_from_slice(block);
            }
        }
        "ctr" | "cfb" | "ofb" | "pcbc" => {
            let cipher = reference(name, key);
            let mut last = iv_of(name, iv, key, sector, bytes);
            if iv == "benbi" && chain != "pcbc" {
                // The crypto API has blocks of one byte for these, and dm-crypt counts such (crypt_iv_benbi_ctr).
                last[size - 8..].copy_from_slice(&(sector * 512 + 1).to_be_bytes());
            }
            for block in unit.chunks_mut(size) {
                let plain = block.to_vec();
                let mut stream = last.clone();
                if chain == "pcbc" {
                    add(block, &last);
                    cipher(block);
                } else {
                    cipher(&mut stream);
                    add(block, &stream);
                }
                match chain {
                    "ctr" => {
                        for byte in last.iter_mut().rev() {
                            *byte = byte.wrapping_add(1);
                            if *byte != 0 {
                                break;
                            }
                        }
                    }
                    "cfb" => last.copy_from_slice(block),
                    "ofb" => last = stream,
                    _ => {
                        last = plain;
                        add(&mut last, block);
                    }
                }
            }
        }
        "xts" => {
            let (data_key, tweak_key) = key.split_at(key.len() / 2);
            let cipher = reference(name, data_key);
            let mut mask = match iv {
                "eboiv" => eboiv("xts-plain64"),
                iv => iv_of(name, iv, key, sector, bytes),
            };
            reference(name, tweak_key)(&mut mask);
            for block in unit.chunks_mut(size) {
                add(block, &mask);
                cipher(block);
                add(block, &mask);
                double(&mut mask);
            }
        }
        "lrw" => {
            let (data_key, tweak_key) = key.split_at(key.len() - 16);
            let cipher = reference(name, data_key);
            let tweak = u128::from_be_bytes(tweak_key.try_into().unwrap());
            let first = match iv {
                "benbi" => u128::from(sector) * 32 + 1,
                "eboiv" => u128::from_be_bytes(eboiv("lrw-plain64").try_into().unwrap()),
                // The hash of ESSIV is that of the whole key.
                iv => u128::from_be_bytes(iv_of(name, iv, key, sector, bytes).try_into().unwrap()),
            };
            for (index, block) in (0..).zip(unit.chunks_mut(size)) {
                let index = first.wrapping_add(index);
                let mask = product(tweak, index).to_be_bytes();
                add(block, &mask);
                cipher(block);
                add(block, &mask);
            }
        }
        other => panic!("{other}"),
    }
}

fn random(rng: &mut ChaCha8Rng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    rng.fill_bytes(&mut data);
    data
}

const MODES: [&str; 30] = [
    "ecb",
    "cbc-plain",
    "cbc-plain64",
    "cbc-plain64be",
    "cbc-essiv:sha256",
    "cbc-essiv:wp256",
    "cbc-essiv:sha1",
    "cbc-essiv:ripemd160",
    "cbc-eboiv",
    "cbc-elephant",
    "lrw-benbi",
    "lrw-plain64",
    "xts-plain",
    "xts-plain64",
    "xts-plain64be",
    "xts-essiv:sha256",
    "xts-benbi",
    "xts-null",
    "xts-plain64:sha256",
    "cbc-benbi",
    "cbc-null",
    "cbc-plain:sha1",
    "ecb-plain64",
    "ctr-plain64be",
    "cfb-plain64",
    "ofb-benbi",
    "pcbc-plain64",
    "pcbc-eboiv",
    "xts-eboiv",
    "lrw-eboiv",
];

/// Modes whose code is that of others up to the hash; one cipher and key length is enough.
const MORE: [(&str, &str); 12] = [
    ("aes", "cbc-essiv:md5"),
    ("aes", "cbc-essiv:sm3"),
    ("aes", "xts-essiv:sha3-256"),
    ("camellia", "cbc-essiv:blake2s-256"),
    ("aes", "cbc-essiv:streebog256"),
    ("cast5", "cbc-essiv:md5"),
    ("aes", "xts-essiv:wp256"),
    ("serpent", "cbc-essiv:rmd160"),
    ("blowfish", "cbc-essiv:sha1"),
    ("aes", "lrw-plain"),
    ("twofish", "lrw-plain64be"),
    ("aes", "lrw-essiv:sha256"),
];

#[test]
fn every_specification_agrees_with_plain_modes_over_rustcrypto() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    // RustCrypto does not have these.
    let others = ["anubis", "seed", "khazad", "cipher_null"];
    let every = dm_crypt_ciphers().filter(|name| !others.contains(name));
    let every = every.flat_map(|name| MODES.map(|mode| (name, mode)));
    let mut seen = 0;
    for (name, mode) in every.chain(MORE) {
        let Ok(lengths) = dm_crypt_key_bytes(name, mode) else {
            continue;
        };
        seen += 1;
        for length in lengths {
            // The second number crosses 2^32 inside the run.
            for (layout, units, first) in [
                (Layout::SECTOR_512, 35, 0),
                (Layout::SECTOR_512, 7, (1 << 32) - 3),
                (Layout::LUKS2_4096, 9, (1 << 32) - 32),
            ] {
                let key = random(&mut rng, length);
                let plain = random(&mut rng, units * layout.data_unit);
                let mut expected = plain.clone();
                for (k, unit) in expected.chunks_mut(layout.data_unit).enumerate() {
                    let sector = first + k as u64 * layout.tweak_step;
                    encrypt_unit(name, mode, &key, sector, unit);
                }
                for tier in Tier::available() {
                    let cipher = dm_crypt(name, mode, &key, layout, tier).unwrap();
                    let what = || format!("{name} {mode} {length} {layout:?} {}", cipher.tier());
                    let mut data = plain.clone();
                    cipher.encrypt_in_place(first, &mut data);
                    assert!(data == expected, "encrypt {}", what());
                    // Misaligned, and apart.
                    let mut back = vec![0x5a; plain.len() + 2];
                    cipher.decrypt(first, &data, &mut back[1..=plain.len()]);
                    assert!(back[1..=plain.len()] == plain, "decrypt {}", what());
                    assert!(back[0] == 0x5a && back[plain.len() + 1] == 0x5a, "{}", what());
                    cipher.decrypt_in_place(first, &mut data);
                    assert!(data == plain, "decrypt in place {}", what());
                    back[1..=plain.len()].fill(0);
                    cipher.encrypt(first, &plain, &mut back[1..=plain.len()]);
                    assert!(back[1..=plain.len()] == expected, "encrypt apart {}", what());
                }
            }
        }
    }
    // Serpent and CAST6 have all modes, the other 128-bit ciphers not the two hashes of 20 bytes; CAST5, DES and triple DES have
    // ECB, the plain CBCs and feedback, Blowfish the hashes too.
    assert_eq!(seen, 2 * 30 + 3 * 28 + 14 + 18 + 14 + 14 + MORE.len());
}

#[test]
fn a_run_is_its_units_one_by_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for name in dm_crypt_ciphers() {
        for mode in ["cbc-plain64", "cbc-elephant", "lrw-benbi", "lrw-plain64", "xts-plain"] {
            let Ok(lengths) = dm_crypt_key_bytes(name, mode) else {
                continue;
            };
            let key = random(&mut rng, lengths[0]);
            // More units than are enciphered together, up to 64.
            for (layout, units) in [(Layout::SECTOR_512, 131), (Layout::LUKS2_4096, 66)] {
                let plain = random(&mut rng, units * layout.data_unit);
                for tier in Tier::available() {
                    let cipher = dm_crypt(name, mode, &key, layout, tier).unwrap();
                    let mut whole = plain.clone();
                    cipher.encrypt_in_place(99, &mut whole);
                    let mut single = plain.clone();
                    for (k, unit) in single.chunks_mut(layout.data_unit).enumerate() {
                        cipher.encrypt_in_place(99 + k as u64 * layout.tweak_step, unit);
                    }
                    assert!(whole == single, "{name} {mode} on {}", cipher.tier());
                    cipher.decrypt_in_place(99, &mut whole);
                    assert!(whole == plain, "{name} {mode} on {}", cipher.tier());
                }
            }
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.iter().map(byte).collect()
}

#[test]
fn essiv_vectors_of_linux() {
    let text = include_str!("../vectors/essiv-aes-cbc.txt");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 4);
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let (key, plain, expected) = (hex(fields[0]), hex(fields[2]), hex(fields[3]));
        let sector = u64::from_str_radix(fields[1], 16).unwrap();
        let layout = Layout { data_unit: plain.len(), tweak_step: 1 };
        for tier in Tier::available() {
            let cipher = dm_crypt("aes", "cbc-essiv:sha256", &key, layout, tier).unwrap();
            let mut data = plain.clone();
            cipher.encrypt_in_place(sector, &mut data);
            assert_eq!(data, expected, "{}", cipher.tier());
            cipher.decrypt_in_place(sector, &mut data);
            assert_eq!(data, plain, "{}", cipher.tier());
        }
    }
}

/// What `openssl enc` makes of `data`, if it can.
fn openssl(cipher: &str, key: &[u8], iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut child = Command::new("openssl")
        .args(["enc", "-provider", "default", "-provider", "legacy", "-nopad"])
        .args([&format!("-{cipher}"), "-K", &digits(key), "-iv", &digits(iv)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(data).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then_some(output.stdout)
}

#[test]
fn cbc_agrees_with_openssl() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    for (name, key_bytes, theirs) in [
        ("aes", 16, "aes-128-cbc"),
        ("aes", 24, "aes-192-cbc"),
        ("aes", 32, "aes-256-cbc"),
        ("camellia", 16, "camellia-128-cbc"),
        ("camellia", 32, "camellia-256-cbc"),
        ("des3_ede", 24, "des-ede3-cbc"),
        ("des", 8, "des-cbc"),
        ("seed", 16, "seed-cbc"),
        ("blowfish", 16, "bf-cbc"),
        ("cast5", 16, "cast5-cbc"),
    ] {
        let key = random(&mut rng, key_bytes);
        let plain = random(&mut rng, 3 * 512);
        let first = 0x1_2345_6789;
        let mut expected = Vec::new();
        for (sector, unit) in (first..).zip(plain.chunks(512)) {
            let iv = iv_of(if name == "seed" { "aes" } else { name }, "plain64", &key, sector, 512);
            expected.extend(openssl(theirs, &key, &iv, unit).unwrap_or_default());
        }
        if expected.is_empty() {
            eprintln!("SKIPPED: no openssl with {theirs}");
            continue;
        }
        for tier in Tier::available() {
            let cipher = dm_crypt(name, "cbc-plain64", &key, Layout::SECTOR_512, tier).unwrap();
            let mut data = plain.clone();
            cipher.encrypt_in_place(first, &mut data);
            assert!(data == expected, "{theirs}, {}", cipher.tier());
        }
    }
}

#[test]
fn several_keys_take_turns() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    for mode in ["cbc-plain64", "xts-plain64", "cbc-essiv:sha256", "cbc-lmk", "ecb"] {
        for length in dm_crypt_key_bytes("aes:4", mode).unwrap() {
            let key = random(&mut rng, length);
            let plain = random(&mut rng, 11 * 512);
            let dm_crypt = |name, key| dm_crypt(name, mode, key, Layout::SECTOR_512, Tier::Soft);
            let cipher = dm_crypt("aes:4", &key).unwrap();
            let mut data = plain.clone();
            cipher.encrypt_in_place(6, &mut data);
            for (sector, (unit, plain)) in (6..).zip(data.chunks(512).zip(plain.chunks(512))) {
                let of = &key[sector % 4 * length / 4..][..length / 4];
                let mut expected = plain.to_vec();
                dm_crypt("aes", of).unwrap().encrypt_in_place(sector as u64, &mut expected);
                assert!(unit == expected, "{mode}, {length} bytes, sector {sector}");
            }
            cipher.decrypt_in_place(6, &mut data);
            assert!(data == plain, "{mode}, {length} bytes");
        }
    }
    // The lengths tell version 2 of loop-AES from version 3, which has a seed.
    assert_eq!(dm_crypt_key_bytes("aes:2", "cbc-lmk").unwrap(), [32, 48, 64]);
    let with_seed = [1024, 1040, 1536, 1560, 2048, 2080];
    assert_eq!(dm_crypt_key_bytes("aes:64", "cbc-lmk").unwrap(), with_seed);
    assert_eq!(dm_crypt_key_bytes("aes:64", "cbc-plain64").unwrap(), [1024, 1536, 2048]);
    assert_eq!(dm_crypt_key_bytes("cipher_null", "ecb").unwrap(), []);
}

/// With the seed the IV is MD5's state after the seed, the end of the plaintext, and the number; its first block shows it.
#[test]
fn the_seed_of_loop_aes_goes_before_the_plaintext() {
    let key: Vec<u8> = (0..1040_u32).map(|i| (i * 7 / 3) as u8).collect();
    let cipher = dm_crypt("aes:64", "cbc-lmk", &key, Layout::SECTOR_512, Tier::Soft).unwrap();
    let plain: Vec<u8> = (0..512_u32).map(|i| (i * 5 / 2) as u8).collect();
    let mut data = plain.clone();
    cipher.encrypt_in_place(65, &mut data);
    let mut hashed = key[1024..].to_vec();
    hashed.resize(64, 0);
    hashed.extend(&plain[16..]);
    hashed.extend((65_u64 | 1 << 63).to_le_bytes());
    hashed.extend(4024_u32.to_le_bytes());
    hashed.extend([0; 4]);
    // RFC 1321, 3.3.
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    md5::block_api::compress(&mut state, hashed.as_chunks().0);
    let mut block: Vec<u8> = state.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    add(&mut block, &plain[..16]);
    // The second of 64 keys.
    reference("aes", &key[16..32])(&mut block);
    assert_eq!(data[..16], block);
}

#[test]
fn mistakes_are_errors_that_say_what_is_right() {
    let error = |cipher: &str, mode: &str| dm_crypt_key_bytes(cipher, mode).unwrap_err();
    assert_eq!(
        error("rot13", "xts-plain64").to_string(),
        "unknown dm-crypt cipher \"rot13-xts-plain64\"; known: aes, serpent, twofish, camellia, cast6, cast5, blowfish, \
         des3_ede, xchacha12,aes, xchacha20,aes, anubis, seed, khazad, des, cipher_null"
    );
    for mode in ["", "xts", "cbc", "gcm-random", "xts-plain65", "xts-essiv", "cbc-random", "xts-"] {
        let error = error("aes", mode);
        assert!(matches!(error, CipherError::DmCryptMode { .. }), "{mode}: {error}");
        assert!(error.to_string().contains("known: xts-plain64, xts-plain,"), "{error}");
    }
    for mode in ["ctr-eboiv", "cfb-eboiv", "ofb-eboiv", "hctr2-eboiv"] {
        assert!(matches!(error("aes", mode), CipherError::DmCryptMode { .. }), "{mode}");
    }
    for cipher in ["aes:", "aes:0", "aes:3", "aes:2:2", "aes:131072", "aes:x"] {
        let error = error(cipher, "cbc-plain64");
        assert!(matches!(error, CipherError::DmCryptCipher { .. }), "{cipher}: {error}");
    }
    assert!(matches!(error("cipher_null", "cbc-plain64"), CipherError::DmCryptMode { .. }));
    for mode in ["xts-plain64", "lrw-benbi"] {
        assert!(matches!(error("cast5", mode), CipherError::DmCryptMode { .. }));
    }
    assert!(error("aes", "cbc-essiv:md4").to_string().starts_with("unknown ESSIV hash \"md4\"; "));
    assert!(matches!(error("aes", "adiantum-plain64"), CipherError::DmCryptMode { .. }));
    assert_eq!(dm_crypt_key_bytes("capi:xts(ecb(aes", "generic))-plain64").unwrap(), [32, 48, 64]);
    // As in Linux, where setting the key fails.
    assert_eq!(
        error("aes", "cbc-essiv:sha512").to_string(),
        "ESSIV with sha512 produces keys of 64 bytes, which aes does not accept"
    );
    assert_eq!(dm_crypt_key_bytes("aes", "xts-plain64").unwrap(), [32, 48, 64]);
    assert_eq!(dm_crypt_key_bytes("aes", "lrw-benbi").unwrap(), [32, 40, 48]);
    assert_eq!(dm_crypt_key_bytes("aes", "plain").unwrap(), [16, 24, 32]);
    let keyed = |key: &[u8], layout| {
        dm_crypt("aes", "xts-plain64", key, layout, Tier::Soft).map(|_| ()).unwrap_err()
    };
    assert_eq!(
        keyed(&[0; 16], Layout::SECTOR_512).to_string(),
        "aes-xts-plain64 needs keys of 32, 48, 64 bytes, got 16"
    );
    let layout = Layout { data_unit: 520, tweak_step: 1 };
    assert_eq!(keyed(&[0; 64], layout), CipherError::DataUnit { bytes: 520 });
}
