//! Verifies that an I/O target contains the data that it acknowledged.
//!
//! A map records each write that the storage acknowledged, with the generation of its job. A reader scans the
//! extent and compares the verify header of every sector with the map. One generation is one state of a block:
//! use ascending generations for jobs that must be distinguished.
//!
//! The map contains generation and seed of each job. If a write was acknowledged, a sector is correct if it
//! holds what that job wrote there. It is also correct if it holds what a later job may have written there that
//! was stopped or failed before all its writes were acknowledged. Elsewhere, the old contents are unknown. They
//! may be anything except a sector that one of the jobs wrote for another offset.

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
        /// The sector is sound but holds what the last acknowledged write should have replaced: an
        /// older state, or something that none of the jobs wrote. A second read finds the same, so that
        /// write never arrived.
        Lost = "lost",
        /// The sector is sound but older than one lost write explains. It is either older than the
        /// last write but one, or a second read found what the first one should have found.
        Stale = "stale",
        /// The sector is sound but belongs to another offset: a write or a read was misdirected.
        Misplaced = "misplaced",
        /// The bytes differ from those that were written.
        Damaged = "damaged",
        /// The sector is sound, but its state differs from that of other sectors in its block that
        /// were acknowledged together: only part of a write arrived.
        Torn = "torn",
        /// All zeros: never written, or discarded.
        Blank = "blank",
        /// Foreign data, or ciphertext that was not decrypted.
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
    /// The last generation acknowledged there, if any.
    pub acknowledged: Option<u64>,
    /// The state found.
    pub found: SectorState,
}

/// The result of a verification, in sectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Sectors in the acknowledged state, or in that of a later write in flight when its job was
    /// stopped or failed.
    pub valid: u64,
    /// Sectors without an acknowledged write, unless they contain data written for another offset.
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
    /// The first few sectors with a fault, by offset.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Number of sectors with a fault.
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
