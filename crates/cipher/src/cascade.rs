//! Cascades: several keyed kernels one after another, each with its own keys and tweaks.

use crate::kernel::{Buffer, Run, UnitKernel};

/// Bytes that pass through all stages before the next ones: source and result stay in the L1 cache.
const PIECE: usize = 8 * 1024;

/// Stages in encryption order.
pub(crate) struct Cascade {
    stages: Vec<Box<dyn UnitKernel>>,
}

impl Cascade {
    /// `stages` in encryption order, at least one.
    pub(crate) fn new(stages: Vec<Box<dyn UnitKernel>>) -> Self {
        Self { stages }
    }

    /// Calls `each` on pieces of whole units, with the run of each.
    fn pieces(run: Run, mut buffer: Buffer<'_>, each: impl Fn(Run, Buffer<'_>)) {
        let unit = run.layout.data_unit;
        let units = (PIECE / unit).max(1);
        let total = buffer.len();
        for (index, start) in (0..total).step_by(units * unit).enumerate() {
            let end = total.min(start + units * unit);
            each(run.after(index * units), buffer.part(start..end));
        }
    }
}

impl UnitKernel for Cascade {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        Self::pieces(run, buffer, |run, mut piece| {
            let mut stages = self.stages.iter();
            if let Some(first) = stages.next() {
                let whole = 0..piece.len();
                first.encrypt_units(run, piece.part(whole));
            }
            for stage in stages {
                stage.encrypt_units(run, Buffer::in_place(piece.dst()));
            }
        });
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        Self::pieces(run, buffer, |run, mut piece| {
            let mut stages = self.stages.iter().rev();
            if let Some(last) = stages.next() {
                let whole = 0..piece.len();
                last.decrypt_units(run, piece.part(whole));
            }
            for stage in stages {
                stage.decrypt_units(run, Buffer::in_place(piece.dst()));
            }
        });
    }

    /// The first stage's kernel; all stages were built for one tier.
    fn name(&self) -> &'static str {
        self.stages.first().map_or("none", |stage| stage.name())
    }
}
