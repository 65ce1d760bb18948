//! SHA-512 with ARM's SHA-512 instructions (Armv8.2), for up to two independent streams.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected as has;

use super::{LENGTH, ROUNDS, Sha512};
use crate::cpu::Tier;
use crate::pbkdf2::Kernel;
use crate::pbkdf2::streams::streams;

/// Kernels for 1 and 2 streams. The costs were not measured, but estimated from the number of dependent steps.
pub(super) fn kernels(tier: Tier) -> Vec<Kernel<Sha512>> {
    if !(tier.allows(Tier::Crypto) && has!("sha3")) {
        return Vec::new();
    }
    vec![
        Kernel { name: "sha512-ce-x1", lanes: 1, cost: 260, run: iterate::<1> },
        Kernel { name: "sha512-ce-x2", lanes: 2, cost: 320, run: iterate::<2> },
    ]
}

/// A state or digest: the word pairs a and b, c and d, e and f, g and h, the first word of each in the low lane.
type State = [uint64x2_t; 4];

streams!(Sha512, "sha3", veorq_u64);

#[inline]
#[target_feature(enable = "sha3")]
fn load(words: &[u64; 8]) -> State {
    let at = words.as_ptr();
    // SAFETY: eight words fill four vectors.
    unsafe { [vld1q_u64(at), vld1q_u64(at.add(2)), vld1q_u64(at.add(4)), vld1q_u64(at.add(6))] }
}

#[inline]
#[target_feature(enable = "sha3")]
fn store(state: State, words: &mut [u64; 8]) {
    for (part, vector) in state.into_iter().enumerate() {
        // SAFETY: eight words fill four vectors.
        unsafe { vst1q_u64(words.as_mut_ptr().add(2 * part), vector) }
    }
}

/// The digests of one absorbed block and a message as long as a digest.
#[inline]
#[target_feature(enable = "sha3")]
fn finish<const L: usize>(mid: State, message: [State; L]) -> [State; L] {
    const PADDING: [u64; 8] = [1 << 63, 0, 0, 0, 0, 0, 0, LENGTH as u64];
    let padding = load(&PADDING);
    let mut state = [mid; L];
    let mut w = [[padding[1]; 8]; L];
    for i in 0..L {
        w[i][..4].copy_from_slice(&message[i]);
        w[i][4..].copy_from_slice(&padding);
    }
    // Two rounds per pair of words. The variables rotate by renaming: the first pair of the state is at `$a`, the
    // second at `$b`, and so on.
    macro_rules! rounds {
        ($group:expr, $($pair:literal: $a:literal $b:literal $c:literal $d:literal),+) => { $(
            // SAFETY: there are 40 pairs of constants.
            let constants = unsafe { vld1q_u64(ROUNDS.as_ptr().add(2 * ($group + $pair))) };
            for i in 0..L {
                if $group > 0 {
                    let w = &mut w[i];
                    let middle = vextq_u64::<1>(w[($pair + 4) % 8], w[($pair + 5) % 8]);
                    let start = vsha512su0q_u64(w[$pair], w[($pair + 1) % 8]);
                    w[$pair] = vsha512su1q_u64(start, w[($pair + 7) % 8], middle);
                }
                let (ab, cd) = (state[i][$a], state[i][$b]);
                let (ef, gh) = (state[i][$c], state[i][$d]);
                let sum = vaddq_u64(w[i][$pair], constants);
                let sum = vaddq_u64(vextq_u64::<1>(sum, sum), gh);
                let (fg, de) = (vextq_u64::<1>(ef, gh), vextq_u64::<1>(cd, ef));
                let half = vsha512hq_u64(sum, fg, de);
                state[i][$d] = vsha512h2q_u64(half, cd, ab);
                state[i][$b] = vaddq_u64(cd, half);
            }
        )+ };
    }
    for group in (0..40).step_by(8) {
        rounds!(
            group,
            0: 0 1 2 3, 1: 3 0 1 2, 2: 2 3 0 1, 3: 1 2 3 0,
            4: 0 1 2 3, 5: 3 0 1 2, 6: 2 3 0 1, 7: 1 2 3 0
        );
    }
    for state in &mut state {
        for (part, mid) in state.iter_mut().zip(mid) {
            *part = vaddq_u64(*part, mid);
        }
    }
    state
}
