//! The kind of a target, if that changes the meaning of its figures, and the limits of a container.

use cryptbench_catalog::DeviceKind;
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
    /// The file system writes changed data to a new location.
    CopiesOnWrite,
    /// The disk is in another machine.
    Network,
    /// The file system belongs to the host of this virtual machine.
    Host,
    /// Layers of directories; they do not reveal their disks.
    Layers,
    /// The target does not support direct I/O, although direct I/O was requested, so requests go through the page
    /// cache.
    NoDirectIo,
    /// The disk is a file in another file system.
    InFile {
        /// The file.
        file: String,
        /// The type of its file system; empty if unknown.
        filesystem: String,
    },
    /// A kind from a later version.
    #[serde(other)]
    Unknown,
}

/// The kind of a storage device, in everyday terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindOfDevice {
    /// `hdd`, `sshd`, `sata-ssd`, `nvme`, `ssd`, `usb-stick`, `memory-card`, `emmc` or `virtual`; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The evidence for the kind, or why the kind is not known.
    pub why: String,
    /// Whether the user specified the kind with `--device-kind`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_owner: bool,
}

impl KindOfDevice {
    /// The kind that the user specified, regardless of what was detected.
    pub fn said(kind: DeviceKind, found: Option<&Self>) -> Self {
        let found = found.filter(|found| found.known().is_some_and(|other| other != kind));
        let beside = found.map_or_else(String::new, |found| {
            let other = found.known().map_or("", DeviceKind::in_words);
            format!("; this machine finds a {other}: {}", found.why)
        });
        Self {
            kind: Some(kind.as_str().to_owned()),
            why: format!("said by the owner{beside}"),
            by_owner: true,
        }
    }

    /// The kind, if it is known to this version.
    pub fn known(&self) -> Option<DeviceKind> {
        DeviceKind::of(self.kind.as_deref()?)
    }
}

impl std::fmt::Display for KindOfDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.kind, self.known()) {
            (_, Some(kind)) => write!(f, "{} ({})", kind.in_words(), self.why),
            (Some(later), None) => write!(f, "{later} ({})", self.why),
            (None, None) => write!(f, "kind not known: {}", self.why),
        }
    }
}

/// The limits that a container's control groups (cgroups) set for all their processes together. Absent values mean
/// no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits {
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// CPUs: seconds of CPU time per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Seconds of the run in which the group's processes were throttled, because they had used up their CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<f64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        self.memory_bytes.is_none() && self.cpus.is_none()
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_catalog::DeviceKind;

    use super::{KindOfDevice, PlaceKind};

    #[test]
    fn the_owners_word_counts_and_what_the_machine_finds_is_kept_beside_it() {
        let of = |kind: Option<&str>, why: &str| KindOfDevice {
            kind: kind.map(ToOwned::to_owned),
            why: why.to_owned(),
            by_owner: false,
        };
        let silent = of(None, "USB, and the drive does not report whether it rotates");
        assert!(silent.to_string().starts_with("kind not known: USB"));
        let said = KindOfDevice::said(DeviceKind::UsbStick, Some(&silent));
        assert_eq!(said.to_string(), "USB stick (said by the owner)");
        let found = of(Some("hdd"), "SATA, 7200 revolutions per minute");
        let said = KindOfDevice::said(DeviceKind::Hybrid, Some(&found));
        assert_eq!(said.known(), Some(DeviceKind::Hybrid));
        assert!(said.why.ends_with("finds a hard disk: SATA, 7200 revolutions per minute"));
        assert_eq!(of(Some("holographic"), "x").to_string(), "holographic (x)");
    }

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
