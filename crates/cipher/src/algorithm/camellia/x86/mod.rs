//! Camellia on x86: kernels whose registers hold one byte position of many blocks each.

mod gfni;
mod masks;
mod matrices;
mod nibble;
