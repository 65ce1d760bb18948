//! The built-in engine: encryption in the process that does the I/O, the floor of what it can cost.
//!
//! Sectors are laid out as a real format lays them out (tweak origin and step), so that the work per
//! byte is that format's. No header is written: the scratch file stands for the data area.

use std::sync::Arc;

use cryptbench_blockdev::SectorTransform;
use cryptbench_cipher::{CipherInfo, Layout, SectorCipher, Tier};
use zeroize::Zeroizing;

use crate::system::{Kind, Role, System};
use crate::{ArmSpec, Availability, Selection, SystemError};

/// Ciphers in this process, no kernel layer.
pub(crate) static BUILTIN: System = System {
    has_our_ciphers: true,
    availability: |_, _| Availability::Available(env!("CARGO_PKG_VERSION").to_owned()),
    arms: |system, selection| offered(system, "", selection),
    kernel_tier: kernel_of,
    ..System::new(
        "builtin",
        "ciphers in this process on the sector layouts of VeraCrypt (512 B) and LUKS2 (4096 B)",
        Kind::Inline(|arm, tier| inline_layer(arm, &random_key(arm)?, tier)),
    )
};

/// How a volume format places tweaks over its data area.
struct SectorLayout {
    /// The format.
    format: &'static str,
    /// Bytes under one tweak.
    data_unit: u32,
    /// Tweak of the first data unit.
    first_tweak: u64,
    /// Distance between the tweaks of neighbouring data units.
    tweak_step: u64,
}

impl SectorLayout {
    fn cipher_layout(&self) -> Layout {
        Layout { data_unit: self.data_unit as usize, tweak_step: self.tweak_step }
    }
}

/// VeraCrypt counts 512-byte units from the start of the container, whose header area of 128 KiB
/// makes the first data unit number 256 (VeraCrypt Volume Format Specification). LUKS2 counts in
/// 512-byte steps from 0 even for sectors of 4096 bytes (LUKS2 On-Disk Format, section 3.4,
/// `iv_tweak`; dm-crypt without `iv_large_sectors`).
const LAYOUTS: &[SectorLayout] = &[
    SectorLayout { format: "VeraCrypt", data_unit: 512, first_tweak: 256, tweak_step: 1 },
    SectorLayout { format: "LUKS2", data_unit: 4096, first_tweak: 0, tweak_step: 8 },
];

/// What `run` measures when no cipher is named.
const DEFAULT_CIPHER: &str = "aes-256-xts";

/// The arms of a system that puts our ciphers on the formats' sector layouts: the null layer, then each
/// cipher on each layout. `prefix` begins their labels.
pub(super) fn offered(
    system: &System,
    prefix: &str,
    selection: &Selection,
) -> Result<Vec<ArmSpec>, SystemError> {
    let layouts: Vec<_> = LAYOUTS
        .iter()
        .filter(|l| selection.data_units.is_empty() || selection.data_units.contains(&l.data_unit))
        .collect();
    if layouts.is_empty() {
        let asked: Vec<_> = selection.data_units.iter().map(ToString::to_string).collect();
        return Err(SystemError::NothingSelected {
            what: format!("a data unit of {} bytes", asked.join(" or ")),
            hint: "the data units are 512 (VeraCrypt) and 4096 (LUKS2)".to_owned(),
        });
    }
    let default = [DEFAULT_CIPHER.to_owned()];
    let names = if selection.ciphers.is_empty() { &default[..] } else { &selection.ciphers };
    let null = format!("{}/null", system.name);
    let mut arms = vec![system.arm(null, format!("{prefix}null layer"), Role::NullLayer)];
    for name in names {
        let cipher = cryptbench_cipher::find(name)?;
        for layout in &layouts {
            let id = format!("{}/{}/{}", system.name, cipher.name, layout.data_unit);
            let label = format!("{prefix}{} {} B", cipher.label, layout.data_unit);
            arms.push(ArmSpec {
                cipher: Some(cipher.name),
                data_unit: Some(layout.data_unit),
                layout: Some(layout.format),
                ..system.arm(id, label, Role::Encrypted)
            });
        }
    }
    Ok(arms)
}

/// A key for `arm`, empty where nothing is encrypted.
pub(super) fn random_key(arm: &ArmSpec) -> Result<Zeroizing<Vec<u8>>, SystemError> {
    let key_bytes = match arm.cipher {
        None => 0,
        Some(name) => cryptbench_cipher::find(name)?.key_bytes,
    };
    let mut key = Zeroizing::new(vec![0; key_bytes]);
    getrandom::fill(&mut key).expect("the kernel's random generator answers");
    Ok(key)
}

/// Where the data units of `arm` get their tweaks from, and its keyed cipher.
pub(super) fn keyed(arm: &ArmSpec, key: &[u8], tier: Tier) -> Result<Keyed, SystemError> {
    let layout = layout_of(arm);
    let cipher = match arm.cipher {
        None => Box::new(super::builtin_mounted::NoCipher) as Box<dyn SectorCipher>,
        Some(name) => cryptbench_cipher::find(name)?.with_key(key, layout.cipher_layout(), tier)?,
    };
    Ok(Keyed { cipher, first_tweak: layout.first_tweak, tweak_step: layout.tweak_step })
}

/// A cipher with its key, and the tweaks that it is used under.
pub(super) struct Keyed {
    pub(super) cipher: Box<dyn SectorCipher>,
    pub(super) first_tweak: u64,
    pub(super) tweak_step: u64,
}

fn layout_of(arm: &ArmSpec) -> &'static SectorLayout {
    LAYOUTS.iter().find(|l| Some(l.data_unit) == arm.data_unit).unwrap_or(&LAYOUTS[0])
}

/// The kernel that runs the arm's cipher at `tier`.
pub(super) fn kernel_of(arm: &ArmSpec, tier: Tier) -> Option<String> {
    let info = cryptbench_cipher::find(arm.cipher?).ok()?;
    let key: Vec<u8> = (0..info.key_bytes).map(|i| i as u8).collect();
    Some(keyed(arm, &key, tier).ok()?.cipher.tier().to_owned())
}

/// The inline layer of a built-in arm under a given key; an arm without a cipher ignores the key.
///
/// A run draws its keys itself; this is for those who must know the key, to
/// read with another implementation what was written.
///
/// # Errors
/// [`SystemError::Cipher`] when the key does not fit the cipher.
pub fn inline_layer(
    arm: &ArmSpec,
    key: &[u8],
    tier: Tier,
) -> Result<Arc<dyn SectorTransform>, SystemError> {
    Ok(match arm.cipher {
        None => Arc::new(Identity),
        Some(name) => {
            Arc::new(Encrypted::new(cryptbench_cipher::find(name)?, arm.data_unit, key, tier)?)
        }
    })
}

/// The null layer: the same path with nothing but the copy that encryption out of place implies.
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
struct Encrypted {
    cipher: Box<dyn SectorCipher>,
    first_tweak: u64,
    tweak_step: u64,
}

impl Encrypted {
    fn new(
        info: &CipherInfo,
        data_unit: Option<u32>,
        key: &[u8],
        tier: Tier,
    ) -> Result<Self, SystemError> {
        let layout = LAYOUTS
            .iter()
            .find(|l| Some(l.data_unit) == data_unit)
            .expect("arms are made from the layouts");
        let cipher = info.with_key(key, layout.cipher_layout(), tier)?;
        Ok(Self { cipher, first_tweak: layout.first_tweak, tweak_step: layout.tweak_step })
    }

    /// Tweak of the data unit at byte `offset` of the data area.
    fn tweak(&self, offset: u64) -> u64 {
        self.first_tweak + offset / self.cipher.data_unit() as u64 * self.tweak_step
    }
}

impl SectorTransform for Encrypted {
    fn unit(&self) -> usize {
        self.cipher.data_unit()
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        self.cipher.encrypt(self.tweak(offset), plain, stored);
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        self.cipher.decrypt_in_place(self.tweak(offset), data);
    }
}
