//! OpenSSL 3, loaded as a shared library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::rc::Rc;

use libloading::Library;

use super::{Peer, evp, open};
use crate::contender::{Contender, Direction};

type Cipher = unsafe extern "C" fn() -> *const c_void;

/// libcrypto, loaded.
pub struct OpenSsl {
    functions: Rc<(evp::Functions, Library)>,
    aes_128_xts: Cipher,
    aes_256_xts: Cipher,
    version: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl OpenSsl {
    /// Loads libcrypto.
    pub fn load() -> anyhow::Result<Self> {
        let library = open(&["libcrypto.so.3"])?;
        // SAFETY: the types are those of <openssl/evp.h> and <openssl/crypto.h>; the library stays loaded as
        // long as the pointers exist.
        unsafe {
            let functions = evp::Functions {
                new: *library.get(b"EVP_CIPHER_CTX_new")?,
                free: *library.get(b"EVP_CIPHER_CTX_free")?,
                init: *library.get(b"EVP_CipherInit_ex")?,
                update: *library.get(b"EVP_CipherUpdate")?,
            };
            Ok(Self {
                aes_128_xts: *library.get(b"EVP_aes_128_xts")?,
                aes_256_xts: *library.get(b"EVP_aes_256_xts")?,
                version: *library.get(b"OpenSSL_version")?,
                functions: Rc::new((functions, library)),
            })
        }
    }
}

impl Peer for OpenSsl {
    fn name(&self) -> &'static str {
        "OpenSSL"
    }

    fn version(&self) -> String {
        // SAFETY: 0 selects the version text, which is static.
        let text = unsafe { CStr::from_ptr((self.version)(0)) };
        text.to_string_lossy().into_owned()
    }

    fn keyed(
        &self,
        cipher: &str,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Option<Box<dyn Contender>>> {
        let (cipher, key_bytes) = match cipher {
            "aes-128-xts" => (self.aes_128_xts, 32),
            "aes-256-xts" => (self.aes_256_xts, 64),
            _ => return Ok(None),
        };
        anyhow::ensure!(key.len() == key_bytes, "a key of {} bytes", key.len());
        // SAFETY: the getter has no arguments; the cipher, the functions and the key length belong together.
        let keyed =
            unsafe { evp::Keyed::new(Rc::clone(&self.functions), cipher(), key, direction)? };
        Ok(Some(Box::new(keyed)))
    }
}
