//! Finds the cells of two sets that measure the same work.

use crate::cell::{Cell, Key};

pub(super) struct Pairing<'a> {
    pub(super) both: Vec<(&'a Cell, &'a Cell)>,
    pub(super) only_a: Vec<&'a Cell>,
    pub(super) only_b: Vec<&'a Cell>,
}

/// Pairs equal keys first. Then pairs keys with the same values in all fields that both formats record, if exactly
/// one cell on each side matches.
pub(super) fn pair<'a>(a: &'a [Cell], b: &'a [Cell]) -> Pairing<'a> {
    let mut partner: Vec<Option<usize>> =
        a.iter().map(|x| b.iter().position(|y| y.key == x.key)).collect();
    let open = |partner: &[Option<usize>], j: usize| !partner.contains(&Some(j));
    for i in 0..a.len() {
        if partner[i].is_some() {
            continue;
        }
        let fits: Vec<usize> =
            (0..b.len()).filter(|j| open(&partner, *j) && agree(&a[i].key, &b[*j].key)).collect();
        let [j] = fits.as_slice() else { continue };
        let rivals =
            (0..a.len()).filter(|k| partner[*k].is_none() && agree(&a[*k].key, &b[*j].key));
        if rivals.count() == 1 {
            partner[i] = Some(*j);
        }
    }
    let both = (partner.iter().enumerate()).filter_map(|(i, j)| Some((&a[i], &b[(*j)?]))).collect();
    let only_a = (partner.iter().enumerate()).filter(|(_, j)| j.is_none()).map(|(i, _)| &a[i]);
    let only_b = (0..b.len()).filter(|j| open(&partner, *j)).map(|j| &b[j]).collect();
    Pairing { both, only_a: only_a.collect(), only_b }
}

fn agree(a: &Key, b: &Key) -> bool {
    fn known<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
        a.is_none() || b.is_none() || a == b
    }
    let any_pattern = a.pattern.is_empty() || b.pattern.is_empty();
    (any_pattern || a.pattern == b.pattern)
        && a.operation == b.operation
        && known(a.file_size.as_ref(), b.file_size.as_ref())
        && known(a.block_size.as_ref(), b.block_size.as_ref())
        && known(a.queue_depth.as_ref(), b.queue_depth.as_ref())
        && known(a.threads.as_ref(), b.threads.as_ref())
        && known(a.read_percent.as_ref(), b.read_percent.as_ref())
        && known(a.name.as_ref(), b.name.as_ref())
}
