//! The measurements of each study, and the possible substitutes for its systems.

use cryptbench_catalog::{
    AES_256_CBC_ESSIV, AES_256_XTS, BUILTIN, BUILTIN_MOUNTED, DM_CRYPT, ECRYPTFS, ENCFS, QEMU_LUKS,
    TRUECRYPT, VERACRYPT,
};
use cryptbench_studies::Letter;

/// How a study can be repeated.
pub struct Protocol {
    /// Profiles to run one after another. They specify the study's number of trials.
    pub profiles: &'static [&'static str],
    /// Profiles that are replaced by other profiles if the target is a device, which can be measured as a whole.
    pub on_devices: &'static [(&'static str, &'static str)],
    /// The study's systems.
    pub systems: &'static [Program],
    /// Ciphers for all systems; if empty, each system uses its own ciphers.
    pub ciphers: &'static [&'static str],
    /// Ciphers of individual systems, under the systems' names in cryptbench: the system's own cipher if this is not
    /// its default, and its substitute's cipher.
    pub own_ciphers: &'static [(&'static str, &'static str)],
    /// Settings of individual systems, under the systems' names in cryptbench.
    pub settings: &'static [(&'static str, &'static str, &'static str)],
    /// A profile with which systems are also measured on a partition, and in a container file on a partition.
    pub places: Option<&'static str>,
    /// Whether each system needs a different substitute, because the study compares the systems.
    pub apart: bool,
    /// Whether the study's volumes used NTFS.
    pub ntfs: bool,
    /// Whether the study's figures show a driver that handles one request at a time. On emulated devices, an arm
    /// reproduces this driver.
    pub serial: bool,
    /// Whether the study also measured ciphers and key derivation in RAM.
    pub in_ram: bool,
}

/// A system of a study.
pub struct Program {
    /// Its name in the study.
    pub name: &'static str,
    /// The system's cipher and settings in the study, as far as the study states them.
    pub had: &'static str,
    /// The system's name in cryptbench, if cryptbench can set it up.
    pub itself: Option<&'static str>,
    /// Its substitutes, best first.
    pub replaced_by: &'static [&'static str],
}

impl Protocol {
    /// The profiles for a directory or, if `is_device`, for a device.
    pub fn profiles_on(&self, is_device: bool) -> Vec<&'static str> {
        let here = |profile: &&'static str| {
            let instead = self.on_devices.iter().find(|(usual, _)| is_device && usual == profile);
            instead.map_or(*profile, |(_, instead)| *instead)
        };
        self.profiles.iter().map(here).collect()
    }
}

/// Substitutes for systems that encrypt whole disks: the built-in engine with the same data units and ciphers.
const OURS: &[&str] = &[BUILTIN_MOUNTED.name, BUILTIN.name];
const FOR_TRUECRYPT: &[&str] = &[VERACRYPT.name, BUILTIN_MOUNTED.name, BUILTIN.name];
// Another program with the same three ciphers in XTS mode.
const FOR_BESTCRYPT: &[&str] = &[QEMU_LUKS.name, BUILTIN_MOUNTED.name, BUILTIN.name];

const fn program(
    (name, had): (&'static str, &'static str),
    itself: Option<&'static str>,
    replaced_by: &'static [&'static str],
) -> Program {
    Program { name, had, itself, replaced_by }
}

pub fn protocol(study: Letter) -> Protocol {
    match study {
        Letter::A => Protocol {
            profiles: &["atto", "hdtune"],
            on_devices: &[("hdtune", "hdtune-whole")],
            systems: const { &[program(("VeraCrypt", "AES, NTFS"), Some(VERACRYPT.name), OURS)] },
            ciphers: &["aes-256-xts"],
            own_ciphers: &[],
            settings: &[],
            places: None,
            apart: false,
            ntfs: true,
            serial: true,
            in_ram: true,
        },
        // Encrypted volumes on the Mac use AES-128 in XTS mode. Other operating systems can open such volumes, but not
        // create them.
        Letter::B => Protocol {
            profiles: &["dd-removable"],
            on_devices: &[],
            systems: const { &[program(("the Mac's encrypted volume", "its default"), None, OURS)] },
            ciphers: &["aes-128-xts"],
            own_ciphers: &[],
            settings: &[],
            places: None,
            apart: false,
            ntfs: false,
            serial: false,
            in_ram: false,
        },
        Letter::C => Protocol {
            profiles: &["iozone", "dd-copy"],
            on_devices: &[],
            systems: const {
                &[
                    program(
                        ("LUKS", "LUKS1, aes-cbc-essiv:sha256, 256 bits"),
                        Some(DM_CRYPT.name),
                        OURS,
                    ),
                    program(("TrueCrypt", "AES, RIPEMD-160"), Some(TRUECRYPT.name), OURS),
                    program(("eCryptfs", "AES, 16 bytes of key"), Some(ECRYPTFS.name), &[]),
                    program(("EncFS", "paranoia: AES-256, MACs"), Some(ENCFS.name), &[]),
                ]
            },
            // The systems' defaults: AES in CBC mode with ESSIV for LUKS1, AES in XTS mode for TrueCrypt. eCryptfs
            // uses 16-byte keys by default.
            ciphers: &[],
            own_ciphers: const {
                &[(DM_CRYPT.name, AES_256_CBC_ESSIV.name), (TRUECRYPT.name, AES_256_XTS.name)]
            },
            settings: const { &[(DM_CRYPT.name, "format", "luks1"), (ENCFS.name, "preset", "paranoia")] },
            places: Some("dd-copy"),
            apart: false,
            ntfs: false,
            serial: false,
            in_ram: false,
        },
        Letter::D => Protocol {
            profiles: &["anvil"],
            on_devices: &[],
            systems: const {
                &[
                    program(
                        ("TrueCrypt", "AES, Serpent, Twofish"),
                        Some(TRUECRYPT.name),
                        FOR_TRUECRYPT,
                    ),
                    program(("BestCrypt", "the same three"), None, FOR_BESTCRYPT),
                ]
            },
            ciphers: &["aes-256-xts", "serpent-256-xts", "twofish-256-xts"],
            own_ciphers: &[],
            settings: &[],
            places: None,
            apart: true,
            ntfs: false,
            serial: false,
            in_ram: false,
        },
    }
}
