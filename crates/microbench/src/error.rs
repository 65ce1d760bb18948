//! Why nothing was measured.

/// Why a microbenchmark could not be planned or run.
#[derive(Debug, thiserror::Error)]
pub enum MicrobenchError {
    /// The request contradicts itself or asks for the impossible.
    #[error("{0}")]
    Usage(String),
    /// The cipher tier asked for does not exist here.
    #[error(transparent)]
    Cpu(#[from] cryptbench_cipher::CpuError),
    /// An unknown cipher, or a data unit that it cannot have.
    #[error(transparent)]
    Cipher(#[from] cryptbench_cipher::CipherError),
    /// A key derivation that does not exist, or not on that kind of volume, or that failed.
    #[error(transparent)]
    Kdf(#[from] cryptbench_kdf::KdfError),
}
