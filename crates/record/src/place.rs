//! The kind of a target, if that changes the meaning of its figures, and the limits of a container.

use serde::{Deserialize, Serialize};

/// A property of a target that a disk with a simple file system does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PlaceKind {
    /// It is kept in memory.
    Memory,
    /// The file system compresses written data.
    Compresses {
        /// The evidence, such as `compress-force=zstd:3`.
        how: String,
    },
    /// The file system writes changed data to another place.
    CopiesOnWrite,
    /// The disk is in another machine.
    Network,
    /// The host of this virtual machine has the file system.
    Host,
    /// Layers of directories, which do not reveal their disks.
    Layers,
    /// It has no direct I/O, although that was to be used: requests go through the page cache.
    NoDirectIo,
    /// The disk is a file in another file system.
    InFile {
        /// The file.
        file: String,
        /// The type of its file system; empty if unknown.
        filesystem: String,
    },
    /// A kind of a later version.
    #[serde(other)]
    Unknown,
}

/// What a container's control groups (cgroups) grant to all their processes together. Absent values are not limited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits {
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// CPUs: seconds of CPU time per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Seconds of the run in which the group's processes had to wait, because they had used up their CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<f64>,
}

impl Limits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.memory_bytes.is_none() && self.cpus.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::PlaceKind;

    #[test]
    fn kinds_of_later_versions_are_read() {
        let kind = PlaceKind::Compresses { how: "compress=zstd".to_owned() };
        let text = serde_json::to_string(&kind).unwrap();
        assert_eq!(text, r#"{"kind":"compresses","how":"compress=zstd"}"#);
        assert_eq!(serde_json::from_str::<PlaceKind>(&text).unwrap(), kind);
        let later = serde_json::from_str(r#"{"kind":"in-orbit"}"#).unwrap();
        assert_eq!(PlaceKind::Unknown, later);
    }
}
