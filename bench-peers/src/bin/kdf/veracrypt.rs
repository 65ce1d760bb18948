//! VeraCrypt's own key derivation, linked from the objects of its build (`cargo xtask bench kdf --veracrypt DIR`).

use std::ffi::c_int;
use std::path::Path;

use libloading::Library;

use crate::job::Job;
use crate::peers::Peer;

/// Password, salt, iterations and key, as in VeraCrypt's `Common/Pkcs5.h` since 1.26.15.
type Derive = unsafe extern "C" fn(*const u8, c_int, *const u8, c_int, u32, *mut u8, c_int);

/// VeraCrypt's functions, in a separate library.
pub struct VeraCrypt {
    derive: Vec<(&'static str, Derive)>,
    _library: Library,
}

impl VeraCrypt {
    /// Loads the functions and lets them detect the CPU's features.
    pub fn load(file: &Path) -> anyhow::Result<Self> {
        // SAFETY: the objects have no constructors; the types are those of VeraCrypt's headers, and the library
        // stays loaded as long as the pointers exist.
        unsafe {
            let library = Library::new(file)?;
            let detect: unsafe extern "C" fn() = *library.get(b"DetectX86Features")?;
            detect();
            let derive = vec![
                ("sha-512", *library.get::<Derive>(b"derive_key_sha512")?),
                ("sha-256", *library.get(b"derive_key_sha256")?),
                ("whirlpool", *library.get(b"derive_key_whirlpool")?),
                ("streebog-512", *library.get(b"derive_key_streebog")?),
                ("blake2s-256", *library.get(b"derive_key_blake2s")?),
            ];
            Ok(Self { derive, _library: library })
        }
    }
}

impl Peer for VeraCrypt {
    fn name(&self) -> &'static str {
        "VeraCrypt"
    }

    fn version(&self) -> String {
        "the objects that were named".to_owned()
    }

    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        let Some((_, derive)) = self.derive.iter().find(|(name, _)| *name == job.function) else {
            return Ok(false);
        };
        let [password_len, salt_len, out_len] =
            [password.len(), salt.len(), out.len()].map(c_int::try_from);
        let (password_len, salt_len, out_len) = (password_len?, salt_len?, out_len?);
        // SAFETY: the lengths are those of the slices.
        unsafe {
            derive(
                password.as_ptr(),
                password_len,
                salt.as_ptr(),
                salt_len,
                job.iterations,
                out.as_mut_ptr(),
                out_len,
            );
        }
        Ok(true)
    }
}
