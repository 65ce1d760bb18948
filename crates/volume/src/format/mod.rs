//! One folder per volume format.
pub mod bitlocker;
pub mod ecryptfs;
pub mod filevault;
pub mod freeotfe;
pub mod luks;
pub mod tcrypt;
