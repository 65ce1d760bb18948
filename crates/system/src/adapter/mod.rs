//! One module per encryption system.

pub(crate) mod builtin;
pub(crate) mod plain;
