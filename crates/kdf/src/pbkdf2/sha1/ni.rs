//! SHA-1 with the SHA extensions, for up to four independent streams. The SHA-256 kernel explains the encodings.

use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::*;

use super::{LENGTH, Sha1};
use crate::cpu::Tier;
use crate::pbkdf2::Kernel;
use crate::pbkdf2::streams::streams;

/// Kernels for 1 to 4 streams.
pub(super) fn kernels(tier: Tier) -> Vec<Kernel<Sha1>> {
    if !(tier.allows(Tier::Aesni) && has!("sha") && has!("sse4.1") && has!("ssse3")) {
        return Vec::new();
    }
    vec![
        Kernel { name: "sha-ni-x1", lanes: 1, cost: 107, run: iterate::<1> },
        Kernel { name: "sha-ni-x2", lanes: 2, cost: 164, run: iterate::<2> },
        Kernel { name: "sha-ni-x3", lanes: 3, cost: 259, run: iterate::<3> },
        Kernel { name: "sha-ni-x4", lanes: 4, cost: 362, run: iterate::<4> },
    ]
}

/// A state or digest: words a to d with a in the highest position, and e in the highest position of a second vector.
type State = [__m128i; 2];

streams!(Sha1, "sha,sse4.1,ssse3", _mm_xor_si128);

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn load(&[a, b, c, d, e]: &[u32; 5]) -> State {
    [_mm_set_epi32(a as i32, b as i32, c as i32, d as i32), _mm_set_epi32(e as i32, 0, 0, 0)]
}

#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn store([abcd, e]: State, words: &mut [u32; 5]) {
    let word = |word: i32| word as u32;
    *words = [
        word(_mm_extract_epi32::<3>(abcd)),
        word(_mm_extract_epi32::<2>(abcd)),
        word(_mm_extract_epi32::<1>(abcd)),
        word(_mm_extract_epi32::<0>(abcd)),
        word(_mm_extract_epi32::<3>(e)),
    ];
}

/// The digests of one absorbed block and a message as long as a digest.
#[inline]
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn finish<const L: usize>(mid: State, message: [State; L]) -> [State; L] {
    let zero = _mm_setzero_si128();
    let one = _mm_set_epi32(0, i32::MIN, 0, 0);
    let length = _mm_set_epi32(0, 0, 0, LENGTH as i32);
    let mut abcd = [mid[0]; L];
    // The next `e` is derived from the value that `a` had four steps earlier, so the whole vector is kept.
    let mut before = [mid[1]; L];
    // Closures over vectors are avoided here: without optimisation across crates, the compiler does not always inline
    // `map`, so each call would pass the vectors through memory.
    let mut w = [[zero; 4]; L];
    for i in 0..L {
        w[i] = [message[i][0], _mm_or_si128(message[i][1], one), zero, length];
    }
    macro_rules! rounds {
        ($($group:literal)+) => { $(
            for i in 0..L {
                if $group >= 4 {
                    let (w0, w1) = (w[i][$group % 4], w[i][($group + 1) % 4]);
                    let (w2, w3) = (w[i][($group + 2) % 4], w[i][($group + 3) % 4]);
                    let sum = _mm_xor_si128(_mm_sha1msg1_epu32(w0, w1), w2);
                    w[i][$group % 4] = _mm_sha1msg2_epu32(sum, w3);
                }
                let word = w[i][$group % 4];
                let e = if $group == 0 {
                    _mm_add_epi32(before[i], word)
                } else {
                    _mm_sha1nexte_epu32(before[i], word)
                };
                before[i] = abcd[i];
                abcd[i] = _mm_sha1rnds4_epu32::<{ $group / 5 }>(abcd[i], e);
            }
        )+ };
    }
    rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    let top = _mm_set_epi32(-1, 0, 0, 0);
    let mut digests = message;
    for i in 0..L {
        digests[i] = [
            _mm_add_epi32(abcd[i], mid[0]),
            // Only the highest word is `e`; the other words would corrupt the message.
            _mm_and_si128(_mm_sha1nexte_epu32(before[i], mid[1]), top),
        ];
    }
    digests
}
