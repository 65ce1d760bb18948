//! VeraCrypt and TrueCrypt volumes: opens and creates them, including hidden volumes, changes their
//! credentials, and backs up their headers.
//!
//! A volume has no signature. Its header consists of 64 bytes of salt and 448 bytes that look random to anyone
//! without the right key, derivation function and cipher.
//!
//! Sources: VeraCrypt's documentation ("VeraCrypt Volume Format Specification", "Encryption Scheme", "Header
//! Key Derivation", "Keyfiles"), the user guides of TrueCrypt 4.3a to 7.1a, and cryptsetup's tables for
//! versions before TrueCrypt 5.

mod backup;
mod change;
mod create;
mod header;
mod layout;
mod open;
mod password;
mod scheme;
mod seal;
mod unlock;
mod whole;

pub use backup::{HeaderSource, backup_headers, restore_headers};
pub use change::{HeaderOptions, change_credentials};
pub use create::{CreateOptions, Fill, HiddenPlace, create, create_hidden};
pub use header::{ENCRYPTED_BYTES, Header, Product, SALT_BYTES, SecretBytes};
pub use open::{open, open_partition};
pub use scheme::{XtsScheme, schemes};
pub use seal::Progress;
