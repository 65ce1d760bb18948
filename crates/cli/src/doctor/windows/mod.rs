//! Findings from what Windows says of itself.

pub mod disturbances;
