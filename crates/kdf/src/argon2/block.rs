//! A block of Argon2's memory and the compression function G (RFC 9106, sections 3.5 and 3.6).

use zeroize::Zeroize;

use crate::cpu::Tier;

/// 64-bit words in a block.
pub(super) const WORDS: usize = 128;

/// 1 KiB of the memory.
#[derive(Clone, Copy, Zeroize)]
#[repr(C, align(64))]
pub(super) struct Block(pub(super) [u64; WORDS]);

impl Block {
    pub(super) const BYTES: usize = 8 * WORDS;
    pub(super) const ZERO: Self = Self([0; WORDS]);

    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut block = Self::ZERO;
        for (word, bytes) in block.0.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        block
    }

    pub(super) fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(&self.0) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    pub(super) fn xor(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word ^= other);
    }
}

/// The compression function for one instruction set.
#[derive(Clone, Copy)]
pub(super) enum Compress {
    /// Portable Rust.
    Soft,
    /// 256-bit vectors. Constructed only by [`Self::best`], which first checks the CPU.
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Present),
}

impl Compress {
    /// The fastest kernel that this CPU supports, up to `tier`.
    pub(super) fn best(tier: Tier) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(present) = avx2::Present::ask(tier) {
            return Self::Avx2(present);
        }
        let _ = tier;
        Self::Soft
    }

    /// The kernel's name, formed like the names of the PRFs' kernels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
        }
    }

    /// `into ^= G(x, y)`.
    pub(super) fn xor_into(self, x: &Block, y: &Block, into: &mut Block) {
        match self {
            Self::Soft => soft(x, y, into),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(present) => present.compress(x, y, into),
        }
    }
}

fn soft(x: &Block, y: &Block, into: &mut Block) {
    let mut z = *x;
    z.xor(y);
    into.xor(&z);
    for row in 0..8 {
        permute(&mut z.0, std::array::from_fn(|i| 16 * row + i));
    }
    for column in 0..8 {
        permute(&mut z.0, std::array::from_fn(|i| 16 * (i / 2) + 2 * column + i % 2));
    }
    into.xor(&z);
}

/// Applies the permutation P to the sixteen words at these indexes.
#[inline(always)]
fn permute(v: &mut [u64; WORDS], at: [usize; 16]) {
    let columns = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]];
    let diagonals = [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
    for [a, b, c, d] in columns.into_iter().chain(diagonals) {
        let [a, b, c, d] = [at[a], at[b], at[c], at[d]];
        for (first, second) in [(32, 24), (16, 63)] {
            v[a] = mix(v[a], v[b]);
            v[d] = (v[d] ^ v[a]).rotate_right(first);
            v[c] = mix(v[c], v[d]);
            v[b] = (v[b] ^ v[c]).rotate_right(second);
        }
    }
}

/// The sum of both words plus twice the product of their low halves.
#[inline(always)]
fn mix(x: u64, y: u64) -> u64 {
    let product = u64::from(x as u32) * u64::from(y as u32);
    x.wrapping_add(y).wrapping_add(product << 1)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Block, WORDS};
    use crate::cpu::Tier;

    /// Words of a vector.
    const LANES: usize = 4;

    /// Proof that the CPU has AVX2.
    #[derive(Clone, Copy)]
    pub(in crate::argon2) struct Present(());

    impl Present {
        pub(super) fn ask(tier: Tier) -> Option<Self> {
            (tier.allows(Tier::Avx2) && std::arch::is_x86_feature_detected!("avx2"))
                .then_some(Self(()))
        }

        pub(super) fn compress(self, x: &Block, y: &Block, into: &mut Block) {
            // SAFETY: a `Present` exists only if the CPU has AVX2.
            unsafe { compress(x, y, into) }
        }
    }

    #[target_feature(enable = "avx2")]
    fn compress(x: &Block, y: &Block, into: &mut Block) {
        let mut v = [_mm256_setzero_si256(); WORDS / LANES];
        for (i, v) in v.iter_mut().enumerate() {
            *v = _mm256_xor_si256(load(x, i), load(y, i));
            store(into, i, _mm256_xor_si256(load(into, i), *v));
        }
        for row in v.as_chunks_mut().0 {
            permute_row(row);
        }
        for pair in 0..4 {
            permute_columns(&mut v, pair);
        }
        for (i, v) in v.iter().enumerate() {
            store(into, i, _mm256_xor_si256(load(into, i), *v));
        }
    }

    /// Applies P to the sixteen words of a row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn permute_row(row: &mut [__m256i; 4]) {
        let [mut a, mut b, mut c, mut d] = *row;
        quarter(&mut a, &mut b, &mut c, &mut d);
        b = _mm256_permute4x64_epi64::<0b00_11_10_01>(b);
        c = _mm256_permute4x64_epi64::<0b01_00_11_10>(c);
        d = _mm256_permute4x64_epi64::<0b10_01_00_11>(d);
        quarter(&mut a, &mut b, &mut c, &mut d);
        b = _mm256_permute4x64_epi64::<0b10_01_00_11>(b);
        c = _mm256_permute4x64_epi64::<0b01_00_11_10>(c);
        d = _mm256_permute4x64_epi64::<0b00_11_10_01>(d);
        *row = [a, b, c, d];
    }

    /// Applies P to two neighbouring columns; each vector contains two words of each column.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn permute_columns(v: &mut [__m256i; WORDS / LANES], pair: usize) {
        let [mut a, mut a2, mut b, mut b2, mut c, mut c2, mut d, mut d2]: [__m256i; 8] =
            std::array::from_fn(|row| v[4 * row + pair]);
        quarter(&mut a, &mut b, &mut c, &mut d);
        quarter(&mut a2, &mut b2, &mut c2, &mut d2);
        // Rotating the words by one, two and three positions turns diagonals into columns.
        (b, b2) = (_mm256_alignr_epi8::<8>(b2, b), _mm256_alignr_epi8::<8>(b, b2));
        (c, c2) = (c2, c);
        (d, d2) = (_mm256_alignr_epi8::<8>(d, d2), _mm256_alignr_epi8::<8>(d2, d));
        quarter(&mut a, &mut b, &mut c, &mut d);
        quarter(&mut a2, &mut b2, &mut c2, &mut d2);
        (b, b2) = (_mm256_alignr_epi8::<8>(b, b2), _mm256_alignr_epi8::<8>(b2, b));
        (c, c2) = (c2, c);
        (d, d2) = (_mm256_alignr_epi8::<8>(d2, d), _mm256_alignr_epi8::<8>(d, d2));
        for (row, word) in [a, a2, b, b2, c, c2, d, d2].into_iter().enumerate() {
            v[4 * row + pair] = word;
        }
    }

    /// GB (RFC 9106, section 3.6) on four columns in parallel.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn quarter(a: &mut __m256i, b: &mut __m256i, c: &mut __m256i, d: &mut __m256i) {
        let by_24 = _mm256_setr_epi8(
            3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10, 3, 4, 5, 6, 7, 0, 1, 2, 11, 12,
            13, 14, 15, 8, 9, 10,
        );
        let by_16 = _mm256_setr_epi8(
            2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9, 2, 3, 4, 5, 6, 7, 0, 1, 10, 11,
            12, 13, 14, 15, 8, 9,
        );
        *a = mix(*a, *b);
        *d = _mm256_shuffle_epi32::<0b10_11_00_01>(_mm256_xor_si256(*d, *a));
        *c = mix(*c, *d);
        *b = _mm256_shuffle_epi8(_mm256_xor_si256(*b, *c), by_24);
        *a = mix(*a, *b);
        *d = _mm256_shuffle_epi8(_mm256_xor_si256(*d, *a), by_16);
        *c = mix(*c, *d);
        let x = _mm256_xor_si256(*b, *c);
        *b = _mm256_xor_si256(_mm256_srli_epi64::<63>(x), _mm256_add_epi64(x, x));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn mix(x: __m256i, y: __m256i) -> __m256i {
        let product = _mm256_mul_epu32(x, y);
        _mm256_add_epi64(_mm256_add_epi64(x, y), _mm256_add_epi64(product, product))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(block: &Block, i: usize) -> __m256i {
        let words = &block.0.as_chunks::<LANES>().0[i];
        // SAFETY: a vector has the size of four words; the load accepts any alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(block: &mut Block, i: usize, vector: __m256i) {
        let words = &mut block.0.as_chunks_mut::<LANES>().0[i];
        // SAFETY: a vector has the size of four words; the store accepts any alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
    }
}
