//! The names of modes with their IV generators, with `HASH` as a placeholder for each hash.

/// A table in which the feedback modes, which are supported for both block lengths, are inserted between the other
/// modes.
macro_rules! with_feedback {
    ($($before:literal),+; $($after:literal),+ $(,)?) => {
        &[
            $($before,)+
            "ctr-plain64",
            "ctr-plain",
            "ctr-plain64be",
            "ctr-essiv:HASH",
            "ctr-benbi",
            "ctr-null",
            "cfb-plain64",
            "cfb-plain",
            "cfb-plain64be",
            "cfb-essiv:HASH",
            "cfb-benbi",
            "cfb-null",
            "ofb-plain64",
            "ofb-plain",
            "ofb-plain64be",
            "ofb-essiv:HASH",
            "ofb-benbi",
            "ofb-null",
            "pcbc-plain64",
            "pcbc-plain",
            "pcbc-plain64be",
            "pcbc-essiv:HASH",
            "pcbc-benbi",
            "pcbc-null",
            "pcbc-eboiv",
            $($after,)+
        ]
    };
}

/// Modes for 128-bit blocks, as listed in errors.
pub(super) const WIDE_MODES: &[&str] = with_feedback![
    "xts-plain64",
    "xts-plain",
    "xts-plain64be",
    "xts-essiv:HASH",
    "xts-benbi",
    "xts-null",
    "xts-eboiv",
    "cbc-plain64",
    "cbc-plain",
    "cbc-plain64be",
    "cbc-essiv:HASH",
    "cbc-benbi",
    "cbc-null",
    "cbc-eboiv",
    "cbc-elephant",
    "cbc-lmk",
    "lrw-plain64",
    "lrw-plain",
    "lrw-plain64be",
    "lrw-essiv:HASH",
    "lrw-benbi",
    "lrw-null",
    "lrw-eboiv";
    "hctr2-plain64",
    "hctr2-plain",
    "hctr2-plain64be",
    "hctr2-benbi",
    "hctr2-null",
    "ecb",
];

/// Modes for 64-bit blocks, as listed in errors.
pub(super) const NARROW_MODES: &[&str] = with_feedback![
    "cbc-plain64",
    "cbc-plain",
    "cbc-plain64be",
    "cbc-essiv:HASH",
    "cbc-benbi",
    "cbc-null",
    "cbc-eboiv",
    "cbc-lmk";
    "ecb",
];

/// Modes of Adiantum, as listed in errors.
pub(super) const ADIANTUM_MODES: &[&str] = &[
    "adiantum-plain64",
    "adiantum-plain",
    "adiantum-plain64be",
    "adiantum-benbi",
    "adiantum-null",
];

/// Modes of `cipher_null`, as listed in errors.
pub(super) const NULL_MODES: &[&str] = &["ecb"];
