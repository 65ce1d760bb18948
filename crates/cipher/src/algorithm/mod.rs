//! The algorithms, each with its kernels by instruction set.

pub(crate) mod adiantum;
pub(crate) mod aes;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod bytes;
pub(crate) mod camellia;
pub(crate) mod kuznyechik;
pub(crate) mod narrow;
pub(crate) mod serpent;
pub(crate) mod twofish;
