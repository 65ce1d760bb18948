//! Sizes in bytes: the needs of workloads, and what a run creates in addition to the active range.

use cryptbench_load::{BlockWork, FileUse, Pattern, Work, WorkloadSpec};
use cryptbench_system::{ArmSpec, find};

use super::arms::makes_a_disk;

/// Smallest scratch file for these workloads in bytes. A workload that does not specify a size needs eight requests
/// for random patterns, so that offsets can differ, and one request for other patterns.
pub(crate) fn least_scratch(workloads: &[WorkloadSpec]) -> u64 {
    let need = |work: &Work| match work {
        Work::Block(b) => match b.file {
            FileUse::Scratch(Some(bytes)) => bytes,
            FileUse::Scratch(None) => match b.pattern {
                Pattern::Random | Pattern::Zipf { .. } | Pattern::Permutation => 8 * b.block_size,
                _ => b.block_size,
            },
            FileUse::Fresh(_) => 0,
        },
        Work::Files(_) | Work::Unlock(_) => 0,
    };
    workloads.iter().map(|w| need(&w.work)).max().unwrap_or(0)
}

/// Maximum number of bytes that the new files of these workloads occupy at any time, in addition to the scratch
/// file.
pub(crate) fn file_space(workloads: &[WorkloadSpec]) -> u64 {
    let mut fresh = 0;
    let mut sets: Vec<(u32, u64)> = Vec::new();
    for workload in workloads {
        match &workload.work {
            Work::Block(BlockWork { file: FileUse::Fresh(bytes), .. }) => fresh = fresh.max(*bytes),
            Work::Files(files) => {
                // 4 KiB blocks and an inode for each file, and twice the mean size, because sizes vary.
                let set = (files.count, 2 * files.sizes.mean() + 8192);
                if !sets.contains(&set) {
                    sets.push(set);
                }
            }
            Work::Block(_) | Work::Unlock(_) => {}
        }
    }
    fresh + sets.iter().map(|(count, bytes)| u64::from(*count) * bytes).sum::<u64>()
}

/// Total size of the containers that systems create one after the other, each for `len` bytes of files, if `free`
/// bytes are free.
pub(crate) fn containers(arms: &[ArmSpec], len: u64, free: u64) -> u64 {
    let mut sum = 0;
    for arm in arms.iter().filter(|arm| makes_a_disk(arm)) {
        let left = free.saturating_sub(sum + len);
        sum += find(arm.system).map_or(0, |system| system.footprint(len, left));
    }
    sum
}

/// Whether a workload creates its own files.
pub(crate) fn makes_files(work: &Work) -> bool {
    match work {
        Work::Block(block) => matches!(block.file, FileUse::Fresh(_)),
        Work::Files(_) => true,
        Work::Unlock(_) => false,
    }
}

/// Whether a workload's requests go to the active range.
pub(crate) fn uses_range(work: &Work) -> bool {
    matches!(work, Work::Block(block) if matches!(block.file, FileUse::Scratch(_)))
}
