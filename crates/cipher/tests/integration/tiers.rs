//! Every cipher on every tier against the portable kernel, over odd layouts and misaligned buffers.
//!
//! Cascades run their stages' kernels, so they see fewer layouts, chosen for the pieces that they cut.

use std::process::Command;

use cryptbench_cipher::{CipherError, Layout, SectorCipher, Tier, ciphers, find, tier};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Unit lengths on both sides of every kernel's vector and group: 1 to 8 vectors of 1, 2, 4 blocks.
const DATA_UNITS: [usize; 21] = [
    16, 32, 48, 64, 80, 96, 112, 128, 144, 192, 240, 256, 272, 384, 496, 512, 528, 1024, 1040,
    4096, 4160,
];

/// Unit lengths for cascades: a block, both sides of a sector, one whose pieces hold several units, one
/// whose pieces hold one, and one that is longer than a piece.
const CASCADE_UNITS: [usize; 6] = [16, 512, 528, 4096, 4160, 16384];

/// Numbers of units around the sizes of tweak batches, and none at all.
const UNITS: [usize; 17] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 70];

/// Numbers of units for cascades: inside, at and beyond a piece of 16 sectors.
const CASCADE_COUNTS: [usize; 6] = [0, 1, 2, 3, 16, 33];

/// First tweak numbers, one of which makes the units cross 2^32 and one 2^64.
const FIRST_UNITS: [u64; 4] = [0, 256, (1 << 32) - 3, u64::MAX - 20];

fn random(rng: &mut ChaCha8Rng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    rng.fill_bytes(&mut data);
    data
}

/// Runs all four methods over misaligned copies of `plain` and compares with `expected`.
fn check(cipher: &dyn SectorCipher, first: u64, plain: &[u8], expected: &[u8], shift: usize) {
    let len = plain.len();
    let what = || format!("{} bytes of {}, {}", len, cipher.data_unit(), cipher.tier());
    // A margin on both sides must stay as it is.
    let mut source = vec![0xa5; len + 64];
    let mut target = vec![0x5a; len + 64];
    let (src, dst) = (shift..shift + len, shift / 2..shift / 2 + len);

    source[src.clone()].copy_from_slice(plain);
    cipher.encrypt(first, &source[src.clone()], &mut target[dst.clone()]);
    assert_eq!(&target[dst.clone()], expected, "encrypt {}", what());
    assert_eq!(&source[src.clone()], plain, "source {}", what());

    source[src.clone()].fill(0);
    cipher.decrypt(first, &target[dst.clone()], &mut source[src.clone()]);
    assert_eq!(&source[src.clone()], plain, "decrypt {}", what());

    cipher.encrypt_in_place(first, &mut source[src.clone()]);
    assert_eq!(&source[src.clone()], expected, "encrypt in place {}", what());
    cipher.decrypt_in_place(first, &mut source[src.clone()]);
    assert_eq!(&source[src.clone()], plain, "decrypt in place {}", what());

    let untouched = |buffer: &[u8], part: std::ops::Range<usize>, fill: u8| {
        let margins = buffer[..part.start].iter().chain(&buffer[part.end..]);
        margins.into_iter().all(|&byte| byte == fill)
    };
    assert!(untouched(&source, src, 0xa5), "source margin {}", what());
    assert!(untouched(&target, dst, 0x5a), "target margin {}", what());
}

#[test]
fn every_tier_agrees_with_the_portable_kernel() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for info in ciphers() {
        let cascade = info.label.contains('(');
        let lengths: &[usize] = if cascade { &CASCADE_UNITS } else { &DATA_UNITS };
        let counts: &[usize] = if cascade { &CASCADE_COUNTS } else { &UNITS };
        for (row, &data_unit) in lengths.iter().enumerate() {
            let key = random(&mut rng, info.key_bytes);
            for (column, &units) in counts.iter().enumerate() {
                // Both steps with every unit length and with every count.
                let tweak_step = if (row + column) % 2 == 0 { 1 } else { 8 };
                let layout = Layout { data_unit, tweak_step };
                let first = FIRST_UNITS[units % FIRST_UNITS.len()];
                if units * data_unit > 150_000 {
                    continue;
                }
                let plain = random(&mut rng, units * data_unit);
                let mut expected = plain.clone();
                let soft = info.with_key(&key, layout, Tier::Soft).unwrap();
                soft.encrypt_in_place(first, &mut expected);
                let mut seen = Vec::new();
                for tier in Tier::available() {
                    let cipher = info.with_key(&key, layout, tier).unwrap();
                    // Some tiers have the kernel of the one below. The portable kernel is held to
                    // itself on few units only: that shows what the buffers do to it.
                    if seen.contains(&cipher.tier()) || (tier == Tier::Soft && units > 3) {
                        continue;
                    }
                    seen.push(cipher.tier());
                    check(cipher.as_ref(), first, &plain, &expected, units % 64);
                }
            }
        }
    }
    for missing in Tier::ALL {
        if !Tier::available().contains(&missing) {
            eprintln!("SKIPPED: this CPU has no {missing}");
        }
    }
}

#[test]
fn a_run_is_its_units_one_by_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for info in ciphers() {
        for layout in [Layout::SECTOR_512, Layout::LUKS2_4096] {
            let key = random(&mut rng, info.key_bytes);
            for tier in Tier::available() {
                let cipher = info.with_key(&key, layout, tier).unwrap();
                let first = rng.next_u64() >> 1;
                let plain = random(&mut rng, 75 * layout.data_unit);
                let mut whole = plain.clone();
                cipher.encrypt_in_place(first, &mut whole);
                let mut single = plain;
                for (k, unit) in single.chunks_mut(layout.data_unit).enumerate() {
                    cipher.encrypt_in_place(first + k as u64 * layout.tweak_step, unit);
                }
                assert_eq!(whole, single, "{} on {}", info.name, cipher.tier());
            }
        }
    }
}

#[test]
fn the_highest_tier_of_a_cpu_with_aes_is_not_soft() {
    let Some(&best) = Tier::available().last() else {
        panic!("soft is always there");
    };
    let cipher = find("aes-256-xts").unwrap();
    let cipher = cipher.with_key(&[1; 64], Layout::SECTOR_512, best).unwrap().tier();
    if [Tier::Aesni, Tier::Crypto].iter().any(|tier| Tier::available().contains(tier)) {
        assert_ne!(cipher, "soft");
    } else {
        assert_eq!(cipher, "soft");
    }
}

#[test]
fn mistakes_are_errors_that_say_what_is_right() {
    let error = find("rot13").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("aes-128-xts, aes-256-xts"));

    let info = find("aes-256-xts").unwrap();
    let keyed = |key: &[u8], data_unit, tweak_step| {
        let layout = Layout { data_unit, tweak_step };
        info.with_key(key, layout, Tier::Soft).map(|_| ())
    };
    let error = keyed(&[0; 32], 512, 1).unwrap_err();
    assert_eq!(error.to_string(), "aes-256-xts needs a key of 64 bytes, got 32");
    for bytes in [0, 8, 520, (1 << 24) + 16] {
        assert_eq!(keyed(&[0; 64], bytes, 1), Err(CipherError::DataUnit { bytes }));
    }
    assert_eq!(keyed(&[0; 64], 512, 0), Err(CipherError::TweakStep));
}

#[test]
#[should_panic(expected = "not a whole number of 512-byte data units")]
fn a_part_of_a_unit_is_refused() {
    let info = find("aes-256-xts").unwrap();
    let cipher = info.with_key(&[1; 64], Layout::SECTOR_512, Tier::Soft);
    cipher.unwrap().encrypt_in_place(0, &mut [0; 520]);
}

/// Set in the child processes of the next test, which then only say their tier.
const CHILD: &str = "CRYPTBENCH_CIPHER_TEST_CHILD";

#[test]
fn the_environment_masks_the_tier() {
    if std::env::var_os(CHILD).is_some() {
        match tier() {
            Ok(tier) => eprintln!("tier={tier};"),
            Err(error) => eprintln!("error={error};"),
        }
        return;
    }
    let child = |mask: &str| {
        let test = "tiers::the_environment_masks_the_tier";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "1")
            .env("CRYPTBENCH_CPU", mask)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for tier in Tier::available() {
        let said = child(tier.as_str());
        assert!(said.contains(&format!("tier={tier};")), "{said}");
    }
    let said = child("mmx");
    assert!(said.contains("error=CRYPTBENCH_CPU=`mmx` is not a CPU tier"), "{said}");
}
