//! The machines. Each has a CPU, memory and a disk that users have, and commands that run on it.

use crate::newcomer::system::Distribution::{self, Debian12, Debian13};

/// An emulated machine.
pub struct Row {
    pub name: &'static str,
    /// Its description, for the table.
    pub what: &'static str,
    pub system: Distribution,
    pub processor: Processor,
    /// QEMU's CPU model.
    pub model: &'static str,
    pub cpus: u32,
    /// Memory in MiB.
    pub memory: u32,
    /// The target of the run, if it is not on the disk with the root file system.
    pub disk: Option<Disk>,
    /// Functions of `guest.sh`, in order.
    pub steps: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    X86,
    Arm,
}

/// A second disk, in QEMU's terms.
pub struct Disk {
    /// Further options of `-drive`.
    pub drive: &'static str,
    /// `-device`, without its drive.
    pub device: &'static str,
}

/// All steps that a user would run.
const ALL: &[&str] = &["doctor", "root", "user", "killed", "existing", "volume", "all"];
/// The same steps without a run of all systems, which takes long.
const ALL_BUT_LONG: &[&str] = &["doctor", "root", "user", "killed", "existing", "volume"];
/// The steps that depend on the machine, and the tests for a server's disk.
const SERVER: &[&str] = &["doctor", "root", "user", "killed", "server"];
/// The steps that depend on the machine.
const MAIN: &[&str] = &["doctor", "root", "user", "killed"];

const PLAIN: Row = Row {
    name: "debian-12",
    what: "Debian 12, 2 CPUs, 2 GiB",
    system: Debian12,
    processor: Processor::X86,
    model: "max",
    cpus: 2,
    memory: 2048,
    disk: None,
    steps: ALL,
};

pub const ROWS: &[Row] = &[
    PLAIN,
    Row {
        name: "debian-13",
        what: "Debian 13, 2 CPUs, 2 GiB",
        system: Debian13,
        steps: ALL_BUT_LONG,
        ..PLAIN
    },
    Row {
        name: "without-aes",
        what: "Debian 12, a processor without AES",
        model: "max,aes=off,vaes=off",
        steps: MAIN,
        ..PLAIN
    },
    Row {
        name: "small",
        what: "Debian 12, 1 CPU, 512 MiB",
        cpus: 1,
        memory: 512,
        steps: MAIN,
        ..PLAIN
    },
    Row {
        name: "slow-disk",
        what: "Debian 12, a disk of 5 MB/s and 60 requests a second",
        disk: Some(Disk {
            drive: "throttling.bps-total=5000000,throttling.iops-total=60",
            device: "virtio-blk-pci",
        }),
        steps: MAIN,
        ..PLAIN
    },
    Row {
        name: "sectors-4k",
        what: "Debian 12, a disk with 4096-byte sectors",
        disk: Some(Disk {
            drive: "discard=unmap",
            device: "virtio-blk-pci,logical_block_size=4096,physical_block_size=4096",
        }),
        steps: MAIN,
        ..PLAIN
    },
    Row {
        name: "nvme",
        what: "Debian 13, 4 CPUs, an NVMe with 4 queues",
        system: Debian13,
        cpus: 4,
        disk: Some(Disk { drive: "discard=unmap", device: "nvme,serial=machines,max_ioqpairs=4" }),
        steps: SERVER,
        ..PLAIN
    },
    Row {
        name: "cortex-a72",
        what: "Debian 13 on arm64, Cortex-A72, 2 GiB",
        system: Debian13,
        processor: Processor::Arm,
        model: "cortex-a72",
        steps: MAIN,
        ..PLAIN
    },
    Row {
        name: "arm-max",
        what: "Debian 13 on arm64, all extensions, 2 GiB",
        system: Debian13,
        processor: Processor::Arm,
        model: "max,pauth-impdef=on",
        steps: ALL_BUT_LONG,
        ..PLAIN
    },
];
