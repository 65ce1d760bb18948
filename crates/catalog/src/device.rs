//! Kinds of storage devices, as buyers distinguish them.

crate::named! {
    /// A kind of storage device.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeviceKind {
        /// Rotating platters.
        HardDisk = "hdd",
        /// A hard disk with flash as a cache.
        Hybrid = "sshd",
        /// Flash on SATA.
        SataSsd = "sata-ssd",
        /// Flash on PCI Express.
        Nvme = "nvme",
        /// Flash on another bus: SAS, or a USB enclosure.
        Ssd = "ssd",
        /// A USB stick.
        UsbStick = "usb-stick",
        /// SD, microSD, MMC and older cards, also in a reader.
        MemoryCard = "memory-card",
        /// Flash soldered to the board: eMMC, UFS.
        Soldered = "emmc",
        /// A disk that a hypervisor or a cloud provides.
        Virtual = "virtual",
    }
}

crate::named! {
    /// A device for which this program has a model.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeviceModel {
        /// A hard disk of 7,200 rpm.
        HardDisk = "hdd-7200",
        /// A laptop's hard disk.
        LaptopDisk = "hdd-laptop",
        /// A hybrid disk.
        Hybrid = "sshd",
        /// A SATA SSD.
        SataSsd = "sata-ssd",
        /// An older SATA SSD with MLC flash.
        SataMlc = "sata-mlc",
        /// A USB stick.
        UsbFlash = "usb-flash",
        /// An SD card.
        SdCard = "sd-card",
        /// An NVMe SSD.
        Nvme = "nvme",
    }
}

impl DeviceModel {
    /// The kind of the device.
    pub const fn kind(self) -> DeviceKind {
        match self {
            Self::HardDisk | Self::LaptopDisk => DeviceKind::HardDisk,
            Self::Hybrid => DeviceKind::Hybrid,
            Self::SataSsd | Self::SataMlc => DeviceKind::SataSsd,
            Self::UsbFlash => DeviceKind::UsbStick,
            Self::SdCard => DeviceKind::MemoryCard,
            Self::Nvme => DeviceKind::Nvme,
        }
    }
}

impl DeviceKind {
    /// The name of the kind, for use in sentences.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::HardDisk => "hard disk",
            Self::Hybrid => "hybrid disk",
            Self::SataSsd => "SATA SSD",
            Self::Nvme => "NVMe SSD",
            Self::Ssd => "SSD",
            Self::UsbStick => "USB stick",
            Self::MemoryCard => "memory card",
            Self::Soldered => "soldered flash",
            Self::Virtual => "virtual disk",
        }
    }
}
