//! What a disk reports about itself in /sys: the bus in its path, the descriptors of USB and MMC, SCSI's inquiry data
//! and ATA's identify data.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use super::{Node, Tree};
use crate::linux::call::opal::Drive;
use crate::linux::open_without_waiting;
use crate::storage::{Bus, Kind, Medium, SelfEncrypting, Signs};

impl Tree {
    /// The kind of the disk of `node`; `in_virtual_machine` states whether a hypervisor may emulate the disk.
    pub fn kind(&self, node: &Node, in_virtual_machine: bool) -> Kind {
        let disk = node.disk();
        let mut signs = signs(&disk);
        signs.in_virtual_machine = in_virtual_machine;
        signs.kind()
    }

    /// Whether the disk of `node` encrypts itself, as far as this user may query that.
    pub fn self_encrypting(&self, node: &Node) -> Option<SelfEncrypting> {
        let path = node.disk().device_path();
        SelfEncrypting::ask(&Drive(open_without_waiting(&path).ok()?))
    }
}

fn signs(disk: &Node) -> Signs {
    let bus = bus(disk);
    let own = ["device/vendor", "device/model", "device/name"].map(|name| disk.attribute(name));
    let mut names: Vec<String> = own.into_iter().flatten().collect();
    if bus == Bus::Usb {
        names.extend(usb_names(disk.directory()));
    }
    let (medium, says_hybrid) = medium(disk);
    Signs {
        bus,
        medium,
        says_hybrid,
        is_removable: disk.attribute("removable").as_deref() == Some("1"),
        names: names.join(" "),
        in_virtual_machine: false,
    }
}

/// The bus according to the components of the path, starting with the component nearest to the disk.
fn bus(disk: &Node) -> Bus {
    let name = disk.name();
    let path = disk.directory().to_string_lossy().into_owned();
    if let Some(own) = by_name(&name) {
        return own;
    }
    if let Some(transport) = nvme_transport(disk) {
        return match transport.as_str() {
            "pcie" | "apple-nvme" => Bus::Nvme,
            _ => Bus::Hidden("NVMe over a network: the drive is in another machine"),
        };
    }
    path.rsplit('/').find_map(|part| by_part(part, disk)).unwrap_or_default()
}

/// Devices whose names identify the driver.
fn by_name(name: &str) -> Option<Bus> {
    let after = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.chars().next());
    let numbered = |prefix: &str| after(prefix).is_some_and(|c| c.is_ascii_digit());
    let lettered = |prefix: &str| after(prefix).is_some_and(|c| c.is_ascii_lowercase());
    Some(match () {
        () if lettered("vd") => Bus::Virtual("virtio"),
        () if lettered("xvd") => Bus::Virtual("Xen"),
        () if lettered("ubd") => Bus::Virtual("user-mode Linux"),
        () if numbered("loop") => Bus::Hidden("a loop device: the disk is a file"),
        () if numbered("dm-") => Bus::Hidden("a mapping over several devices"),
        () if numbered("md") => Bus::Hidden("an array of several devices"),
        () if numbered("bcache") => Bus::Hidden("a cache over another device"),
        () if numbered("zram") || numbered("ram") => Bus::Hidden("memory"),
        () if numbered("pmem") => Bus::Hidden("persistent memory"),
        () if numbered("nbd") || numbered("rbd") || numbered("drbd") => {
            Bus::Hidden("the drive is in another machine")
        }
        () if numbered("ublkb") => Bus::Hidden("a program serves it"),
        () => return None,
    })
}

/// `pcie`, `tcp` and so on. In /sys, a drive with several paths is below its subsystem, next to its controllers.
fn nvme_transport(disk: &Node) -> Option<String> {
    if !disk.name().starts_with("nvme") {
        return None;
    }
    disk.attribute("device/transport").or_else(|| {
        let beside = fs::read_dir(disk.directory().join("device")).ok()?;
        let read = |at: &Path| fs::read_to_string(at.join("transport")).ok();
        beside.flatten().find_map(|entry| Some(read(&entry.path())?.trim().to_owned()))
    })
}

fn by_part(part: &str, disk: &Node) -> Option<Bus> {
    let numbered = |prefix: &str| {
        let rest = part.strip_prefix(prefix).unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
    };
    Some(match () {
        () if numbered("usb") => Bus::Usb,
        () if numbered("ata") => Bus::Ata,
        // Kernels before 4.8 do not report the transport.
        () if part == "nvme" && disk.directory().to_string_lossy().contains("/pci") => Bus::Nvme,
        () if numbered("virtio") => Bus::Virtual("virtio"),
        () if part.starts_with("VMBUS:") || part.starts_with("vmbus") => {
            Bus::Virtual("Hyper-V's bus")
        }
        () if part.starts_with("vbd-") => Bus::Virtual("Xen"),
        () if numbered("session") => Bus::Hidden("iSCSI: the drive is in another machine"),
        () if part.starts_with("rport-") => Bus::Hidden("Fibre Channel: the drive is elsewhere"),
        () if part.starts_with("end_device-") => Bus::Sas,
        () if part.ends_with(".ufshc") || part.ends_with(".ufs") => Bus::Ufs,
        () if part == "mmc_host" => Bus::Mmc {
            card: disk.attribute("device/type").unwrap_or_default(),
            is_soldered: is_soldered(disk),
        },
        () => return None,
    })
}

/// Only soldered chips have boot partitions and wear reports (JESD84-B50, EXT_CSD 267 to 269).
fn is_soldered(disk: &Node) -> bool {
    let boot = disk.directory().with_file_name(format!("{}boot0", disk.name()));
    // The kernel shows zeros for a device without such a report.
    let wear = disk.attribute("device/life_time").is_some_and(|text| {
        text.split_whitespace()
            .any(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0) > 0)
    });
    boot.exists() || disk.directory().join(format!("{}boot0", disk.name())).exists() || wear
}

/// Manufacturer and product from the descriptors of the USB device, which may belong to a bridge.
fn usb_names(disk: &Path) -> Vec<String> {
    let device = disk.ancestors().find(|at| at.join("idVendor").exists());
    let read = |name: &str| fs::read_to_string(device?.join(name)).ok();
    ["manufacturer", "product"].into_iter().filter_map(read).map(|t| t.trim().to_owned()).collect()
}

/// Whether the medium rotates, and whether the drive identifies itself as a hybrid.
fn medium(disk: &Node) -> (Medium, bool) {
    let page = |name: &str| fs::read(disk.directory().join("device").join(name)).ok();
    let identify = page("vpd_pg89").and_then(|page| Identify::of(&page));
    let page_b1 = page("vpd_pgb1")
        .and_then(|page| Some(u16::from_be_bytes(page.get(4..6)?.try_into().ok()?)));
    let said =
        page_b1.filter(|rate| *rate > 0).or_else(|| Some(identify.as_ref()?.word(217))).or(page_b1);
    let medium = match said {
        Some(1) => Medium::Still,
        Some(rpm @ 0x401..=0xfffe) => Medium::Rotates(rpm.into()),
        // 0 means that the rate is not reported; other values are reserved (ACS-4, word 217).
        _ => match disk.attribute("queue/rotational").as_deref() {
            Some("0") => Medium::Still,
            Some("1") if said.is_none() => Medium::TakenToRotate,
            _ => Medium::Unknown,
        },
    };
    (medium, identify.is_some_and(|identify| identify.is_hybrid()))
}

/// ATA's identify data, which begins at byte 60 of SCSI's ATA information page (SAT-4, 12.4.2).
struct Identify(Vec<u8>);

impl Identify {
    fn of(page: &[u8]) -> Option<Self> {
        let data = page.get(60..60 + 512)?.to_vec();
        data.iter().any(|byte| *byte != 0).then_some(Self(data))
    }

    fn word(&self, number: usize) -> u16 {
        u16::from_le_bytes([self.0[2 * number], self.0[2 * number + 1]])
    }

    /// Whether the hybrid information feature is supported (ACS-4, word 78, bit 9).
    fn is_hybrid(&self) -> bool {
        let word = self.word(78);
        !matches!(word, 0 | 0xffff) && word & (1 << 9) != 0
    }
}
