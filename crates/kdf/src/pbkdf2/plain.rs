//! PBKDF2 with hashes for which this crate has no kernels: each thread computes one block after another.

use std::thread;

use digest::block_api::BlockSizeUser;
use digest::{Digest, Output};
use zeroize::{Zeroize as _, Zeroizing};

use super::{CHUNK, Target};
use crate::effort::Effort;
use crate::error::KdfError;
use crate::threads::join;

/// Name of the kernel for records.
pub(crate) const KERNEL: &str = "soft";

/// Length in bytes of the longest message block of the hashes, which is that of SHA3-224.
const MOST_BLOCK: usize = 144;

/// HMAC (RFC 2104, section 2) with an absorbed key.
struct Hmac<D> {
    inner: D,
    outer: D,
}

impl<D: Digest + BlockSizeUser + Clone> Hmac<D> {
    fn new(key: &[u8]) -> Self {
        let block = D::block_size();
        let mut pad = Zeroizing::new([0; MOST_BLOCK]);
        if key.len() <= block {
            pad[..key.len()].copy_from_slice(key);
        } else {
            let mut digest = D::digest(key);
            pad[..digest.len()].copy_from_slice(&digest);
            digest.as_mut_slice().zeroize();
        }
        let keyed = |with: u8| {
            let pad = Zeroizing::new(pad.map(|byte| byte ^ with));
            D::new().chain_update(&pad[..block])
        };
        Self { inner: keyed(0x36), outer: keyed(0x5c) }
    }

    fn of(&self, parts: &[&[u8]]) -> Output<D> {
        let mut inner = self.inner.clone();
        parts.iter().for_each(|part| inner.update(part));
        let mut digest = inner.finalize();
        let mac = self.outer.clone().chain_update(&digest).finalize();
        digest.as_mut_slice().zeroize();
        mac
    }

    /// One block of a derived key: the XOR of all outputs.
    fn block(
        &self,
        salt: &[u8],
        number: u32,
        iterations: u32,
        out: &mut [u8],
        effort: Effort<'_>,
    ) -> Result<(), KdfError> {
        let mut last = self.of(&[salt, &number.to_be_bytes()]);
        let mut sum = last.clone();
        for iteration in 1..iterations {
            if iteration % CHUNK == 0
                && let Err(stopped) = effort.check()
            {
                last.as_mut_slice().zeroize();
                sum.as_mut_slice().zeroize();
                return Err(stopped);
            }
            last = self.of(&[&last]);
            sum.iter_mut().zip(&last).for_each(|(byte, other)| *byte ^= other);
        }
        out.copy_from_slice(&sum[..out.len()]);
        last.as_mut_slice().zeroize();
        sum.as_mut_slice().zeroize();
        Ok(())
    }
}

/// Derives every target's key from one password.
pub(crate) fn derive<D: Digest + BlockSizeUser + Clone + Send + Sync>(
    password: &[u8],
    iterations: u32,
    targets: &mut [Target<'_>],
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    let bytes = <D as Digest>::output_size();
    if iterations == 0 {
        return Err(KdfError::NoIterations);
    }
    if let Some(target) =
        targets.iter().find(|target| target.out.len().div_ceil(bytes) > u32::MAX as usize)
    {
        return Err(KdfError::TooLong { bytes: target.out.len() });
    }
    effort.check()?;
    let hmac = Hmac::<D>::new(password);
    // Stored in separate memory, because a stopped derivation must leave its targets unchanged.
    let mut keys: Vec<_> = targets.iter().map(|t| Zeroizing::new(vec![0; t.out.len()])).collect();
    let mut blocks = Vec::new();
    for (target, key) in targets.iter().zip(&mut keys) {
        blocks.extend((1..).zip(key.chunks_mut(bytes)).map(|(i, part)| (target.salt, i, part)));
    }
    let share = blocks.len().div_ceil(effort.threads().max(1)).max(1);
    thread::scope(|scope| {
        let hmac = &hmac;
        let mut running = Vec::new();
        while !blocks.is_empty() {
            let mine = blocks.split_off(blocks.len().saturating_sub(share));
            let work = move || {
                mine.into_iter()
                    .try_for_each(|(salt, i, part)| hmac.block(salt, i, iterations, part, effort))
            };
            // This thread computes the last share.
            if blocks.is_empty() {
                work()?;
            } else {
                running.push(scope.spawn(work));
            }
        }
        running.into_iter().try_for_each(join)
    })?;
    for (target, key) in targets.iter_mut().zip(&keys) {
        target.out.copy_from_slice(key);
    }
    Ok(())
}
