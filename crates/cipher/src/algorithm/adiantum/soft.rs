//! Adiantum's parts in portable Rust and constant time; on x86-64 with the 128-bit vectors that every such CPU has.

use super::chacha::{self, Key};
use super::nh::{self, NhKey};
use super::{BATCH, Isa};
use crate::kernel::{Block, Buffer};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
use super::nh::portable as nh_of;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::x86::sse2::{Vector as Lanes, nh_sse2 as nh_of};
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
type Lanes = u32;

/// The baseline's instruction set, which needs no proof.
#[derive(Clone, Copy)]
pub(super) struct Soft;

impl Isa for Soft {
    const NAME: &'static str = "soft";

    fn nh(self, key: &NhKey, message: &[u8]) -> [u64; nh::PASSES] {
        nh_of(key, message)
    }

    fn subkeys(self, key: &Key, nonces: &[Block; BATCH]) -> [Key; BATCH] {
        // SAFETY: the vectors are those of the baseline.
        unsafe { chacha::subkeys::<Lanes>(key, nonces) }
    }

    fn stream(self, key: &Key, buffer: Buffer<'_>) {
        // SAFETY: the vectors are those of the baseline.
        unsafe { chacha::stream::<Lanes>(key, buffer) }
    }
}
