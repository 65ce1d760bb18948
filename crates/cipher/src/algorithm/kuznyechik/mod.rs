//! Kuznyechik (GOST R 34.12-2015, RFC 7801): look-up tables, and byte slices in AVX2, AVX-512 and ARM vectors.

mod algebra;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod keys;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod nibble;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod pi;
mod schedule;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod slices;
mod soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod xts;

use soft::Soft;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use wide::KuznyechikXts;

kernels! {
    xts KuznyechikXts, portable Soft,
    { "x86_64": Vbmi Avx2; "aarch64": Neon; }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::tests::check_xts;

    #[test]
    fn every_kernel_agrees_with_the_portable_one() {
        check_xts(&all_xts(&[0xa7; 32], &[0x3c; 32]));
    }
}
