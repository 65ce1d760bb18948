//! The work of the `mount` profile: from the passphrase to the first block read, for each volume format,
//! PRF and PIM.
//!
//! [`arms`] lists the contenders, [`Unlocker::prepare`] makes a small volume for each, and
//! [`Unlocker::unlock`] opens one and says how long the key derivation took and how long the rest.

mod arms;
mod prepare;
mod trial;

#[cfg(test)]
mod tests;

pub use arms::{UnlockArm, UnlockFormat, UnlockKind, UnlockSelection, arms};
pub use prepare::{UNLOCK_TIME, Unlocker};
pub use trial::UnlockTime;
