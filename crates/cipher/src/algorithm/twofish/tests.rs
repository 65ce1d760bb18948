//! Published vectors on every kernel, through XTS where there is no other way in.

use super::soft::Soft;
use super::*;
use crate::algorithm::tests::check;
use crate::cpu::Tier;
use crate::hex::hex;
use crate::kernel::{Block, BlockKernel, Buffer, Run, UnitKernel};
use crate::sector::Layout;

/// Bytes of the keys of the vectors.
const KEY: usize = 32;

fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').collect())
}

/// `plain` with its block as the only one in a unit whose mask is removed again: the block cipher itself.
fn through_xts(kernel: &dyn UnitKernel, mask: u128, plain: Block, encrypt: bool) -> Block {
    let masked = |block: Block| (u128::from_le_bytes(block) ^ mask).to_le_bytes();
    let mut block = masked(plain);
    let run = Run { first: 5, layout: Layout { data_unit: 16, tweak_step: 1 } };
    if encrypt {
        kernel.encrypt_units(run, Buffer::in_place(&mut block));
    } else {
        kernel.decrypt_units(run, Buffer::in_place(&mut block));
    }
    masked(block)
}

#[test]
fn the_submission_s_tables_of_256_bit_keys() {
    let text = include_str!("../../../tests/vectors/twofish-ecb.txt");
    let expected: Vec<(usize, Vec<u8>)> =
        lines(text).map(|line| (line[0].parse().unwrap(), hex(line[1]))).collect();
    assert_eq!(expected.len(), 12);
    let tweak_key = [9; KEY];
    let mut mask = [5u128.to_le_bytes()];
    Soft::new(&tweak_key).encrypt(&mut mask);
    let mask = u128::from_le_bytes(mask[0]);
    let (mut key, mut plain) = ([0; KEY], [0; 16]);
    for i in 1..=49 {
        let soft = Soft::new(&key);
        let mut block = [plain];
        soft.encrypt(&mut block);
        let [cipher] = block;
        if let Some((_, expected)) = expected.iter().find(|(number, _)| *number == i) {
            assert_eq!(cipher, expected[..], "I={i}");
        }
        soft.decrypt(&mut block);
        assert_eq!(block, [plain], "I={i}");
        for kernel in all_xts(&key, &tweak_key) {
            let kernel = kernel.as_ref();
            assert_eq!(through_xts(kernel, mask, plain, true), cipher, "I={i} {}", kernel.name());
            assert_eq!(through_xts(kernel, mask, cipher, false), plain, "I={i} {}", kernel.name());
        }
        key.copy_within(..16, 16);
        key[..16].copy_from_slice(&plain);
        plain = cipher;
    }
}

#[test]
fn xts_vectors() {
    let mut count = 0;
    for line in lines(include_str!("../../../tests/vectors/twofish-xts.txt")) {
        let (key, tweak, plain, cipher) = (hex(line[0]), hex(line[1]), hex(line[2]), hex(line[3]));
        let first = u128::from_le_bytes(tweak.try_into().unwrap());
        let run = Run { first, layout: Layout { data_unit: plain.len(), tweak_step: 1 } };
        for kernel in all_xts(&key[..KEY], &key[KEY..]) {
            let mut data = plain.clone();
            kernel.encrypt_units(run, Buffer::in_place(&mut data));
            assert_eq!(data, cipher, "{}", kernel.name());
            kernel.decrypt_units(run, Buffer::in_place(&mut data));
            assert_eq!(data, plain, "{}", kernel.name());
        }
        count += 1;
    }
    assert!(count >= 10, "{count} vectors");
}

/// Key, plain and cipher text from the submission's tables for shorter keys (ecb_tbl.txt).
#[test]
fn shorter_keys_on_every_tier() {
    for [key, plain, cipher] in [
        [
            "00000000000000000000000000000000",
            "00000000000000000000000000000000",
            "9f589f5cf6122c32b6bfec2f2ae8c35a",
        ],
        [
            "d491db16e7b1c39e86cb086b789f5419",
            "019f9809de1711858faac3a3ba20fbc3",
            "6363977de839486297e661c6c9d668eb",
        ],
        [
            "000000000000000000000000000000000000000000000000",
            "00000000000000000000000000000000",
            "efa71f788965bd4453f860178fc19101",
        ],
        [
            "efa71f788965bd4453f860178fc191010000000000000000",
            "88b2b2706b105e36b446bb6d731a1e88",
            "39da69d6ba4997d585b6dc073ca341b2",
        ],
    ] {
        for tier in Tier::available() {
            let kernel = blocks(&hex(key), tier);
            let mut data = [hex(plain).try_into().unwrap(); 3];
            kernel.encrypt(&mut data);
            assert!(data.iter().all(|block| *block == *hex(cipher)), "{}", kernel.name());
            kernel.decrypt(&mut data);
            assert!(data.iter().all(|block| *block == *hex(plain)), "{}", kernel.name());
        }
    }
}

#[test]
fn every_kernel_agrees_with_the_portable_one() {
    check(&[16, 24, 32], all_xts, all_blocks);
}
