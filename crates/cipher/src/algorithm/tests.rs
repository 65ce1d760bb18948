//! Properties of every algorithm.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel};
use crate::sector::Layout;

fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut data);
    data
}

/// Every kernel of this CPU against the portable one, which comes first in the lists.
pub(super) fn check(
    key_lengths: &[usize],
    all_xts: impl Fn(&[u8], &[u8]) -> Vec<Box<dyn UnitKernel>>,
    all_blocks: impl Fn(&[u8]) -> Vec<Box<dyn BlockKernel<BLOCK>>>,
) {
    for &bytes in key_lengths {
        check_xts(&all_xts(&random(1, bytes), &random(2, bytes)));
        check_blocks(&all_blocks(&random(1, bytes)));
    }
}

/// Units and their numbers are on both sides of the widths of all kernels.
pub(super) fn check_xts(kernels: &[Box<dyn UnitKernel>]) {
    let (portable, others) = kernels.split_first().unwrap();
    for data_unit in [16, 80, 496, 512, 528, 1024, 1040, 1536, 4096] {
        for units in [1, 2, 3, 31, 32, 33, 65] {
            let layout = Layout { data_unit, tweak_step: 3 };
            let run = Run { first: u128::from(u64::MAX) - 2, layout };
            let plain = random(3, units * data_unit);
            let mut expected = plain.clone();
            portable.encrypt_units(run, Buffer::in_place(&mut expected));
            for kernel in others {
                // Apart and misaligned, then in place.
                let mut data = vec![0; plain.len() + 1];
                let data = &mut data[1..];
                kernel.encrypt_units(run, Buffer::apart(&plain, data));
                let what = || format!("{units} of {data_unit}, {}", kernel.name());
                assert!(data == expected, "{}", what());
                kernel.decrypt_units(run, Buffer::in_place(data));
                assert!(data == plain, "{}", what());
            }
        }
    }
}

fn check_blocks(kernels: &[Box<dyn BlockKernel<BLOCK>>]) {
    let (portable, others) = kernels.split_first().unwrap();
    for kernel in others {
        for count in 0..=2 * kernel.parallel() + 1 {
            let plain: Vec<Block> = (0..count).map(|i| [i as u8; BLOCK]).collect();
            let (mut data, mut expected) = (plain.clone(), plain.clone());
            portable.encrypt(&mut expected);
            kernel.encrypt(&mut data);
            assert_eq!(data, expected, "{count} blocks, {}", kernel.name());
            kernel.decrypt(&mut data);
            assert_eq!(data, plain, "{count} blocks, {}", kernel.name());
        }
    }
}
