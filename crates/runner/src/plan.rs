//! What a user asks for, resolved into a plan without touching anything.

use std::path::PathBuf;
use std::time::Duration;

use cryptbench_cipher::Tier;
use cryptbench_load::{EngineChoice, Profile, WorkloadSpec};
use cryptbench_record as record;
use cryptbench_stats::StoppingRule;
use cryptbench_system::{self as system, ArmSpec, Role, Selection};

use crate::RunError;

/// Where to measure.
#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// An existing directory, or a file that does not exist yet.
    pub path: PathBuf,
    /// Bytes of the scratch file; `None` chooses from the room there is.
    pub size: Option<u64>,
    /// Use the page cache even where direct I/O works.
    pub buffered: bool,
}

/// Everything that a user can ask of a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where.
    pub target: TargetRequest,
    /// The work.
    pub profile: Profile,
    /// The contenders.
    pub selection: Selection,
    /// Wall-clock bound of the whole run.
    pub budget: Duration,
    /// Measured time of one trial; `None` chooses it from the budget.
    pub trial: Option<Duration>,
    /// Seed of the schedule; `None` draws one.
    pub seed: Option<u64>,
    /// Target half-width of the intervals as a fraction.
    pub precision: f64,
    /// Most pairs per workload.
    pub max_pairs: u32,
    /// What carries the requests.
    pub engine: EngineChoice,
}

/// Fewest pairs before a workload may end on precision: below it the interval says more about luck
/// than about the disk (docs/methodology.md).
pub(crate) const MIN_PAIRS: u32 = 6;

/// Confidence of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Pairs that a trial's length leaves room for within the budget.
const PAIRS_WITHIN_BUDGET: f64 = 10.0;

/// Share of the budget that filling, discarded trials and pauses take on an ordinary disk.
const OVERHEAD: f64 = 0.20;

/// A request with every open question answered.
pub(crate) struct Resolved {
    pub(crate) plan: record::Plan,
    pub(crate) arms: Vec<ArmSpec>,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) tier: Tier,
}

/// Resolves `request`; nothing is created, opened or measured.
pub(crate) fn resolve(request: &Request) -> Result<Resolved, RunError> {
    let tier = cryptbench_cipher::tier()?;
    let arms = system::arms(&request.selection)?;
    let workloads = request.profile.workloads.clone();
    for arm in &arms {
        let unit = u64::from(arm.data_unit.unwrap_or(1));
        if let Some(w) = workloads.iter().find(|w| w.block_size % unit != 0) {
            return Err(RunError::Request(format!(
                "workload {:?} has requests of {} bytes, no multiple of the {unit}-byte data unit of \
                 {}: leave that arm out with --data-unit, or use larger requests",
                w.id, w.block_size, arm.label
            )));
        }
    }
    let cells = (workloads.len() * arms.len()) as f64;
    let trial = request.trial.unwrap_or_else(|| {
        let share = request.budget.as_secs_f64() * (1.0 - OVERHEAD) / (cells * PAIRS_WITHIN_BUDGET);
        Duration::from_secs_f64(share.clamp(0.1, 2.0))
    });
    let least = trial.as_secs_f64() * cells * f64::from(MIN_PAIRS);
    if least > request.budget.as_secs_f64() {
        return Err(RunError::Request(format!(
            "{} workloads on {} arms need {least:.0} s for {MIN_PAIRS} trials of {:.2} s each, more than \
             the budget of {:.0} s: give a larger --budget, a shorter --trial, or fewer arms",
            workloads.len(),
            arms.len(),
            trial.as_secs_f64(),
            request.budget.as_secs_f64()
        )));
    }
    let seed = match request.seed {
        Some(seed) => seed,
        // Short enough to be typed again.
        None => u64::from(getrandom::u32().expect("the kernel's random generator answers")),
    };
    let plan = record::Plan {
        profile: request.profile.name.clone(),
        workloads: workloads.iter().map(record_workload).collect(),
        arms: arms.iter().map(|a| record_arm(a, tier)).collect::<Result<_, RunError>>()?,
        seed,
        budget_s: request.budget.as_secs_f64(),
        trial_s: trial.as_secs_f64(),
        min_pairs: MIN_PAIRS,
        max_pairs: request.max_pairs.max(MIN_PAIRS),
        target_half_width: request.precision,
        confidence: CONFIDENCE,
    };
    Ok(Resolved { plan, arms, workloads, tier })
}

/// The stopping rule of a plan.
pub(crate) fn stopping_rule(plan: &record::Plan) -> StoppingRule {
    StoppingRule {
        min_pairs: plan.min_pairs,
        max_pairs: plan.max_pairs,
        target: plan.target_half_width,
        confidence: plan.confidence,
    }
}

fn record_workload(w: &WorkloadSpec) -> record::Workload {
    record::Workload {
        id: w.id.clone(),
        label: w.label.clone(),
        operation: w.operation.as_str().to_owned(),
        pattern: w.pattern.as_str().to_owned(),
        block_size: w.block_size,
        queue_depth: w.queue_depth,
        headline: w.headline.as_str().to_owned(),
    }
}

fn record_arm(arm: &ArmSpec, tier: Tier) -> Result<record::Arm, RunError> {
    Ok(record::Arm {
        id: arm.id.clone(),
        label: arm.label.clone(),
        role: match arm.role {
            Role::Plain => record::ArmRole::Plain,
            Role::PlainAgain => record::ArmRole::PlainAgain,
            Role::NullLayer => record::ArmRole::NullLayer,
            Role::Encrypted => record::ArmRole::Encrypted,
        },
        system: arm.system.to_owned(),
        cipher: arm.cipher.map(str::to_owned),
        data_unit: arm.data_unit,
        layout: arm.layout.map(str::to_owned),
        kernel_tier: system::find(arm.system)?.kernel_tier(arm, tier),
    })
}
