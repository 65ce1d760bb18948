//! Serpent on the vectors of x86.

mod avx2;
mod avx512;
mod boxes;
