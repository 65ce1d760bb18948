//! Disks as /sys of many machines shows them, and what kind each is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cryptbench_catalog::DeviceKind as K;

use super::*;

/// A disk in /sys.
struct Disk {
    about: &'static str,
    /// Its directory below /sys/devices.
    at: &'static str,
    /// Files, by their path from that directory.
    files: &'static [(&'static str, &'static str)],
    /// `(rate)` of page B1 and `(rate, word 78)` of page 89.
    rate: Option<u16>,
    identify: Option<(u16, u16)>,
    in_virtual_machine: bool,
    expected: Option<K>,
    /// What the reason has in it.
    why: &'static str,
}

const NONE: Disk = Disk {
    about: "",
    at: "",
    files: &[],
    rate: None,
    identify: None,
    in_virtual_machine: false,
    expected: None,
    why: "",
};

const SATA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
const USB: &str = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb";
const SLOT: &str =
    "pci0000:00/0000:00:1d.0/0000:03:00.0/rtsx_pci_sdmmc.0/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0";
const CHIP: &str = "platform/soc/fe330000.mmc/mmc_host/mmc1/mmc1:0001/block/mmcblk1";
const NVME: &str = "pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1";
const SAS: &str =
    "pci0000:00/0000:02:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda";

/// `../../..` of these paths leads to the device whose attributes a disk links to as `device`.
const DISKS: &[Disk] = &[
    Disk {
        about: "a laptop's hard disk",
        at: SATA,
        rate: Some(5400),
        files: &[
            ("device/vendor", "ATA"),
            ("device/model", "WDC WD10JPVX-22J"),
            ("queue/rotational", "1"),
            ("removable", "0"),
        ],
        expected: Some(K::HardDisk),
        why: "5400 revolutions",
        ..NONE
    },
    Disk {
        about: "the same before the kernel showed VPD pages",
        at: SATA,
        files: &[
            ("device/vendor", "ATA"),
            ("device/model", "WDC WD10JPVX-22J"),
            ("queue/rotational", "1"),
        ],
        expected: Some(K::HardDisk),
        why: "the system reports",
        ..NONE
    },
    Disk {
        about: "a disk that does not report its rate",
        at: SATA,
        rate: Some(0),
        identify: Some((0, 0)),
        files: &[("device/model", "ST3160815AS"), ("queue/rotational", "1")],
        why: "does not report whether it rotates",
        ..NONE
    },
    Disk {
        about: "a SATA SSD",
        at: SATA,
        rate: Some(1),
        files: &[("device/model", "Samsung SSD 870"), ("queue/rotational", "0")],
        expected: Some(K::SataSsd),
        why: "does not rotate",
        ..NONE
    },
    Disk {
        about: "an early SSD that the kernel takes to rotate",
        at: SATA,
        files: &[("device/model", "MTRON MSD-SATA SSD"), ("queue/rotational", "1")],
        why: "its name indicates flash",
        ..NONE
    },
    Disk {
        about: "a hybrid by its identify data",
        at: SATA,
        rate: Some(5400),
        identify: Some((5400, 1 << 9)),
        files: &[("device/model", "ST1000XX000-1XX1"), ("queue/rotational", "1")],
        expected: Some(K::Hybrid),
        why: "as the drive reports",
        ..NONE
    },
    Disk {
        about: "identify data that are all ones say nothing",
        at: SATA,
        identify: Some((7200, 0xffff)),
        files: &[("device/model", "ST1000XX000-1XX1"), ("queue/rotational", "1")],
        expected: Some(K::HardDisk),
        why: "7200",
        ..NONE
    },
    Disk {
        about: "a hybrid by its model number",
        at: SATA,
        rate: Some(5400),
        files: &[("device/model", "ST1000LM014-1EJ1"), ("queue/rotational", "1")],
        expected: Some(K::Hybrid),
        why: "ST1000LM014",
        ..NONE
    },
    Disk {
        about: "a SAS disk",
        at: SAS,
        rate: Some(10_500),
        files: &[
            ("device/vendor", "SEAGATE"),
            ("device/model", "ST600MM0006"),
            ("queue/rotational", "1"),
        ],
        expected: Some(K::HardDisk),
        why: "SAS, 10500",
        ..NONE
    },
    Disk {
        about: "a SAS SSD",
        at: SAS,
        rate: Some(1),
        files: &[
            ("device/vendor", "HGST"),
            ("device/model", "HUSMM1620ASS200"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::Ssd),
        why: "SAS, does not rotate",
        ..NONE
    },
    Disk {
        about: "a RAID controller's volume",
        at: "pci0000:00/0000:02:00.0/host0/target0:2:0/0:2:0:0/block/sda",
        files: &[
            ("device/vendor", "DELL"),
            ("device/model", "PERC H730 Mini"),
            ("queue/rotational", "1"),
        ],
        why: "hides the drives",
        ..NONE
    },
    Disk {
        about: "an NVMe drive",
        at: NVME,
        files: &[
            ("device/model", "Samsung SSD 980 PRO 1TB"),
            ("device/transport", "pcie"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::Nvme),
        why: "PCI Express",
        ..NONE
    },
    Disk {
        about: "the same with multipath",
        at: "virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
        files: &[
            ("device/model", "Samsung SSD 990 PRO"),
            ("device/nvme0/transport", "pcie"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::Nvme),
        why: "PCI Express",
        ..NONE
    },
    Disk {
        about: "NVMe over TCP",
        at: "virtual/nvme-fabrics/ctl/nvme1/nvme1n1",
        files: &[("device/model", "Linux"), ("device/transport", "tcp")],
        why: "another machine",
        ..NONE
    },
    Disk {
        about: "an emulated NVMe drive",
        at: NVME,
        in_virtual_machine: true,
        files: &[("device/model", "QEMU NVMe Ctrl"), ("device/transport", "pcie")],
        expected: Some(K::Virtual),
        why: "qemu",
        ..NONE
    },
    Disk {
        about: "a cloud's volume",
        at: NVME,
        in_virtual_machine: true,
        files: &[("device/model", "Amazon Elastic Block Store"), ("device/transport", "pcie")],
        expected: Some(K::Virtual),
        why: "elastic block store",
        ..NONE
    },
    Disk {
        about: "a USB stick",
        at: USB,
        files: &[
            ("device/vendor", "Kingston"),
            ("device/model", "DataTraveler 3.0"),
            ("removable", "1"),
            ("queue/rotational", "1"),
        ],
        expected: Some(K::UsbStick),
        why: "datatraveler",
        ..NONE
    },
    Disk {
        about: "a stick whose descriptors alone say so",
        at: USB,
        files: &[
            ("device/vendor", "Generic"),
            ("device/model", ""),
            ("removable", "1"),
            ("queue/rotational", "1"),
            ("usb/manufacturer", "SanDisk"),
            ("usb/product", "Cruzer Blade"),
        ],
        expected: Some(K::UsbStick),
        why: "cruzer",
        ..NONE
    },
    Disk {
        about: "something removable that does not say what",
        at: USB,
        files: &[
            ("device/vendor", "Generic"),
            ("device/model", "STORAGE DEVICE"),
            ("removable", "1"),
            ("queue/rotational", "1"),
        ],
        why: "a stick or a card reader",
        ..NONE
    },
    Disk {
        about: "a card reader on USB",
        at: USB,
        files: &[
            ("device/vendor", "Generic-"),
            ("device/model", "SD/MMC/MS PRO"),
            ("removable", "1"),
            ("queue/rotational", "1"),
        ],
        expected: Some(K::MemoryCard),
        why: "sd/mmc",
        ..NONE
    },
    Disk {
        about: "a hard disk on USB",
        at: USB,
        rate: Some(5400),
        files: &[
            ("device/vendor", "WD"),
            ("device/model", "Elements 25A2"),
            ("removable", "0"),
            ("queue/rotational", "1"),
        ],
        expected: Some(K::HardDisk),
        why: "USB, 5400",
        ..NONE
    },
    Disk {
        about: "a USB enclosure that hides its drive",
        at: USB,
        files: &[
            ("device/vendor", "JMicron"),
            ("device/model", "Generic"),
            ("removable", "0"),
            ("queue/rotational", "1"),
        ],
        why: "does not report whether it rotates",
        ..NONE
    },
    Disk {
        about: "an SSD on USB",
        at: USB,
        rate: Some(1),
        files: &[
            ("device/vendor", "Samsung"),
            ("device/model", "Portable SSD T7"),
            ("removable", "0"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::Ssd),
        why: "USB, does not rotate",
        ..NONE
    },
    Disk {
        about: "a stick that was passed to a virtual machine",
        at: USB,
        in_virtual_machine: true,
        files: &[
            ("device/vendor", "SanDisk"),
            ("device/model", "Ultra USB 3.0"),
            ("removable", "1"),
            ("queue/rotational", "1"),
        ],
        expected: Some(K::UsbStick),
        why: "ultra usb",
        ..NONE
    },
    Disk {
        about: "an SD card in a slot",
        at: SLOT,
        files: &[
            ("device/type", "SD"),
            ("device/name", "SC64G"),
            ("removable", "0"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::MemoryCard),
        why: "SD card",
        ..NONE
    },
    Disk {
        about: "an eMMC chip",
        at: CHIP,
        files: &[
            ("device/type", "MMC"),
            ("device/name", "BJTD4R"),
            ("device/life_time", "0x01 0x01"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::Soldered),
        why: "eMMC",
        ..NONE
    },
    Disk {
        about: "an MMC card",
        at: SLOT,
        files: &[
            ("device/type", "MMC"),
            ("device/name", "MMC128"),
            ("device/life_time", "0x00 0x00"),
        ],
        why: "an MMC card",
        ..NONE
    },
    Disk {
        about: "UFS",
        at: "platform/soc@0/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda",
        files: &[
            ("device/vendor", "SAMSUNG"),
            ("device/model", "KLUDG4UHDC-B0E1"),
            ("queue/rotational", "0"),
        ],
        expected: Some(K::Soldered),
        why: "UFS",
        ..NONE
    },
    Disk {
        about: "a virtio disk",
        at: "pci0000:00/0000:00:04.0/virtio1/block/vda",
        in_virtual_machine: true,
        files: &[("queue/rotational", "1")],
        expected: Some(K::Virtual),
        why: "virtio",
        ..NONE
    },
    Disk {
        about: "a disk behind virtio-scsi whose name is a real one's",
        in_virtual_machine: true,
        at: "pci0000:00/0000:00:05.0/virtio2/host0/target0:0:0/0:0:0:0/block/sda",
        files: &[("device/vendor", "SEAGATE"), ("device/model", "ST600MM0006")],
        expected: Some(K::Virtual),
        why: "virtio",
        ..NONE
    },
    Disk {
        about: "a hypervisor's SATA disk",
        at: SATA,
        in_virtual_machine: true,
        files: &[("device/model", "VBOX HARDDISK"), ("queue/rotational", "1")],
        expected: Some(K::Virtual),
        why: "vbox",
        ..NONE
    },
    Disk {
        about: "a SATA disk with a made-up name",
        at: SATA,
        in_virtual_machine: true,
        rate: Some(7200),
        files: &[("device/model", "FAST DISK"), ("queue/rotational", "1")],
        why: "virtual machine",
        ..NONE
    },
    Disk {
        about: "a loop device",
        at: "virtual/block/loop0",
        files: &[("queue/rotational", "1")],
        why: "the disk is a file",
        ..NONE
    },
    Disk {
        about: "an array",
        at: "virtual/block/md127",
        files: &[("queue/rotational", "0")],
        why: "several devices",
        ..NONE
    },
    Disk {
        about: "iSCSI",
        at: "platform/host3/session1/target3:0:0/3:0:0:0/block/sdc",
        files: &[("device/vendor", "IET"), ("device/model", "VIRTUAL-DISK")],
        why: "iSCSI",
        ..NONE
    },
];

/// Makes the disk in a directory, and looks at it.
fn seen(disk: &Disk) -> Kind {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let at = root.join("sys/devices").join(disk.at);
    fs::create_dir_all(at.join("queue")).unwrap();
    // SCSI and MMC have the disk below `block`, of the device itself; NVMe directly below it.
    let parent = at.parent().unwrap();
    let device = if parent.ends_with("block") { parent.parent().unwrap() } else { parent };
    symlink(device, at.join("device")).unwrap();
    let usb = root.join("sys/devices/pci0000:00/0000:00:14.0/usb2/2-1");
    if disk.at.contains("usb2") {
        fs::write(usb.join("idVendor"), "0781\n").unwrap();
    }
    for (name, text) in disk.files {
        let path = match name.strip_prefix("usb/") {
            Some(name) => usb.join(name),
            None => at.join(name),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
    }
    if let Some(rate) = disk.rate {
        let page = [&[0, 0xb1, 0, 0x3c][..], &rate.to_be_bytes(), &[0; 58]].concat();
        fs::write(at.join("device/vpd_pgb1"), page).unwrap();
    }
    if let Some((rate, hybrid)) = disk.identify {
        let mut page = vec![0_u8; 572];
        page[60 + 2 * 217..][..2].copy_from_slice(&rate.to_le_bytes());
        page[60 + 2 * 78..][..2].copy_from_slice(&hybrid.to_le_bytes());
        page[60] = 0x40;
        fs::write(at.join("device/vpd_pg89"), page).unwrap();
    }
    let number = root.join("sys/dev/block");
    fs::create_dir_all(&number).unwrap();
    symlink(&at, number.join("4000:1")).unwrap();
    let tree = Tree::rooted(root);
    let node = tree.of_number(rustix::fs::makedev(4000, 1)).unwrap();
    tree.kind(&node, disk.in_virtual_machine)
}

#[test]
fn disks_are_told_apart_by_what_they_say_and_not_guessed() {
    assert!(DISKS.len() >= 30);
    for disk in DISKS {
        let found = seen(disk);
        assert_eq!(found.kind, disk.expected, "{}: {}", disk.about, found.why);
        assert!(found.why.contains(disk.why), "{}: {}", disk.about, found.why);
    }
}

#[test]
fn a_partition_is_of_the_kind_of_its_disk() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let disk = root.join("sys/devices").join(SLOT);
    let part = disk.join("mmcblk0p1");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("partition"), "1\n").unwrap();
    let device: &Path = disk.parent().unwrap().parent().unwrap();
    fs::write(device.join("type"), "SD\n").unwrap();
    symlink(device, disk.join("device")).unwrap();
    fs::create_dir_all(root.join("sys/dev/block")).unwrap();
    symlink(&part, root.join("sys/dev/block/4000:2")).unwrap();
    let tree = Tree::rooted(root);
    let node = tree.of_number(rustix::fs::makedev(4000, 2)).unwrap();
    assert_eq!(tree.kind(&node, false).kind, Some(K::MemoryCard));
}
