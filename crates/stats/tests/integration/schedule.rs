//! The schedule is balanced and repeatable, and random in all other respects.

use cryptbench_stats::block_order;
use proptest::prelude::*;

/// A recorded seed must repeat its schedule with every later version.
#[test]
fn recorded_seeds_repeat() {
    let orders: Vec<Vec<usize>> = (0..6).map(|block| block_order(42, 1, block, 3)).collect();
    assert_eq!(orders, RECORDED);
}

const RECORDED: [[usize; 3]; 6] =
    [[1, 2, 0], [2, 0, 1], [0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]];

#[test]
fn two_arms_run_as_abba_or_baab_about_equally_often() {
    let mut abba = 0;
    for seed in 0..1000 {
        let (first, second) = (block_order(seed, 0, 0, 2), block_order(seed, 0, 1, 2));
        match (first.as_slice(), second.as_slice()) {
            ([0, 1], [1, 0]) => abba += 1,
            ([1, 0], [0, 1]) => {}
            other => panic!("neither ABBA nor BAAB: {other:?}"),
        }
    }
    // 1000 fair coins: 500 ± 5 standard deviations of 15.8.
    assert!((421..=579).contains(&abba), "{abba} of 1000");
}

/// Which arm starts is uniform: chi-square with 3 degrees of freedom, below its 99.99 % point 21.1.
#[test]
fn every_arm_starts_equally_often() {
    let mut starts = [0.0; 4];
    for seed in 0..2000 {
        starts[block_order(seed, 7, 5, 4)[0]] += 1.0;
    }
    let chi_square: f64 = starts.iter().map(|n: &f64| (n - 500.0).powi(2) / 500.0).sum();
    assert!(chi_square < 21.1, "{starts:?}");
}

#[test]
fn workloads_and_seeds_have_orders_of_their_own() {
    let run =
        |seed, workload| -> Vec<_> { (0..30).map(|b| block_order(seed, workload, b, 3)).collect() };
    assert_ne!(run(1, 0), run(1, 1));
    assert_ne!(run(1, 0), run(2, 0));
    assert_ne!(run(1, 2), run(2, 1));
}

#[test]
fn degenerate_arm_counts() {
    assert_eq!(block_order(1, 1, 1, 0), Vec::<usize>::new());
    assert_eq!(block_order(1, 1, 1, 1), [0]);
}

proptest! {
    #[test]
    fn every_arm_takes_every_position_once_per_group(
        seed in any::<u64>(), workload in any::<u64>(), group in 0..1_000_000u32, arms in 2..12usize,
    ) {
        let orders = group_orders(seed, workload, group, arms);
        for position in 0..arms {
            let mut there: Vec<usize> = orders.iter().map(|order| order[position]).collect();
            there.sort_unstable();
            prop_assert_eq!(there, (0..arms).collect::<Vec<_>>());
        }
        for order in &orders {
            let mut arms_run = order.clone();
            arms_run.sort_unstable();
            prop_assert_eq!(arms_run, (0..arms).collect::<Vec<_>>());
        }
        prop_assert_eq!(&orders, &group_orders(seed, workload, group, arms));
    }

    /// Each arm directly follows each other arm equally often: once per group of an even number of
    /// arms, twice per two groups of an odd number.
    #[test]
    fn carry_over_is_balanced(
        seed in any::<u64>(), workload in any::<u64>(), group in 0..1_000_000u32, arms in 2..12usize,
    ) {
        let odd = arms % 2 == 1;
        let mut orders = group_orders(seed, workload, if odd { group * 2 } else { group }, arms);
        if odd {
            orders.extend(group_orders(seed, workload, group * 2 + 1, arms));
        }
        let mut follows = vec![vec![0; arms]; arms];
        for order in &orders {
            for pair in order.windows(2) {
                follows[pair[0]][pair[1]] += 1;
            }
        }
        for (before, row) in follows.iter().enumerate() {
            for (after, &times) in row.iter().enumerate() {
                let expected = if before == after { 0 } else if odd { 2 } else { 1 };
                prop_assert_eq!(times, expected, "{} after {}", after, before);
            }
        }
    }
}

fn group_orders(seed: u64, workload: u64, group: u32, arms: usize) -> Vec<Vec<usize>> {
    let first = group * arms as u32;
    (first..first + arms as u32).map(|block| block_order(seed, workload, block, arms)).collect()
}
