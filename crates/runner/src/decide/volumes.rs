//! The arms for opening volumes: plain storage, and volumes of each format with each PRF and PIM.

use std::collections::BTreeMap;

use cryptbench_catalog::{BUILTIN, PLAIN};
use cryptbench_cipher::{CipherInfo, Layout, Tier};
use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_kdf::{Derivation, Effort, Function};
use cryptbench_record::{Arm, ArmRole};
use cryptbench_volume::format::tcrypt::Product;

use super::Tiers;
use crate::RunError;

/// The cipher of all volumes; only the time before its use is measured.
const CIPHER: &str = "aes-256-xts";

/// Length in bytes of LUKS's volume key, and of the header key that VeraCrypt and TrueCrypt derive. The header key is
/// long enough for the longest cascade, because the cipher is known only once the header has been decrypted.
pub(crate) const LUKS_KEY: usize = 64;
pub(crate) const TCRYPT_KEY: usize = 192;

/// A volume format whose unlocking can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnlockFormat {
    /// VeraCrypt.
    VeraCrypt,
    /// TrueCrypt.
    TrueCrypt,
    /// LUKS1: PBKDF2 only.
    Luks1,
    /// LUKS2: Argon2id, or PBKDF2 for boot loaders that support nothing else.
    Luks2,
}

impl UnlockFormat {
    /// All formats, in the order of tables.
    pub const ALL: [Self; 4] = [Self::VeraCrypt, Self::TrueCrypt, Self::Luks1, Self::Luks2];

    /// Name on the command line and for the opener: `veracrypt`, `truecrypt`, `luks1`, `luks2`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VeraCrypt => Product::VeraCrypt.format(),
            Self::TrueCrypt => Product::TrueCrypt.format(),
            Self::Luks1 => "luks1",
            Self::Luks2 => "luks2",
        }
    }

    /// Name in tables and records.
    pub const fn label(self) -> &'static str {
        match self {
            Self::VeraCrypt => "VeraCrypt",
            Self::TrueCrypt => "TrueCrypt",
            Self::Luks1 => "LUKS1",
            Self::Luks2 => "LUKS2",
        }
    }

    /// The kind of volume that determines the rules for PIMs; `None` if the header contains the cost.
    pub(crate) fn kind(self) -> Option<VolumeKind> {
        match self {
            Self::VeraCrypt => Some(VolumeKind::VeraCrypt { system: false }),
            Self::TrueCrypt => Some(VolumeKind::TrueCrypt { system: false }),
            Self::Luks1 | Self::Luks2 => None,
        }
    }

    /// The functions available for new volumes.
    fn functions(self) -> Vec<Function> {
        let Some(kind) = self.kind() else {
            // The hashes that the format's own program offers for new keys (cryptsetup 2.6, `--hash`).
            let names = ["argon2id", "sha-256", "sha-512", "whirlpool", "ripemd-160", "sha-1"];
            let argon2 = self == Self::Luks2;
            return names[usize::from(!argon2)..]
                .iter()
                .filter_map(|name| Function::find(name).ok())
                .collect();
        };
        Function::all().filter(|&function| kind.makes_new(function)).collect()
    }

    /// Whether a function is measured by default: all functions of VeraCrypt and TrueCrypt, because their users
    /// choose among them; for LUKS the default of its program, and PBKDF2 in addition to Argon2id.
    fn by_default(self, function: Function) -> bool {
        self.kind().is_some() || matches!(function.name(), "argon2id" | "sha-256")
    }
}

/// A selection of arms; an empty list means the defaults.
#[derive(Clone, Debug, Default)]
pub struct UnlockSelection {
    /// Formats by name: `veracrypt`, `truecrypt`, `luks1`, `luks2`.
    pub formats: Vec<String>,
    /// PRFs by name, or `argon2id`.
    pub prfs: Vec<String>,
    /// PIMs; 0 means the default cost, the only cost of formats without a PIM.
    pub pims: Vec<u32>,
}

/// The volume that an arm opens.
#[derive(Clone, Copy, Debug)]
pub enum UnlockKind {
    /// A plain file, whose first block is read.
    Plain,
    /// A volume.
    Volume {
        /// Its format.
        format: UnlockFormat,
        /// The function that derives its header key.
        function: Function,
        /// Its PIM; `None` means the default cost.
        pim: Option<u32>,
    },
}

/// One arm.
#[derive(Clone, Debug)]
pub struct UnlockArm {
    /// Identifier within a run, such as `builtin/veracrypt/sha-512` or `builtin/veracrypt/sha-512/pim-1`.
    pub id: String,
    /// Label in tables, such as `VeraCrypt SHA-512`.
    pub label: String,
    /// Role in comparisons.
    pub role: ArmRole,
    /// The volume that it opens.
    pub kind: UnlockKind,
}

/// The arms of a run: plain, plain again, then the chosen volumes by format, PRF and PIM.
///
/// # Errors
/// [`RunError::Usage`] for an unknown format, or if the selection matches nothing;
/// [`RunError::Kdf`] for an unknown PRF, or a PIM above the maximum.
pub fn arms(selection: &UnlockSelection) -> Result<Vec<UnlockArm>, RunError> {
    let known = |name: &String| UnlockFormat::ALL.iter().any(|format| format.as_str() == name);
    if let Some(name) = selection.formats.iter().find(|name| !known(name)) {
        let all: Vec<_> = UnlockFormat::ALL.iter().map(|format| format.as_str()).collect();
        let all = all.join(", ");
        return Err(RunError::Usage(format!("unknown volume format {name:?}; known: {all}")));
    }
    let prfs = selection.prfs.iter().map(|name| Function::find(name).map(Function::name));
    let prfs = prfs.collect::<Result<Vec<_>, _>>()?;
    let mut pims = selection.pims.clone();
    if pims.is_empty() {
        pims.push(0);
    }
    let mut arms = vec![
        UnlockArm::plain("plain", "plain", ArmRole::Plain),
        UnlockArm::plain("plain-again", "plain again", ArmRole::PlainAgain),
    ];
    for format in UnlockFormat::ALL {
        if !selection.formats.is_empty() && !selection.formats.iter().any(|f| f == format.as_str())
        {
            continue;
        }
        for function in format.functions() {
            let chosen = if prfs.is_empty() {
                format.by_default(function)
            } else {
                prfs.contains(&function.name())
            };
            if !chosen {
                continue;
            }
            for &pim in &pims {
                if pim != 0 && format != UnlockFormat::VeraCrypt {
                    continue;
                }
                if let Some(kind) = format.kind() {
                    pim::derivation(kind, function, Some(pim))?;
                }
                let arm = UnlockArm::volume(format, function, Some(pim).filter(|&pim| pim != 0));
                if !arms.iter().any(|other| other.id == arm.id) {
                    arms.push(arm);
                }
            }
        }
    }
    if arms.len() == 2 {
        return Err(RunError::Usage(
            "none of the chosen volume formats supports this PRF or PIM".to_owned(),
        ));
    }
    Ok(arms)
}

impl UnlockArm {
    fn plain(id: &str, label: &str, role: ArmRole) -> Self {
        Self { id: id.to_owned(), label: label.to_owned(), role, kind: UnlockKind::Plain }
    }

    fn volume(format: UnlockFormat, function: Function, pim: Option<u32>) -> Self {
        let mut id = format!("builtin/{}/{}", format.as_str(), function.name());
        let mut label = format!("{} {}", format.label(), function.label());
        if let Some(pim) = pim {
            id.push_str(&format!("/pim-{pim}"));
            label.push_str(&format!(" PIM {pim}"));
        }
        let kind = UnlockKind::Volume { format, function, pim };
        Self { id, label, role: ArmRole::Encrypted, kind }
    }

    /// The cost of its volume's key, if the format defines it. The cost of a LUKS key is chosen when the volume is
    /// created.
    pub(crate) fn ruled_derivation(&self) -> Result<Option<Derivation>, RunError> {
        let UnlockKind::Volume { format, function, pim } = self.kind else { return Ok(None) };
        let ruled = format.kind().map(|kind| pim::derivation(kind, function, pim));
        Ok(ruled.transpose()?)
    }

    /// The arm in the form of the record, as far as it is known before its volume is created. The cost of a LUKS key is
    /// chosen when the volume is created; `Unlocker::record_arms` includes it.
    pub(crate) fn record(&self, tiers: Tiers) -> Result<Arm, RunError> {
        let effort = Effort::new(tiers.derivations, 1);
        self.record_with(self.ruled_derivation()?, tiers.ciphers, effort)
    }

    /// The arm in the form of the record, with the cost of the volume's key.
    pub(crate) fn record_with(
        &self,
        derivation: Option<Derivation>,
        tier: Tier,
        effort: Effort<'_>,
    ) -> Result<Arm, RunError> {
        let mut arm = Arm {
            id: self.id.clone(),
            label: self.label.clone(),
            role: self.role,
            ..Arm::default()
        };
        let UnlockKind::Volume { format, function, pim } = self.kind else {
            arm.system = PLAIN.name.to_owned();
            return Ok(arm);
        };
        let mut settings = BTreeMap::new();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
        set("prf", function.name().to_owned());
        if format == UnlockFormat::VeraCrypt {
            set("pim", pim.map_or_else(|| "default".to_owned(), |pim| pim.to_string()));
        }
        match derivation {
            Some(Derivation::Pbkdf2 { prf, iterations }) => {
                let key = if format.kind().is_some() { TCRYPT_KEY } else { LUKS_KEY };
                set("iterations", iterations.to_string());
                set("derivation kernel", prf.kernel(key, effort));
            }
            Some(Derivation::Argon2 { params, .. }) => {
                set("memory", format!("{} KiB", params.memory_kib));
                set("passes", params.passes.to_string());
                set("lanes", params.lanes.to_string());
            }
            None => {}
        }
        arm.system = BUILTIN.name.to_owned();
        arm.cipher = Some(CIPHER.to_owned());
        arm.data_unit = Some(512);
        arm.layout = Some(format.label().to_owned());
        arm.kernel_tier = Some(kernel(tier)?);
        arm.settings = settings;
        Ok(arm)
    }
}

/// The kernel of the cipher that decrypts the first block.
fn kernel(tier: Tier) -> Result<String, RunError> {
    let info: &CipherInfo = cryptbench_cipher::find(CIPHER).map_err(volume)?;
    let key = vec![0; info.key_bytes];
    let keyed = info.with_key(&key, Layout::SECTOR_512, tier).map_err(volume)?;
    Ok(keyed.tier().to_owned())
}

fn volume(error: cryptbench_cipher::CipherError) -> RunError {
    RunError::Volume(error.into())
}
