//! Hashes of eight 64-bit words that mix bytes (Whirlpool and Streebog): tables in portable Rust, GFNI or AVX2 on
//! x86.
//!
//! The portable kernels use key-dependent bytes as table indices, like other implementations of these two hashes. On a
//! machine shared with an attacker, these kernels are therefore vulnerable to cache timing attacks. The x86 kernels do
//! not use table look-ups in memory.

use digest::Digest;
use zeroize::Zeroize;

use super::{Blocks, Hash, Kernel, Keys};
use crate::cpu::Tier;

/// A 512-bit state: eight words, little-endian.
pub(super) type State = [u64; 8];

/// A hash of this kind.
pub(crate) trait Wide: Sized + 'static {
    /// The complete hash, from an external crate.
    type Digest: Digest;
    /// The state after one absorbed block.
    type Mid: Copy + Zeroize + Send + Sync;
    /// Cost of the portable kernel; see [`Kernel::cost`].
    const COST: u32;

    /// The state after absorbing one block.
    fn absorb(block: &State) -> Self::Mid;
    /// The digest of one absorbed block and a message as long as a digest.
    fn finish(mid: &Self::Mid, digest: &State) -> State;
    /// The kernels with GFNI.
    #[cfg(target_arch = "x86_64")]
    fn gfni() -> Vec<Kernel<Self>>;
    /// The kernel with AVX2.
    #[cfg(target_arch = "x86_64")]
    fn avx2() -> Kernel<Self>;
}

impl<H: Wide> Hash for H {
    type Digest = H::Digest;
    type State = State;
    type Mid = H::Mid;
    const BLOCK: usize = 64;
    const DIGEST: usize = 64;

    fn midstate(block: &[u8]) -> H::Mid {
        H::absorb(&Self::decode(block))
    }

    fn decode(digest: &[u8]) -> State {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(digest.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }

    fn encode(state: &State, digest: &mut [u8]) {
        for (word, bytes) in state.iter().zip(digest.as_chunks_mut().0) {
            *bytes = word.to_le_bytes();
        }
    }

    fn kernels(tier: Tier) -> Vec<Kernel<Self>> {
        #[cfg(target_arch = "x86_64")]
        if gfni::is_there(tier) {
            return H::gfni();
        } else if tier.allows(Tier::Avx2) {
            return vec![H::avx2()];
        }
        let _ = tier;
        vec![Kernel { name: "soft", lanes: 1, cost: H::COST, run: iterate }]
    }
}

/// The iterations in portable Rust, for one block.
pub(super) fn iterate<H: Wide>(keys: &Keys<H>, blocks: Blocks<'_, H>, iterations: u32) {
    for (last, sum) in blocks.last.iter_mut().zip(blocks.sum) {
        for _ in 0..iterations {
            *last = H::finish(&keys.outer, &H::finish(&keys.inner, last));
            for (sum, last) in sum.iter_mut().zip(*last) {
                *sum ^= last;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod gfni {
    //! A whole state in a 512-bit register: VBMI permutations for the substitution, and GFNI for the linear layers.

    use std::arch::is_x86_feature_detected as has;
    use std::arch::x86_64::*;

    use super::State;
    use crate::cpu::Tier;

    /// Whether the CPU supports everything that these kernels need. Must imply all of their `target_feature`s.
    pub(in crate::pbkdf2) fn is_there(tier: Tier) -> bool {
        tier.allows(Tier::Avx512) && has!("avx512vbmi") && has!("gfni")
    }

    /// A byte substitution, in four registers.
    #[derive(Clone, Copy)]
    pub(in crate::pbkdf2) struct Substitution([__m512i; 4]);

    impl Substitution {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        pub(in crate::pbkdf2) fn new(table: &[u8; 256]) -> Self {
            // SAFETY: four unaligned loads of 64 of the 256 bytes each.
            Self(
                [0, 1, 2, 3]
                    .map(|i| unsafe { _mm512_loadu_si512(table.as_ptr().add(64 * i).cast()) }),
            )
        }

        /// Substitutes every byte.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        pub(in crate::pbkdf2) fn apply(self, x: __m512i) -> __m512i {
            let [a, b, c, d] = self.0;
            let low = _mm512_permutex2var_epi8(a, x, b);
            let high = _mm512_permutex2var_epi8(c, x, d);
            _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high)
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::pbkdf2) fn load(state: &State) -> __m512i {
        // SAFETY: eight words fill one unaligned vector.
        unsafe { _mm512_loadu_si512(state.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::pbkdf2) fn store(vector: __m512i, state: &mut State) {
        // SAFETY: eight words fill one unaligned vector.
        unsafe { _mm512_storeu_si512(state.as_mut_ptr().cast(), vector) }
    }

    /// a ^ b ^ c.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::pbkdf2) fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0x96>(a, b, c)
    }

    /// The matrix of `gf2p8affineqb` whose product with the byte `1 << b` is `images[b]`.
    pub(in crate::pbkdf2) const fn matrix(images: [u8; 8]) -> u64 {
        let mut rows = [0u8; 8];
        let mut row = 0;
        while row < 8 {
            let mut column = 0;
            while column < 8 {
                // The instruction reads the row for result bit i from byte 7 - i.
                rows[7 - row] |= ((images[column] >> row) & 1) << column;
                column += 1;
            }
            row += 1;
        }
        u64::from_le_bytes(rows)
    }
}
