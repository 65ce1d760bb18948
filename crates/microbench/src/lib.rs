//! Measures the building blocks of disk encryption in RAM: [ciphers](cipher) and [key
//! derivations](kdf).
//!
//! A *case* is a measured combination, such as a cipher with a data unit and a number of threads. Every round takes one
//! *sample* of every case in a new random order, so that changes in the machine's speed affect all cases equally. The
//! results are medians over the rounds.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

pub mod cipher;
mod error;
pub mod kdf;
mod together;

pub use error::MicrobenchError;
