//! What is derived: a function with its cost and the length of its key.

use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation, KdfError, find};

/// A passphrase as people choose them.
pub const PASSPHRASE: &[u8] = b"correct horse battery staple";
/// A salt of VeraCrypt's length.
pub const SALT: [u8; 64] = [7; 64];

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Name in our registry.
    pub function: &'static str,
    /// Iterations of PBKDF2, or passes of Argon2id.
    pub iterations: u32,
    /// Memory of Argon2id, KiB; 0 for PBKDF2.
    pub memory_kib: u32,
    /// Bytes of the key.
    pub key_bytes: usize,
}

/// Header keys: 192 bytes, what VeraCrypt derives, with what its new volumes mostly have; 64 bytes, what
/// one cipher in XTS takes, with the others. Iterations that take the slowest peers some tenths of a second.
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
    /// What is measured, in words.
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

    /// Ours.
    ///
    /// # Errors
    /// The registry does not know the function.
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
