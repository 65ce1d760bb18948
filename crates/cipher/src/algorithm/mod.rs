//! The algorithms, each with its kernels by instruction set.

pub(crate) mod aes;
