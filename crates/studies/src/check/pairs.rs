//! Finds numbers that belong together: pairs that differ in the selected property, and groups along
//! a dimension.

use std::collections::BTreeMap;

use crate::observation::{Dimension, Observation, Select};

/// Two numbers of one cell.
pub(super) struct Pair<'a> {
    /// The shared properties, in words.
    pub cell: String,
    pub base: &'a Observation,
    pub other: &'a Observation,
}

/// Every pair of a number in `base` and a number in `other` that have the same block size and the same values in
/// all dimensions that both selections treat alike.
pub(super) fn pairs<'a>(all: &'a [Observation], base: &Select, other: &Select) -> Vec<Pair<'a>> {
    let same: Vec<Dimension> =
        Dimension::ALL.iter().copied().filter(|d| !base.differs(other, *d)).collect();
    let alike = |a: &Observation, b: &Observation| {
        a.block == b.block && same.iter().all(|d| a.about(*d) == b.about(*d))
    };
    let others = other.of(all);
    let mut found = Vec::new();
    for base in base.of(all) {
        for other in others.iter().filter(|o| alike(base, o)) {
            let cell = words(base, other);
            found.push(Pair { cell, base, other });
        }
    }
    found
}

/// Groups of numbers that differ only along one dimension, with their shared properties in words. Omits groups with
/// a single number.
pub(super) fn groups<'a>(
    all: &'a [Observation],
    among: &Select,
    along: Dimension,
) -> Vec<(String, Vec<&'a Observation>)> {
    let mut groups: BTreeMap<_, Vec<&Observation>> = BTreeMap::new();
    for o in among.of(all) {
        let mut about = o.about.clone();
        about[along as usize].clear();
        groups.entry((about, o.block)).or_default().push(o);
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .map(|group| (words(group[0], group[1]), group))
        .collect()
}

/// The properties that two numbers share, in words.
fn words(a: &Observation, b: &Observation) -> String {
    let about = a.about.iter().zip(&b.about).filter(|(a, b)| a == b && !a.is_empty());
    let mut words: Vec<String> = about.map(|(a, _)| a.clone()).collect();
    words.extend(a.block.map(size));
    words.join(", ")
}

/// Formats bytes as ATTO prints them.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        b if b.is_multiple_of(1 << 20) => format!("{} MB", b >> 20),
        b if b.is_multiple_of(1 << 10) => format!("{} KB", b >> 10),
        b => format!("{b} B"),
    }
}
