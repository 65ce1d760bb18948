//! SHA-256 with ARM's SHA-256 instructions, for up to four independent streams.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected as has;

use super::{ROUNDS, Sha256};
use crate::cpu::Tier;
use crate::pbkdf2::Kernel;
use crate::pbkdf2::streams::streams;

/// Kernels for 1, 2 and 4 streams. Their costs were not measured, but copied from the SHA extensions of x86, whose
/// instructions are equivalent.
pub(super) fn kernels(tier: Tier) -> Vec<Kernel<Sha256>> {
    if !(tier.allows(Tier::Crypto) && has!("sha2")) {
        return Vec::new();
    }
    vec![
        Kernel { name: "sha-ce-x1", lanes: 1, cost: 106, run: iterate::<1> },
        Kernel { name: "sha-ce-x2", lanes: 2, cost: 166, run: iterate::<2> },
        Kernel { name: "sha-ce-x4", lanes: 4, cost: 321, run: iterate::<4> },
    ]
}

/// A state or digest: words a to d and e to h, the first word of each vector in the lowest lane.
type State = [uint32x4_t; 2];

streams!(Sha256, "sha2", veorq_u32);

#[inline]
#[target_feature(enable = "sha2")]
fn load(words: &[u32; 8]) -> State {
    // SAFETY: eight words fill two vectors.
    unsafe { [vld1q_u32(words.as_ptr()), vld1q_u32(words.as_ptr().add(4))] }
}

#[inline]
#[target_feature(enable = "sha2")]
fn store(state: State, words: &mut [u32; 8]) {
    // SAFETY: eight words fill two vectors.
    unsafe {
        vst1q_u32(words.as_mut_ptr(), state[0]);
        vst1q_u32(words.as_mut_ptr().add(4), state[1]);
    }
}

/// The digests of one absorbed block and a message as long as a digest.
#[inline]
#[target_feature(enable = "sha2")]
fn finish<const L: usize>(mid: State, message: [State; L]) -> [State; L] {
    const PADDING: [u32; 8] = [1 << 31, 0, 0, 0, 0, 0, 0, (64 + 32) * 8];
    let [one, length] = load(&PADDING);
    let mut state = [mid; L];
    let mut w = [[one; 4]; L];
    for i in 0..L {
        w[i] = [message[i][0], message[i][1], one, length];
    }
    macro_rules! rounds {
        ($($group:literal)+) => { $(
            // SAFETY: there are 16 groups of four constants.
            let constants = unsafe { vld1q_u32(ROUNDS.as_ptr().add(4 * $group)) };
            for i in 0..L {
                if $group >= 4 {
                    let (w0, w1) = (w[i][$group % 4], w[i][($group + 1) % 4]);
                    let (w2, w3) = (w[i][($group + 2) % 4], w[i][($group + 3) % 4]);
                    w[i][$group % 4] = vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
                }
                let sum = vaddq_u32(w[i][$group % 4], constants);
                let [abcd, efgh] = state[i];
                state[i] = [vsha256hq_u32(abcd, efgh, sum), vsha256h2q_u32(efgh, abcd, sum)];
            }
        )+ };
    }
    rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    for state in &mut state {
        *state = [vaddq_u32(state[0], mid[0]), vaddq_u32(state[1], mid[1])];
    }
    state
}
