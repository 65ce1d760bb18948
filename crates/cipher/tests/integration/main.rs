//! What `cipher` promises its users, one module for each subject.

mod camellia;
mod cascades;
mod dm_crypt;
mod key_memory;
mod kuznyechik;
mod legacy;
mod oracle;
mod serpent;
mod tiers;
mod twofish;
mod vectors;
mod wrapping;
