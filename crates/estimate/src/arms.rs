//! The arms that are compared, shown in charts, or available as choices.

use cryptbench_catalog::BUILTIN;
use cryptbench_record::{Arm, ArmRole, Record};

/// The plan's baseline, if there is one.
pub fn plain_arm(record: &Record) -> Option<&Arm> {
    record.plan.arms.iter().find(|a| a.role == ArmRole::Plain)
}

/// The arms that tables and charts compare: every arm except the two plain arms.
pub fn compared(arms: &[Arm]) -> Vec<&Arm> {
    arms.iter().filter(|a| !matches!(a.role, ArmRole::Plain | ArmRole::PlainAgain)).collect()
}

/// The arms whose bars and percentiles are shown: all except the second plain arm.
pub fn drawn(arms: &[Arm]) -> Vec<&Arm> {
    arms.iter().filter(|a| a.role != ArmRole::PlainAgain).collect()
}

/// Whether the arm is a system that can be installed; the engine in this process is not.
pub fn is_choice(arm: &Arm) -> bool {
    arm.role == ArmRole::Encrypted && arm.system != BUILTIN.name
}
