//! Cascades: several kernels in sequence, each with its own keys.

use std::sync::{Mutex, PoisonError};

use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// Size of a piece in bytes. All stages process a piece before the next piece is started, so that source and result
/// stay in the L1 cache.
const PIECE: usize = 8 * 1024;

/// The stages in encryption order, each with its own mode and tweaks.
pub(crate) struct Cascade {
    stages: Vec<Box<dyn UnitKernel>>,
    name: &'static str,
}

impl Cascade {
    /// `stages` must be in encryption order and must not be empty.
    pub(crate) fn new(stages: Vec<Box<dyn UnitKernel>>) -> Self {
        let name = joined(stages.iter().map(|stage| stage.name()));
        Self { stages, name }
    }

    /// Splits the buffer into pieces of a whole number of units, and calls `pass` on each piece for every stage in
    /// turn. All stages except the first work in place.
    fn each<'a>(
        run: Run,
        mut buffer: Buffer<'_>,
        stages: &(impl Iterator<Item = &'a Box<dyn UnitKernel>> + Clone),
        pass: impl Fn(&dyn UnitKernel, Run, Buffer<'_>),
    ) {
        let unit = run.layout.data_unit;
        let units = (PIECE / unit).max(1);
        let total = buffer.len();
        for (index, start) in (0..total).step_by(units * unit).enumerate() {
            let run = run.after(index * units);
            let mut piece = buffer.part(start..total.min(start + units * unit));
            let whole = 0..piece.len();
            let mut stages = stages.clone();
            if let Some(first) = stages.next() {
                pass(&**first, run, piece.part(whole));
            }
            for stage in stages {
                pass(&**stage, run, Buffer::in_place(piece.dst()));
            }
        }
    }
}

impl UnitKernel for Cascade {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        let stages = self.stages.iter();
        Self::each(run, buffer, &stages, |stage, run, piece| stage.encrypt_units(run, piece));
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        let stages = self.stages.iter().rev();
        Self::each(run, buffer, &stages, |stage, run, piece| stage.decrypt_units(run, piece));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        for stage in &self.stages {
            tell(&**stage, visit);
            stage.visit_keys(visit);
        }
    }

    /// The distinct kernels of the stages in encryption order, such as `avx2+vaes-avx2`.
    fn name(&self) -> &'static str {
        self.name
    }
}

/// Block ciphers in encryption order, within one mode.
pub(crate) struct Chain<const N: usize> {
    stages: Vec<Box<dyn BlockKernel<N>>>,
    name: &'static str,
}

impl<const N: usize> Chain<N> {
    /// `stages` must be in encryption order and must not be empty.
    pub(crate) fn new(stages: Vec<Box<dyn BlockKernel<N>>>) -> Self {
        let name = joined(stages.iter().map(|stage| stage.name()));
        Self { stages, name }
    }
}

impl<const N: usize> BlockKernel<N> for Chain<N> {
    fn parallel(&self) -> usize {
        self.stages.iter().map(|stage| stage.parallel()).max().unwrap_or(1)
    }

    fn encrypt(&self, blocks: &mut [[u8; N]]) {
        self.stages.iter().for_each(|stage| stage.encrypt(blocks));
    }

    fn decrypt(&self, blocks: &mut [[u8; N]]) {
        self.stages.iter().rev().for_each(|stage| stage.decrypt(blocks));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        for stage in &self.stages {
            tell(&**stage, visit);
            stage.visit_keys(visit);
        }
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Distinct names in order, joined by `+`. New strings remain allocated until the process exits; there are only a few
/// combinations of kernels.
pub(crate) fn joined(names: impl Iterator<Item = &'static str>) -> &'static str {
    static KNOWN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    if let [only] = distinct[..] {
        return only;
    }
    let name = distinct.join("+");
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.iter().find(|known| **known == name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    known.push(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_names_are_distinct_and_kept_once() {
        assert_eq!(joined(["a", "a"].into_iter()), "a");
        let first = joined(["a", "b", "a", "c"].into_iter());
        assert_eq!(first, "a+b+c");
        assert!(std::ptr::eq(first, joined(["a", "b", "c"].into_iter())));
        assert_eq!(joined(["b", "a"].into_iter()), "b+a");
    }
}
