//! XTS with tweaks that are not consecutive numbers: the other IV generators that dm-crypt can combine with XTS.

use super::iv::Ivs;
use crate::kernel::{BLOCK, Buffer, Run, UnitKernel, Visit, tell};

/// Number of data units for which IVs are generated together.
const UNITS: usize = 32;

/// XTS in which each data unit starts with an IV instead of its number.
pub(crate) struct XtsIv {
    pub(crate) kernel: Box<dyn UnitKernel>,
    pub(crate) ivs: Ivs<BLOCK>,
}

impl XtsIv {
    /// Calls `each` for every data unit, with its IV as the tweak.
    fn units(&self, run: Run, mut buffer: Buffer<'_>, each: impl Fn(Run, Buffer<'_>)) {
        let unit = run.layout.data_unit;
        let total = buffer.len() / unit;
        let mut ivs = [[0; BLOCK]; UNITS];
        for first in (0..total).step_by(UNITS) {
            let ivs = &mut ivs[..UNITS.min(total - first)];
            self.ivs.fill(run.after(first), ivs);
            for (index, iv) in (first..).zip(&*ivs) {
                let run = Run { first: u128::from_le_bytes(*iv), ..run };
                each(run, buffer.part(index * unit..(index + 1) * unit));
            }
        }
    }
}

impl UnitKernel for XtsIv {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.units(run, buffer, |run, unit| self.kernel.encrypt_units(run, unit));
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.units(run, buffer, |run, unit| self.kernel.decrypt_units(run, unit));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.kernel, visit);
        self.kernel.visit_keys(visit);
        self.ivs.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.kernel.name()
    }
}

/// XTS with the low 32 bits of the number as the tweak (`xts-plain`), which repeats after 2 TiB.
pub(crate) struct XtsPlain(pub(crate) Box<dyn UnitKernel>);

impl XtsPlain {
    /// Calls `each` for the pieces of the run between overflows; usually there is only one piece.
    fn pieces(mut run: Run, mut buffer: Buffer<'_>, each: impl Fn(Run, Buffer<'_>)) {
        let unit = run.layout.data_unit;
        let mut start = 0;
        while start < buffer.len() {
            run.first &= u128::from(u32::MAX);
            let left = (1_u128 << 32) - run.first;
            let units = left.div_ceil(u128::from(run.layout.tweak_step));
            let units = units.min(((buffer.len() - start) / unit) as u128) as usize;
            each(run, buffer.part(start..start + units * unit));
            run = run.after(units);
            start += units * unit;
        }
    }
}

impl UnitKernel for XtsPlain {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        Self::pieces(run, buffer, |run, piece| self.0.encrypt_units(run, piece));
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        Self::pieces(run, buffer, |run, piece| self.0.decrypt_units(run, piece));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.0, visit);
        self.0.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.0.name()
    }
}
