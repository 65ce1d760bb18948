//! FileVault volumes: one created by macOS, those from our own maker, and malicious ones.

mod hostile;
mod images;
pub mod maker;
mod opened;
#[cfg(target_os = "linux")]
mod tools;

use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_kdf::Effort;
use cryptbench_volume::{Access, Credentials, OpenOptions, Secret, Volume, VolumeError, open};

pub fn options() -> OpenOptions<'static> {
    let tier = cryptbench_cipher::tier().expect("a tier");
    OpenOptions::new(tier, Effort::new(tier, 1))
}

pub fn passphrase(text: &str) -> Credentials {
    Credentials { passphrase: Secret::new(text.into()), ..Credentials::default() }
}

fn recovery(text: &str) -> Credentials {
    Credentials { recovery_password: Some(Secret::new(text.into())), ..Credentials::default() }
}

fn key_file(bytes: &[u8], text: &str) -> Credentials {
    Credentials { keyfiles: vec![Secret::new(bytes.to_vec())], ..passphrase(text) }
}

pub fn open_bytes(bytes: &[u8], credentials: &Credentials) -> Result<Volume, VolumeError> {
    open(Arc::new(MemoryDevice::new(bytes.to_vec())), credentials, &options())
}

fn open_writable(
    device: &Arc<MemoryDevice>,
    credentials: &Credentials,
) -> Result<Volume, VolumeError> {
    let options = OpenOptions { access: Access::ReadWrite, ..options() };
    open(Arc::clone(device) as Arc<dyn BlockDevice>, credentials, &options)
}

fn contents(volume: &Volume) -> Vec<u8> {
    let mut data = vec![0; volume.size() as usize];
    volume.read_at(0, &mut data).unwrap();
    data
}
