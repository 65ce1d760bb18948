//! Twofish with keys of 128, 192 and 256 bits: table-driven Rust, and byte-sliced kernels for AVX2, AVX-512 and ARM.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod keys;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rounds;
mod soft;
mod spec;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod xts;

use soft::Soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use wide::{Blocks, TwofishXts};

kernels! {
    xts TwofishXts, blocks Blocks, portable Soft,
    { "x86_64": Vbmi2 Avx2; "aarch64": Neon; }
}
