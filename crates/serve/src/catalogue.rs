//! The choices that this machine offers. The page shows these choices, and orders are checked against them.

use serde::Serialize;

/// Everything that the form offers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Catalogue {
    /// Version of the program.
    pub version: String,
    /// The directory proposed as the target.
    pub target: String,
    /// Encryption systems.
    pub systems: Vec<System>,
    /// Ciphers of the systems that offer a choice.
    pub ciphers: Vec<Choice>,
    /// Devices that can be modelled.
    pub models: Vec<Choice>,
    /// Published studies that can be repeated.
    pub studies: Vec<Choice>,
    /// Workload profiles.
    pub profiles: Vec<Profile>,
    /// Mounted disks with a directory that can be measured.
    pub mounted: Vec<Mounted>,
    /// Disks and partitions that a run can overwrite.
    pub devices: Vec<Device>,
    /// The formats to which a record can be converted.
    pub formats: Vec<Format>,
    /// The options of a run that the page offers.
    pub options: Vec<Offered>,
}

/// An option of `run`, as the command line defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// Long name, without the dashes.
    pub name: String,
    /// Label of its field.
    pub label: String,
    /// Its effect.
    pub about: String,
    /// The name of its value; `None` for a switch.
    pub takes: Option<String>,
    /// The default value.
    pub default: Option<String>,
    /// Whether the option can have several values.
    pub repeats: bool,
}

/// An encryption system.
#[derive(Clone, Debug, Serialize)]
pub struct System {
    /// Name on the command line.
    pub name: String,
    /// Name in the answer.
    pub label: String,
    /// A one-line description.
    pub about: String,
    /// The system's version, if the system can run here.
    pub version: Option<String>,
    /// Why it cannot run here.
    pub reason: Option<String>,
    /// The remedy if it cannot run here.
    pub remedy: Option<String>,
    /// The system's settings, each with its values for `--set`.
    pub settings: Vec<String>,
}

/// A choice with a name and a label.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// Name on the command line.
    pub name: String,
    /// Label for users.
    pub label: String,
}

/// A workload profile.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Name on the command line.
    pub name: String,
    /// A one-line description.
    pub about: String,
    /// Number of workloads.
    pub workloads: usize,
}

/// A mounted disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mounted {
    /// A directory on the disk that the user can write to.
    pub path: String,
    /// Bytes of its file system.
    pub size: u64,
    /// Free bytes.
    pub free: u64,
    /// File system and device.
    pub about: String,
}

/// A disk or a partition.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// The device's path, which the user must type to allow overwriting.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Model, or other information that identifies it.
    pub about: String,
}

/// A format for downloading a record.
#[derive(Clone, Debug, Serialize)]
pub struct Format {
    /// Name in addresses.
    pub name: String,
    /// Label for users.
    pub label: String,
    /// File extension, without a dot.
    pub extension: String,
    /// Its media type.
    pub media_type: String,
    /// Arguments that make the program print this format; the record's path follows them.
    #[serde(skip)]
    pub arguments: Vec<String>,
}
