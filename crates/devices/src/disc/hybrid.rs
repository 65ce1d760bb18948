//! The flash of a hybrid drive: it stores data that is read repeatedly at random offsets, and serves further reads of
//! that data.

use std::collections::{HashMap, VecDeque};

use crate::model::{Hybrid, MIB};

/// Maximum number of granules in the table of counts. If this number is exceeded, the counts of all granules that are
/// not kept are reset to 0.
const COUNTED: usize = 1 << 20;

/// State of the flash.
#[derive(Clone, Debug)]
pub(super) struct HybridState {
    of: Hybrid,
    /// Number of reads of each granule; a granule is kept after `keep_after_reads` reads of it.
    reads: HashMap<u64, u32>,
    /// Granules that are kept, oldest first.
    kept: VecDeque<u64>,
}

impl HybridState {
    pub(super) fn new(of: Hybrid) -> Self {
        Self { of, reads: HashMap::new(), kept: VecDeque::new() }
    }

    /// The time at which the flash has the data for a read that arrives at `now`. If the flash does not store the data,
    /// counts the read and returns `None`.
    pub(super) fn read(&mut self, offset: u64, bytes: u64, now: f64) -> Option<f64> {
        let granule = self.of.granule_bytes;
        let granules = offset / granule..(offset + bytes).div_ceil(granule);
        let kept = |g: u64| self.reads.get(&g).is_some_and(|n| *n >= self.of.keep_after_reads);
        if granules.clone().all(kept) {
            return Some(now + self.of.read_us * 1e-6 + bytes as f64 / (self.of.read_mib_s * MIB));
        }
        if self.reads.len() > COUNTED {
            let kept = std::mem::take(&mut self.kept);
            self.reads.retain(|g, _| kept.contains(g));
            self.kept = kept;
        }
        for g in granules {
            let count = self.reads.entry(g).or_insert(0);
            *count += 1;
            if *count == self.of.keep_after_reads {
                self.kept.push_back(g);
            }
        }
        while self.kept.len() as u64 * granule > self.of.flash_bytes {
            if let Some(oldest) = self.kept.pop_front() {
                self.reads.remove(&oldest);
            }
        }
        None
    }
}
