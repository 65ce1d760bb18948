//! Pseudo-random numbers that depend only on their seed.

/// Mixes the bits, so that neighbouring numbers give unrelated results (the finaliser of SplitMix64; Steele, Lea and
/// Flood, OOPSLA 2014).
pub(crate) fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number in [0, 1) for each `number`.
pub(crate) fn unit(number: u64) -> f64 {
    (mix(number) >> 11) as f64 / (1u64 << 53) as f64
}
