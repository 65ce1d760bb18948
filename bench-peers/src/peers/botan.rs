//! Botan, through the C interface of its shared library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use anyhow::ensure;
use libloading::Library;

use super::{Peer, open};
use crate::contender::{Contender, Direction, each_unit};

type Handle = *mut c_void;
type Set = unsafe extern "C" fn(Handle, *const u8, usize) -> c_int;
type Update = unsafe extern "C" fn(
    Handle,
    u32,
    *mut u8,
    usize,
    *mut usize,
    *const u8,
    usize,
    *mut usize,
) -> c_int;

struct Functions {
    init: unsafe extern "C" fn(*mut Handle, *const c_char, u32) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    set_key: Set,
    start: Set,
    update: Update,
    version: unsafe extern "C" fn() -> *const c_char,
    _library: Library,
}

/// libbotan, loaded.
pub struct Botan(Rc<Functions>);

impl Botan {
    /// Loads version 3 or, failing that, version 2.
    pub fn load() -> anyhow::Result<Self> {
        // The newest name comes first; the part of the C interface that is used here is the same in all
        // versions.
        let names: Vec<_> = (0..16).rev().map(|minor| format!("libbotan-3.so.{minor}")).collect();
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.push("libbotan-2.so.19");
        let library = open(&names)?;
        // SAFETY: the types are those of <botan/ffi.h>; the library stays loaded as long as the pointers exist.
        unsafe {
            Ok(Self(Rc::new(Functions {
                init: *library.get(b"botan_cipher_init")?,
                destroy: *library.get(b"botan_cipher_destroy")?,
                set_key: *library.get(b"botan_cipher_set_key")?,
                start: *library.get(b"botan_cipher_start")?,
                update: *library.get(b"botan_cipher_update")?,
                version: *library.get(b"botan_version_string")?,
                _library: library,
            })))
        }
    }
}

impl Peer for Botan {
    fn name(&self) -> &'static str {
        "Botan"
    }

    fn version(&self) -> String {
        // SAFETY: the function returns static text.
        unsafe { CStr::from_ptr((self.0.version)()) }.to_string_lossy().into_owned()
    }

    fn keyed(
        &self,
        cipher: &str,
        key: &[u8],
        direction: Direction,
    ) -> anyhow::Result<Option<Box<dyn Contender>>> {
        let name = match cipher {
            "aes-128-xts" => c"AES-128/XTS",
            "aes-256-xts" => c"AES-256/XTS",
            "camellia-256-xts" => c"Camellia-256/XTS",
            "kuznyechik-xts" => c"Kuznyechik/XTS",
            "serpent-256-xts" => c"Serpent/XTS",
            "twofish-256-xts" => c"Twofish/XTS",
            _ => return Ok(None),
        };
        let mut handle = ptr::null_mut();
        let flags = u32::from(direction == Direction::Decrypt);
        // SAFETY: the handle is written before it is read; the name ends with a zero byte.
        if unsafe { (self.0.init)(&raw mut handle, name.as_ptr(), flags) } != 0 {
            return Ok(None); // not in this version or build
        }
        let keyed = Keyed { functions: Rc::clone(&self.0), handle };
        // SAFETY: the handle is live, and the length is that of the slice.
        let error = unsafe { (self.0.set_key)(handle, key.as_ptr(), key.len()) };
        ensure!(error == 0, "botan_cipher_set_key: error {error}");
        Ok(Some(Box::new(keyed)))
    }
}

struct Keyed {
    functions: Rc<Functions>,
    handle: Handle,
}

impl Contender for Keyed {
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        const FINAL: u32 = 1;
        let (functions, handle) = (&self.functions, self.handle);
        each_unit(unit, data, |tweak, bytes| {
            let (start, len) = (bytes.as_mut_ptr(), bytes.len());
            let (mut written, mut consumed) = (0, 0);
            // SAFETY: the handle is keyed; the lengths are those of the slices. A final update copies its input
            // before it writes, so input and output may be the same.
            let error = unsafe {
                (functions.start)(handle, tweak.as_ptr(), tweak.len())
                    | (functions.update)(
                        handle,
                        FINAL,
                        start,
                        len,
                        &raw mut written,
                        start,
                        len,
                        &raw mut consumed,
                    )
            };
            ensure!(error == 0 && written == len, "Botan: error {error}");
            Ok(())
        })
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        // SAFETY: the handle is live and is destroyed once.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}
