//! BitLocker volumes: those created by Windows, those created here, and malicious ones.

mod create;
mod hostile;
mod images;
#[cfg(target_os = "linux")]
mod tools;
pub mod volumes;

use cryptbench_kdf::Effort;
use cryptbench_volume::{Credentials, OpenOptions, Secret};

pub fn options() -> OpenOptions<'static> {
    let tier = cryptbench_cipher::tier().expect("a tier");
    OpenOptions::new(tier, Effort::new(tier, 1))
}

pub fn passphrase(text: &str) -> Credentials {
    Credentials { passphrase: Secret::new(text.into()), ..Credentials::default() }
}

fn recovery(digits: &str) -> Credentials {
    Credentials { recovery_password: Some(Secret::new(digits.into())), ..Credentials::default() }
}

fn startup(file: Vec<u8>) -> Credentials {
    Credentials { startup_key: Some(Secret::new(file)), ..Credentials::default() }
}
