//! Twofish byte-sliced and free of secret-dependent addresses, written once over a vector.

use std::sync::Arc;

use super::keys::{Keys, XtsKeys};
use super::rounds::State;
use super::vector::Vector;
use super::xts::{group_blocks, part_bytes};
use crate::cpu::Tier;
use crate::kernel::{Block, BlockCipher, Buffer, Run, UnitKernel, Visit, tell};
use crate::mode::xts::Xts;

/// Proof that the CPU has an instruction set, and the kernels compiled for it.
pub(super) trait Isa: Copy + Send + Sync + 'static {
    /// Name of the kernels, as stored in records.
    const NAME: &'static str;

    /// The vector of the instruction set.
    type Vector: Vector;

    /// The instruction set, if `tier` allows it and the CPU has all of it.
    fn new(tier: Tier) -> Option<Self>;

    /// Applies all rounds in the direction that `ENCRYPT` says; not inlined, because every other
    /// function calls it.
    fn rounds<const N: usize, const ENCRYPT: bool>(
        self,
        keys: &Keys<Self::Vector>,
        states: &mut [State<Self::Vector>; N],
    );

    /// Transforms blocks in place.
    fn blocks<const ENCRYPT: bool>(self, keys: &Keys<Self::Vector>, blocks: &mut [Block]);

    /// Transforms the units of `buffer`; each must consist of whole parts (see [`part_bytes`]).
    fn xts<const ENCRYPT: bool>(self, keys: &XtsKeys<Self::Vector>, run: Run, buffer: Buffer<'_>);
}

/// Implements [`Isa`] for a proof by the kernels that are written once, compiled with the instruction set's features.
macro_rules! kernels {
    ($isa:ident, $vector:ident, $name:literal, $features:literal, $proof:expr) => {
        impl Isa for $isa {
            const NAME: &'static str = $name;
            type Vector = $vector;

            fn new(tier: Tier) -> Option<Self> {
                let has: fn(Tier) -> bool = $proof;
                has(tier).then_some(Self(()))
            }

            fn rounds<const N: usize, const ENCRYPT: bool>(
                self,
                keys: &Keys<$vector>,
                states: &mut [State<$vector>; N],
            ) {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn enabled<const N: usize, const ENCRYPT: bool>(
                    keys: &Keys<$vector>,
                    states: &mut [State<$vector>; N],
                ) {
                    // SAFETY: this function enables the vector's instruction set.
                    unsafe { rounds::<$vector, N, ENCRYPT>(keys, states) }
                }
                // SAFETY: `self` proves the features.
                unsafe { enabled::<N, ENCRYPT>(keys, states) }
            }

            fn blocks<const ENCRYPT: bool>(self, keys: &Keys<$vector>, blocks: &mut [Block]) {
                #[target_feature(enable = $features)]
                fn enabled<const ENCRYPT: bool>(
                    isa: $isa,
                    keys: &Keys<$vector>,
                    blocks: &mut [Block],
                ) {
                    // SAFETY: this function enables the vector's instruction set.
                    unsafe { mode::blocks::<$isa, ENCRYPT>(isa, keys, blocks) }
                }
                // SAFETY: `self` proves the features.
                unsafe { enabled::<ENCRYPT>(self, keys, blocks) }
            }

            fn xts<const ENCRYPT: bool>(
                self,
                keys: &XtsKeys<$vector>,
                run: Run,
                buffer: Buffer<'_>,
            ) {
                #[target_feature(enable = $features)]
                fn enabled<const ENCRYPT: bool>(
                    isa: $isa,
                    keys: &XtsKeys<$vector>,
                    run: Run,
                    buffer: Buffer<'_>,
                ) {
                    // SAFETY: this function enables the vector's instruction set.
                    unsafe { mode::units::<$isa, ENCRYPT>(isa, keys, run, buffer) }
                }
                // SAFETY: `self` proves the features.
                unsafe { enabled::<ENCRYPT>(self, keys, run, buffer) }
            }
        }
    };
}

pub(super) use kernels;

/// Twofish keyed for one instruction set, for modes in general.
pub(super) struct Blocks<I: Isa> {
    isa: I,
    keys: Arc<Keys<I::Vector>>,
}

impl<I: Isa> Blocks<I> {
    pub(super) fn new(isa: I, key: &[u8]) -> Self {
        Self { isa, keys: Keys::new(key) }
    }
}

/// Twofish-XTS keyed for one instruction set.
pub(super) struct TwofishXts<I: Isa> {
    isa: I,
    keys: XtsKeys<I::Vector>,
    /// For data units that do not consist of whole parts, such as 528 bytes.
    any_unit: Xts<Blocks<I>>,
}

impl<I: Isa> BlockCipher for Blocks<I> {
    const PARALLEL: usize = group_blocks::<I::Vector>();

    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        self.isa.blocks::<true>(&self.keys, blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        self.isa.blocks::<false>(&self.keys, blocks);
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.keys, visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}

impl<I: Isa> TwofishXts<I> {
    pub(super) fn new(isa: I, data_key: &[u8], tweak_key: &[u8]) -> Self {
        let (data, tweak) = (Keys::new(data_key), Keys::new(tweak_key));
        let any_unit = Xts::new(
            Blocks { isa, keys: Arc::clone(&data) },
            Blocks { isa, keys: Arc::clone(&tweak) },
        );
        Self { isa, keys: XtsKeys { data, tweak }, any_unit }
    }
}

impl<I: Isa> UnitKernel for TwofishXts<I> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if run.layout.data_unit.is_multiple_of(part_bytes::<I::Vector>()) {
            self.isa.xts::<true>(&self.keys, run, buffer);
        } else {
            self.any_unit.encrypt_units(run, buffer);
        }
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        if run.layout.data_unit.is_multiple_of(part_bytes::<I::Vector>()) {
            self.isa.xts::<false>(&self.keys, run, buffer);
        } else {
            self.any_unit.decrypt_units(run, buffer);
        }
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        // The general mode shares the keys.
        self.any_unit.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        I::NAME
    }
}
