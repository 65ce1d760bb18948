//! What `volume` promises its users, one module for each subject.

mod bitlocker;
mod detect;
mod luks;
mod tcrypt;
