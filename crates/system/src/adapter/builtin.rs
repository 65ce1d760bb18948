//! The built-in engine: encryption in the process that does the I/O. Its cost is the lower bound for other systems.
//!
//! Sectors use the layout of a real format (the first tweak and the step between tweaks), so the work per byte
//! is the same as in that format. No header is written: the scratch file represents the data area.
//!
//! The ciphers of BitLocker and FileVault are this program's own code, on the sector layouts of BitLocker and
//! CoreStorage. They do not show what the drivers of Windows and macOS cost or save.

use std::sync::Arc;

use cryptbench_blockdev::SectorTransform;
use cryptbench_catalog::{
    self as catalog, AES_128_XTS, AES_256_CBC_ESSIV, AES_256_LRW, AES_256_XTS, Cipher,
    VERACRYPT_LAYOUT,
};
use cryptbench_cipher::{CipherInfo, Layout, SectorCipher, Tier};
use cryptbench_volume::format::bitlocker::Method;
use cryptbench_volume::format::filevault;
use zeroize::Zeroizing;

use crate::driver;
use crate::settings::choices;
use crate::system::{Kind, Role, System};
use crate::{ArmSpec, Availability, Selected, Selection, SystemError};

/// Ciphers in this process, without involving the kernel.
pub(crate) static BUILTIN: System = System {
    has_our_ciphers: true,
    availability: |_, _| Availability::Available(env!("CARGO_PKG_VERSION").to_owned()),
    settings: &[driver::SETTING],
    arms: |system, selection, _| {
        Ok(with_drivers(system, selection, offered(system, "", selection)?))
    },
    kernel_tier: kernel_of,
    ..System::new(
        &catalog::BUILTIN,
        Kind::Inline(|arm, tier| inline_layer(arm, &random_key(arm)?, tier)),
    )
};

/// A copy of the arms for each chosen driver.
fn with_drivers(system: &System, selection: &Selection, arms: Vec<ArmSpec>) -> Vec<ArmSpec> {
    let (encrypted, mut all): (Vec<_>, Vec<_>) =
        arms.into_iter().partition(|arm| arm.role == Role::Encrypted);
    for choice in choices(system, selection) {
        all.extend(encrypted.iter().map(|arm| driver::arm(arm, &choice)));
    }
    all
}

/// How a volume format assigns tweaks to its data area.
struct SectorLayout {
    /// The format.
    format: &'static str,
    /// Number of bytes per tweak.
    data_unit: u32,
    /// Tweak of the first data unit.
    first_tweak: u64,
    /// Difference between the tweaks of neighbouring data units.
    tweak_step: u64,
}

impl SectorLayout {
    fn cipher_layout(&self) -> Layout {
        Layout { data_unit: self.data_unit as usize, tweak_step: self.tweak_step }
    }
}

/// VeraCrypt numbers 512-byte units from the start of the container. After its 128 KiB header area, the first
/// data unit is number 256 (VeraCrypt Volume Format Specification). LUKS2 numbers 512-byte units from 0, even
/// with 4096-byte sectors (LUKS2 On-Disk Format, section 3.4, `iv_tweak`; dm-crypt without `iv_large_sectors`).
const LAYOUTS: &[SectorLayout; 2] = &[
    SectorLayout { format: VERACRYPT_LAYOUT, data_unit: 512, first_tweak: 256, tweak_step: 1 },
    SectorLayout { format: "LUKS2", data_unit: 4096, first_tweak: 0, tweak_step: 8 },
];

/// The layout for wide ciphers with 512-byte units; VeraCrypt does not have these ciphers.
const LUKS2_512: SectorLayout =
    SectorLayout { format: "LUKS2", data_unit: 512, first_tweak: 0, tweak_step: 1 };

/// BitLocker's tweaks start at 0; the unit that they count depends on the cipher.
const BITLOCKER: &str = "BitLocker";

/// Sector sizes of disks that Windows encrypts.
const BITLOCKER_SECTORS: &[u32] = &[512, 4096];

/// BitLocker's ciphers, by their names in `--cipher`.
const BITLOCKER_CIPHERS: &[(&str, Method)] = &[
    ("bitlocker-aes-128-xts", Method::Xts128),
    ("bitlocker-aes-256-xts", Method::Xts256),
    ("bitlocker-aes-128-cbc", Method::Cbc128),
    ("bitlocker-aes-256-cbc", Method::Cbc256),
    ("bitlocker-aes-128-cbc-elephant", Method::Elephant128),
    ("bitlocker-aes-256-cbc-elephant", Method::Elephant256),
];

/// FileVault's cipher, by its name in `--cipher`.
const FILEVAULT_CIPHER: &str = "filevault-aes-128-xts";

/// CoreStorage numbers sectors from the start of the logical volume.
const FILEVAULT: SectorLayout =
    SectorLayout { format: "FileVault 2", data_unit: 512, first_tweak: 0, tweak_step: 1 };

/// Modes that are older than XTS, on LUKS1's layout: CBC-ESSIV, the former default of LUKS1, which study C
/// measured, and LRW.
const SPECIFIED: [&Cipher; 2] = [&AES_256_CBC_ESSIV, &AES_256_LRW];

/// The layout for those modes.
const LUKS1: SectorLayout =
    SectorLayout { format: "LUKS1", data_unit: 512, first_tweak: 0, tweak_step: 1 };

/// Whether this engine has a cipher with that name.
pub(crate) fn has(cipher: &str) -> bool {
    Ours::find(cipher).is_ok()
}

/// Names of this engine's ciphers, and their labels.
pub(crate) fn cipher_names() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let registered = cryptbench_cipher::ciphers().iter().map(|c| (c.name, Some(c.label)));
    let bitlocker = BITLOCKER_CIPHERS.iter().map(|(name, _)| (*name, None));
    let specified = SPECIFIED.into_iter().map(|cipher| (cipher.name, None));
    registered.chain(bitlocker).chain([(FILEVAULT_CIPHER, None)]).chain(specified)
}

/// A cipher of this engine.
#[derive(Clone, Copy)]
enum Ours {
    /// A cipher of the registry, on the layouts of VeraCrypt and LUKS2; a wide cipher only on LUKS2's layout.
    Registered(&'static CipherInfo),
    /// BitLocker's ciphers, on its own layout.
    BitLocker(&'static str, Method),
    /// FileVault 2's cipher, on CoreStorage's layout.
    FileVault,
    /// A cipher of dm-crypt, on LUKS1's layout.
    Specified(&'static Cipher),
}

impl Ours {
    fn find(name: &str) -> Result<Self, SystemError> {
        if let Some(specified) = SPECIFIED.into_iter().find(|s| s.name == name) {
            return Ok(Self::Specified(specified));
        }
        if name == FILEVAULT_CIPHER {
            return Ok(Self::FileVault);
        }
        match BITLOCKER_CIPHERS.iter().find(|(known, _)| *known == name) {
            Some((known, method)) => Ok(Self::BitLocker(known, *method)),
            None if name.starts_with("bitlocker") => {
                let known: Vec<&str> = BITLOCKER_CIPHERS.iter().map(|(name, _)| *name).collect();
                Err(SystemError::NothingSelected {
                    of: Selected::Cipher,
                    what: format!("the cipher {name:?}"),
                    hint: format!("BitLocker offers: {}", known.join(", ")),
                })
            }
            None => Ok(Self::Registered(cryptbench_cipher::find(name)?)),
        }
    }

    /// The layouts on which the cipher runs: data unit and format.
    fn layouts(self) -> Vec<(u32, &'static str)> {
        match self {
            Self::Registered(info) => {
                registered(info).iter().map(|l| (l.data_unit, l.format)).collect()
            }
            Self::BitLocker(..) => BITLOCKER_SECTORS.iter().map(|s| (*s, BITLOCKER)).collect(),
            Self::FileVault => vec![(FILEVAULT.data_unit, FILEVAULT.format)],
            Self::Specified(_) => vec![(LUKS1.data_unit, LUKS1.format)],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Registered(info) => info.name,
            Self::BitLocker(name, _) => name,
            Self::FileVault => FILEVAULT_CIPHER,
            Self::Specified(specified) => specified.name,
        }
    }

    /// The cipher's name in tables. For BitLocker and FileVault, the name states whose code runs.
    fn label(self) -> String {
        match self {
            Self::Registered(info) => info.label.to_owned(),
            Self::BitLocker(_, method) => format!("BitLocker {method} (not Windows' driver)"),
            Self::FileVault => "FileVault 2 AES-XTS 128 (not Apple's driver)".to_owned(),
            Self::Specified(specified) => specified.label.to_owned(),
        }
    }

    fn key_bytes(self) -> usize {
        match self {
            Self::Registered(info) => info.key_bytes,
            Self::BitLocker(_, method) => method.key_bytes(),
            Self::FileVault => AES_128_XTS.key_bytes(),
            Self::Specified(specified) => specified.key_bytes(),
        }
    }

    /// The cipher with the key `key`, on the layout with data units of `data_unit` bytes.
    fn keyed(self, data_unit: u32, key: &[u8], tier: Tier) -> Result<Keyed, SystemError> {
        match self {
            Self::Registered(info) => {
                let layouts = registered(info);
                let layout = layouts.iter().find(|l| l.data_unit == data_unit);
                let layout = layout.unwrap_or(&layouts[0]);
                let cipher = info.with_key(key, layout.cipher_layout(), tier)?;
                let (first_tweak, tweak_step) = (layout.first_tweak, layout.tweak_step);
                Ok(Keyed { cipher, first_tweak, tweak_step })
            }
            Self::BitLocker(_, method) => {
                let cipher = method.keyed(key, data_unit as usize, tier)?;
                Ok(Keyed { cipher, first_tweak: 0, tweak_step: 1 })
            }
            Self::FileVault => {
                let cipher = filevault::keyed(key, tier)?;
                let (first_tweak, tweak_step) = (FILEVAULT.first_tweak, FILEVAULT.tweak_step);
                Ok(Keyed { cipher, first_tweak, tweak_step })
            }
            Self::Specified(specified) => {
                let (cipher, mode) = specified.parts();
                let layout = LUKS1.cipher_layout();
                let cipher = cryptbench_cipher::dm_crypt(cipher, mode, key, layout, tier)?;
                let (first_tweak, tweak_step) = (LUKS1.first_tweak, LUKS1.tweak_step);
                Ok(Keyed { cipher, first_tweak, tweak_step })
            }
        }
    }
}

/// The layouts for a cipher of the registry.
fn registered(info: &CipherInfo) -> [&'static SectorLayout; 2] {
    let [veracrypt, luks2] = LAYOUTS;
    [if info.is_wide() { &LUKS2_512 } else { veracrypt }, luks2]
}

/// The cipher that `run` measures by default.
const DEFAULT_CIPHER: &str = AES_256_XTS.name;

/// The arms of a system that uses our ciphers on the sector layouts of formats: first the null layer, then each
/// cipher on each layout. Their labels start with `prefix`.
pub(super) fn offered(
    system: &System,
    prefix: &str,
    selection: &Selection,
) -> Result<Vec<ArmSpec>, SystemError> {
    let wanted =
        |unit: &u32| selection.data_units.is_empty() || selection.data_units.contains(unit);
    if !LAYOUTS.iter().any(|layout| wanted(&layout.data_unit)) {
        let asked: Vec<_> = selection.data_units.iter().map(ToString::to_string).collect();
        return Err(SystemError::NothingSelected {
            of: Selected::DataUnit,
            what: format!("a sector size of {} bytes", asked.join(" or ")),
            hint: "the supported sector sizes are 512 bytes (VeraCrypt) and 4096 bytes (LUKS2)"
                .to_owned(),
        });
    }
    let default = [DEFAULT_CIPHER.to_owned()];
    let names = if selection.ciphers.is_empty() { &default[..] } else { &selection.ciphers };
    let null = format!("{}/null", system.name);
    let mut arms = vec![system.arm(null, format!("{prefix}null layer"), Role::NullLayer)];
    for name in names {
        let cipher = Ours::find(name)?;
        for (unit, format) in cipher.layouts().into_iter().filter(|(unit, _)| wanted(unit)) {
            let id = format!("{}/{}/{unit}", system.name, cipher.name());
            let label = format!("{prefix}{} {unit} B", cipher.label());
            arms.push(ArmSpec {
                cipher: Some(cipher.name()),
                data_unit: Some(unit),
                layout: Some(format),
                ..system.arm(id, label, Role::Encrypted)
            });
        }
    }
    Ok(arms)
}

/// A random key for `arm`, empty if it does not encrypt.
pub(super) fn random_key(arm: &ArmSpec) -> Result<Zeroizing<Vec<u8>>, SystemError> {
    let key_bytes = match arm.cipher {
        None => 0,
        Some(name) => Ours::find(name)?.key_bytes(),
    };
    let mut key = Zeroizing::new(vec![0; key_bytes]);
    getrandom::fill(&mut key).expect("the kernel's random generator answers");
    Ok(key)
}

/// The keyed cipher of `arm`, and the tweaks of its data units.
fn keyed(arm: &ArmSpec, key: &[u8], tier: Tier) -> Result<Keyed, SystemError> {
    keyed_by_name(arm.cipher, arm.data_unit, key, tier)
}

/// The keyed cipher and the tweaks for an arm with this cipher and data unit.
pub(super) fn keyed_by_name(
    cipher: Option<&str>,
    data_unit: Option<u32>,
    key: &[u8],
    tier: Tier,
) -> Result<Keyed, SystemError> {
    match cipher {
        None => {
            let cipher = Box::new(NoCipher) as Box<dyn SectorCipher>;
            Ok(Keyed {
                cipher,
                first_tweak: LAYOUTS[0].first_tweak,
                tweak_step: LAYOUTS[0].tweak_step,
            })
        }
        Some(name) => Ours::find(name)?.keyed(data_unit.unwrap_or(LAYOUTS[0].data_unit), key, tier),
    }
}

/// A cipher with its key and its tweaks.
pub(super) struct Keyed {
    pub(super) cipher: Box<dyn SectorCipher>,
    pub(super) first_tweak: u64,
    pub(super) tweak_step: u64,
}

/// The cipher kernel that `arm` uses at `tier`.
pub(super) fn kernel_of(arm: &ArmSpec, tier: Tier) -> Option<String> {
    let key_bytes = Ours::find(arm.cipher?).ok()?.key_bytes();
    let key: Vec<u8> = (0..key_bytes).map(|i| i as u8).collect();
    Some(keyed(arm, &key, tier).ok()?.cipher.tier().to_owned())
}

/// The inline layer of a built-in arm with a given key. An arm without a cipher ignores the key.
///
/// A run generates its own keys. This function is for callers that need a known key, so that another
/// implementation can read the stored data.
///
/// # Errors
/// [`SystemError::Cipher`] if the key does not fit the cipher.
pub fn inline_layer(
    arm: &ArmSpec,
    key: &[u8],
    tier: Tier,
) -> Result<Arc<dyn SectorTransform>, SystemError> {
    Ok(match arm.cipher {
        None => Arc::new(Identity),
        Some(_) => driver::driven(arm, Arc::new(Encrypted(keyed(arm, key, tier)?))),
    })
}

/// The null layer: the same path with only the copy that out-of-place encryption implies.
struct Identity;

impl SectorTransform for Identity {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, _offset: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
    }

    fn open(&self, _offset: u64, _data: &mut [u8]) {}
}

/// A cipher on a format's sector layout.
struct Encrypted(Keyed);

impl Encrypted {
    /// Tweak of the data unit at byte `offset` of the data area.
    fn tweak(&self, offset: u64) -> u64 {
        self.0.first_tweak + offset / self.0.cipher.data_unit() as u64 * self.0.tweak_step
    }
}

impl SectorTransform for Encrypted {
    fn unit(&self) -> usize {
        self.0.cipher.data_unit()
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        self.0.cipher.encrypt(self.tweak(offset), plain, stored);
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        self.0.cipher.decrypt_in_place(self.tweak(offset), data);
    }
}

/// The cipher of the null layer: copies the data where encryption would, and does not change it.
struct NoCipher;

impl SectorCipher for NoCipher {
    fn data_unit(&self) -> usize {
        512
    }

    fn encrypt(&self, _first_unit: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }

    fn encrypt_in_place(&self, _first_unit: u64, _data: &mut [u8]) {}

    fn decrypt(&self, _first_unit: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }

    fn decrypt_in_place(&self, _first_unit: u64, _data: &mut [u8]) {}

    fn tier(&self) -> &'static str {
        "none"
    }

    fn visit_keys(&self, _visit: &mut dyn FnMut(*const u8, usize)) {}
}
