//! Twofish byte-sliced and without secret-dependent addresses, written once for any vector.

use std::sync::Arc;

use super::keys::Keys;
use super::vector::Kernel;
use super::xts::{group_blocks, part_bytes, transform, units};
use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::xts::Xts;

/// Twofish with a key, for one instruction set and for modes that are not fused with it.
#[derive(Clone)]
pub(super) struct Blocks<K: Kernel> {
    kernel: K,
    keys: Arc<Keys<K::Vector>>,
}

impl<K: Kernel> Blocks<K> {
    pub(super) fn new(kernel: K, key: &[u8]) -> Self {
        Self { kernel, keys: Keys::new(key) }
    }
}

impl<K: Kernel> BlockKernel<BLOCK> for Blocks<K> {
    fn parallel(&self) -> usize {
        group_blocks::<K::Vector>()
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        transform::<K, true>(self.kernel, &self.keys, blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        transform::<K, false>(self.kernel, &self.keys, blocks);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}

/// Twofish-XTS with a key, for one instruction set.
pub(super) struct TwofishXts<K: Kernel> {
    data: Blocks<K>,
    tweak: Blocks<K>,
    /// The same keys in the general XTS mode, for data units that do not consist of whole parts, such as 528 bytes.
    any_unit: Xts<Blocks<K>>,
}

impl<K: Kernel> TwofishXts<K> {
    pub(super) fn new(kernel: K, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let [data, tweak] = [data_key, tweak_key].map(|key| Blocks::new(kernel, key));
        let any_unit = Xts::new(data.clone(), tweak.clone());
        Self { data, tweak, any_unit }
    }

    fn units<const ENCRYPT: bool>(&self, run: Run, buffer: Buffer<'_>) {
        let Blocks { kernel, keys } = &self.data;
        let tweak = &*self.tweak.keys;
        kernel.run(
            #[inline(always)]
            // SAFETY: the instruction set is enabled.
            move || unsafe { units::<K, ENCRYPT>(*kernel, keys, tweak, run, buffer) },
        );
    }
}

impl<K: Kernel> UnitKernel for TwofishXts<K> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if run.layout.data_unit.is_multiple_of(part_bytes::<K::Vector>()) {
            self.units::<true>(run, buffer);
        } else {
            self.any_unit.encrypt_units(run, buffer);
        }
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if run.layout.data_unit.is_multiple_of(part_bytes::<K::Vector>()) {
            self.units::<false>(run, buffer);
        } else {
            self.any_unit.decrypt_units(run, buffer);
        }
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        // The general mode has the same keys.
        self.any_unit.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        K::NAME
    }
}
