//! Several keys, as in `aes:64`: dm-crypt uses the keys in turn, a different key for each sector.

use crate::kernel::{Buffer, Run, UnitKernel, Visit, tell};

/// The cipher with each key; their number is a power of two.
pub(crate) struct Several(pub(crate) Vec<Box<dyn UnitKernel>>);

impl Several {
    /// Calls `each` for each unit, with the cipher that its number selects.
    fn each(
        &self,
        run: Run,
        mut buffer: Buffer<'_>,
        each: impl Fn(&dyn UnitKernel, Run, Buffer<'_>),
    ) {
        let unit = run.layout.data_unit;
        for (index, start) in (0..buffer.len()).step_by(unit).enumerate() {
            let run = run.after(index);
            // Numbers count 512-byte sectors, so some keys are never used if sectors are larger.
            let kernel = &self.0[run.first as usize & (self.0.len() - 1)];
            each(&**kernel, run, buffer.part(start..start + unit));
        }
    }
}

impl UnitKernel for Several {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.each(run, buffer, |kernel, run, unit| kernel.encrypt_units(run, unit));
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.each(run, buffer, |kernel, run, unit| kernel.decrypt_units(run, unit));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        for kernel in &self.0 {
            tell(&**kernel, visit);
            kernel.visit_keys(visit);
        }
    }

    fn name(&self) -> &'static str {
        self.0.first().map_or("none", |kernel| kernel.name())
    }
}
