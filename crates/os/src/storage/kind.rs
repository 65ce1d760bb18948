//! The kind of a storage device, determined from the data that the device reports about itself. Nothing else is
//! guessed.

use cryptbench_catalog::DeviceKind;

/// How a device is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bus {
    /// SATA or the older parallel ATA.
    Ata,
    /// An NVMe drive on PCI Express.
    Nvme,
    /// USB mass storage.
    Usb,
    /// A card slot, or a soldered chip.
    Mmc {
        /// `SD` or `MMC`.
        card: String,
        /// Whether the device has boot partitions or a wear report, as only soldered chips do.
        is_soldered: bool,
    },
    /// Serial Attached SCSI.
    Sas,
    /// Universal Flash Storage; always soldered.
    Ufs,
    /// A bus that exists only under hypervisors.
    Virtual(&'static str),
    /// A layer that reveals nothing about the device behind it.
    Hidden(&'static str),
    /// Another bus, or a bus that the system does not name.
    #[default]
    Unknown,
}

/// What is known about the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// The drive reports that the medium rotates, at this number of revolutions per minute.
    Rotates(u32),
    /// The drive or the system reports that the medium does not rotate.
    Still,
    /// The system assumes that the medium rotates, which is its default unless the drive reports otherwise.
    TakenToRotate,
    /// Nothing.
    #[default]
    Unknown,
}

/// What a device reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// How it is attached.
    pub bus: Bus,
    /// Whether its medium rotates.
    pub medium: Medium,
    /// Whether the drive identifies itself as a hybrid (ATA identify data, hybrid information feature).
    pub says_hybrid: bool,
    /// Whether the medium is removable, as reported by the drive.
    pub is_removable: bool,
    /// Manufacturer, model and product, as reported by the device and its bridge.
    pub names: String,
    /// Whether this is a virtual machine.
    pub in_virtual_machine: bool,
}

/// The kind of a device, and the evidence for that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The kind; `None` if unknown.
    pub kind: Option<DeviceKind>,
    /// The evidence for the kind, or the reason why the kind is not known.
    pub why: String,
}

/// Names that hypervisors and clouds give their disks.
const VIRTUAL: [&str; 19] = [
    "qemu",
    "vbox",
    "virtualbox",
    "vmware",
    "virtual disk",
    "virtual hdd",
    "parallels",
    "bhyve",
    "persistentdisk",
    "ephemeraldisk",
    "nvme_card",
    "elastic block store",
    "ec2 nvme instance storage",
    "msft nvme accelerator",
    "microsoft nvme direct",
    "orcl-vbox",
    "blockvolume",
    "alibaba cloud",
    "scsi_debug",
];

/// Names of controllers that combine drives.
const COMBINED: [&str; 9] = [
    "raid",
    "perc",
    "avago",
    "lsi mr",
    "logical volume",
    "smart array",
    "adaptec",
    "serveraid",
    "lio-org",
];

/// Names of card readers.
const READERS: [&str; 13] = [
    "sd/mmc",
    "sd card",
    "sdxc",
    "micro sd",
    "microsd",
    "card reader",
    "cardreader",
    "multi-card",
    "multi card",
    "compact flash",
    "compactflash",
    "crw",
    "sddr-",
];

/// Names of USB sticks.
const STICKS: [&str; 20] = [
    "datatraveler",
    "data traveler",
    "cruzer",
    "jetflash",
    "flash drive",
    "flash disk",
    "flash memory",
    "flashdisk",
    "flashdrive",
    "usb flash",
    "usb stick",
    "usb disk",
    "usb_disk",
    "usb drive",
    "udisk",
    "pen drive",
    "pendrive",
    "thumb",
    "store n go",
    "transmemory",
];

/// SanDisk, Corsair and Kingston models that are USB sticks but do not report this.
const STICK_MODELS: [&str; 7] = [
    "ultra fit",
    "ultra usb",
    "ultra flair",
    "ultra dual",
    "extreme usb",
    "flash voyager",
    "hyperx savage",
];

/// Model numbers of hybrid disks whose identify data does not show that they are hybrids: Seagate's Momentus XT, Laptop
/// and Desktop SSHD and FireCuda, Western Digital's Black and Blue SSHD, Toshiba's MQ01 and MQ02 with H.
const HYBRIDS: [&str; 26] = [
    "st95005620as",
    "st93205620as",
    "st92505610as",
    "st750lx003",
    "st500lm000",
    "st1000lm014",
    "st500lx012",
    "st500lx025",
    "st1000lx015",
    "st2000lx001",
    "st1000dx001",
    "st2000dx001",
    "st4000dx001",
    "st1000dx002",
    "st2000dx002",
    "wd10j31x",
    "wd5000m21x",
    "wd5000m22x",
    "wd10s21x",
    "wd40e31x",
    "mq01abd075h",
    "mq01abd100h",
    "mq01abf032h",
    "mq01abf050h",
    "mq02abd100h",
    "mq02abf050h",
];

/// Names of ATA flash drives that predate the field in which drives report that they do not rotate.
const OLD_FLASH: [&str; 5] = ["ssd", "flash", "cf card", "sdcf", "solid state"];

impl Signs {
    /// The kind of a device that reports this data.
    pub fn kind(&self) -> Kind {
        let names = self.names.to_lowercase();
        let named = |of: &[&'static str]| of.iter().copied().find(|word| names.contains(word));
        if let Bus::Virtual(bus) = self.bus {
            return known(DeviceKind::Virtual, bus);
        }
        if let Some(word) = named(&VIRTUAL) {
            return known(DeviceKind::Virtual, &format!("its name has “{word}”"));
        }
        if let Some(word) = named(&COMBINED) {
            return unknown(&format!("a controller hides the drives (its name has “{word}”)"));
        }
        match &self.bus {
            Bus::Mmc { card, is_soldered } => card_or_chip(card, *is_soldered),
            Bus::Ufs => known(DeviceKind::Soldered, "UFS"),
            Bus::Usb => self.on_usb(named(&READERS), named(&STICKS), named(&STICK_MODELS)),
            Bus::Hidden(what) => unknown(what),
            Bus::Nvme => known(DeviceKind::Nvme, "NVMe on PCI Express"),
            _ if self.in_virtual_machine => {
                unknown("a disk of a virtual machine may report any kind")
            }
            Bus::Ata => self.on_ata(named(&HYBRIDS), named(&OLD_FLASH)),
            Bus::Sas => match self.medium {
                Medium::Rotates(rpm) => known(DeviceKind::HardDisk, &turning("SAS", rpm)),
                Medium::Still => known(DeviceKind::Ssd, "SAS, does not rotate"),
                _ => unknown("the SAS drive does not report whether it rotates"),
            },
            _ => unknown("its bus is not known"),
        }
    }

    fn on_usb(&self, reader: Option<&str>, stick: Option<&str>, stick_model: Option<&str>) -> Kind {
        let has = |word: &str| format!("USB, its name has “{word}”");
        match (self.medium, self.is_removable) {
            (Medium::Rotates(rpm), _) => known(DeviceKind::HardDisk, &turning("USB", rpm)),
            (_, true) if reader.is_some() => {
                known(DeviceKind::MemoryCard, &has(reader.unwrap_or_default()))
            }
            (_, true) if stick.is_some() => {
                known(DeviceKind::UsbStick, &(has(stick.unwrap_or_default()) + ", removable"))
            }
            _ if stick_model.is_some() => {
                known(DeviceKind::UsbStick, &has(stick_model.unwrap_or_default()))
            }
            (Medium::Still, false) => known(DeviceKind::Ssd, "USB, does not rotate"),
            (_, true) => {
                unknown("USB, removable: a stick or a card reader, which cannot be distinguished")
            }
            _ => unknown("USB, and the drive does not report whether it rotates"),
        }
    }

    fn on_ata(&self, hybrid: Option<&str>, flash: Option<&str>) -> Kind {
        match (self.medium, self.names.to_lowercase().contains("sshd"), hybrid) {
            (Medium::Still, ..) => known(DeviceKind::SataSsd, "SATA, does not rotate"),
            (Medium::Unknown, ..) => {
                unknown("SATA, and the drive does not report whether it rotates")
            }
            _ if self.says_hybrid => known(DeviceKind::Hybrid, "SATA, as the drive reports"),
            (_, true, _) => known(DeviceKind::Hybrid, "SATA, its name has “SSHD”"),
            (_, _, Some(model)) => {
                known(DeviceKind::Hybrid, &format!("SATA, its model is {}", model.to_uppercase()))
            }
            (Medium::Rotates(rpm), ..) => known(DeviceKind::HardDisk, &turning("SATA", rpm)),
            (Medium::TakenToRotate, ..) if flash.is_some() => {
                unknown("the system reports that it rotates, but its name indicates flash")
            }
            (Medium::TakenToRotate, ..) => {
                known(DeviceKind::HardDisk, "SATA, and the system reports that it rotates")
            }
        }
    }
}

fn card_or_chip(card: &str, is_soldered: bool) -> Kind {
    match (card, is_soldered) {
        ("SD" | "SDcombo", _) => known(DeviceKind::MemoryCard, "an SD card in a slot"),
        ("MMC", true) => known(DeviceKind::Soldered, "eMMC"),
        ("MMC", false) => unknown("an MMC card, or an eMMC chip of before version 5"),
        _ => unknown("in a card slot, and of a type that is not known"),
    }
}

fn turning(bus: &str, rpm: u32) -> String {
    format!("{bus}, {rpm} revolutions per minute")
}

fn known(kind: DeviceKind, why: &str) -> Kind {
    Kind { kind: Some(kind), why: why.to_owned() }
}

fn unknown(why: &str) -> Kind {
    Kind { kind: None, why: why.to_owned() }
}
