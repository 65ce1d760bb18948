//! What `volume` promises its users, one module for each subject.

mod detect;
mod luks;
mod tcrypt;
