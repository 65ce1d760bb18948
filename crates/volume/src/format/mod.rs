//! One folder per volume format.
pub mod bitlocker;
pub mod filevault;
pub mod luks;
pub mod tcrypt;
