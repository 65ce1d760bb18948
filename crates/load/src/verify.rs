//! Verifies that an I/O target contains all data whose writes were acknowledged.
//!
//! A map records each write that the storage acknowledged, with the generation of its job. A reader scans the extent
//! and compares the verify header of every sector with the map. A generation identifies a state of a block, so use
//! ascending generations for jobs that must be distinguished.
//!
//! The map contains the generation and seed of each job. If a write was acknowledged, a sector is correct if it
//! contains the data that this job wrote there. The sector is also correct if it contains data from a later job that
//! was stopped or failed before all of its writes were acknowledged. Without an acknowledged write, the old contents
//! are unknown. These contents may be anything except a sector that one of the jobs wrote for another offset.

mod judge;
mod map;
mod reader;

pub use self::map::Acknowledged;
pub(crate) use self::map::Traced;
use crate::SectorState;

/// Maximum number of findings that a [`Verification`] keeps.
const FINDINGS: usize = 16;

cryptbench_catalog::named! {
    /// The fault of a sector whose write was acknowledged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Fault {
        /// The sector is intact, but contains data that the last acknowledged write should have replaced: an older
        /// state, or data that none of the jobs wrote. A second read returns the same data, so the write never
        /// reached the storage.
        Lost = "lost",
        /// The sector is intact, but older than a single lost write explains. Either the sector is older than the state
        /// before the last write, or a second read returned the data that the first read should have returned.
        Stale = "stale",
        /// The sector is intact, but belongs to another offset: a write or a read was misdirected.
        Misplaced = "misplaced",
        /// The bytes differ from the written bytes.
        Damaged = "damaged",
        /// The sector is intact, but its state differs from that of other sectors in the same block that were
        /// acknowledged together: only a part of the write reached the storage.
        Torn = "torn",
        /// All zeros: the sector was never written, or was discarded.
        Blank = "blank",
        /// Data from another source, or ciphertext that was not decrypted.
        Unmarked = "unmarked",
    }
}

/// A sector with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Offset in bytes from the start of the extent.
    pub offset: u64,
    /// The fault.
    pub fault: Fault,
    /// The last generation that was acknowledged at this offset, if any.
    pub acknowledged: Option<u64>,
    /// The state found.
    pub found: SectorState,
}

/// The result of a verification, in sectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Sectors in the acknowledged state, or in the state of a later write whose job was stopped or failed.
    pub valid: u64,
    /// Sectors without an acknowledged write, unless they contain data that was written for another offset.
    pub unwritten: u64,
    /// [`Fault::Lost`].
    pub lost: u64,
    /// [`Fault::Stale`].
    pub stale: u64,
    /// [`Fault::Misplaced`].
    pub misplaced: u64,
    /// [`Fault::Damaged`].
    pub damaged: u64,
    /// [`Fault::Torn`].
    pub torn: u64,
    /// [`Fault::Blank`].
    pub blank: u64,
    /// [`Fault::Unmarked`].
    pub unmarked: u64,
    /// The first faulty sectors, ordered by offset.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Number of faulty sectors.
    pub fn faults(&self) -> u64 {
        let Self { lost, stale, misplaced, damaged, torn, blank, unmarked, .. } = self;
        lost + stale + misplaced + damaged + torn + blank + unmarked
    }

    fn note(&mut self, finding: Finding) {
        let count = match finding.fault {
            Fault::Lost => &mut self.lost,
            Fault::Stale => &mut self.stale,
            Fault::Misplaced => &mut self.misplaced,
            Fault::Damaged => &mut self.damaged,
            Fault::Torn => &mut self.torn,
            Fault::Blank => &mut self.blank,
            Fault::Unmarked => &mut self.unmarked,
        };
        *count += 1;
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }
}
