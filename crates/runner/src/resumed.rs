//! Resumes an interrupted run: with the same plan on the same target, or not at all.

use cryptbench_record::{Arm, Plan, Record, Target};

use crate::RunError;

/// Refuses to continue `earlier` if this program would not measure the same on the same storage.
pub(crate) fn check(
    earlier: &Record,
    plan: &Plan,
    target: &Target,
    program_version: &str,
) -> Result<(), RunError> {
    let was = &earlier.plan;
    let same: [(&str, bool); 8] = [
        ("the program's version", earlier.program_version == program_version),
        ("the workloads", text(&was.workloads) == text(&plan.workloads)),
        ("the choices", arms(&was.arms) == arms(&plan.arms)),
        ("the schedule", schedule(was) == schedule(plan)),
        ("the target", place(&earlier.target) == place(target)),
        ("the disk", text(&earlier.target.device) == text(&target.device)),
        ("the scratch file's size", earlier.target.scratch.size_bytes <= target.scratch.size_bytes),
        ("direct I/O", earlier.target.engine.direct == target.engine.direct),
    ];
    let differs: Vec<_> = same.iter().filter(|(_, same)| !same).map(|(what, _)| *what).collect();
    match differs.is_empty() {
        true => Ok(()),
        false => Err(RunError::Usage(format!(
            "the run cannot be resumed, because its trials would not be comparable: {} changed; start a new run",
            differs.join(", ")
        ))),
    }
}

/// Length and ramp of a trial in seconds, from `earlier`: its trials are comparable only with trials of equal
/// length.
pub(crate) fn lengths(earlier: &Record) -> (f64, f64) {
    (earlier.plan.trial_s, earlier.plan.ramp_s)
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

/// Identifies arms by their properties, except those that the kernel reports once they are set up.
fn arms(arms: &[Arm]) -> Vec<(&str, &str)> {
    arms.iter().map(|arm| (arm.id.as_str(), arm.label.as_str())).collect()
}

fn schedule(plan: &Plan) -> String {
    let Plan { seed, budget_s, min_pairs, max_pairs, target_half_width, pause_s, .. } = plan;
    text(&(seed, budget_s, min_pairs, max_pairs, target_half_width, pause_s))
}

fn place(target: &Target) -> (&str, &str, Option<&str>) {
    (&target.directory, &target.filesystem, target.kind.as_deref())
}
