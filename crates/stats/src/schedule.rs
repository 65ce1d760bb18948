//! The order of the arms inside each block: seeded, randomised, and balanced over positions.
//!
//! A slow drift (a disk that warms up, a write cache that drains) favours the arm that runs first. In each group of
//! as many blocks as there are arms, every arm therefore runs once in every position, so a linear drift inside the
//! blocks cancels from the mean. The seed determines which arm starts, so nothing periodic in the machine can align
//! with it. Two arms give ABBA or BAAB.
//!
//! The rows are those of a Williams design (Williams 1949, Aust. J. Chem. 2:149). With an even
//! number of arms, each arm follows each other arm exactly once in a group, which also balances
//! carry-over (the state in which one trial leaves the device's cache for the next). With an odd
//! number, this takes two consecutive groups, the second with mirrored rows.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The order in which `arms` arms (numbered from 0) run in block `block` of workload number
/// `workload`.
///
/// The result depends only on the arguments, so a run can be extended by further blocks, or repeated from the seed in
/// its record. Groups are aligned: blocks 0 to `arms` - 1 form the first group.
pub fn block_order(seed: u64, workload: u64, block: u32, arms: usize) -> Vec<usize> {
    if arms < 2 {
        return (0..arms).collect();
    }
    let size = arms as u64;
    let (group, row) = (u64::from(block) / size, (u64::from(block) % size) as usize);
    let odd = arms % 2 == 1;
    // The two groups of an odd design share their labels, because only together are they balanced.
    let design = if odd { group / 2 } else { group };
    let labels = permutation(&mut stream(seed, workload, design, *b"labels  "), arms);
    let shift = permutation(&mut stream(seed, workload, group, *b"rows    "), arms)[row];
    let mut order: Vec<usize> =
        (0..arms).map(|position| labels[(zigzag(position, arms) + shift) % arms]).collect();
    if odd && group % 2 == 1 {
        order.reverse();
    }
    order
}

/// The first row of a Williams design, 0, 1, n-1, 2, n-2, …; the differences between neighbouring entries are all
/// distinct.
fn zigzag(position: usize, arms: usize) -> usize {
    if position == 0 {
        0
    } else if position % 2 == 1 {
        position.div_ceil(2)
    } else {
        arms - position / 2
    }
}

/// The random stream for one purpose: the arguments form the key, so streams never overlap.
pub(crate) fn stream(seed: u64, workload: u64, group: u64, purpose: [u8; 8]) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&workload.to_le_bytes());
    key[16..24].copy_from_slice(&group.to_le_bytes());
    key[24..].copy_from_slice(&purpose);
    ChaCha8Rng::from_seed(key)
}

/// A uniformly random permutation of 0..n (Fisher-Yates).
///
/// This is not taken from a library, because a library's shuffle can change between versions, and a
/// recorded seed must reproduce its schedule for ever.
pub(crate) fn permutation(random: &mut ChaCha8Rng, n: usize) -> Vec<usize> {
    let mut items: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        items.swap(last, below(random, last as u64 + 1) as usize);
    }
    items
}

/// A uniform number in 0..bound, `bound` > 0; draws that would favour small numbers are rejected.
pub(crate) fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    let whole = u64::MAX - u64::MAX % bound;
    loop {
        let draw = random.next_u64();
        if draw < whole {
            return draw % bound;
        }
    }
}
