//! The contenders of a comparison: each is a keyed XTS implementation that transforms a buffer.

use std::fmt;

use cryptbench_cipher::SectorCipher;
use serde::Serialize;

/// The direction of a transformation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Plaintext to ciphertext.
    Encrypt,
    /// Ciphertext to plaintext.
    Decrypt,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
        })
    }
}

/// A keyed XTS implementation for one direction.
pub trait Contender {
    /// Transforms the data units of `unit` bytes in `data` in place. The tweaks are 0, 1, 2 ... as
    /// little-endian 16-byte numbers, which this function generates: the IV generator is part of the work.
    ///
    /// # Errors
    /// If the implementation fails.
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()>;
}

/// Calls `each` for every data unit of `data`, with the tweak of that unit.
pub fn each_unit(
    unit: usize,
    data: &mut [u8],
    mut each: impl FnMut([u8; 16], &mut [u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for (number, bytes) in data.chunks_exact_mut(unit).enumerate() {
        each((number as u128).to_le_bytes(), bytes)?;
    }
    Ok(())
}

/// One of our kernels, keyed for data units of one size.
pub struct Ours(pub Box<dyn SectorCipher>, pub Direction);

impl Contender for Ours {
    fn pass(&mut self, unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        anyhow::ensure!(self.0.data_unit() == unit, "keyed for units of another size");
        match self.1 {
            Direction::Encrypt => self.0.encrypt_in_place(0, data),
            Direction::Decrypt => self.0.decrypt_in_place(0, data),
        }
        Ok(())
    }
}
