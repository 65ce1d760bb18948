//! Windows' information about itself.

pub mod disturbances;
pub mod rights;
