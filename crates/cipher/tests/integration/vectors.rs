//! Published XTS-AES vectors on every tier of this CPU, in both directions.

use cryptbench_cipher::{CipherInfo, Layout, Tier, find};

struct Vector {
    key: Vec<u8>,
    unit: u64,
    plain: Vec<u8>,
    cipher: Vec<u8>,
}

fn parse(text: &str) -> Vec<Vector> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [key, unit, plain, cipher] = fields[..] else {
                panic!("not four fields: {line}");
            };
            Vector {
                key: hex(key),
                unit: u64::from_str_radix(unit, 16).unwrap(),
                plain: hex(plain),
                cipher: hex(cipher),
            }
        })
        .collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.iter().map(byte).collect()
}

fn cipher_of(vector: &Vector) -> &'static CipherInfo {
    let name = match vector.key.len() {
        32 => "aes-128-xts",
        64 => "aes-256-xts",
        other => panic!("key of {other} bytes"),
    };
    find(name).unwrap()
}

fn check(text: &str, at_least: usize) {
    let vectors = parse(text);
    assert!(vectors.len() >= at_least, "{} vectors", vectors.len());
    for tier in Tier::ALL {
        if !Tier::available().contains(&tier) {
            eprintln!("SKIPPED: this CPU has no {tier}");
            continue;
        }
        for vector in &vectors {
            let layout = Layout { data_unit: vector.plain.len(), tweak_step: 1 };
            let cipher = cipher_of(vector).with_key(&vector.key, layout, tier).unwrap();
            let mut out = vec![0; vector.plain.len()];
            cipher.encrypt(vector.unit, &vector.plain, &mut out);
            assert_eq!(out, vector.cipher, "{}, {} encrypts", tier, cipher.tier());
            cipher.decrypt(vector.unit, &vector.cipher, &mut out);
            assert_eq!(out, vector.plain, "{}, {} decrypts", tier, cipher.tier());
        }
    }
}

#[test]
fn ieee_1619() {
    check(include_str!("../vectors/xts-ieee1619.txt"), 5);
}

#[test]
fn nist_cavp() {
    check(include_str!("../vectors/xts-cavp.txt"), 320);
}
