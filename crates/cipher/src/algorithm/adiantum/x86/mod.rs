//! Adiantum's parts on x86: ChaCha and NH over vectors of 256 and 512 bits.

pub(super) mod avx2;
pub(super) mod avx512;
mod nh;
pub(super) mod sse2;
