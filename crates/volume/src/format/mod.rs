//! One folder per volume format.
pub mod bitlocker;
pub mod luks;
pub mod tcrypt;
