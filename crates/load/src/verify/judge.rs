//! What is wrong with a unit, from its bytes and its history: no I/O.

use super::map::History;
use super::{Fault, Finding, Verification};
use crate::{SECTOR, SectorState, verify_sector};

/// Whether the sectors of a unit show anything that a second read might show differently.
pub(super) fn is_outdated(data: &[u8], offset: u64, history: History) -> bool {
    sectors(data, offset).any(|(_, state)| is_older(state, history))
}

/// Judges the unit that was read as `data` from `offset`, and a second time as `again` if the first
/// reading was [outdated](is_outdated).
pub(super) fn judge(
    data: &[u8],
    again: Option<&[u8]>,
    offset: u64,
    history: History,
    into: &mut Verification,
) {
    let generations: Vec<u64> = sectors(data, offset).filter_map(|(_, s)| generation(s)).collect();
    let newest = generations.iter().copied().max().unwrap_or(0);
    // Newer than acknowledged is alike to acknowledged: the write was under way.
    let alike = |g: u64| g.min(history.last);
    let mixed = generations.iter().any(|&g| alike(g) != alike(newest));
    for (at, found) in sectors(data, offset) {
        let fault = match found {
            SectorState::Valid { generation, .. } if generation >= history.last => {
                into.valid += 1;
                continue;
            }
            SectorState::Valid { generation, .. } => {
                let healed = again.is_some_and(|again| {
                    let from = (at - offset) as usize;
                    !is_older(verify_sector(&again[from..from + SECTOR], at), history)
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
            SectorState::Misplaced { .. } => Fault::Misplaced,
            SectorState::Damaged => Fault::Damaged,
            SectorState::Blank => Fault::Blank,
            SectorState::Unmarked => Fault::Unmarked,
        };
        into.note(Finding { offset: at, fault, acknowledged: history.last, found });
    }
}

fn sectors(data: &[u8], offset: u64) -> impl Iterator<Item = (u64, SectorState)> {
    data.chunks_exact(SECTOR).enumerate().map(move |(i, sector)| {
        let at = offset + (i * SECTOR) as u64;
        (at, verify_sector(sector, at))
    })
}

fn generation(state: SectorState) -> Option<u64> {
    match state {
        SectorState::Valid { generation, .. } => Some(generation),
        _ => None,
    }
}

fn is_older(state: SectorState, history: History) -> bool {
    generation(state).is_some_and(|g| g < history.last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::{Stamper, fill_bodies};

    const OFFSET: u64 = 1 << 20;
    const HISTORY: History = History { last: 9, before: Some(5) };

    /// Eight sectors of one generation, written for `offset`.
    fn unit(generation: u64, offset: u64) -> Vec<u8> {
        let mut data = vec![0; 8 * SECTOR];
        fill_bodies(&mut data, generation, 0);
        Stamper::new(generation, 1).stamp(&mut data, offset);
        data
    }

    fn faults(data: &[u8], again: Option<&[u8]>) -> Vec<(Fault, u64)> {
        let mut found = Verification::default();
        judge(data, again, OFFSET, HISTORY, &mut found);
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
        assert!(faults(&part, None).is_empty(), "a write under way may be torn");
    }

    #[test]
    fn one_lost_write_leaves_the_one_before() {
        let old = unit(5, OFFSET);
        assert!(is_outdated(&old, OFFSET, HISTORY));
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
