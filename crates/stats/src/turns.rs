//! The order of the slices of a block: seeded, random, and balanced over time and over the preceding slices.
//!
//! The after-effects of a slice (a full cache, a raised clock rate) affect the next one. If every arm follows every
//! arm equally often, including itself, all are affected equally, and their ratios are unaffected. In a plain
//! shuffle, an arm follows itself less often than it follows the others, so an arm with large after-effects would
//! suffer least from them.
//!
//! A block consists of groups in which each arm has as many turns as there are arms, so every pair of neighbours
//! occurs once. A drift that is slower than a group therefore also cancels. A group is a serially balanced sequence
//! (Finney and Outhwaite 1956, Proc. R. Soc. B 145:493): a closed walk over a graph with an edge for every pair.
//! The walk is drawn uniformly, as Kandel, Matias, Unger and Winkler do (1996, Discrete Appl. Math. 71:171): each
//! arm's last exit leads towards the start, and its other exits are in any order. All groups start with the same
//! arm, so the step that closes the walk leads to the next group.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use crate::schedule::{below, permutation, stream};

/// The order of the slices of a block in which each of `arms` arms (numbered from 0) has `rounds` turns.
///
/// Every arm follows every arm, including itself, `rounds / arms` times, rounded down or up; one pair of neighbours
/// is missing, because the end and the start of the block are not adjacent. With fewer rounds than arms, some arms
/// never follow some others.
pub fn slice_order(seed: u64, workload: u64, block: u32, arms: usize, rounds: usize) -> Vec<usize> {
    if arms < 2 {
        return vec![0; arms * rounds];
    }
    let mut random = stream(seed, workload, u64::from(block), *b"slices  ");
    let labels = permutation(&mut random, arms);
    let mut order = Vec::with_capacity(arms * rounds);
    let mut left = rounds;
    while left > 0 {
        // The last group also has the remaining turns.
        let turns = if left < 2 * arms { left } else { arms };
        order.extend(closed_walk(&mut random, arms, turns).into_iter().map(|arm| labels[arm]));
        left -= turns;
    }
    order
}

/// A closed walk from arm 0 that visits each arm `turns` times.
fn closed_walk(random: &mut ChaCha8Rng, arms: usize, turns: usize) -> Vec<usize> {
    let mut exits = exits(random, arms, turns);
    leave_last_towards_0(&mut exits, random);
    let mut walk = Vec::with_capacity(arms * turns);
    let mut at = 0;
    while let Some(next) = exits[at].pop_front() {
        walk.push(at);
        at = next;
    }
    walk
}

/// For each arm, the arms that follow it, in random order.
///
/// Arm `a` is followed by `a + shift` for each of `turns` shifts, in which every value from 0 to `arms` - 1 occurs
/// equally often. As a result, an arm is entered as often as it is left, and a closed walk exists as soon as all arms
/// are connected.
fn exits(random: &mut ChaCha8Rng, arms: usize, turns: usize) -> Vec<VecDeque<usize>> {
    let shifts = loop {
        let mut shifts: Vec<usize> = (0..turns / arms * arms).map(|turn| turn % arms).collect();
        shifts.extend(permutation(random, arms).into_iter().take(turns % arms));
        if shifts.iter().fold(arms, |common, &shift| divisor(common, shift)) == 1 {
            break shifts;
        }
    };
    (0..arms)
        .map(|arm| {
            let order = permutation(random, turns);
            order.into_iter().map(|turn| (arm + shifts[turn]) % arms).collect()
        })
        .collect()
}

/// Reorders `exits` so that the last exits of all other arms lead to arm 0. Otherwise, a walk could return to arm 0 for
/// the last time before all exits are used.
fn leave_last_towards_0(exits: &mut [VecDeque<usize>], random: &mut ChaCha8Rng) {
    let arms = exits.len();
    // About one draw in `arms` is a tree; redrawing it completely makes all trees equally likely.
    let last = loop {
        let last: Vec<usize> =
            exits.iter().map(|of| below(random, of.len() as u64) as usize).collect();
        let arrives = |arm: usize| {
            let path = std::iter::successors(Some(arm), |&at| Some(exits[at][last[at]]));
            path.take(arms).any(|at| at == 0)
        };
        if (1..arms).all(arrives) {
            break last;
        }
    };
    for (of, last) in exits.iter_mut().zip(last).skip(1) {
        let end = of.len() - 1;
        of.swap(last, end);
    }
}

/// The greatest common divisor.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { divisor(b, a % b) }
}
