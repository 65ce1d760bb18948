//! AWS-LC, which is linked. Its AES-XTS has kernels for AVX-512 with VAES.

use std::ffi::{CStr, c_int, c_void};
use std::rc::Rc;

use super::{Peer, evp};
use crate::contender::{Contender, Direction};

/// AWS-LC as the crate `aws-lc-sys` builds it.
pub struct AwsLc {
    functions: Rc<(evp::Functions, ())>,
}

impl AwsLc {
    /// The linked library.
    pub fn new() -> Self {
        Self { functions: Rc::new((evp::Functions { new, free, init, update }, ())) }
    }
}

impl Peer for AwsLc {
    fn name(&self) -> &'static str {
        "AWS-LC"
    }

    fn version(&self) -> String {
        // SAFETY: 0 selects the version text, which is static.
        let text = unsafe { CStr::from_ptr(aws_lc_sys::OpenSSL_version(0)) };
        text.to_string_lossy().into_owned()
    }

    fn keyed(
        &self,
        cipher: &str,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Option<Box<dyn Contender>>> {
        if cipher != "aes-256-xts" {
            return Ok(None);
        }
        anyhow::ensure!(key.len() == 64, "a key of {} bytes", key.len());
        // SAFETY: the getter has no arguments; the cipher, the functions and the key length belong together.
        let keyed = unsafe {
            let cipher = aws_lc_sys::EVP_aes_256_xts().cast();
            evp::Keyed::new(Rc::clone(&self.functions), cipher, key, direction)?
        };
        Ok(Some(Box::new(keyed)))
    }
}

unsafe extern "C" fn new() -> *mut c_void {
    // SAFETY: the function has no arguments.
    unsafe { aws_lc_sys::EVP_CIPHER_CTX_new().cast() }
}

unsafe extern "C" fn free(context: *mut c_void) {
    // SAFETY: the caller passes a context that `new` returned.
    unsafe { aws_lc_sys::EVP_CIPHER_CTX_free(context.cast()) }
}

unsafe extern "C" fn init(
    context: *mut c_void,
    cipher: *const c_void,
    engine: *mut c_void,
    key: *const u8,
    iv: *const u8,
    encrypt: c_int,
) -> c_int {
    // SAFETY: the caller passes the arguments that the function requires, as opaque pointers.
    unsafe {
        aws_lc_sys::EVP_CipherInit_ex(
            context.cast(),
            cipher.cast(),
            engine.cast(),
            key,
            iv,
            encrypt,
        )
    }
}

unsafe extern "C" fn update(
    context: *mut c_void,
    output: *mut u8,
    written: *mut c_int,
    input: *const u8,
    len: c_int,
) -> c_int {
    // SAFETY: the caller passes the arguments that the function requires, with an opaque pointer.
    unsafe { aws_lc_sys::EVP_CipherUpdate(context.cast(), output, written, input, len) }
}
