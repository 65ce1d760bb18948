//! libgcrypt, loaded as a shared library.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use anyhow::{Context as _, ensure};
use libloading::Library;

use super::{Peer, open};
use crate::contender::{Contender, Direction, each_unit};

type Handle = *mut c_void;
type Set = unsafe extern "C" fn(Handle, *const u8, usize) -> c_uint;
type Transform = unsafe extern "C" fn(Handle, *mut u8, usize, *const u8, usize) -> c_uint;

struct Functions {
    open: unsafe extern "C" fn(*mut Handle, c_int, c_int, c_uint) -> c_uint,
    close: unsafe extern "C" fn(Handle),
    set_key: Set,
    set_iv: Set,
    encrypt: Transform,
    decrypt: Transform,
    check_version: unsafe extern "C" fn(*const c_char) -> *const c_char,
    _library: Library,
}

/// libgcrypt, loaded and initialised.
pub struct Gcrypt(Rc<Functions>);

impl Gcrypt {
    /// Loads libgcrypt without the hardware features that `GCRYPT_DISABLE_HWF` lists (libgcrypt's names,
    /// separated by colons).
    pub fn load() -> anyhow::Result<Self> {
        const DISABLE_SECMEM: c_int = 37;
        const INITIALIZATION_FINISHED: c_int = 38;
        const DISABLE_HWF: c_int = 63;
        let library = open(&["libgcrypt.so.20"])?;
        // SAFETY: the types and numbers are those of <gcrypt.h>; the library stays loaded as long as the
        // pointers exist; features are disabled first, and initialisation precedes everything else, as required
        // by section 2.4 of the manual. Each command receives the argument that it reads.
        unsafe {
            let control: unsafe extern "C" fn(c_int, ...) -> c_uint =
                *library.get(b"gcry_control")?;
            let functions = Functions {
                open: *library.get(b"gcry_cipher_open")?,
                close: *library.get(b"gcry_cipher_close")?,
                set_key: *library.get(b"gcry_cipher_setkey")?,
                set_iv: *library.get(b"gcry_cipher_setiv")?,
                encrypt: *library.get(b"gcry_cipher_encrypt")?,
                decrypt: *library.get(b"gcry_cipher_decrypt")?,
                check_version: *library.get(b"gcry_check_version")?,
                _library: library,
            };
            if let Ok(names) = std::env::var("GCRYPT_DISABLE_HWF") {
                // A version that does not know AVX-512 does not use it.
                let may_be_unknown = names == "intel-avx512";
                let text = CString::new(names).context("GCRYPT_DISABLE_HWF")?;
                let refused = control(DISABLE_HWF, text.as_ptr(), ptr::null::<c_char>());
                let is_done = refused == 0 || may_be_unknown;
                ensure!(is_done, "GCRYPT_DISABLE_HWF names an unknown feature");
            }
            ensure!(!(functions.check_version)(ptr::null()).is_null(), "no initialisation");
            control(DISABLE_SECMEM, 0);
            control(INITIALIZATION_FINISHED, 0);
            Ok(Self(Rc::new(functions)))
        }
    }
}

impl Peer for Gcrypt {
    fn name(&self) -> &'static str {
        "libgcrypt"
    }

    fn version(&self) -> String {
        // SAFETY: without a required version, the function returns its own as static text.
        let text = unsafe { CStr::from_ptr((self.0.check_version)(ptr::null())) };
        text.to_string_lossy().into_owned()
    }

    fn keyed(
        &self,
        cipher: &str,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Option<Box<dyn Contender>>> {
        const MODE_XTS: c_int = 13;
        // enum gcry_cipher_algos
        let algorithm = match cipher {
            "aes-128-xts" => 7,
            "aes-256-xts" => 9,
            "twofish-256-xts" => 10,
            "serpent-256-xts" => 306,
            "camellia-256-xts" => 312,
            _ => return Ok(None),
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is written before it is read.
        let refused = unsafe { (self.0.open)(&raw mut handle, algorithm, MODE_XTS, 0) };
        if refused != 0 {
            return Ok(None); // built without this algorithm
        }
        let keyed = Keyed { functions: Rc::clone(&self.0), handle, direction };
        // SAFETY: the handle is open, and the length is that of the slice.
        let refused = unsafe { (self.0.set_key)(handle, key.as_ptr(), key.len()) };
        ensure!(refused == 0, "gcry_cipher_setkey: error {refused}");
        Ok(Some(Box::new(keyed)))
    }
}

struct Keyed {
    functions: Rc<Functions>,
    handle: Handle,
    direction: Direction,
}

impl Contender for Keyed {
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        let (functions, handle) = (&self.functions, self.handle);
        let transform = match self.direction {
            Direction::Encrypt => functions.encrypt,
            Direction::Decrypt => functions.decrypt,
        };
        each_unit(unit, data, |tweak, bytes| {
            // SAFETY: the handle is open and keyed; the lengths are those of the slices; without an input, the
            // function works in place.
            let refused = unsafe {
                (functions.set_iv)(handle, tweak.as_ptr(), tweak.len())
                    | transform(handle, bytes.as_mut_ptr(), bytes.len(), ptr::null(), 0)
            };
            ensure!(refused == 0, "libgcrypt: error {refused}");
            Ok(())
        })
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        // SAFETY: the handle is open and is closed once.
        unsafe { (self.functions.close)(self.handle) }
    }
}
