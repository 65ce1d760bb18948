//! Properties of the order of slices.

use cryptbench_stats::slice_order;
use proptest::prelude::*;

/// A recorded seed repeats its order.
#[test]
fn recorded_seeds_repeat() {
    assert_eq!(slice_order(42, 1, 0, 3, 6), RECORDED);
    assert_ne!(slice_order(43, 1, 0, 3, 6), RECORDED);
    assert_ne!(slice_order(42, 1, 1, 3, 6), RECORDED);
}

const RECORDED: [usize; 18] = [2, 1, 0, 2, 2, 0, 0, 1, 1, 2, 1, 1, 2, 0, 1, 0, 0, 2];

/// How often each arm follows each arm over many blocks; the first index is the preceding arm.
fn follows(arms: usize, rounds: usize, blocks: u32) -> Vec<Vec<u32>> {
    let mut follows = vec![vec![0_u32; arms]; arms];
    for block in 0..blocks {
        let order = slice_order(3, 1, block, arms, rounds);
        order.windows(2).for_each(|pair| follows[pair[0]][pair[1]] += 1);
    }
    follows
}

/// Over many blocks, each arm follows itself as often as it follows each other arm: chi-square, below its 99.99 %
/// point for 24 degrees of freedom. Counts within a block are more even than independent ones, which makes it
/// smaller.
#[test]
fn an_arm_follows_itself_as_often_as_each_other_one() {
    for rounds in [5, 8, 13, 24] {
        let blocks = 4000;
        let expected = f64::from(blocks) * (5 * rounds - 1) as f64 / 25.0;
        let counts = follows(5, rounds, blocks);
        let chi_square: f64 =
            counts.iter().flatten().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!(chi_square < 58.6, "{rounds} rounds: {chi_square:.1} {counts:?}");
    }
}

/// Every arm is equally often at every position of a block: chi-square, 2 degrees of freedom each.
#[test]
fn every_arm_takes_every_position_equally_often() {
    let blocks = 3000;
    let orders: Vec<_> = (0..blocks).map(|block| slice_order(5, 0, block, 3, 4)).collect();
    for position in 0..12 {
        let mut taken = [0.0_f64; 3];
        orders.iter().for_each(|order| taken[order[position]] += 1.0);
        let chi_square: f64 = taken.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 18.5, "position {position}: {taken:?}");
    }
}

/// Two arms follow each other and themselves once in each group of four slices. There are two orders for each
/// start.
#[test]
fn every_order_occurs() {
    let mut seen: Vec<_> = (0..500).map(|block| slice_order(9, 0, block, 2, 2)).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, [[0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]]);
}

/// A linear drift adds to the variance of the difference of two arms less than a tenth of what it adds in a
/// shuffle: with five groups, a 25th.
#[test]
fn drift_cancels_within_groups() {
    let (arms, rounds) = (5, 25);
    let slices = (arms * rounds) as f64;
    let variance = (0..2000)
        .map(|block| {
            let order = slice_order(1, 0, block, arms, rounds);
            let mean = |arm: usize| {
                let positions = order.iter().enumerate().filter(|(_, a)| **a == arm);
                positions.map(|(position, _)| position as f64).sum::<f64>() / rounds as f64
            };
            (mean(0) - mean(1)).powi(2) / 2000.0
        })
        .sum::<f64>();
    let shuffled = 2.0 * slices * (slices + 1.0) / 12.0 / rounds as f64;
    assert!(variance < 0.1 * shuffled, "{:.3} of a shuffle's", variance / shuffled);
}

proptest! {
    #[test]
    fn neighbours_are_balanced(seed: u64, block: u32, arms in 1_usize..12, rounds in 0_usize..40) {
        let order = slice_order(seed, 2, block, arms, rounds);
        prop_assert_eq!(order.len(), arms * rounds);
        let mut follows = vec![vec![0_usize; arms]; arms];
        order.windows(2).for_each(|pair| follows[pair[0]][pair[1]] += 1);
        // The walk is closed: its end leads to its start.
        if let (Some(&first), Some(&last)) = (order.first(), order.last()) {
            follows[last][first] += 1;
        }
        for row in &follows {
            prop_assert_eq!(row.iter().sum::<usize>(), rounds);
            for &count in row {
                prop_assert!((rounds / arms..=rounds.div_ceil(arms)).contains(&count), "{:?}", follows);
            }
        }
    }
}
