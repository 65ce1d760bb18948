//! One folder per volume format.
pub mod luks;
pub mod tcrypt;
