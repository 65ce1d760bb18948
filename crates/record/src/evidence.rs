//! Evidence from the storage itself after a run: whether data was read back intact after the arm was closed,
//! and what the storage reveals to someone without the key.

use serde::{Deserialize, Serialize};

/// The evidence on one arm's data at rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Identifier of the arm.
    pub arm: String,
    /// How the data came to rest before it was read back.
    pub rest: Rest,
    /// Bytes of the pattern written through the arm.
    pub written_bytes: u64,
    /// Bytes of the pattern that were read back intact through the arm after it was closed.
    pub verified_bytes: u64,
    /// The result of searching the backing storage; absent if it could not be searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<Scan>,
    /// Why the storage was not searched, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_scanned: Option<String>,
    /// What the storage reveals in addition to the content; absent if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reveals: Option<Reveals>,
    /// Why the pattern could not be read back, in words, if the whole pattern is lost or the system refuses to return
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Why the check was not completed, in words. Values that are missing above are unknown for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Evidence {
    /// Whether the whole pattern was read back intact.
    pub fn is_verified(&self) -> bool {
        self.written_bytes > 0 && self.verified_bytes == self.written_bytes
    }

    /// Whether the pattern came back.
    pub fn read_back(&self) -> ReadBack {
        match () {
            () if self.is_verified() => ReadBack::Whole,
            () if self.failure.is_some() && self.lost.is_none() => ReadBack::Unchecked,
            () => ReadBack::Lost,
        }
    }

    /// Whether the stored data is as random as ciphertext; [`Randomness::Untold`] if the storage
    /// was not searched.
    pub fn randomness(&self) -> Randomness {
        self.scan.as_ref().map(|scan| scan.randomness).unwrap_or_default()
    }

    /// Whether the search found plaintext in the arm's storage; `None` if the storage was not
    /// searched.
    pub fn shows_plaintext(&self) -> Option<bool> {
        self.scan.as_ref().map(|scan| scan.markers > 0)
    }

    /// Whether plaintext was found in the system's cache, and nowhere else.
    pub fn shows_plaintext_in_cache(&self) -> bool {
        self.scan.as_ref().is_some_and(|s| s.markers > 0 && s.markers == s.markers_beside)
    }
}

/// The result of reading the pattern back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// All of it is intact.
    Whole,
    /// Part or all of the pattern is missing or changed.
    Lost,
    /// The pattern could not be read back: the system could not be closed or reopened.
    Unchecked,
}

/// How data came to rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Written back and dropped from the page cache; there is nothing to unmount.
    #[default]
    CacheDropped,
    /// Unmounted; the server process has exited, and mappings and keys are removed.
    Unmounted,
    /// The kernel dropped the key and with it all decrypted data.
    KeyRemoved,
}

/// A search of the storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scan {
    /// Bytes that the arm stores.
    pub stored_bytes: u64,
    /// Bytes searched: first those written last, then a sample spread evenly over the rest.
    pub scanned_bytes: u64,
    /// Number of positions with a marker of the plaintext, at any alignment.
    pub markers: u64,
    /// Number of these positions that are in other data of the system's program, such as a cache, and not in its
    /// ciphertext.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub markers_beside: u64,
    /// The first such position: the file, under its name in the arm's storage, and the byte offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_marker: Option<(String, u64)>,
    /// Entropy of whole blocks of [`Entropy::BLOCK`] bytes; absent if there was no whole block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<Entropy>,
    /// The conclusion from the entropy, given how the system lays out its data.
    #[serde(default, skip_serializing_if = "Randomness::is_untold")]
    pub randomness: Randomness,
}

impl Scan {
    /// Whether the search covered everything.
    pub fn is_whole(&self) -> bool {
        self.scanned_bytes >= self.stored_bytes
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The conclusion from the entropy of stored data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Randomness {
    /// No conclusion: the system stores unencrypted structures among its data, or encrypts nothing.
    #[default]
    Untold,
    /// Random. If everything must be ciphertext or random filling, no block is below [`Entropy::THRESHOLD`]; if the
    /// system stores structures together with its ciphertext, such blocks amount to less than half of the written
    /// data.
    Random,
    /// The blocks below the threshold amount to half of the written data or more, so the data may
    /// be stored in another form.
    Doubtful,
    /// Blocks are below the threshold although everything must be ciphertext or random filling.
    Broken,
}

impl Randomness {
    fn is_untold(&self) -> bool {
        *self == Self::Untold
    }
}

/// Shannon entropy of individual blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Entropy {
    /// Number of blocks examined.
    pub blocks: u64,
    /// Mean over the blocks, in bits per byte. Uniformly random bytes have 7.955 in a block of this
    /// size, not 8, because 4096 bytes do not fill 256 bins evenly.
    pub mean: f64,
    /// Blocks below [`Entropy::THRESHOLD`].
    pub low_blocks: u64,
}

impl Entropy {
    /// Bytes of a block.
    pub const BLOCK: usize = 4096;

    /// Lower limit, in bits per byte, for a block of ciphertext.
    ///
    /// `2 n ln 2 (8 - H)` of `n` uniformly random bytes follows a chi-square distribution with 255 degrees of
    /// freedom (the G-test): mean 255, standard deviation 22.6. For a 4096-byte block, 7.9 bits correspond to
    /// 568, fourteen standard deviations from the mean: a probability of about 10^-26.
    pub const THRESHOLD: f64 = 7.9;

    /// Share of blocks below the threshold, 0 to 1.
    pub fn low_share(&self) -> f64 {
        self.low_blocks as f64 / (self.blocks as f64).max(1.0)
    }
}

/// What the storage reveals about an arm's files to someone without the key. The check looks for files with known
/// names, sizes and times; a value is absent if its check was impossible.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reveals {
    /// Names of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
    /// Sizes of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Whether the storage reveals the number of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<bool>,
    /// Whether the storage reveals the directory tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<bool>,
    /// Whether the storage reveals when files were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<bool>,
    /// Headers and files that reveal that the storage is encrypted, and with which system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
    /// Number of files written, and number of stored files that contain them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<(u32, u32)>,
}

/// What the storage reveals about names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// The names themselves.
    Plain,
    /// Their length in bytes.
    Length,
    /// Their rounded length.
    RoundedLength,
    /// Nothing.
    Hidden,
}

/// What the storage reveals about sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// The exact sizes.
    Exact,
    /// The sizes rounded to blocks.
    Rounded,
    /// Nothing.
    Hidden,
}
