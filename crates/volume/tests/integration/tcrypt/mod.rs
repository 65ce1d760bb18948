//! VeraCrypt and TrueCrypt volumes: tests with volumes that other programs wrote, and with our own.

mod create;
mod cut;
mod fixtures;
mod images;
pub mod malformed;
mod oracle;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode, MemoryDevice};
use cryptbench_kdf::Effort;
use cryptbench_volume::format::tcrypt::{HeaderOptions, backup_headers};
use cryptbench_volume::{Credentials, OpenOptions, Secret, Volume, VolumeError};
use sha2::{Digest, Sha256};

/// Number of threads of a key derivation; the tests themselves run in parallel.
const THREADS: usize = 1;

fn effort() -> Effort<'static> {
    Effort::new(cryptbench_kdf::tier().unwrap(), THREADS)
}

/// Read-only, with nothing known about the volume.
fn options() -> OpenOptions<'static> {
    OpenOptions::new(cryptbench_cipher::tier().unwrap(), effort())
}

pub fn credentials(passphrase: &str, pim: Option<u32>) -> Credentials {
    let passphrase = Secret::new(passphrase.as_bytes().to_vec());
    Credentials { passphrase, pim, ..Credentials::default() }
}

/// With the cheapest key derivation.
fn cheap(passphrase: &str) -> Credentials {
    credentials(passphrase, Some(1))
}

/// Read-only, with a known hash of the key derivation.
fn sha512() -> OpenOptions<'static> {
    OpenOptions { prf: Some("sha-512"), ..options() }
}

/// New headers with the same hash.
fn header() -> HeaderOptions<'static> {
    HeaderOptions {
        prf: Some("sha-512"),
        ..HeaderOptions::new(cryptbench_cipher::tier().unwrap(), effort())
    }
}

fn secret_file(path: &Path) -> Secret {
    Secret::new(std::fs::read(path).unwrap())
}

fn file(path: &Path) -> Arc<dyn BlockDevice> {
    Arc::new(FileDevice::open(path, IoMode::Buffered, true).unwrap())
}

pub fn open(
    device: Arc<dyn BlockDevice>,
    credentials: &Credentials,
    options: &OpenOptions<'_>,
) -> Result<Volume, VolumeError> {
    cryptbench_volume::open(device, credentials, options)
}

/// The whole plaintext.
fn plaintext(volume: &Volume) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(volume.size()).unwrap()];
    volume.read_at(0, &mut bytes).unwrap();
    if cryptbench_prove::is_broken("plaintext") {
        bytes[volume.size() as usize / 2] ^= 1;
    }
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Test data that is stored outside the repository.
fn shared_volumes() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(cryptbench_prove::IMAGES) {
        return Some(named.into());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes");
    path.is_dir().then_some(path)
}

/// The rows of a comma-separated table without quoting and without its heading.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).filter(|line| !line.is_empty());
    rows.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The rows `part` of `parts`, so that several tests can share a table and run in parallel.
fn share<T>(rows: Vec<T>, part: usize, parts: usize) -> impl Iterator<Item = T> {
    rows.into_iter().skip(part).step_by(parts)
}

fn memory(size: usize) -> Arc<MemoryDevice> {
    Arc::new(MemoryDevice::new(vec![0; size]))
}

/// The header backup of a volume.
fn backup_of(
    device: &Arc<MemoryDevice>,
    credentials: &Credentials,
    options: &HeaderOptions<'_>,
) -> Vec<u8> {
    backup_headers(&**device, credentials, None, options).unwrap()
}
