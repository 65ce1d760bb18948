//! How fast the building blocks of disk encryption are in RAM: [ciphers](cipher) and [key derivations](kdf).
//!
//! A *case* is what is measured, such as a cipher with a data unit on a number of threads. Every round takes one *sample*
//! of every case, in an order drawn anew, so that a drift of the machine meets all of them alike; what is told is the
//! median over the rounds.
#![forbid(unsafe_code)]

pub mod cipher;
mod error;
pub mod kdf;
mod together;

pub use error::MicrobenchError;
