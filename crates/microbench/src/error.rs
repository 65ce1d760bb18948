//! The crate's error type.

/// Why a microbenchmark could not be planned or run.
#[derive(Debug, thiserror::Error)]
pub enum MicrobenchError {
    /// The request is contradictory or impossible.
    #[error("{0}")]
    Usage(String),
    /// The requested CPU tier does not exist.
    #[error(transparent)]
    Cpu(#[from] cryptbench_cipher::CpuError),
    /// The cipher is unknown, or does not support the data unit.
    #[error(transparent)]
    Cipher(#[from] cryptbench_cipher::CipherError),
    /// The key derivation function does not exist, is not available on this kind of volume, or failed.
    #[error(transparent)]
    Kdf(#[from] cryptbench_kdf::KdfError),
}
