//! Camellia on x86: kernels in which each register contains the bytes of many blocks at one position.

mod gfni;
mod masks;
mod matrices;
mod nibble;
