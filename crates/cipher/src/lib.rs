//! Disk ciphers and modes, with one kernel per instruction set chosen once at run time.
//!
//! Start at the registry: [`find`] a [`CipherInfo`] by name, give it a key, a [`Layout`] and a
//! [`Tier`], and get a [`SectorCipher`] that transforms runs of whole data units.
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
//! Three more entry points serve volumes of other programs. [`dm_crypt`] parses a specification as stored in
//! LUKS headers, [`legacy_ciphers`] lists TrueCrypt's ciphers before XTS, and [`AesCcm`] decrypts the keys in
//! BitLocker's metadata.
//!
//! A new algorithm implements `kernel::BlockKernel`, which states how many blocks it prefers to process in one
//! call, and gets XTS from `mode::xts`. An algorithm that can do better implements `kernel::UnitKernel` with
//! the mode fused in, as AES does on x86. Either way it gets a line in `registry.rs`, and the crate's tests run
//! over every line there.
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

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
