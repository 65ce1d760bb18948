//! What a workload does, and where: kinds that this version knows, and the names of others.

use std::fmt;

use cryptbench_catalog as catalog;
use serde::{Deserialize, Serialize};

macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($(#[$of:meta])* $name:ident = $text:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $kind {
            $($(#[$of])* $name,)*
            /// A kind from a later version.
            Unknown(String),
        }

        impl $kind {
            /// Its name in records.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Unknown(name) => name,
                }
            }
        }

        impl From<String> for $kind {
            fn from(name: String) -> Self {
                let known = [$(Self::$name),*].into_iter().find(|kind| kind.as_str() == name);
                known.unwrap_or(Self::Unknown(name))
            }
        }

        impl From<$kind> for String {
            fn from(kind: $kind) -> Self {
                kind.as_str().to_owned()
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

names! {
    /// What a workload does.
    Operation {
        /// Reads, of blocks or of small files.
        #[default]
        Read = "read",
        /// Writes of blocks.
        Write = "write",
        /// Reads and writes of blocks.
        Mixed = "mixed",
        /// Creates small files.
        Create = "create",
        /// Lists small files.
        Stat = "stat",
        /// Renames small files.
        Rename = "rename",
        /// Deletes small files.
        Delete = "delete",
        /// Opens a volume.
        Unlock = "unlock",
    }
}

names! {
    /// Where a workload's requests are.
    Pattern {
        /// One after the other.
        #[default]
        Sequential = catalog::Pattern::Sequential.as_str(),
        /// At independent random offsets.
        Random = catalog::Pattern::Random.as_str(),
        /// At random offsets, a few of which are used often.
        Zipf = catalog::Pattern::Zipf.as_str(),
        /// Everywhere once, in random order.
        Permutation = catalog::Pattern::Permutation.as_str(),
        /// One before the other.
        Backward = catalog::Pattern::Backward.as_str(),
        /// In equal steps.
        Strided = catalog::Pattern::Strided.as_str(),
        /// Always at the same offset.
        Same = catalog::Pattern::Same.as_str(),
        /// In runs at evenly spaced offsets.
        Sampled = catalog::Pattern::Sampled.as_str(),
        /// In small files.
        Files = catalog::Pattern::Files.as_str(),
        /// In a volume that is opened.
        Unlock = catalog::Pattern::Unlock.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_later_versions_keep_their_names() {
        for name in ["write", "discard", ""] {
            let read: Operation = serde_json::from_value(name.into()).unwrap();
            assert_eq!(matches!(read, Operation::Unknown(_)), name != "write");
            assert_eq!((read.as_str(), serde_json::to_value(&read).unwrap()), (name, name.into()));
        }
    }
}
