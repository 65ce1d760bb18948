//! What `volume` promises its users, one module for each subject.

mod bitlocker;
mod damaged;
mod detect;
mod luks;
mod tcrypt;
