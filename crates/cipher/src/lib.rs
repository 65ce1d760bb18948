//! Disk ciphers and modes, with kernels for several instruction sets, of which one is chosen at run time.
//!
//! Start with the registry: [`find`] a [`CipherInfo`] by name, and use it with a key, a [`Layout`] and a [`Tier`] to
//! create a [`SectorCipher`], which encrypts and decrypts runs of whole data units.
//!
//! ```
//! use cryptbench_cipher::{Layout, find, tier};
//!
//! let info = find("aes-256-xts")?;
//! let cipher = info.with_key(&[7; 64], Layout::SECTOR_512, tier()?)?;
//! let mut data = vec![0; 8 * 512];
//! cipher.encrypt_in_place(256, &mut data);
//! cipher.decrypt_in_place(256, &mut data);
//! assert!(data.iter().all(|&byte| byte == 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three more entry points are for volumes of other programs. [`dm_crypt`] parses a specification as stored in LUKS
//! headers, [`legacy_ciphers`] lists TrueCrypt's ciphers before XTS, and [`AesCcm`] decrypts the keys in BitLocker's
//! metadata.
//!
//! A new algorithm implements `kernel::BlockKernel`, which includes the preferred number of blocks per call;
//! `mode::xts` then provides XTS. If fusing the mode with the algorithm is faster, as for AES on x86, implement
//! `kernel::UnitKernel`. In both cases, add a line to `registry.rs`; the crate's tests cover every line there.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod algorithm;
mod cascade;
mod ccm;
mod dm_crypt;
mod error;
mod essiv;
#[cfg(test)]
mod hex;
mod isa;
mod kernel;
mod legacy;
mod mode;
mod registry;
mod sector;
mod vector;

use cryptbench_cpu as cpu;

pub use ccm::AesCcm;
pub use cryptbench_cpu::{CpuError, Tier, tier};
pub use dm_crypt::{dm_crypt, dm_crypt_ciphers, dm_crypt_key_bytes, dm_crypt_modes, of_keyslots};
pub use error::CipherError;
pub use essiv::essiv_hashes;
pub use legacy::{LegacyCipher, LegacyMode, legacy_ciphers};
pub use registry::{CipherInfo, ciphers, find, find_to_measure, history};
pub use sector::{Layout, SectorCipher};

/// Runs the examples in the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
