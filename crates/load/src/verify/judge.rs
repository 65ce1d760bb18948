//! Finds faults in a unit from its bytes, its history and the jobs that wrote it. Does not perform I/O.

use super::map::{History, Writer};
use super::{Fault, Finding, Verification};
use crate::{SECTOR, SectorState, verify_sector};

/// Judges units by comparing them with the data that the jobs may have left in them.
pub(super) struct Judge {
    pub(super) writers: Vec<Writer>,
}

/// The content of an intact sector of a unit: the expected state, or the generation of another state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    Right,
    Other(u64),
}

impl Judge {
    /// Whether a second read might return different data for any sector of a unit.
    pub(super) fn is_outdated(&self, data: &[u8], offset: u64, history: History) -> bool {
        sectors(data, offset).any(|(_, state)| self.is_other(state, history))
    }

    /// Judges the unit at `offset`, read as `data`. `again` is a second read, made if the first read was
    /// [outdated](Self::is_outdated).
    pub(super) fn written(
        &self,
        data: &[u8],
        again: Option<&[u8]>,
        offset: u64,
        history: History,
        into: &mut Verification,
    ) {
        let mut shown = sectors(data, offset).filter_map(|(_, s)| self.shows(s, history));
        let first = shown.next();
        let mixed = shown.any(|s| Some(s) != first);
        for (at, found) in sectors(data, offset) {
            let fault = match (self.shows(found, history), found) {
                (Some(Shows::Right), _) => {
                    into.valid += 1;
                    continue;
                }
                (Some(Shows::Other(generation)), _) => {
                    let healed = again.is_some_and(|again| {
                        let from = (at - offset) as usize;
                        !self.is_other(verify_sector(&again[from..from + SECTOR], at), history)
                    });
                    if healed {
                        Fault::Stale
                    } else if mixed {
                        Fault::Torn
                    } else if history.before.is_some_and(|before| generation < before) {
                        Fault::Stale
                    } else {
                        Fault::Lost
                    }
                }
                (None, SectorState::Misplaced { .. }) => Fault::Misplaced,
                (None, SectorState::Damaged) => Fault::Damaged,
                (None, SectorState::Blank) => Fault::Blank,
                (None, _) => Fault::Unmarked,
            };
            into.note(Finding { offset: at, fault, acknowledged: Some(history.last), found });
        }
    }

    /// Judges a unit without an acknowledged write.
    pub(super) fn unwritten(&self, data: &[u8], offset: u64, into: &mut Verification) {
        for (at, found) in sectors(data, offset) {
            let SectorState::Misplaced { generation, seed, .. } = found else {
                into.unwritten += 1;
                continue;
            };
            if self.writer(generation, seed).is_none() {
                into.unwritten += 1;
                continue;
            }
            let fault = Fault::Misplaced;
            into.note(Finding { offset: at, fault, acknowledged: None, found });
        }
    }

    fn writer(&self, generation: u64, seed: u32) -> Option<&Writer> {
        self.writers.iter().find(|w| (w.generation, w.seed) == (generation, seed))
    }

    /// `None` if the sector is not intact. The acknowledged state is correct, and so is a state that a later job may
    /// have left, unless all writes of that job were acknowledged.
    fn shows(&self, state: SectorState, history: History) -> Option<Shows> {
        let SectorState::Valid { generation, seed } = state else { return None };
        let right = self.writer(generation, seed).is_some_and(|writer| {
            generation == history.last || generation > history.last && writer.open
        });
        Some(if right { Shows::Right } else { Shows::Other(generation) })
    }

    fn is_other(&self, state: SectorState, history: History) -> bool {
        matches!(self.shows(state, history), Some(Shows::Other(_)))
    }
}

fn sectors(data: &[u8], offset: u64) -> impl Iterator<Item = (u64, SectorState)> {
    data.chunks_exact(SECTOR).enumerate().map(move |(i, sector)| {
        let at = offset + (i * SECTOR) as u64;
        (at, verify_sector(sector, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify_header::{HeaderWriter, fill_bodies};

    const OFFSET: u64 = 1 << 20;
    const HISTORY: History = History { last: 9, before: Some(5) };

    /// Four jobs of seed 1, the last one stopped.
    fn judge() -> Judge {
        let writer = |generation| Writer { generation, seed: 1, open: generation == 12 };
        Judge { writers: [2, 5, 9, 11, 12].map(writer).to_vec() }
    }

    /// Eight sectors of one job, written for `offset`.
    fn unit_of(generation: u64, seed: u64, offset: u64) -> Vec<u8> {
        let mut data = vec![0; 8 * SECTOR];
        fill_bodies(&mut data, generation, 0);
        HeaderWriter::new(generation, seed).write_headers(&mut data, offset);
        data
    }

    fn unit(generation: u64, offset: u64) -> Vec<u8> {
        unit_of(generation, 1, offset)
    }

    fn faults(data: &[u8], again: Option<&[u8]>) -> Vec<(Fault, u64)> {
        let mut found = Verification::default();
        judge().written(data, again, OFFSET, HISTORY, &mut found);
        assert_eq!(found.faults() + found.valid, 8);
        assert_eq!(found.findings.len() as u64, found.faults());
        let mut faults: Vec<(Fault, u64)> = Vec::new();
        for finding in found.findings {
            match faults.iter_mut().find(|(f, _)| *f == finding.fault) {
                Some((_, n)) => *n += 1,
                None => faults.push((finding.fault, 1)),
            }
        }
        faults
    }

    #[test]
    fn the_acknowledged_and_what_was_under_way_are_valid() {
        assert!(faults(&unit(9, OFFSET), None).is_empty());
        assert!(faults(&unit(12, OFFSET), None).is_empty());
        let part = [&unit(12, OFFSET)[..1024], &unit(9, OFFSET)[1024..]].concat();
        assert!(faults(&part, None).is_empty(), "a write in flight may be torn");
    }

    /// Sound sectors that none of the jobs can have left here.
    #[test]
    fn what_no_job_can_have_left_is_a_lost_write() {
        for (generation, seed, what) in [
            (9, 2, "the right generation of another run"),
            (12, 2, "a newer generation of another run"),
            (40, 1, "a generation that was never run"),
            (11, 1, "a job all of whose writes were acknowledged elsewhere"),
            (5, 2, "an older state of another run"),
        ] {
            let foreign = unit_of(generation, seed, OFFSET);
            assert!(judge().is_outdated(&foreign, OFFSET, HISTORY), "{what}");
            assert_eq!(faults(&foreign, Some(&foreign)), [(Fault::Lost, 8)], "{what}");
            let part = [&foreign[..1024], &unit(9, OFFSET)[1024..]].concat();
            assert_eq!(faults(&part, Some(&part)), [(Fault::Torn, 2)], "{what}");
        }
    }

    #[test]
    fn where_nothing_was_written_only_strays_are_faults() {
        let unwritten = |data: &[u8]| {
            let mut found = Verification::default();
            judge().unwritten(data, OFFSET, &mut found);
            assert!(found.findings.iter().all(|f| f.acknowledged.is_none()));
            (found.unwritten, found.misplaced, found.faults())
        };
        for data in [
            unit(9, OFFSET),
            unit_of(77, 3, OFFSET),
            unit_of(9, 3, 512),
            vec![0; 4096],
            vec![7; 4096],
        ] {
            assert_eq!(unwritten(&data), (8, 0, 0));
        }
        assert_eq!(unwritten(&unit(9, 512)), (0, 8, 8), "our job wrote it for another place");
    }

    #[test]
    fn one_lost_write_leaves_the_one_before() {
        let old = unit(5, OFFSET);
        assert!(judge().is_outdated(&old, OFFSET, HISTORY));
        assert_eq!(faults(&old, Some(&old)), [(Fault::Lost, 8)]);
    }

    #[test]
    fn what_a_second_read_heals_or_is_older_still_is_stale() {
        let (old, older) = (unit(5, OFFSET), unit(2, OFFSET));
        assert_eq!(faults(&old, Some(&unit(9, OFFSET))), [(Fault::Stale, 8)]);
        assert_eq!(faults(&older, Some(&older)), [(Fault::Stale, 8)]);
    }

    #[test]
    fn part_of_a_write_is_torn() {
        let torn = [&unit(9, OFFSET)[..5 * SECTOR], &unit(5, OFFSET)[5 * SECTOR..]].concat();
        assert_eq!(faults(&torn, Some(&torn)), [(Fault::Torn, 3)]);
        let older = [&unit(5, OFFSET)[..SECTOR], &unit(2, OFFSET)[SECTOR..]].concat();
        assert_eq!(faults(&older, Some(&older)), [(Fault::Torn, 8)], "two writes, both torn");
    }

    #[test]
    fn other_faults_have_their_names() {
        assert_eq!(faults(&unit(9, 512), None), [(Fault::Misplaced, 8)]);
        assert_eq!(faults(&[0; 8 * SECTOR], None), [(Fault::Blank, 8)]);
        assert_eq!(faults(&[7; 8 * SECTOR], None), [(Fault::Unmarked, 8)]);
        let mut flipped = unit(9, OFFSET);
        flipped[3 * SECTOR + 300] ^= 4;
        assert_eq!(faults(&flipped, None), [(Fault::Damaged, 1)]);
    }
}
