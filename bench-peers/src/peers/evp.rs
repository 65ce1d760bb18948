//! The EVP interface, which OpenSSL and AWS-LC share: function pointers, and one context per key.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;

use anyhow::ensure;

use crate::contender::{Contender, Direction, each_unit};

/// The functions. The types behind pointers are opaque.
pub struct Functions {
    /// `EVP_CIPHER_CTX_new`
    pub new: unsafe extern "C" fn() -> *mut c_void,
    /// `EVP_CIPHER_CTX_free`
    pub free: unsafe extern "C" fn(*mut c_void),
    /// `EVP_CipherInit_ex`
    pub init: unsafe extern "C" fn(
        *mut c_void,
        *const c_void,
        *mut c_void,
        *const u8,
        *const u8,
        c_int,
    ) -> c_int,
    /// `EVP_CipherUpdate`
    pub update: unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_int, *const u8, c_int) -> c_int,
}

/// A keyed context. `K` is the library, which must stay loaded while the functions are in use.
pub struct Keyed<K> {
    functions: Rc<(Functions, K)>,
    context: *mut c_void,
}

impl<K> Keyed<K> {
    /// Keys `cipher` with `key`.
    ///
    /// # Safety
    /// `cipher` must come from the library of `functions`, and its key length must be that of `key`.
    pub unsafe fn new(
        functions: Rc<(Functions, K)>,
        cipher: *const c_void,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Self> {
        ensure!(!cipher.is_null(), "the library has no such cipher");
        // SAFETY: the function has no arguments, and its result is checked.
        let context = unsafe { (functions.0.new)() };
        ensure!(!context.is_null(), "EVP_CIPHER_CTX_new failed");
        let keyed = Self { functions, context };
        let encrypt = c_int::from(direction == Direction::Encrypt);
        // SAFETY: the context is live; the cipher and the key match by this function's contract; the engine and
        // the IV may be null.
        let done = unsafe {
            (keyed.functions.0.init)(
                context,
                cipher,
                ptr::null_mut(),
                key.as_ptr(),
                ptr::null(),
                encrypt,
            )
        };
        ensure!(done == 1, "EVP_CipherInit_ex refused the key");
        Ok(keyed)
    }
}

impl<K> Drop for Keyed<K> {
    fn drop(&mut self) {
        // SAFETY: the context came from `new` and is freed once.
        unsafe { (self.functions.0.free)(self.context) }
    }
}

impl<K> Contender for Keyed<K> {
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        let (functions, context) = (&self.functions.0, self.context);
        let len = c_int::try_from(unit)?;
        each_unit(unit, data, |tweak, bytes| {
            let start = bytes.as_mut_ptr();
            let mut written = 0;
            // SAFETY: the context is keyed; null for cipher and key keeps the present ones; the IV has the 16
            // bytes that XTS needs; `bytes` has the length `len`, and may be both input and output.
            let done = unsafe {
                let (null, engine) = (ptr::null(), ptr::null_mut());
                (functions.init)(context, null, engine, ptr::null(), tweak.as_ptr(), -1) == 1
                    && (functions.update)(context, start, &raw mut written, start, len) == 1
            };
            ensure!(done && written == len, "EVP_CipherUpdate failed");
            Ok(())
        })
    }
}
