//! Hashes whose digest is their chaining value: SHA-1, SHA-2, RIPEMD-160 and BLAKE2s, each written only once, over
//! [`Lanes`].

use digest::Digest;
use zeroize::Zeroize;

use super::lanes::{Lanes, MOST};
use super::{Blocks, Hash, Kernel, Keys};
use crate::cpu::Tier;

/// A hash with `N` words of state, all of which form the digest.
pub(crate) trait Chain<const N: usize>: 'static {
    /// The complete hash, from an external crate.
    type Digest: Digest;
    /// The hash's word.
    type Word: Word;
    /// Size of a message block in bytes.
    const BLOCK: usize;

    /// The state after absorbing one block, given as words.
    fn absorb(block: &[Self::Word; 16]) -> [Self::Word; N];

    /// The digest of one absorbed block followed by a message as long as a digest.
    ///
    /// # Safety
    /// As for the methods of `V`.
    unsafe fn finish<V: Lanes<Word = Self::Word>>(mid: &[V; N], digest: &[V; N]) -> [V; N];

    /// The kernels that this CPU supports, up to `tier`; see [`Hash::kernels`].
    fn kernels(tier: Tier) -> Vec<Kernel<Self>>
    where
        Self: Hash;
}

/// A word of a chaining hash in the hash's byte order, and the vectors for it on x86: AVX2, and AVX-512 with 256 and
/// 512 bits.
pub(crate) trait Word: Lanes<Word = Self> + Zeroize + Send + Sync + 'static {
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Word = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx512Vl: Lanes<Word = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Word = Self>;
    /// Names of the kernels for these vectors.
    #[cfg(target_arch = "x86_64")]
    const NAMES: [&'static str; 3];

    /// Reads a word from bytes in the given order.
    fn read(bytes: &[u8], big_endian: bool) -> Self;
    /// Writes a word to bytes in the given order.
    fn write(self, bytes: &mut [u8], big_endian: bool);
}

macro_rules! word {
    ($word:ty, $avx2:ident, $avx512vl:ident, $avx512:ident, $names:expr) => {
        impl Word for $word {
            #[cfg(target_arch = "x86_64")]
            type Avx2 = super::lanes::x86::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512Vl = super::lanes::x86::$avx512vl;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = super::lanes::x86::$avx512;
            #[cfg(target_arch = "x86_64")]
            const NAMES: [&'static str; 3] = $names;

            fn read(bytes: &[u8], big_endian: bool) -> Self {
                let mut word = [0; size_of::<$word>()];
                word.copy_from_slice(bytes);
                if big_endian { Self::from_be_bytes(word) } else { Self::from_le_bytes(word) }
            }

            fn write(self, bytes: &mut [u8], big_endian: bool) {
                let word = if big_endian { self.to_be_bytes() } else { self.to_le_bytes() };
                bytes.copy_from_slice(&word);
            }
        }
    };
}

word!(u32, Avx2x8, Avx512x8, Avx512x16, ["avx2-x8", "avx512vl-x8", "avx512-x16"]);
word!(u64, Avx2x4, Avx512x4, Avx512Wide, ["avx2-x4", "avx512vl-x4", "avx512-x8"]);

/// Implements [`Hash`] for a [`Chain`].
macro_rules! hash_of_chain {
    ($hash:ty, $words:literal, $big_endian:literal) => {
        impl $crate::pbkdf2::Hash for $hash {
            type Digest = <Self as Chain<$words>>::Digest;
            type State = [<Self as Chain<$words>>::Word; $words];
            type Mid = Self::State;
            const BLOCK: usize = <Self as Chain<$words>>::BLOCK;
            const DIGEST: usize = size_of::<Self::State>();

            fn midstate(block: &[u8]) -> Self::Mid {
                let bytes = size_of::<<Self as Chain<$words>>::Word>();
                let mut words =
                    zeroize::Zeroizing::new([<Self as Chain<$words>>::Word::default(); 16]);
                for (word, bytes) in words.iter_mut().zip(block.chunks_exact(bytes)) {
                    *word = $crate::pbkdf2::chain::Word::read(bytes, $big_endian);
                }
                Self::absorb(&words)
            }

            fn decode(digest: &[u8]) -> Self::State {
                let bytes = digest.len() / $words;
                std::array::from_fn(|i| {
                    $crate::pbkdf2::chain::Word::read(&digest[i * bytes..][..bytes], $big_endian)
                })
            }

            fn encode(state: &Self::State, digest: &mut [u8]) {
                let bytes = digest.len() / $words;
                for (word, bytes) in state.iter().zip(digest.chunks_exact_mut(bytes)) {
                    $crate::pbkdf2::chain::Word::write(*word, bytes, $big_endian);
                }
            }

            fn kernels(tier: $crate::cpu::Tier) -> Vec<$crate::pbkdf2::Kernel<Self>> {
                <Self as Chain<$words>>::kernels(tier)
            }
        }
    };
}
pub(super) use hash_of_chain;

/// Runs the iterations on any kind of vector. Lanes without a block repeat the first block.
///
/// # Safety
/// As for the methods of `V`. Must be inlined into a function that enables the instruction set.
#[inline(always)]
unsafe fn iterate<H, V, const N: usize>(keys: &Keys<H>, blocks: Blocks<'_, H>, iterations: u32)
where
    H: Chain<N, Word = V::Word> + Hash<State = [V::Word; N], Mid = [V::Word; N]>,
    V: Lanes,
{
    let Blocks { last: lasts, sum: sums } = blocks;
    // SAFETY: the caller guarantees the instruction set.
    unsafe {
        // Inner and outer hash alternate in one loop body: two copies of the larger hashes would not fit in the
        // instruction caches.
        let mids = [broadcast::<V, N>(&keys.inner), broadcast::<V, N>(&keys.outer)];
        let mut last = gather::<V, N>(lasts);
        let mut sum = gather::<V, N>(sums);
        for turn in 0..2 * u64::from(iterations) {
            let is_outer = turn % 2 == 1;
            last = H::finish::<V>(&mids[usize::from(is_outer)], &last);
            if is_outer {
                for i in 0..N {
                    sum[i] = sum[i].xor(last[i]);
                }
            }
        }
        scatter(&last, lasts);
        scatter(&sum, sums);
    }
}

#[inline(always)]
unsafe fn broadcast<V: Lanes, const N: usize>(state: &[V::Word; N]) -> [V; N] {
    // SAFETY: as for `iterate`.
    state.map(|word| unsafe { V::splat(word) })
}

#[inline(always)]
unsafe fn gather<V: Lanes, const N: usize>(states: &[[V::Word; N]]) -> [V; N] {
    debug_assert!(states.len() <= V::LANES);
    let mut lanes = [V::Word::default(); MOST];
    std::array::from_fn(|word| {
        for (lane, state) in states.iter().enumerate() {
            lanes[lane] = state[word];
        }
        // SAFETY: as for `iterate`.
        unsafe { V::load(&lanes) }
    })
}

#[inline(always)]
unsafe fn scatter<V: Lanes, const N: usize>(vectors: &[V; N], states: &mut [[V::Word; N]]) {
    let mut lanes = [V::Word::default(); MOST];
    for (word, vector) in vectors.iter().enumerate() {
        // SAFETY: as for `iterate`.
        unsafe { vector.store(&mut lanes) };
        for (lane, state) in states.iter_mut().enumerate() {
            state[word] = lanes[lane];
        }
    }
}

/// Defines a function of the type of [`Kernel`]'s `run` for any vector of an instruction set.
macro_rules! kernel {
    ($name:ident $(, $features:literal)?) => {
        /// # Safety
        /// The CPU must support the instruction set of the vector.
        $(#[target_feature(enable = $features)])?
        unsafe fn $name<H, V, const N: usize>(keys: &Keys<H>, blocks: Blocks<'_, H>, iterations: u32)
        where
            H: Chain<N, Word = V::Word> + Hash<State = [V::Word; N], Mid = [V::Word; N]>,
            V: Lanes,
        {
            // SAFETY: this function enables the vector's instruction set, and the caller guarantees that the CPU
            // supports it.
            unsafe { iterate::<H, V, N>(keys, blocks, iterations) }
        }
    };
}

kernel!(one);
#[cfg(target_arch = "x86_64")]
kernel!(avx2, "avx2");
#[cfg(target_arch = "x86_64")]
kernel!(avx512, "avx512f,avx512bw,avx512dq,avx512vl");

/// Cost of an iteration on each of a hash's vectors; see [`Kernel::cost`].
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "vectors have kernels on x86 only")
)]
pub(super) struct Costs {
    pub(super) one: u32,
    pub(super) avx2: u32,
    pub(super) avx512vl: u32,
    pub(super) avx512: u32,
}

/// The kernels over [`Lanes`].
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_mut, unused_variables, reason = "vectors have kernels on x86 only")
)]
pub(super) fn kernels<H, W: Word, const N: usize>(tier: Tier, costs: &Costs) -> Vec<Kernel<H>>
where
    H: Chain<N, Word = W> + Hash<State = [W; N], Mid = [W; N]>,
{
    let mut kernels = vec![Kernel { name: "soft", lanes: 1, cost: costs.one, run: one::<H, W, N> }];
    #[cfg(target_arch = "x86_64")]
    if tier.allows(Tier::Avx512) {
        kernels.push(Kernel {
            name: W::NAMES[1],
            lanes: W::Avx512Vl::LANES,
            cost: costs.avx512vl,
            run: avx512::<H, W::Avx512Vl, N>,
        });
        kernels.push(Kernel {
            name: W::NAMES[2],
            lanes: W::Avx512::LANES,
            cost: costs.avx512,
            run: avx512::<H, W::Avx512, N>,
        });
    } else if tier.allows(Tier::Avx2) {
        kernels.push(Kernel {
            name: W::NAMES[0],
            lanes: W::Avx2::LANES,
            cost: costs.avx2,
            run: avx2::<H, W::Avx2, N>,
        });
    }
    kernels
}
