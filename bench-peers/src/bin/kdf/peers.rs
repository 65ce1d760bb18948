//! The libraries to compare with. A small adapter for each derives a key.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr;

use anyhow::{Context as _, ensure};
use libloading::Library;

use crate::job::Job;

/// A library that implements some of our functions.
pub trait Peer {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// The version that the library reports.
    fn version(&self) -> String;

    /// Fills `out` with the key; `false` if the library does not support the function.
    ///
    /// # Errors
    /// If the library supports the function but the derivation fails.
    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool>;
}

/// Every peer on this machine, and why others are missing.
pub fn load() -> (Vec<Box<dyn Peer>>, Vec<String>) {
    let mut here: Vec<Box<dyn Peer>> = vec![Box::new(RustCrypto)];
    let mut skipped = Vec::new();
    let mut add = |name: &str, peer: anyhow::Result<Box<dyn Peer>>| match peer {
        Ok(peer) => here.push(peer),
        Err(error) => skipped.push(format!("{name}: {error:#}")),
    };
    add("OpenSSL", OpenSsl::load().map(|p| Box::new(p) as _));
    add("libgcrypt", Gcrypt::load().map(|p| Box::new(p) as _));
    add("Botan", Botan::load().map(|p| Box::new(p) as _));
    add("libargon2", Reference::load().map(|p| Box::new(p) as _));
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

/// The RustCrypto crates.
struct RustCrypto;

impl Peer for RustCrypto {
    fn name(&self) -> &'static str {
        "RustCrypto"
    }

    fn version(&self) -> String {
        let own = ["pbkdf2", "argon2", "sha2", "blake2", "whirlpool", "streebog", "ripemd", "sha1"];
        let versions = own.map(|name| format!("{name} {}", locked_version(name).unwrap_or("?")));
        versions.join(", ")
    }

    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        use pbkdf2::pbkdf2_hmac as run;
        let n = job.iterations;
        match job.function {
            "sha-512" => run::<sha2::Sha512>(password, salt, n, out),
            "sha-256" => run::<sha2::Sha256>(password, salt, n, out),
            "sha-1" => run::<sha1::Sha1>(password, salt, n, out),
            "whirlpool" => run::<whirlpool::Whirlpool>(password, salt, n, out),
            "streebog-512" => run::<streebog::Streebog512>(password, salt, n, out),
            "ripemd-160" => run::<ripemd::Ripemd160>(password, salt, n, out),
            // The fast form of HMAC does not support BLAKE2, which buffers lazily.
            "blake2s-256" => {
                let derive = pbkdf2::pbkdf2::<pbkdf2::hmac::SimpleHmac<blake2::Blake2s256>>;
                derive(password, salt, n, out).context("the key's length")?;
            }
            "argon2id" => {
                let params = argon2::Params::new(job.memory_kib, n, 1, Some(out.len()));
                let params = params.map_err(|e| anyhow::anyhow!("{e}"))?;
                argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params)
                    .hash_password_into(password, salt, out)
                    .map_err(|e| anyhow::anyhow!("{e}"))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The version of the crate `name` with which this program was built.
fn locked_version(name: &str) -> Option<&'static str> {
    let mut lines = include_str!("../../../Cargo.lock").lines();
    lines.find(|line| *line == format!("name = \"{name}\""))?;
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

type Pkcs5 = unsafe extern "C" fn(
    *const c_char,
    c_int,
    *const u8,
    c_int,
    c_int,
    *const c_void,
    c_int,
    *mut u8,
) -> c_int;

/// OpenSSL 3, loaded as a shared library.
struct OpenSsl {
    pbkdf2: Pkcs5,
    digest: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *const c_void,
    free: unsafe extern "C" fn(*const c_void),
    version: unsafe extern "C" fn(c_int) -> *const c_char,
    _library: Library,
}

impl OpenSsl {
    fn load() -> anyhow::Result<Self> {
        let library = open(&["libcrypto.so.3"])?;
        // SAFETY: the types are those of <openssl/evp.h>, <openssl/provider.h> and <openssl/crypto.h>; the
        // library stays loaded as long as the pointers exist. Whirlpool is in the legacy provider, which may be
        // missing.
        unsafe {
            let provider: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
                *library.get(b"OSSL_PROVIDER_load")?;
            provider(ptr::null_mut(), c"legacy".as_ptr());
            provider(ptr::null_mut(), c"default".as_ptr());
            Ok(Self {
                pbkdf2: *library.get(b"PKCS5_PBKDF2_HMAC")?,
                digest: *library.get(b"EVP_MD_fetch")?,
                free: *library.get(b"EVP_MD_free")?,
                version: *library.get(b"OpenSSL_version")?,
                _library: library,
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
        unsafe { CStr::from_ptr((self.version)(0)) }.to_string_lossy().into_owned()
    }

    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        let name = match job.function {
            "sha-512" => c"SHA512",
            "sha-256" => c"SHA256",
            "sha-1" => c"SHA1",
            "blake2s-256" => c"BLAKE2S-256",
            "whirlpool" => c"WHIRLPOOL",
            "ripemd-160" => c"RIPEMD160",
            _ => return Ok(false),
        };
        // SAFETY: uses the default library context; the name ends with a zero byte; there are no properties.
        let digest = unsafe { (self.digest)(ptr::null_mut(), name.as_ptr(), ptr::null()) };
        if digest.is_null() {
            return Ok(false);
        }
        // SAFETY: the lengths are those of the slices; the digest is live until it is freed, which happens
        // once.
        let done = unsafe {
            let done = (self.pbkdf2)(
                password.as_ptr().cast(),
                password.len() as c_int,
                salt.as_ptr(),
                salt.len() as c_int,
                job.iterations as c_int,
                digest,
                out.len() as c_int,
                out.as_mut_ptr(),
            );
            (self.free)(digest);
            done
        };
        ensure!(done == 1, "PKCS5_PBKDF2_HMAC failed");
        Ok(true)
    }
}

type GcryptDerive = unsafe extern "C" fn(
    *const u8,
    usize,
    c_int,
    c_int,
    *const u8,
    usize,
    c_ulong,
    usize,
    *mut u8,
) -> c_uint;
type GcryptOpen = unsafe extern "C" fn(
    *mut *mut c_void,
    c_int,
    c_int,
    *const c_ulong,
    c_uint,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
) -> c_uint;

/// libgcrypt's functions for Argon2, available since version 1.10.
struct GcryptArgon2 {
    open: GcryptOpen,
    compute: unsafe extern "C" fn(*mut c_void, *const c_void) -> c_uint,
    finish: unsafe extern "C" fn(*mut c_void, usize, *mut u8) -> c_uint,
    close: unsafe extern "C" fn(*mut c_void),
}

/// libgcrypt, loaded as a shared library.
struct Gcrypt {
    derive: GcryptDerive,
    argon2: Option<GcryptArgon2>,
    check_version: unsafe extern "C" fn(*const c_char) -> *const c_char,
    _library: Library,
}

impl Gcrypt {
    fn load() -> anyhow::Result<Self> {
        const DISABLE_SECMEM: c_int = 37;
        const INITIALIZATION_FINISHED: c_int = 38;
        let library = open(&["libgcrypt.so.20"])?;
        // SAFETY: the types and numbers are those of <gcrypt.h>; the library stays loaded as long as the
        // pointers exist; initialisation precedes everything else, as required by section 2.4 of the manual.
        unsafe {
            let control: unsafe extern "C" fn(c_int, ...) -> c_uint =
                *library.get(b"gcry_control")?;
            let argon2 = || -> Result<GcryptArgon2, libloading::Error> {
                Ok(GcryptArgon2 {
                    open: *library.get(b"gcry_kdf_open")?,
                    compute: *library.get(b"gcry_kdf_compute")?,
                    finish: *library.get(b"gcry_kdf_final")?,
                    close: *library.get(b"gcry_kdf_close")?,
                })
            };
            let gcrypt = Self {
                derive: *library.get(b"gcry_kdf_derive")?,
                argon2: argon2().ok(),
                check_version: *library.get(b"gcry_check_version")?,
                _library: library,
            };
            ensure!(!(gcrypt.check_version)(ptr::null()).is_null(), "no initialisation");
            control(DISABLE_SECMEM, 0);
            control(INITIALIZATION_FINISHED, 0);
            Ok(gcrypt)
        }
    }

    fn argon2id(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        const ARGON2: c_int = 64;
        const ARGON2ID: c_int = 2;
        let Some(argon2) = &self.argon2 else { return Ok(false) };
        let costs =
            [out.len() as c_ulong, job.iterations.into(), job.memory_kib.into(), 1 as c_ulong];
        let mut handle = ptr::null_mut();
        // SAFETY: the lengths are those of the slices, and null has length 0; the handle is used only if it was
        // opened, and is closed once. Without functions for threads, the computation runs on this thread.
        let refused = unsafe {
            let refused = (argon2.open)(
                &raw mut handle,
                ARGON2,
                ARGON2ID,
                costs.as_ptr(),
                costs.len() as c_uint,
                password.as_ptr(),
                password.len(),
                salt.as_ptr(),
                salt.len(),
                ptr::null(),
                0,
                ptr::null(),
                0,
            );
            if refused != 0 {
                return Ok(false);
            }
            let mut refused = (argon2.compute)(handle, ptr::null());
            if refused == 0 {
                refused = (argon2.finish)(handle, out.len(), out.as_mut_ptr());
            }
            (argon2.close)(handle);
            refused
        };
        ensure!(refused == 0, "gcry_kdf_compute: error {refused}");
        Ok(true)
    }
}

impl Peer for Gcrypt {
    fn name(&self) -> &'static str {
        "libgcrypt"
    }

    fn version(&self) -> String {
        // SAFETY: without a required version, the function returns its own as static text.
        let text = unsafe { CStr::from_ptr((self.check_version)(ptr::null())) };
        text.to_string_lossy().into_owned()
    }

    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        const PBKDF2: c_int = 34;
        // enum gcry_md_algos
        let hash = match job.function {
            "sha-1" => 2,
            "ripemd-160" => 3,
            "sha-256" => 8,
            "sha-512" => 10,
            "whirlpool" => 305,
            "streebog-512" => 310,
            "blake2s-256" => 322,
            "argon2id" => return self.argon2id(job, password, salt, out),
            _ => return Ok(false),
        };
        // SAFETY: the lengths are those of the slices.
        let refused = unsafe {
            (self.derive)(
                password.as_ptr(),
                password.len(),
                PBKDF2,
                hash,
                salt.as_ptr(),
                salt.len(),
                job.iterations.into(),
                out.len(),
                out.as_mut_ptr(),
            )
        };
        ensure!(refused == 0, "gcry_kdf_derive: error {refused}");
        Ok(true)
    }
}

type BotanDerive = unsafe extern "C" fn(
    *const c_char,
    usize,
    usize,
    usize,
    *mut u8,
    usize,
    *const c_char,
    usize,
    *const u8,
    usize,
) -> c_int;

/// Botan, through the C interface of its shared library.
struct Botan {
    derive: BotanDerive,
    version: unsafe extern "C" fn() -> *const c_char,
    _library: Library,
}

impl Botan {
    fn load() -> anyhow::Result<Self> {
        let names: Vec<_> = (0..16).rev().map(|minor| format!("libbotan-3.so.{minor}")).collect();
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.push("libbotan-2.so.19");
        let library = open(&names)?;
        // SAFETY: the types are those of <botan/ffi.h>; the library stays loaded as long as the pointers exist.
        unsafe {
            Ok(Self {
                derive: *library.get(b"botan_pwdhash")?,
                version: *library.get(b"botan_version_string")?,
                _library: library,
            })
        }
    }
}

impl Peer for Botan {
    fn name(&self) -> &'static str {
        "Botan"
    }

    fn version(&self) -> String {
        // SAFETY: the function returns static text.
        unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy().into_owned()
    }

    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        const NOT_IMPLEMENTED: c_int = -40;
        let hash = match job.function {
            "sha-512" => "SHA-512",
            "sha-256" => "SHA-256",
            "sha-1" => "SHA-1",
            "blake2s-256" => "BLAKE2s(256)",
            "whirlpool" => "Whirlpool",
            "streebog-512" => "Streebog-512",
            "ripemd-160" => "RIPEMD-160",
            _ => "",
        };
        let (name, costs) = match job.function {
            "argon2id" => ("Argon2id".to_owned(), [job.memory_kib, job.iterations, 1]),
            _ => (format!("PBKDF2({hash})"), [job.iterations, 0, 0]),
        };
        let name = CString::new(name)?;
        let [first, second, third] = costs.map(|cost| cost as usize);
        // SAFETY: the name ends with a zero byte; the lengths are those of the slices.
        let error = unsafe {
            (self.derive)(
                name.as_ptr(),
                first,
                second,
                third,
                out.as_mut_ptr(),
                out.len(),
                password.as_ptr().cast(),
                password.len(),
                salt.as_ptr(),
                salt.len(),
            )
        };
        if error == NOT_IMPLEMENTED {
            return Ok(false); // not in this version or build
        }
        ensure!(error == 0, "botan_pwdhash: error {error}");
        Ok(true)
    }
}

/// The reference implementation of Argon2, libargon2, which cryptsetup uses.
struct Reference {
    argon2id: unsafe extern "C" fn(
        u32,
        u32,
        u32,
        *const u8,
        usize,
        *const u8,
        usize,
        *mut u8,
        usize,
    ) -> c_int,
    _library: Library,
}

impl Reference {
    fn load() -> anyhow::Result<Self> {
        let library = open(&["libargon2.so.1"])?;
        // SAFETY: the type is that of <argon2.h>; the library stays loaded as long as the pointer exists.
        unsafe { Ok(Self { argon2id: *library.get(b"argon2id_hash_raw")?, _library: library }) }
    }
}

impl Peer for Reference {
    fn name(&self) -> &'static str {
        "libargon2"
    }

    fn version(&self) -> String {
        "libargon2.so.1 (it does not tell its version)".to_owned()
    }

    fn derive(
        &self,
        job: &Job,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> anyhow::Result<bool> {
        if job.function != "argon2id" {
            return Ok(false);
        }
        // SAFETY: the lengths are those of the slices.
        let error = unsafe {
            (self.argon2id)(
                job.iterations,
                job.memory_kib,
                1,
                password.as_ptr(),
                password.len(),
                salt.as_ptr(),
                salt.len(),
                out.as_mut_ptr(),
                out.len(),
            )
        };
        ensure!(error == 0, "argon2id_hash_raw: error {error}");
        Ok(true)
    }
}
