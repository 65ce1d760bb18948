//! Detects a run whose AES does not use the CPU's AES instructions; this matters more than the cost of any system.

use cryptbench_catalog::{Encrypts, encrypts};

use crate::{Arm, ArmRole};

/// Why AES does not use the CPU's instructions for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowAes {
    /// The CPU has no such instructions, or only instructions that this program does not support.
    NoInstructions,
    /// The CPU has them, but `CRYPTBENCH_CPU` disables them.
    Masked,
}

impl SlowAes {
    /// Why AES does not use the CPU's instructions in a run with these arms on a CPU with these features (named as in
    /// `/proc/cpuinfo`). If the features are unknown, the result depends on the code that the ciphers of this program's
    /// own arms used.
    pub fn of(features: &[String], arms: &[Arm]) -> Option<Self> {
        let uses_aes = |arm: &&Arm| {
            let cipher = arm.cipher.as_deref();
            arm.role == ArmRole::Encrypted && cipher.is_some_and(|cipher| cipher.contains("aes"))
        };
        let aes: Vec<&Arm> = arms.iter().filter(uses_aes).collect();
        let portable = aes.iter().any(|arm| {
            encrypts(&arm.system) == Some(Encrypts::Own)
                && arm.kernel_tier.as_deref() == Some("soft")
        });
        if features.iter().any(|feature| feature == "aes") {
            return portable.then_some(Self::Masked);
        }
        let none = !features.is_empty() && !aes.is_empty();
        (portable || none).then_some(Self::NoInstructions)
    }

    /// The sentence that comes before all figures.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoInstructions => {
                "This CPU has no AES instructions; the alternative, Adiantum, must be chosen with --cipher adiantum-12."
            }
            Self::Masked => "CRYPTBENCH_CPU disables the CPU's AES instructions in this run.",
        }
    }
}
