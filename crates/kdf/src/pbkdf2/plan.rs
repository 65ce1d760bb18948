//! Assigns blocks to kernels: the cheapest cover, divided among threads if that is faster.

use super::{Hash, Kernel};

/// While more blocks than this remain, they are assigned to the kernel with the lowest cost per block, without a
/// search.
const SEARCHED: usize = 64;

/// Blocks that one kernel processes in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// Index in the list of kernels.
    pub(super) kernel: usize,
    /// Number of blocks, from 1 to the number of the kernel's lanes.
    pub(super) blocks: usize,
}

/// The groups of each thread, in the order of the blocks. Threads are added only as long as they make the job faster.
pub(super) fn groups<H: Hash>(
    kernels: &[Kernel<H>],
    blocks: usize,
    threads: usize,
) -> Vec<Vec<Group>> {
    let kernels: Vec<(usize, u32)> =
        kernels.iter().map(|kernel| (kernel.lanes, kernel.cost)).collect();
    shares(&kernels, blocks, threads)
}

/// Like [`groups`], with kernels as pairs of lanes and cost.
fn shares(kernels: &[(usize, u32)], blocks: usize, threads: usize) -> Vec<Vec<Group>> {
    let mut best: Option<(u64, usize)> = None;
    for threads in 1..=threads.clamp(1, blocks.max(1)) {
        let cost = cover(kernels, blocks.div_ceil(threads)).1;
        // An additional thread must save enough time to justify starting it.
        if best.is_none_or(|(least, _)| cost + cost / 16 < least) {
            best = Some((cost, threads));
        }
    }
    let threads = best.map_or(1, |(_, threads)| threads);
    (0..threads)
        .map(|index| blocks * (index + 1) / threads - blocks * index / threads)
        .map(|share| cover(kernels, share).0)
        .collect()
}

/// The cheapest groups for `blocks` blocks, and their cost.
fn cover(kernels: &[(usize, u32)], blocks: usize) -> (Vec<Group>, u64) {
    let mut groups = Vec::new();
    let mut cost = 0;
    let cheapest = (0..kernels.len())
        .min_by(|&a, &b| {
            let each = |(lanes, cost): (usize, u32)| f64::from(cost) / lanes as f64;
            each(kernels[a]).total_cmp(&each(kernels[b]))
        })
        .unwrap_or(0);
    let mut left = blocks;
    while left > SEARCHED {
        let lanes = kernels[cheapest].0;
        groups.push(Group { kernel: cheapest, blocks: lanes });
        cost += u64::from(kernels[cheapest].1);
        left -= lanes;
    }
    // The lowest cost for 0, 1, 2 ... blocks, each with the last kernel in the cheapest cover.
    let mut least = vec![(0, 0)];
    for count in 1..=left {
        let choice = kernels
            .iter()
            .enumerate()
            .map(|(index, &(lanes, cost))| {
                (least[count - lanes.min(count)].0 + u64::from(cost), index)
            })
            .min();
        least.push(choice.unwrap_or_default());
    }
    cost += least[left].0;
    while left > 0 {
        let kernel = least[left].1;
        let blocks = kernels[kernel].0.min(left);
        groups.push(Group { kernel, blocks });
        left -= blocks;
    }
    (groups, cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: [(usize, u32); 3] = [(1, 10), (4, 15), (8, 28)];

    #[test]
    fn the_cheapest_cover_wins() {
        let names = |blocks| -> Vec<usize> {
            let mut kernels: Vec<usize> =
                cover(&KERNELS, blocks).0.iter().map(|group| group.kernel).collect();
            kernels.sort_unstable();
            kernels
        };
        assert_eq!(names(0), []);
        assert_eq!(names(1), [0]);
        assert_eq!(names(3), [1]);
        assert_eq!(names(5), [0, 1]);
        assert_eq!(names(7), [2]);
        assert_eq!(names(9), [0, 2]);
        assert_eq!(names(16), [2, 2]);
    }

    #[test]
    fn every_block_is_taken_once_and_no_thread_is_useless() {
        for blocks in (0..40).chain([63, 64, 65, 200]) {
            for threads in 0..6 {
                let shares = shares(&KERNELS, blocks, threads);
                assert!((1..=threads.max(1)).contains(&shares.len()));
                let all: Vec<Group> = shares.concat();
                assert_eq!(all.iter().map(|group| group.blocks).sum::<usize>(), blocks);
                for group in all {
                    assert!((1..=KERNELS[group.kernel].0).contains(&group.blocks));
                }
                assert!(shares.len() == 1 || shares.iter().all(|share| !share.is_empty()));
            }
        }
        // Three blocks fit in one vector: a second thread would only heat.
        assert_eq!(shares(&KERNELS, 3, 2).len(), 1);
        assert_eq!(shares(&KERNELS, 16, 2).len(), 2);
    }
}
