//! Prints the speed of every cipher on every tier, in MB/s as medians of short runs, for data units
//! of 512 and 4096 bytes and requests of 512 bytes, 4 KiB and 1 MiB.
//!
//! `cargo run --release -p cryptbench-cipher --example cipher_speed [name part] [kernel part]`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use cryptbench_cipher::{
    Layout, SectorCipher, Tier, ciphers, dm_crypt, dm_crypt_key_bytes, legacy_ciphers,
};

const BUFFER: usize = 1 << 20;
const REQUESTS: [usize; 3] = [512, 4096, BUFFER];
const RUNS: usize = 21;

/// dm-crypt specifications that run other code than the ciphers above.
const DM_CRYPT: [(&str, &str); 8] = [
    ("aes", "cbc-plain64"),
    ("aes", "cbc-essiv:sha256"),
    ("aes", "lrw-benbi"),
    ("aes", "xts-essiv:sha256"),
    ("serpent", "cbc-essiv:sha256"),
    ("twofish", "cbc-essiv:sha256"),
    ("camellia", "cbc-essiv:sha256"),
    ("cast5", "cbc-essiv:sha256"),
];

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let kernel = std::env::args().nth(2).unwrap_or_default();
    println!("MB/s, median of {RUNS}; encrypt/decrypt in requests of 512 bytes, 4 KiB, 1 MiB");
    let mut seen = Vec::new();
    let mut row = |name: &str, cipher: &dyn SectorCipher| {
        let key = (name.to_owned(), cipher.tier(), cipher.data_unit());
        if name.contains(&part) && cipher.tier().contains(&kernel) && !seen.contains(&key) {
            print_row(name, cipher);
            seen.push(key);
        }
    };
    let key: Vec<u8> = (0..=255).collect();
    for tier in Tier::available() {
        for layout in [Layout::SECTOR_512, Layout::LUKS2_4096] {
            for info in ciphers() {
                if let Ok(cipher) = info.with_key(&key[..info.key_bytes], layout, tier) {
                    row(info.name, cipher.as_ref());
                }
            }
            for (name, mode) in DM_CRYPT {
                let longest =
                    dm_crypt_key_bytes(name, mode).ok().and_then(|all| all.last().copied());
                let key = &key[..longest.unwrap_or_default()];
                if let Ok(cipher) = dm_crypt(name, mode, key, layout, tier) {
                    row(&format!("{name}-{mode}"), cipher.as_ref());
                }
            }
        }
        for legacy in legacy_ciphers() {
            let key = &key[..legacy.key_bytes];
            if let Ok(cipher) = legacy.with_key(key, &[7; 32], tier) {
                row(&format!("{} {}", legacy.name, legacy.mode), cipher.as_ref());
            }
        }
    }
}

fn print_row(name: &str, cipher: &dyn SectorCipher) {
    let mut data: Vec<u8> = (0..BUFFER).map(|i| (i * 7 / 3) as u8).collect();
    print!("{name:<32} {:<24} {:>5}", cipher.tier(), cipher.data_unit());
    for request in REQUESTS {
        if request < cipher.data_unit() {
            print!("{:>15}", "-");
            continue;
        }
        let encrypt = median(&mut data[..request], |data| cipher.encrypt_in_place(1, data));
        let decrypt = median(&mut data[..request], |data| cipher.decrypt_in_place(1, data));
        print!("{:>15}", format!("{encrypt:.0}/{decrypt:.0}"));
    }
    println!();
}

fn median(data: &mut [u8], mut pass: impl FnMut(&mut [u8])) -> f64 {
    pass(data);
    // Slow kernels do fewer passes per run, so that every run takes about the same time.
    let start = Instant::now();
    pass(black_box(data));
    let passes = (0.0005 / start.elapsed().as_secs_f64()).ceil().max(1.0) as usize;
    let bytes = passes * data.len();
    let mut speeds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..passes {
                pass(black_box(data));
            }
            bytes as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds[RUNS / 2]
}
