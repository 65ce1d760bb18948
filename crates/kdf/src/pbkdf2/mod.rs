//! PBKDF2 with HMAC (RFC 8018, section 5.2): all output blocks of all salts are lanes of one job.
//!
//! HMAC's inner and outer key blocks are absorbed only once. From the second iteration on, the message is the
//! previous output, so an iteration consists of two short hashes that start at known midstates. The first iteration,
//! whose message is the salt, uses the hash crate directly.

pub(crate) mod blake2s;
mod chain;
mod lanes;
pub(crate) mod plain;
mod plan;
pub(crate) mod ripemd160;
pub(crate) mod sha1;
mod sha2;
pub(crate) mod sha256;
pub(crate) mod sha512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod streams;
pub(crate) mod streebog;
pub(crate) mod whirlpool;
mod wide;

use std::thread;

use digest::Digest;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::cpu::Tier;
use crate::effort::Effort;
use crate::error::KdfError;
use crate::threads::join;
use plan::Group;

/// Number of iterations between checks of the stop flag; this many iterations take about a millisecond with most
/// kernels.
const CHUNK: u32 = 1024;

/// One key to derive: its salt and its destination.
#[derive(Debug)]
pub struct Target<'a> {
    /// The salt, of any length.
    pub salt: &'a [u8],
    /// The derived key.
    pub out: &'a mut [u8],
}

/// A hash for HMAC, with the operations that PBKDF2 needs.
pub(crate) trait Hash: Sized + 'static {
    /// The complete hash, from an external crate.
    type Digest: Digest;
    /// A digest in the kernels' form.
    type State: Copy + Default + Zeroize + Send + Sync;
    /// The state after one absorbed block.
    type Mid: Copy + Zeroize + Send + Sync;
    /// Size of a message block in bytes, at most [`MOST_BLOCK`].
    const BLOCK: usize;
    /// Size of a digest in bytes, at most [`MOST_DIGEST`].
    const DIGEST: usize;

    /// The state after absorbing one block of [`Hash::BLOCK`] bytes.
    fn midstate(block: &[u8]) -> Self::Mid;
    /// A digest of [`Hash::DIGEST`] bytes as a state.
    fn decode(digest: &[u8]) -> Self::State;
    /// A state as a digest of [`Hash::DIGEST`] bytes.
    fn encode(state: &Self::State, digest: &mut [u8]);
    /// The kernels that this CPU supports, up to `tier`. The first kernel accepts a single block.
    fn kernels(tier: Tier) -> Vec<Kernel<Self>>;
}

/// Length in bytes of the longest message block of the hashes.
const MOST_BLOCK: usize = 128;
/// Length in bytes of the longest digest of the hashes.
const MOST_DIGEST: usize = 64;

/// HMAC's absorbed key.
pub(crate) struct Keys<H: Hash> {
    inner: H::Mid,
    outer: H::Mid,
}

impl<H: Hash> Drop for Keys<H> {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

impl<H: Hash> ZeroizeOnDrop for Keys<H> {}

/// Output blocks in progress: the last HMAC output of each, and the XOR of all its outputs.
pub(crate) struct Blocks<'a, H: Hash> {
    last: &'a mut [H::State],
    sum: &'a mut [H::State],
}

/// A kernel that iterates several blocks in parallel.
pub(crate) struct Kernel<H: Hash> {
    /// Name for records, such as `avx512vl-x4`.
    pub(crate) name: &'static str,
    /// Maximum number of blocks that the kernel accepts.
    pub(crate) lanes: usize,
    /// Time of an iteration in nanoseconds on a Sapphire Rapids Xeon at 2.7 GHz; it does not depend on the number of
    /// lanes used. Only the ratios between the kernels of one hash matter.
    pub(crate) cost: u32,
    /// Runs the given number of iterations on 1 to `lanes` blocks. May be called only if the CPU supports the
    /// instruction set, which [`Hash::kernels`] has checked.
    run: unsafe fn(&Keys<H>, Blocks<'_, H>, u32),
}

/// Derives every target's key from one password.
pub(crate) fn derive<H: Hash>(
    password: &[u8],
    iterations: u32,
    targets: &mut [Target<'_>],
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    if iterations == 0 {
        return Err(KdfError::NoIterations);
    }
    if let Some(target) =
        targets.iter().find(|target| target.out.len().div_ceil(H::DIGEST) > u32::MAX as usize)
    {
        return Err(KdfError::TooLong { bytes: target.out.len() });
    }
    effort.check()?;
    let pads = Pads::new::<H>(password);
    let keys = Keys::<H> {
        inner: H::midstate(&pads.inner[..H::BLOCK]),
        outer: H::midstate(&pads.outer[..H::BLOCK]),
    };

    let mut last = Zeroizing::new(Vec::new());
    for target in targets.iter() {
        for block in 1..=target.out.len().div_ceil(H::DIGEST) {
            last.push(pads.first::<H>(target.salt, block as u32));
        }
    }
    let mut sum = Zeroizing::new(last.to_vec());
    iterate(&keys, &mut last, &mut sum, iterations - 1, effort)?;

    let mut sums = sum.iter();
    let mut digest = Zeroizing::new([0; MOST_DIGEST]);
    for target in targets {
        for (part, state) in target.out.chunks_mut(H::DIGEST).zip(&mut sums) {
            H::encode(state, &mut digest[..H::DIGEST]);
            part.copy_from_slice(&digest[..part.len()]);
        }
    }
    Ok(())
}

/// The kernels that [`derive`] uses for `blocks` blocks, as `name` or `name+name`, for records.
pub(crate) fn kernel_names<H: Hash>(blocks: usize, effort: Effort<'_>) -> String {
    let kernels = H::kernels(effort.tier());
    let mut names: Vec<&str> = plan::groups(&kernels, blocks, effort.threads())
        .iter()
        .flatten()
        .map(|group| kernels[group.kernel].name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join("+")
}

fn iterate<H: Hash>(
    keys: &Keys<H>,
    mut last: &mut [H::State],
    mut sum: &mut [H::State],
    iterations: u32,
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    let kernels = H::kernels(effort.tier());
    let shares = plan::groups(&kernels, last.len(), effort.threads());
    thread::scope(|scope| {
        let mut running = Vec::new();
        let mut first = Ok(());
        for (index, share) in shares.iter().enumerate() {
            let blocks: usize = share.iter().map(|group| group.blocks).sum();
            let (share_last, share_sum);
            (share_last, last) = std::mem::take(&mut last).split_at_mut(blocks);
            (share_sum, sum) = std::mem::take(&mut sum).split_at_mut(blocks);
            let kernels = &kernels;
            let mut work = move || {
                iterate_share(keys, kernels, share, share_last, share_sum, iterations, effort)
            };
            // This thread computes the last share, and any share for which no thread can be started.
            if index + 1 == shares.len() {
                first = work();
            } else {
                running.push(scope.spawn(work));
            }
        }
        for thread in running {
            join(thread)?;
        }
        first
    })
}

fn iterate_share<H: Hash>(
    keys: &Keys<H>,
    kernels: &[Kernel<H>],
    share: &[Group],
    mut last: &mut [H::State],
    mut sum: &mut [H::State],
    iterations: u32,
    effort: Effort<'_>,
) -> Result<(), KdfError> {
    for group in share {
        let (group_last, group_sum);
        (group_last, last) = std::mem::take(&mut last).split_at_mut(group.blocks);
        (group_sum, sum) = std::mem::take(&mut sum).split_at_mut(group.blocks);
        let mut left = iterations;
        while left > 0 {
            effort.check()?;
            let now = left.min(CHUNK);
            let blocks = Blocks { last: &mut *group_last, sum: &mut *group_sum };
            // SAFETY: the kernel comes from `Hash::kernels`, which lists only kernels that this CPU
            // can run.
            unsafe { (kernels[group.kernel].run)(keys, blocks, now) };
            left -= now;
        }
    }
    Ok(())
}

/// HMAC's key blocks (RFC 2104, section 2); the first [`Hash::BLOCK`] bytes of each are in use.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Pads {
    inner: [u8; MOST_BLOCK],
    outer: [u8; MOST_BLOCK],
}

impl Pads {
    fn new<H: Hash>(password: &[u8]) -> Self {
        let mut key = Zeroizing::new([0; MOST_BLOCK]);
        if password.len() <= H::BLOCK {
            key[..password.len()].copy_from_slice(password);
        } else {
            let mut digest = H::Digest::digest(password);
            key[..H::DIGEST].copy_from_slice(&digest);
            digest.as_mut_slice().zeroize();
        }
        Self { inner: key.map(|byte| byte ^ 0x36), outer: key.map(|byte| byte ^ 0x5c) }
    }

    /// The first HMAC output of a block of the derived key.
    fn first<H: Hash>(&self, salt: &[u8], block: u32) -> H::State {
        let mut inner = H::Digest::new()
            .chain_update(&self.inner[..H::BLOCK])
            .chain_update(salt)
            .chain_update(block.to_be_bytes())
            .finalize();
        let mut outer =
            H::Digest::new().chain_update(&self.outer[..H::BLOCK]).chain_update(&inner).finalize();
        let state = H::decode(&outer);
        inner.as_mut_slice().zeroize();
        outer.as_mut_slice().zeroize();
        state
    }
}

// This is a measurement, which is meaningless without optimisation, so unoptimised builds omit it.
#[cfg(not(debug_assertions))]
#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Prints what [`Kernel::cost`] should be, times a constant; nothing is asserted of it.
    #[test]
    #[ignore = "a measurement: run it alone, in release mode, on an idle machine"]
    fn costs_of_the_kernels() {
        fn each<H: Hash>(name: &str) {
            let keys = Keys::<H> {
                inner: H::midstate(&[1; MOST_BLOCK][..H::BLOCK]),
                outer: H::midstate(&[2; MOST_BLOCK][..H::BLOCK]),
            };
            let mut kernels = Vec::new();
            for tier in Tier::available() {
                for kernel in H::kernels(tier) {
                    if kernels.iter().all(|(known, _): &(Kernel<H>, f64)| known.name != kernel.name)
                    {
                        kernels.push((kernel, f64::INFINITY));
                    }
                }
            }
            // Interleaved, so that other load on the machine affects all of them.
            for _ in 0..300 {
                for (kernel, least) in &mut kernels {
                    let mut last = vec![H::State::default(); kernel.lanes];
                    let mut sum = last.clone();
                    let start = Instant::now();
                    let blocks = Blocks { last: &mut last, sum: &mut sum };
                    // SAFETY: `Hash::kernels` lists what this CPU can run.
                    unsafe { (kernel.run)(&keys, blocks, 250) };
                    *least = least.min(start.elapsed().as_secs_f64() * 4e6);
                }
            }
            for (kernel, least) in kernels {
                let each = least / kernel.lanes as f64;
                eprintln!(
                    "{name} {} {least:.0} ns, {each:.0} a block (cost {})",
                    kernel.name, kernel.cost
                );
            }
        }
        each::<sha512::Sha512>("sha-512");
        each::<sha256::Sha256>("sha-256");
        each::<blake2s::Blake2s>("blake2s-256");
        each::<whirlpool::Whirlpool>("whirlpool");
        each::<streebog::Streebog>("streebog-512");
        each::<ripemd160::Ripemd160>("ripemd-160");
        each::<sha1::Sha1>("sha-1");
    }
}
