//! What can be chosen on this machine. The page shows it, and an order is held against it.

use serde::Serialize;

/// Everything that the form offers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Catalogue {
    /// Version of the program.
    pub version: String,
    /// The directory that is proposed as target.
    pub target: String,
    /// Encryption systems.
    pub systems: Vec<System>,
    /// Ciphers of the systems that let one choose.
    pub ciphers: Vec<Choice>,
    /// Workload profiles.
    pub profiles: Vec<Profile>,
    /// Disks and partitions, to choose from where one is to be overwritten.
    pub devices: Vec<Device>,
    /// What a record can be turned into.
    pub formats: Vec<Format>,
}

/// An encryption system.
#[derive(Clone, Debug, Serialize)]
pub struct System {
    /// Name on the command line.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Its version, if it can run here.
    pub version: Option<String>,
    /// Why it cannot.
    pub reason: Option<String>,
    /// What would mend that.
    pub remedy: Option<String>,
}

/// Something with a name and words for people.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// Name on the command line.
    pub name: String,
    /// How people call it.
    pub label: String,
}

/// A workload profile.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Name on the command line.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// How many workloads it has.
    pub workloads: usize,
}

/// A disk or a partition.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Its path, which has to be typed to overwrite it.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Model, or what else says which one it is.
    pub about: String,
}

/// A form in which a record can be had.
#[derive(Clone, Debug, Serialize)]
pub struct Format {
    /// Name in addresses.
    pub name: String,
    /// How people call it.
    pub label: String,
    /// The file's ending, without a dot.
    pub extension: String,
    /// Its media type.
    pub media_type: String,
    /// Arguments of the program that print it, before the record's path.
    #[serde(skip)]
    pub arguments: Vec<String>,
}
