//! Features of the kernel and rights of the user that several systems need, and remedies if they
//! are missing.

use crate::Availability;
use crate::machine::Machine;

/// A requirement of several systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facility {
    /// FUSE: file systems served from user space.
    Fuse,
    /// Loop devices: files as disks, and mounting them.
    LoopDevices,
    /// The kernel's device mapper, on which dm-crypt stands.
    DeviceMapper,
}

impl Facility {
    /// All facilities.
    pub const ALL: [Self; 3] = [Self::Fuse, Self::LoopDevices, Self::DeviceMapper];

    /// Whether it can be used here, by the same probes as the systems.
    pub fn availability(self) -> Availability {
        let machine = Machine::this();
        let lacking = match self {
            Self::Fuse => machine.lacks_fuse(),
            Self::LoopDevices => machine.lacks_disks(),
            Self::DeviceMapper => machine.lacks_device_mapper(),
        };
        lacking.unwrap_or_else(|| Availability::Available("can be used".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(facility: Facility) -> bool {
        matches!(facility.availability(), Availability::Unavailable { .. })
    }

    #[test]
    fn what_the_systems_lack_is_what_is_told() {
        let bare = Machine { fuse: "/nowhere/fuse".into(), root: false, ..Machine::this() };
        Machine::pretend(Some(bare));
        assert!(lacks(Facility::Fuse) && lacks(Facility::LoopDevices));
        Machine::pretend(None);
    }
}
