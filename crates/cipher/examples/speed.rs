//! Speed of every cipher on every tier, at 512- and 4096-byte data units: MB/s, medians of short runs.
//!
//! `cargo run --release -p cryptbench-cipher --example speed [name part]`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use cryptbench_cipher::{Layout, SectorCipher, Tier, ciphers};

const BUFFER: usize = 1 << 20;
const RUNS: usize = 41;

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    println!("cipher         kernel        unit   encrypt   decrypt  MB/s (median of {RUNS})");
    for info in ciphers().iter().filter(|info| info.name.contains(&part)) {
        for tier in Tier::available() {
            for layout in [Layout::SECTOR_512, Layout::LUKS2_4096] {
                let key: Vec<u8> = (0..info.key_bytes).map(|i| i as u8).collect();
                let Ok(cipher) = info.with_key(&key, layout, tier) else {
                    continue;
                };
                let mut data: Vec<u8> = (0..BUFFER).map(|i| (i * 7 / 3) as u8).collect();
                let encrypt = median(&mut data, |data| cipher.encrypt_in_place(1, data));
                let decrypt = median(&mut data, |data| cipher.decrypt_in_place(1, data));
                println!(
                    "{:<14} {:<12} {:>5} {encrypt:>9.0} {decrypt:>9.0}",
                    info.name,
                    kernel(cipher.as_ref()),
                    layout.data_unit
                );
            }
        }
    }
}

fn kernel(cipher: &dyn SectorCipher) -> &'static str {
    cipher.tier()
}

fn median(data: &mut [u8], mut pass: impl FnMut(&mut [u8])) -> f64 {
    pass(data);
    // Slow kernels get fewer passes a run, all of them about the same time.
    let start = Instant::now();
    pass(black_box(data));
    let passes = (0.002 / start.elapsed().as_secs_f64()).ceil().max(1.0) as usize;
    let mut speeds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..passes {
                pass(black_box(data));
            }
            (passes * BUFFER) as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds[RUNS / 2]
}
