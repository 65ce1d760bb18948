//! What several systems need of the kernel and of the user's rights, and what to do where it lacks.

use crate::Availability;
use crate::machine::Machine;

/// Something that several systems stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facility {
    /// File systems served from user space.
    Fuse,
    /// Files as disks, and mounting them.
    LoopDevices,
    /// The kernel's device mapper, on which dm-crypt stands.
    DeviceMapper,
}

impl Facility {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fuse, Self::LoopDevices, Self::DeviceMapper];

    /// Whether it can be used here, by the probes that the systems use themselves.
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
