//! The libraries to compare with. A small adapter for each keys its XTS.

#[cfg(feature = "aws-lc")]
mod aws_lc;
mod botan;
mod evp;
mod gcrypt;
mod openssl;
mod rustcrypto;

use anyhow::Context as _;
use libloading::Library;

use crate::contender::{Contender, Direction};

/// A library that implements some of our ciphers.
pub trait Peer {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// The version that the library reports.
    fn version(&self) -> String;

    /// The library's XTS for the registry's `cipher` under `key` (data key, then tweak key). `None` if the
    /// library does not support that cipher.
    ///
    /// # Errors
    /// If the library supports the cipher but rejects the key.
    fn keyed(
        &self,
        cipher: &str,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Option<Box<dyn Contender>>>;
}

/// Every peer on this machine, and why others are missing.
pub fn load() -> (Vec<Box<dyn Peer>>, Vec<String>) {
    let mut here: Vec<Box<dyn Peer>> = vec![
        Box::new(rustcrypto::RustCrypto::one_by_one()),
        Box::new(rustcrypto::RustCrypto::batched()),
    ];
    let mut skipped = Vec::new();
    #[cfg(feature = "aws-lc")]
    here.push(Box::new(aws_lc::AwsLc::new()));
    #[cfg(not(feature = "aws-lc"))]
    skipped.push("AWS-LC: built without the feature aws-lc".to_owned());
    let mut add = |name: &str, peer: anyhow::Result<Box<dyn Peer>>| match peer {
        Ok(peer) => here.push(peer),
        Err(error) => skipped.push(format!("{name}: {error:#}")),
    };
    add("OpenSSL", openssl::OpenSsl::load().map(|p| Box::new(p) as _));
    add("libgcrypt", gcrypt::Gcrypt::load().map(|p| Box::new(p) as _));
    add("Botan", botan::Botan::load().map(|p| Box::new(p) as _));
    (here, skipped)
}

/// Opens the first of `names` that the dynamic linker finds.
fn open(names: &[&str]) -> anyhow::Result<Library> {
    let mut last = None;
    for name in names {
        // SAFETY: the constructors of these libraries only set up the libraries' own state.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(library),
            Err(error) => last = Some(error),
        }
    }
    Err(last.context("no library named")?.into())
}
