//! Serpent with ARM's 128-bit vectors: four blocks per group.

use std::arch::aarch64::*;

use super::word::{WideKey, Word};
use super::xts::{GROUPS, Kernel, Masks, VECTORS};
use crate::isa::Neon;
use crate::mode::xts::double;
use crate::vector::{V128, Vector};

impl Word for V128 {
    /// Loaded as a whole, because broadcasting one word would also need a vector instruction.
    type Key = WideKey;

    #[inline(always)]
    fn add_key(self, key: &WideKey) -> Self {
        // SAFETY: the value proves that the instruction set is available; a key has four words.
        self ^ Self::of(unsafe { vld1q_u32(key.0.as_ptr()) })
    }
}

impl Kernel for Neon {
    type Vector = V128;

    const NAME: &'static str = "neon";

    #[inline(always)]
    unsafe fn masks(tweak: u128) -> Masks<V128> {
        // Uses integer instructions, which the rounds do not use.
        let mut next = tweak;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut masks: Masks<V128> = [V128::splat(0); GROUPS * VECTORS];
            for mask in &mut masks {
                *mask = V128::lanes(&next.to_le_bytes());
                next = double(next);
            }
            masks
        }
    }
}
