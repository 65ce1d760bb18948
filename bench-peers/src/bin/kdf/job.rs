//! The job of a derivation: a function with its cost and the length of its key.

use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation, KdfError, find};

/// A passphrase of the kind that users choose.
pub const PASSPHRASE: &[u8] = b"correct horse battery staple";
/// A salt with VeraCrypt's length.
pub const SALT: [u8; 64] = [7; 64];

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Name in our registry.
    pub function: &'static str,
    /// Iterations of PBKDF2, or passes of Argon2id.
    pub iterations: u32,
    /// Memory of Argon2id in KiB; 0 for PBKDF2.
    pub memory_kib: u32,
    /// Length of the key in bytes.
    pub key_bytes: usize,
}

/// The jobs are header keys. With the functions that most new VeraCrypt volumes use, the key has 192 bytes, as
/// in VeraCrypt. With the others it has 64 bytes, which a single cipher in XTS needs. The slowest peers need
/// some tenths of a second for the iterations.
pub fn jobs() -> Vec<Job> {
    let pbkdf2 =
        |function, iterations, key_bytes| Job { function, iterations, memory_kib: 0, key_bytes };
    vec![
        pbkdf2("sha-512", 30_000, 192),
        pbkdf2("sha-256", 30_000, 192),
        pbkdf2("blake2s-256", 30_000, 192),
        pbkdf2("whirlpool", 15_000, 64),
        pbkdf2("streebog-512", 8_000, 64),
        pbkdf2("ripemd-160", 30_000, 64),
        pbkdf2("sha-1", 30_000, 64),
        Job { function: "argon2id", iterations: 3, memory_kib: 64 << 10, key_bytes: 64 },
    ]
}

impl Job {
    /// A description of the job.
    pub fn title(&self) -> String {
        match self.memory_kib {
            0 => format!("{}, {} bytes", self.function, self.key_bytes),
            kib => format!(
                "{} {} MiB t={} p=1, {} bytes",
                self.function,
                kib >> 10,
                self.iterations,
                self.key_bytes
            ),
        }
    }

    /// Our derivation for the job.
    ///
    /// # Errors
    /// If the registry does not contain the function.
    pub fn derivation(&self) -> Result<Derivation, KdfError> {
        Ok(match self.memory_kib {
            0 => Derivation::Pbkdf2 { prf: find(self.function)?, iterations: self.iterations },
            memory_kib => Derivation::Argon2 {
                kind: Argon2Kind::Id,
                params: Argon2Params { memory_kib, passes: self.iterations, lanes: 1 },
            },
        })
    }
}
