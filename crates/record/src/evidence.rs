//! What was found on the storage itself after a run: whether what was written came back after it lay at rest, and
//! what somebody learns who has the storage and not the key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of one arm's data at rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Identifier of the arm.
    pub arm: String,
    /// How the arm came to lie at rest before it was read back.
    pub rest: Rest,
    /// Bytes of the pattern that were written through the arm.
    pub written_bytes: u64,
    /// Bytes of it that were read back through the arm, after it lay at rest, and are what was written.
    pub verified_bytes: u64,
    /// What the search of the backing storage found; absent where it could not be searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<Scan>,
    /// Why there is no search, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_scanned: Option<String>,
    /// What shows besides content; absent where nothing can be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reveals: Option<Reveals>,
    /// Why what was written could not be read back, in words, where it is gone as a whole or the system refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Why the check was not carried to its end, in words: what is missing above is missing for that, and nothing is
    /// known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Evidence {
    /// Whether all that was written came back.
    pub fn is_verified(&self) -> bool {
        self.written_bytes > 0 && self.verified_bytes == self.written_bytes
    }

    /// Whether what was written came back.
    pub fn read_back(&self) -> ReadBack {
        match () {
            () if self.is_verified() => ReadBack::Whole,
            () if self.failure.is_some() && self.lost.is_none() => ReadBack::Unchecked,
            () => ReadBack::Lost,
        }
    }

    /// Whether what was found is as random as ciphertext; [`Randomness::Untold`] where it was not searched.
    pub fn randomness(&self) -> Randomness {
        self.scan.as_ref().map(|scan| scan.randomness).unwrap_or_default()
    }

    /// Whether plaintext was found where the arm stores its data; `None` where it was not searched.
    pub fn shows_plaintext(&self) -> Option<bool> {
        self.scan.as_ref().map(|scan| scan.markers > 0)
    }
}

/// What came of reading back what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// All of it is what was written.
    Whole,
    /// Some of it, or all, is not there or is something else.
    Lost,
    /// It could not be asked for: the system did not come to rest, or did not come up again.
    Unchecked,
}

/// How data came to lie at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Written back and dropped from the page cache; there is nothing to unmount.
    #[default]
    CacheDropped,
    /// Unmounted, what served it ended, its mappings and keys removed.
    Unmounted,
    /// Its key taken from the kernel, which drops what it had decrypted.
    KeyRemoved,
}

/// A search of what lies on the storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scan {
    /// Bytes that the arm keeps on the storage.
    pub stored_bytes: u64,
    /// Bytes of them that were searched, what was written last first and then evenly spread.
    pub scanned_bytes: u64,
    /// Places at which a marker of the plaintext was found, at any alignment.
    pub markers: u64,
    /// The first of them: file, as the arm's storage names it, and byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_marker: Option<(String, u64)>,
    /// Whole blocks of [`Entropy::BLOCK`] bytes and their entropy; absent where there was no whole block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<Entropy>,
    /// What the entropy says, by what is known of how the system lays out its data.
    #[serde(default, skip_serializing_if = "Randomness::is_untold")]
    pub randomness: Randomness,
}

impl Scan {
    /// Whether all that lies there was searched.
    pub fn is_whole(&self) -> bool {
        self.scanned_bytes >= self.stored_bytes
    }
}

/// What the entropy of stored data says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Randomness {
    /// Nothing: the system keeps structures of its own in the open among its data, or encrypts nothing.
    #[default]
    Untold,
    /// Where all must be ciphertext or random filling no block is below [`Entropy::THRESHOLD`]; where the system has
    /// structures of its own beside its ciphertext, such blocks are fewer than half of what was written.
    Random,
    /// As many blocks are below it as half of what was written takes: it may lie there in another guise.
    Doubtful,
    /// Blocks are below it where all must be ciphertext or random filling.
    Broken,
}

impl Randomness {
    fn is_untold(&self) -> bool {
        *self == Self::Untold
    }
}

/// Shannon entropy of blocks, each by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entropy {
    /// Blocks that were looked at.
    pub blocks: u64,
    /// Mean over the blocks in bits for each byte. Uniformly random bytes have 7.955 in a block of this size, not 8,
    /// for 4096 bytes do not fill 256 bins evenly.
    pub mean: f64,
    /// Blocks below [`Entropy::THRESHOLD`].
    pub low_blocks: u64,
}

impl Entropy {
    /// Bytes of a block.
    pub const BLOCK: usize = 4096;

    /// Bits for each byte that no block of ciphertext is below.
    ///
    /// `2 n ln 2 (8 - H)` of `n` uniformly random bytes follows a chi-square distribution of 255 degrees of freedom
    /// (the G-test): mean 255, standard deviation 22.6. For a block of 4096 bytes, 7.9 bits are 568, fourteen standard
    /// deviations off: a probability of about 10^-26.
    pub const THRESHOLD: f64 = 7.9;

    /// Share of the blocks below the threshold, 0 to 1.
    pub fn low_share(&self) -> f64 {
        self.low_blocks as f64 / (self.blocks as f64).max(1.0)
    }
}

/// What shows of the files in an arm, to somebody without its key. Each is found by looking for files whose names,
/// sizes and times are known; absent is what could not be looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reveals {
    /// Names of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
    /// Sizes of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// How many files there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<bool>,
    /// Which directory lies in which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<bool>,
    /// When files were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<bool>,
    /// What tells that it is encrypted, and with what: the header or file by which it is recognised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
    /// Files that were written, and files that lie on the storage for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<(u32, u32)>,
}

/// What shows of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// They can be read.
    Plain,
    /// Their length in bytes.
    Length,
    /// Their length, rounded.
    RoundedLength,
    /// Nothing.
    Hidden,
}

/// What shows of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// Each to the byte.
    Exact,
    /// Each, rounded to blocks.
    Rounded,
    /// Nothing.
    Hidden,
}
