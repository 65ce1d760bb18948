//! What Windows says of itself.

pub mod disturbances;
pub mod rights;
