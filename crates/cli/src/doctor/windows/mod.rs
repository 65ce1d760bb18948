//! Findings on Windows.

pub mod disturbances;
pub mod rights;
