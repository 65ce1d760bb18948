//! ECB: each block by itself, without any tweak. Only for volumes that have it; it hides no pattern.

use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// A block cipher in ECB.
pub(crate) struct Ecb<const N: usize>(pub(crate) Box<dyn BlockKernel<N>>);

impl<const N: usize> UnitKernel for Ecb<N> {
    fn encrypt_units(&self, _: Run, buffer: Buffer<'_>) {
        self.0.encrypt(buffer.copied().as_chunks_mut().0);
    }

    fn decrypt_units(&self, _: Run, buffer: Buffer<'_>) {
        self.0.decrypt(buffer.copied().as_chunks_mut().0);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.0, visit);
        self.0.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.0.name()
    }
}
