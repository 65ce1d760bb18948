//! LUKS1 and LUKS2 against other implementations, against hostile headers, and against power cuts.

mod hostile;
mod images;
mod interrupted;
mod keyslots;
mod null;
mod roundtrip;
mod tools;
pub mod volumes;
