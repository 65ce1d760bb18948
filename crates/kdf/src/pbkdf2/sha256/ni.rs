//! SHA-256 with the SHA extensions, for up to four independent streams.
//!
//! No vector in this module is wider than 128 bits: the extensions have only legacy SSE encodings, which are slow
//! while the upper halves of wider registers are in use. The compiler clears those halves before it calls these
//! functions.

use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::*;

use super::{ROUNDS, Sha256};
use crate::cpu::Tier;
use crate::pbkdf2::Kernel;
use crate::pbkdf2::streams::streams;

/// Kernels for 1 to 4 streams.
pub(super) fn kernels(tier: Tier) -> Vec<Kernel<Sha256>> {
    if !(tier.allows(Tier::Aesni) && has!("sha") && has!("sse4.1") && has!("ssse3")) {
        return Vec::new();
    }
    vec![
        Kernel { name: "sha-ni-x1", lanes: 1, cost: 106, run: iterate::<1> },
        Kernel { name: "sha-ni-x2", lanes: 2, cost: 166, run: iterate::<2> },
        Kernel { name: "sha-ni-x3", lanes: 3, cost: 241, run: iterate::<3> },
        Kernel { name: "sha-ni-x4", lanes: 4, cost: 321, run: iterate::<4> },
    ]
}

/// A state in the instructions' form: words a, b, e, f and c, d, g, h, the first word of each in the highest
/// position.
#[derive(Clone, Copy)]
struct Packed {
    abef: __m128i,
    cdgh: __m128i,
}

/// A state or digest, with word a in the lowest position.
type State = [__m128i; 2];

streams!(Sha256, "sha,sse4.1,ssse3", _mm_xor_si128);

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn load(words: &[u32; 8]) -> State {
    // SAFETY: eight words fill two unaligned vectors.
    unsafe {
        [_mm_loadu_si128(words.as_ptr().cast()), _mm_loadu_si128(words.as_ptr().add(4).cast())]
    }
}

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn store(vectors: State, words: &mut [u32; 8]) {
    // SAFETY: eight words fill two unaligned vectors.
    unsafe {
        _mm_storeu_si128(words.as_mut_ptr().cast(), vectors[0]);
        _mm_storeu_si128(words.as_mut_ptr().add(4).cast(), vectors[1]);
    }
}

/// Converts the word order of a digest to that of the instructions.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn pack([abcd, efgh]: State) -> Packed {
    let cdab = _mm_shuffle_epi32::<0xb1>(abcd);
    let hgfe = _mm_shuffle_epi32::<0x1b>(efgh);
    Packed { abef: _mm_alignr_epi8::<8>(cdab, hgfe), cdgh: _mm_blend_epi16::<0xf0>(hgfe, cdab) }
}

/// Converts the word order of the instructions to that of a digest.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn unpack(state: Packed) -> State {
    let feba = _mm_shuffle_epi32::<0x1b>(state.abef);
    let dchg = _mm_shuffle_epi32::<0xb1>(state.cdgh);
    [_mm_blend_epi16::<0xf0>(feba, dchg), _mm_alignr_epi8::<8>(dchg, feba)]
}

/// The digests of one absorbed block and a message as long as a digest.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn finish<const L: usize>(mid: State, message: [State; L]) -> [State; L] {
    let mid = pack(mid);
    let one = _mm_setr_epi32(i32::MIN, 0, 0, 0);
    let length = _mm_setr_epi32(0, 0, 0, (64 + 32) * 8);
    let mut state = [mid; L];
    // Closures over vectors are avoided here: without optimisation across crates, the compiler does not always inline
    // `map`, so each call would pass the vectors through memory.
    let mut w = [[one; 4]; L];
    for i in 0..L {
        w[i] = [message[i][0], message[i][1], one, length];
    }
    macro_rules! rounds {
        ($($group:literal)+) => { $(
            // SAFETY: there are 16 groups of four constants.
            let constants = unsafe { _mm_loadu_si128(ROUNDS.as_ptr().add(4 * $group).cast()) };
            for i in 0..L {
                if $group >= 4 {
                    let (w0, w1) = (w[i][$group % 4], w[i][($group + 1) % 4]);
                    let (w2, w3) = (w[i][($group + 2) % 4], w[i][($group + 3) % 4]);
                    // If both words are padding, w0 plus the sigma of the next word equals w0.
                    let start = if $group == 6 { one } else { _mm_sha256msg1_epu32(w0, w1) };
                    let sum = _mm_add_epi32(start, _mm_alignr_epi8::<4>(w3, w2));
                    w[i][$group % 4] = _mm_sha256msg2_epu32(sum, w3);
                }
                let sum = _mm_add_epi32(w[i][$group % 4], constants);
                let Packed { abef, cdgh } = state[i];
                let cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
                let abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32::<0x0e>(sum));
                state[i] = Packed { abef, cdgh };
            }
        )+ };
    }
    rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    let mut digests = message;
    for i in 0..L {
        let abef = _mm_add_epi32(state[i].abef, mid.abef);
        digests[i] = unpack(Packed { abef, cdgh: _mm_add_epi32(state[i].cdgh, mid.cdgh) });
    }
    digests
}
