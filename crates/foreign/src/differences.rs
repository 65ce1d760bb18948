//! Differences between two records apart from speed: machines, kernels, targets, engines, cipher implementations.

use std::collections::{BTreeMap, BTreeSet};

use cryptbench_record::{Record, Target};
use serde::Serialize;

use crate::naming::Naming;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The property that differs.
    pub what: String,
    /// The property's value in the first record.
    pub a: String,
    /// The property's value in the second record.
    pub b: String,
}

/// All differences between the machines, targets and plans of two records, with the most relevant first.
pub fn differences(a: &Record, b: &Record, names: &dyn Naming) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |what: &str, a: String, b: String| {
        if a != b {
            let told = |text: String| if text.is_empty() { "none".to_owned() } else { text };
            found.push(Difference { what: what.to_owned(), a: told(a), b: told(b) });
        }
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (m, n) = (&a.machine, &b.machine);
    note("emulated device", model(&a.target), model(&b.target));
    note("processor", m.cpu_model.clone(), n.cpu_model.clone());
    note("processors", m.cpus.to_string(), n.cpus.to_string());
    let (features, others) = missing(&m.cpu_features, &n.cpu_features);
    note("CPU features that the other lacks", features, others);
    note("memory", gib(m.memory_bytes), gib(n.memory_bytes));
    note("kernel", m.kernel.clone(), n.kernel.clone());
    note("system", m.os.clone(), n.os.clone());
    note("virtualisation", text(&m.virtualisation), text(&n.virtualisation));
    note("machine emulated by", text(&m.emulated), text(&n.emulated));
    let (s, t) = (&a.target, &b.target);
    note("target", text(&s.kind), text(&t.kind));
    note("directory", s.directory.clone(), t.directory.clone());
    note("file system", s.filesystem.clone(), t.filesystem.clone());
    note("mount options", s.mount_options.clone(), t.mount_options.clone());
    note("device", device(s), device(t));
    let kind = |of: &Target| {
        of.device_kind.as_ref().and_then(|found| found.kind.clone()).unwrap_or_default()
    };
    // Records from earlier versions do not contain the kind of device.
    if s.device_kind.is_some() && t.device_kind.is_some() {
        note("kind of device", kind(s), kind(t));
    }
    note("I/O scheduler", scheduler(s), scheduler(t));
    note("scratch file", gib(s.scratch.size_bytes), gib(t.scratch.size_bytes));
    note("engine", engine(s), engine(t));
    note("engine details", text(&s.engine.details), text(&t.engine.details));
    for arm in &a.plan.arms {
        let Some(other) = b.plan.arms.iter().find(|o| o.id == arm.id) else { continue };
        let what = format!("cipher code of {}", names.arm(arm));
        note(&what, text(&arm.kernel_tier), text(&other.kernel_tier));
        let settings = |s: &BTreeMap<String, String>| {
            s.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
        };
        let what = format!("settings of {}", names.arm(arm));
        note(&what, settings(&arm.settings), settings(&other.settings));
    }
    note("profile", a.plan.profile.clone(), b.plan.profile.clone());
    // A plan specifies a duration for trials even if none of its workloads is time-based.
    if [a, b].iter().any(|r| r.plan.workloads.iter().any(cryptbench_record::Workload::is_timed)) {
        note("trial", seconds(a.plan.trial_s), seconds(b.plan.trial_s));
    }
    note("program", a.program_version.clone(), b.program_version.clone());
    found
}

fn missing(a: &[String], b: &[String]) -> (String, String) {
    let (a, b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
    let only = |x: &BTreeSet<&String>, y: &BTreeSet<&String>| {
        x.difference(y).map(|f| f.as_str()).collect::<Vec<_>>().join(" ")
    };
    (only(&a, &b), only(&b, &a))
}

fn model(target: &Target) -> String {
    target.emulated.as_ref().map_or(String::new(), |e| format!("{} {}", e.model, e.parameters))
}

fn device(target: &Target) -> String {
    target.device.as_ref().map_or_else(
        || target.source.clone(),
        |d| {
            let model = d.model.as_ref().map_or(String::new(), |m| format!(" {m}"));
            format!("{}{model}, {}, write cache {}", d.name, gib(d.size_bytes), d.write_cache)
        },
    )
}

fn scheduler(target: &Target) -> String {
    target.device.as_ref().map_or(String::new(), |d| d.scheduler.clone())
}

fn engine(target: &Target) -> String {
    let way = if target.engine.direct { "direct I/O" } else { "buffered" };
    format!("{}, {way}", target.engine.name)
}

fn gib(bytes: u64) -> String {
    let gib = bytes as f64 / (1_u64 << 30) as f64;
    if gib < 1.0 { format!("{:.0} MiB", gib * 1024.0) } else { format!("{gib:.1} GiB") }
}

fn seconds(value: f64) -> String {
    format!("{value:.3} s")
}
