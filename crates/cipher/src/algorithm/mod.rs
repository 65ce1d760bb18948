//! The algorithms, each with its kernels by instruction set.

/// Methods of a vector's trait, each one instruction with two operands.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instructions {
    ($($method:ident = $instruction:ident;)*) => {
        $(
            #[inline(always)]
            unsafe fn $method(self, other: Self) -> Self {
                // SAFETY: the trait's contract.
                Self(unsafe { $instruction(self.0, other.0) })
            }
        )*
    };
}

pub(crate) mod adiantum;
pub(crate) mod aes;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod bytes;
pub(crate) mod camellia;
pub(crate) mod kuznyechik;
pub(crate) mod narrow;
pub(crate) mod serpent;
pub(crate) mod twofish;
