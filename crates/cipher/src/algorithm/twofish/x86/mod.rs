//! The kernels of x86.

mod avx2;
mod avx512;
mod rows;
