//! What encryption costs per request and per byte, by layer and by cipher.

pub(crate) mod chain;
pub(crate) mod reasons;
pub(crate) mod sweep;
