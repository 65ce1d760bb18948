//! The columns that identify the run, the workload and the arm of a row. They are the same in every table.

use std::collections::HashMap;

use cryptbench_answer::names::Names;
use cryptbench_record::{Arm, ArmRole, Record, Workload};

use super::Fields;

/// The plan's data on workloads and arms, by identifier.
pub(super) struct Keys<'a> {
    run_id: &'a str,
    workloads: HashMap<&'a str, &'a Workload>,
    arms: HashMap<&'a str, &'a Arm>,
    device_kind: Option<&'a str>,
    names: Names,
}

impl<'a> Keys<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        Self {
            run_id: &record.run_id,
            device_kind: record.target.device_kind.as_ref().and_then(|k| k.kind.as_deref()),
            workloads: record.plan.workloads.iter().map(|w| (w.id.as_str(), w)).collect(),
            arms: record.plan.arms.iter().map(|a| (a.id.as_str(), a)).collect(),
            names: Names::of(&record.plan),
        }
    }

    /// The identifying fields of a row.
    pub(super) fn row(&self, workload: &str, arm: &str) -> Fields {
        let (w, a) = (self.workloads.get(workload).copied(), self.arms.get(arm).copied());
        let mut row = Fields::default();
        row.text("run_id", Some(self.run_id));
        row.text("workload", Some(workload));
        row.text("workload_label", w.map(|w| self.names.workload(w)));
        row.text("operation", w.map(|w| w.operation.as_str()));
        row.text("pattern", w.map(|w| w.pattern.as_str()));
        row.integer("block_size_bytes", w.map(|w| w.block_size));
        row.integer("queue_depth", w.map(|w| w.queue_depth));
        row.integer("threads", w.map(|w| w.threads.unwrap_or(1)));
        row.integer("read_percent", w.and_then(|w| w.read_percent));
        row.integer("file_bytes", w.and_then(|w| w.file_bytes));
        row.text("arm", Some(arm));
        row.text("arm_label", a.map(|a| self.names.arm(a)));
        row.text("role", a.map(|a| role(a.role)));
        row.text("system", a.map(|a| a.system.as_str()));
        row.text("cipher", a.and_then(|a| a.cipher.as_deref()));
        row.integer("data_unit_bytes", a.and_then(|a| a.data_unit));
        row.text("kernel_tier", a.and_then(|a| a.kernel_tier.as_deref()));
        row.text("attachment", a.and_then(|a| a.attachment.as_deref()));
        row.text("settings", a.and_then(settings).as_deref());
        row.text("device_kind", self.device_kind);
        row
    }
}

/// As the JSON writes it.
fn role(role: ArmRole) -> &'static str {
    match role {
        ArmRole::Plain => "plain",
        ArmRole::PlainAgain => "plain-again",
        ArmRole::NullLayer => "null-layer",
        ArmRole::Encrypted => "encrypted",
    }
}

/// `pim=default;prf=sha-512`; `None` for an arm without settings.
fn settings(arm: &Arm) -> Option<String> {
    let all: Vec<String> = arm.settings.iter().map(|(name, v)| format!("{name}={v}")).collect();
    (!all.is_empty()).then(|| all.join(";"))
}
