//! Whether an I/O target holds what it acknowledged.
//!
//! Each write that the storage acknowledged is noted in a map, with the generation of its job. A reader
//! goes over the extent and holds the verify header of every sector against the map. One generation is one
//! state of a block: jobs that are to be told apart are run with ascending generations.
//!
//! The map knows generation and seed of each job. Where a write was acknowledged, only what that job wrote
//! there is right, or what a later one may have left there that was stopped or failed before all its writes
//! were acknowledged. Elsewhere lies what lay there before, which nobody knows; it may be anything but a
//! sector that one of the jobs wrote for another place.

mod judge;
mod map;
mod reader;

pub use self::map::Acknowledged;
pub(crate) use self::map::Traced;
use crate::SectorState;

/// Findings that a [`Verification`] keeps.
const FINDINGS: usize = 16;

/// What is wrong with a sector whose write was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// It holds, sound, what the last acknowledged write should have replaced (an older state, or something
    /// that none of the jobs wrote), and does so again when it is read a second time: that write never arrived.
    Lost,
    /// It is sound and older than one lost write explains: older than the write before the last one, or a
    /// second read found what the first one should have.
    Stale,
    /// It is sound and belongs elsewhere: a write or a read went astray.
    Misplaced,
    /// Its bytes are not those that were written.
    Damaged,
    /// It is sound and in another state than others of its block, which are acknowledged as one: part of a write
    /// arrived.
    Torn,
    /// All zeros: never written, or discarded.
    Blank,
    /// Foreign data, or ciphertext that was not opened.
    Unmarked,
}

/// A sector that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Bytes from the start of the extent.
    pub offset: u64,
    /// What is wrong.
    pub fault: Fault,
    /// The last generation whose write was acknowledged there, if any.
    pub acknowledged: Option<u64>,
    /// What was found.
    pub found: SectorState,
}

/// What a reader found, in sectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// As acknowledged, or of a later write that was under way when its job was stopped or failed.
    pub valid: u64,
    /// Where no write was acknowledged, and nothing lies that was written for another place.
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
    /// The first few sectors that are not as they should be, by place.
    pub findings: Vec<Finding>,
}

impl Fault {
    /// `lost`, `stale`, `misplaced`, `damaged`, `torn`, `blank` or `unmarked`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Stale => "stale",
            Self::Misplaced => "misplaced",
            Self::Damaged => "damaged",
            Self::Torn => "torn",
            Self::Blank => "blank",
            Self::Unmarked => "unmarked",
        }
    }
}

impl Verification {
    /// Sectors with a fault.
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
