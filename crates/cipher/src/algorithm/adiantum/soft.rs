//! Adiantum's parts in portable Rust and constant time; on x86-64, with 128-bit vectors, which every such CPU
//! supports.

use super::Kernel;
use super::nh::{NhKey, PASSES};
use crate::cpu::Tier;
use crate::isa::Isa;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::vector::V128 as Lanes;
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
type Lanes = u32;

/// The baseline instruction set, which is always available.
#[derive(Clone, Copy)]
pub(super) struct Soft;

impl Isa for Soft {
    fn new(_: Tier) -> Option<Self> {
        Some(Self)
    }

    #[inline(never)]
    fn run<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }
}

impl Kernel for Soft {
    const NAME: &'static str = "soft";

    type Stream = Lanes;

    unsafe fn nh(key: &NhKey, message: &[u8]) -> [u64; PASSES] {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: SSE2 is in the baseline.
        let sums = unsafe { super::x86::nh::<Lanes>(key, message) };
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let sums = super::nh::rest(key, message, 0, [0; PASSES]);
        sums
    }
}
