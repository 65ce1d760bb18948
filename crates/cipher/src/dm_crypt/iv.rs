//! IV generators by their names in dm-crypt's specifications.

use super::algorithms::{Algorithm, KeyBlocks};
use super::keyed::Part;
use crate::error::CipherError;
use crate::essiv::Hash;
use crate::mode::iv::Ivs;

#[derive(Clone, Copy)]
pub(super) enum Iv {
    /// Derived from the number, without a key.
    Keyless(Tweak),
    Eboiv,
    Essiv(&'static Hash),
}

/// A generator that does not need a key, and whose IVs can therefore have any length.
#[derive(Clone, Copy)]
pub(super) enum Tweak {
    Plain,
    Plain64,
    Plain64Be,
    Benbi,
    Null,
}

/// Whether `text` is the name of this generator, with or without options, which are ignored.
pub(super) fn named(generator: &str, text: &str) -> bool {
    text.split(':').next() == Some(generator)
}

impl Iv {
    pub(super) fn parse(
        name: &str,
        algorithm: &Algorithm,
        unknown: impl Fn() -> CipherError,
    ) -> Result<Self, CipherError> {
        if named("eboiv", name) {
            return Ok(Self::Eboiv);
        }
        let Some(hash) = name.strip_prefix("essiv:") else {
            return Tweak::parse(name).map(Self::Keyless).ok_or_else(unknown);
        };
        let hash = Hash::find(hash)?;
        if !(algorithm.takes)(hash.bytes) {
            let (cipher, hash, bytes) = (algorithm.name, hash.name, hash.bytes);
            return Err(CipherError::EssivKey { cipher, hash, bytes });
        }
        Ok(Self::Essiv(hash))
    }

    /// The generator for a cipher with the key in `part`.
    pub(super) fn keyed<const N: usize>(self, blocks: KeyBlocks<N>, part: &Part<'_>) -> Ivs<N> {
        match self {
            Self::Keyless(tweak) => tweak.ivs(N),
            Self::Eboiv => Ivs::Eboiv(blocks(part.first, part.tier)),
            Self::Essiv(hash) => Ivs::Essiv(blocks(&hash.key(part.key), part.tier)),
        }
    }
}

impl Tweak {
    /// The generator with this name. Its options are ignored, as in dm-crypt: many Tomb volumes have
    /// `plain64:sha256`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let all = [
            ("plain", Self::Plain),
            ("plain64", Self::Plain64),
            ("plain64be", Self::Plain64Be),
            ("benbi", Self::Benbi),
            ("null", Self::Null),
        ];
        all.into_iter().find(|(known, _)| named(known, name)).map(|(_, tweak)| tweak)
    }

    /// The generator for a cipher with blocks of `block` bytes.
    pub(super) fn ivs<const N: usize>(self, block: usize) -> Ivs<N> {
        match self {
            Self::Plain => Ivs::Plain,
            Self::Plain64 => Ivs::Plain64,
            Self::Plain64Be => Ivs::Plain64Be,
            Self::Benbi => Ivs::Benbi { shift: 9 - block.ilog2() },
            Self::Null => Ivs::Null,
        }
    }
}
