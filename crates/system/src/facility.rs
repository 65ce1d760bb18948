//! Kernel features and user privileges that several systems need, and the remedies if they are missing.

use cryptbench_catalog::Facility;

use crate::Availability;
use crate::machine::Machine;

/// Whether the facility can be used here, determined by the same probes as for systems.
pub fn facility(facility: Facility) -> Availability {
    let machine = Machine::this();
    let lacking = match facility {
        Facility::Fuse => machine.lacks_fuse(),
        Facility::LoopDevices => machine.lacks_disks(),
        Facility::DeviceMapper => machine.lacks_device_mapper(),
    };
    lacking.unwrap_or_else(|| Availability::Available("can be used".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(asked: Facility) -> bool {
        matches!(facility(asked), Availability::Unavailable { .. })
    }

    #[test]
    fn what_the_systems_lack_is_what_is_told() {
        let bare = Machine { fuse: "/nowhere/fuse".into(), root: false, ..Machine::this() };
        Machine::pretend(Some(bare));
        assert!(lacks(Facility::Fuse) && lacks(Facility::LoopDevices));
        Machine::pretend(None);
    }
}
