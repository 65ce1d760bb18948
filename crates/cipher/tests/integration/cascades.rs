//! VeraCrypt's cascades are what their single ciphers make of each other's output.

use cryptbench_cipher::{Layout, Tier, ciphers, find};

/// Single ciphers by the word that VeraCrypt's names use.
const SINGLES: [(&str, &str); 5] = [
    ("aes", "aes-256-xts"),
    ("camellia", "camellia-256-xts"),
    ("kuznyechik", "kuznyechik-xts"),
    ("serpent", "serpent-256-xts"),
    ("twofish", "twofish-256-xts"),
];

/// The single ciphers of a cascade in the order of encryption: its name from the last word to the
/// first (VeraCrypt's documentation, "Cascades of Ciphers"). None for a single cipher.
fn stages(name: &str) -> Option<Vec<&'static str>> {
    let words: Vec<_> = name.strip_suffix("-xts")?.split('-').rev().collect();
    let single = |word| SINGLES.iter().find(|(w, _)| *w == word).map(|(_, name)| *name);
    words.into_iter().map(single).collect::<Option<Vec<_>>>().filter(|s| s.len() > 1)
}

#[test]
fn all_ten_are_there() {
    let cascades = ciphers().iter().filter(|c| stages(c.name).is_some()).count();
    assert_eq!(cascades, 10);
}

#[test]
fn each_is_its_single_ciphers_one_after_another() {
    for info in ciphers() {
        let Some(stages) = stages(info.name) else { continue };
        let key: Vec<u8> = (0..info.key_bytes).map(|i| (i * 7 + 3) as u8).collect();
        // The key area: all data keys in the order of encryption, then all tweak keys.
        let (data, tweak) = key.split_at(key.len() / 2);
        for tier in Tier::available() {
            for layout in [Layout::SECTOR_512, Layout::LUKS2_4096] {
                let plain: Vec<u8> = (0..5 * 4096).map(|i| (i * i / 7) as u8).collect();
                let mut expected = plain.clone();
                let mut kernels = Vec::new();
                for (i, stage) in stages.iter().enumerate() {
                    let part = 32 * i..32 * (i + 1);
                    let single = [&data[part.clone()], &tweak[part]].concat();
                    let cipher = find(stage).unwrap().with_key(&single, layout, tier).unwrap();
                    cipher.encrypt_in_place(256, &mut expected);
                    if !kernels.contains(&cipher.tier()) {
                        kernels.push(cipher.tier());
                    }
                }
                let cascade = info.with_key(&key, layout, tier).unwrap();
                assert_eq!(cascade.tier(), kernels.join("+"), "{} at {tier}", info.name);
                let mut data = plain.clone();
                cascade.encrypt_in_place(256, &mut data);
                assert!(data == expected, "{} at {tier}", info.name);
                cascade.decrypt_in_place(256, &mut data);
                assert!(data == plain, "{} at {tier}", info.name);
            }
        }
    }
}
