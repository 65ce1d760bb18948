//! LUKS1 and LUKS2: tests with other implementations, with malicious headers, and with power cuts.

mod hostile;
mod images;
mod interrupted;
mod keyslots;
mod null;
mod roundtrip;
mod tools;
pub mod volumes;
