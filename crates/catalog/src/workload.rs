//! The words by which records, profiles and results of other programs name work.

/// How the requests of a workload follow each other, or what it does instead of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Block after block.
    Sequential,
    /// Any block.
    Random,
    /// Any block, some more often than others.
    Zipf,
    /// Every block once in a random order.
    Permutation,
    /// From the last block to the first.
    Backward,
    /// Every n-th block.
    Strided,
    /// One block again and again.
    Same,
    /// Runs of blocks at places spread evenly.
    Sampled,
    /// Actions on small files.
    Files,
    /// Opening a volume.
    Unlock,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Sequential,
        Self::Random,
        Self::Zipf,
        Self::Permutation,
        Self::Backward,
        Self::Strided,
        Self::Same,
        Self::Sampled,
        Self::Files,
        Self::Unlock,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Zipf => "zipf",
            Self::Permutation => "permutation",
            Self::Backward => "backward",
            Self::Strided => "strided",
            Self::Same => "same",
            Self::Sampled => "sampled",
            Self::Files => "files",
            Self::Unlock => "unlock",
        }
    }

    /// The pattern that a record or a result names, if this version knows it.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_known_by_its_word() {
        for pattern in Pattern::ALL {
            assert_eq!(Pattern::of(pattern.name()), Some(pattern));
        }
        assert_eq!(Pattern::of("of a later version"), None);
    }
}
