//! ECB: each block is encrypted separately, without a tweak. ECB does not hide patterns; it is implemented only to
//! open volumes that use it.

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
