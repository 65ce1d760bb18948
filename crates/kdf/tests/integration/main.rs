//! What `kdf` promises its users, one module for each subject.

mod argon2;
mod derivation;
mod pim;
mod tiers;
mod vectors;
