//! Encrypts headers under new salts, and produces random bytes that look like ciphertext.

use std::ops::ControlFlow;

use cryptbench_blockdev::{BlockDevice, Extent};
use cryptbench_cipher::{SectorCipher, Tier};
use cryptbench_kdf::{Derivation, Effort, Target};

use super::header::{DATA_UNIT, HEADER_BYTES, Plain, SALT_BYTES, secret};
use super::scheme::Scheme;
use super::unlock::KEY_BYTES;
use crate::VolumeError;

/// Called with the number of bytes written and the total; `Break` ends the work with [`VolumeError::Stopped`].
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + 'a);

/// Everything but the salt that is needed to encrypt a header.
pub(super) struct Seal<'a> {
    pub(super) scheme: Scheme,
    pub(super) derivation: Derivation,
    pub(super) password: &'a [u8],
    pub(super) tier: Tier,
    pub(super) effort: Effort<'a>,
}

impl Seal<'_> {
    /// `N` copies of a header, each under its own random salt. Equal salts would reveal which
    /// sectors are headers.
    pub(super) fn copies<const N: usize>(
        &self,
        plain: &Plain,
    ) -> Result<[[u8; HEADER_BYTES]; N], VolumeError> {
        let mut salts = [[0; SALT_BYTES]; N];
        let mut keys: [_; N] = std::array::from_fn(|_| secret::<KEY_BYTES>());
        for salt in &mut salts {
            getrandom::fill(salt)?;
        }
        match self.derivation {
            Derivation::Pbkdf2 { prf, iterations } => {
                let targets = salts.iter().zip(&mut keys);
                let mut targets: Vec<_> =
                    targets.map(|(salt, key)| Target { salt, out: &mut key[..] }).collect();
                prf.pbkdf2_each(self.password, iterations, &mut targets, self.effort)?;
            }
            derivation @ Derivation::Argon2 { .. } => {
                for (salt, key) in salts.iter().zip(&mut keys) {
                    derivation.derive(self.password, salt, &mut key[..], self.effort)?;
                }
            }
        }
        let mut sealed = [[0; HEADER_BYTES]; N];
        for (header, (salt, key)) in sealed.iter_mut().zip(salts.iter().zip(&keys)) {
            let mut encrypted: Plain = secret();
            encrypted.copy_from_slice(&plain[..]);
            self.scheme.encrypt_header(&key[..], &mut encrypted, self.tier)?;
            header[..SALT_BYTES].copy_from_slice(salt);
            header[SALT_BYTES..].copy_from_slice(&encrypted[..]);
        }
        Ok(sealed)
    }
}

/// An endless source of random bytes: zeros encrypted with the volume's own cipher under a random key, as
/// VeraCrypt fills unused space. Without a key nobody can distinguish them from data, even if another cipher is
/// broken.
pub(super) struct Filler(Box<dyn SectorCipher>);

impl Filler {
    pub(super) fn new(scheme: Scheme, tier: Tier) -> Result<Self, VolumeError> {
        let mut key = secret();
        getrandom::fill(&mut key[..])?;
        Ok(Self(scheme.keyed(&key, tier)?))
    }

    /// Writes random bytes for the host's range that starts at `offset`.
    pub(super) fn bytes(&self, offset: u64, out: &mut [u8]) {
        out.fill(0);
        self.0.encrypt_in_place(offset / DATA_UNIT, out);
    }

    /// Fills `extents` of the device in order.
    pub(super) fn fill(
        &self,
        device: &dyn BlockDevice,
        extents: &[Extent],
        progress: Option<Progress<'_>>,
    ) -> Result<(), VolumeError> {
        const PIECE: u64 = 1 << 20;
        let total: u64 = extents.iter().map(|extent| extent.len).sum();
        let mut done = 0;
        let mut buf = vec![0; PIECE.min(total) as usize];
        for &Extent { offset, len } in extents {
            let mut at = offset;
            while at < offset + len {
                let piece = &mut buf[..PIECE.min(offset + len - at) as usize];
                self.bytes(at, piece);
                device.write_at(at, piece).map_err(VolumeError::io("filling with random data"))?;
                at += piece.len() as u64;
                done += piece.len() as u64;
                if progress.is_some_and(|progress| progress(done, total).is_break()) {
                    return Err(VolumeError::Stopped);
                }
            }
        }
        Ok(())
    }
}
