//! What a user asks for, resolved into a plan without touching anything.

use std::path::PathBuf;
use std::time::Duration;

use cryptbench_cipher::Tier;
use cryptbench_load::{
    BlockWork, Cache, Content, Direction, EngineChoice, FileUse, Flush, Pattern, Presentation,
    Profile, Work, WorkAmount, WorkloadSpec,
};
use cryptbench_record as record;
use cryptbench_stats::StoppingRule;
use cryptbench_system::{self as system, ArmSpec, Role, Selection, Target};

use crate::RunError;
use crate::target::{Consent, EmulateRequest, makes_a_disk};
use crate::unlock::{self, UnlockArm, UnlockSelection};

/// Where to measure.
#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// An existing directory, a file that does not exist yet, or a file or block device that is overwritten.
    pub path: PathBuf,
    /// What may be overwritten, should `path` name something that is no directory.
    pub consent: Consent,
    /// A second place, for a comparison of what its user prepared; `path` is then the plain one.
    pub pair: Option<PairRequest>,
    /// A modelled device to be served and measured in place of `path`.
    pub emulate: Option<EmulateRequest>,
    /// Bytes of the scratch file; `None` chooses from the room there is.
    pub size: Option<u64>,
    /// Whether requests pass the page cache; `None` leaves it to the profile. Where direct I/O does not work
    /// they always do.
    pub buffered: Option<bool>,
}

/// The encrypted one of two places that are compared.
#[derive(Clone, Debug)]
pub struct PairRequest {
    /// Where; of the same kind as the plain place.
    pub encrypted: PathBuf,
    /// What tables call it; `None` takes its file system and path.
    pub name: Option<String>,
}

/// Everything that a user can ask of a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where.
    pub target: TargetRequest,
    /// The work.
    pub profile: Profile,
    /// The contenders under a load.
    pub selection: Selection,
    /// The volumes, where opening them is the work.
    pub unlock: UnlockSelection,
    /// Wall-clock bound of the whole run; `None` is [`DEFAULT_BUDGET`], in proportion more for more arms than
    /// the default ones, or as long as a profile with a fixed number of trials takes.
    pub budget: Option<Duration>,
    /// Trials per workload and arm instead of as many as the precision takes; `None` leaves it to the profile.
    pub trials: Option<u32>,
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
    /// Read back after each trial what it wrote.
    pub verify: bool,
    /// Times that the filled scratch file is written again in a random order before the first trial.
    pub precondition: u32,
    /// A run that was cut short, with which this one goes on.
    pub resume: Option<Box<record::Record>>,
}

/// Wall-clock bound of a run on [`USUAL_ARMS`] or fewer, if its profile leaves the number of trials to the
/// precision.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(120);

/// Arms of a run in which nothing was chosen.
const USUAL_ARMS: f64 = 5.0;

/// Bound of a run with a fixed number of trials, where none is asked for: a safeguard against a disk that
/// never ends.
const UNBOUNDED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Fewest pairs before a workload may end on precision: below it the interval says more about luck
/// than about the disk (docs/methodology.md).
pub(crate) const MIN_PAIRS: u32 = 6;

/// Confidence of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Pairs that a trial's length leaves room for within the budget.
const PAIRS_WITHIN_BUDGET: f64 = 10.0;

/// Unmeasured lead-in of a trial that is measured by time: the queue fills, the device turns to the new
/// work. At most a quarter of the trial.
const RAMP_S: f64 = 0.02;

/// A trial whose length nobody asked for is not shorter.
const LEAST_TRIAL_S: f64 = 0.1;

/// Share of the budget that filling, discarded trials and pauses take on an ordinary disk.
const OVERHEAD: f64 = 0.20;

/// A request with every open question answered.
pub(crate) struct Resolved {
    pub(crate) plan: record::Plan,
    pub(crate) arms: Arms,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) tier: Tier,
    /// Whether the user or the profile says how long a trial is.
    pub(crate) trial_is_asked: bool,
}

/// The contenders of a run, in the order of the plan's arms.
pub(crate) enum Arms {
    /// Systems under a load.
    Systems(Vec<ArmSpec>),
    /// Volumes that are opened.
    Volumes(Vec<UnlockArm>),
}

impl Arms {
    /// The target that an arm is measured on.
    pub(crate) fn target(&self, arm: usize) -> Target {
        match self {
            Self::Systems(arms) => arms.get(arm).map_or(Target::Plain, |arm| arm.target),
            Self::Volumes(_) => Target::Plain,
        }
    }

    /// The contenders that the profile's kind of work and the user's choice come to.
    fn choose(request: &Request, tier: Tier) -> Result<(Self, Vec<record::Arm>), RunError> {
        let works = || request.profile.workloads.iter().map(|w| &w.work);
        let opens = works().filter(|w| matches!(w, Work::Unlock(_))).count();
        if opens > 0 {
            if opens < request.profile.workloads.len() {
                return Err(RunError::Request(
                    "opening volumes and loading a disk are measured on different contenders: put them \
                     into two profiles"
                        .to_owned(),
                ));
            }
            if request.target.pair.is_some() {
                return Err(RunError::Request(
                    "--pair compares storage under a load, and this profile opens volumes of its own: choose another"
                        .to_owned(),
                ));
            }
            let arms = unlock::arms(&request.unlock)?;
            let recorded = arms.iter().map(UnlockArm::record).collect::<Result<_, _>>()?;
            return Ok((Self::Volumes(arms), recorded));
        }
        let mut selection = request.selection.clone();
        if selection.systems.is_empty() && request.target.pair.is_some() {
            // Nothing else was asked for.
            selection.systems.push("plain".to_owned());
        } else if selection.systems.is_empty() && works().any(|w| matches!(w, Work::Files(_))) {
            // Small files need a file system on the encrypted storage.
            selection.systems.push("builtin-mounted".to_owned());
        }
        let mut arms = system::arms(&selection)?;
        if let Some(pair) = &request.target.pair {
            let path = pair.encrypted.display().to_string();
            arms.push(system::paired_arm(pair.name.as_deref().unwrap_or(&path), &path));
        }
        let recorded = arms.iter().map(|a| record_arm(a, &arms, tier)).collect::<Result<_, _>>()?;
        Ok((Self::Systems(arms), recorded))
    }
}

/// Resolves `request`; nothing is created, opened or measured.
pub(crate) fn resolve(request: &Request) -> Result<Resolved, RunError> {
    let tier = cryptbench_cipher::tier()?;
    let (arms, recorded) = Arms::choose(request, tier)?;
    let workloads = request.profile.workloads.clone();
    let profile = &request.profile;
    let trials = request.trials.or(profile.trials);
    let budget = request.budget.unwrap_or(match trials {
        Some(_) => UNBOUNDED,
        None => DEFAULT_BUDGET.mul_f64((recorded.len() as f64 / USUAL_ARMS).max(1.0)),
    });
    let (min_pairs, max_pairs) = match trials {
        Some(trials) => (trials, trials),
        None => (MIN_PAIRS, request.max_pairs.max(MIN_PAIRS)),
    };
    let cells = (workloads.len() * recorded.len()) as f64;
    let asked = request.trial.or(profile.trial_s.map(Duration::from_secs_f64));
    let trial = asked.unwrap_or_else(|| {
        let pairs = trials.map_or(PAIRS_WITHIN_BUDGET, f64::from);
        let share = budget.as_secs_f64() * (1.0 - OVERHEAD) / (cells * pairs);
        Duration::from_secs_f64(share.clamp(LEAST_TRIAL_S, 2.0))
    });
    let seed = match request.seed {
        Some(seed) => seed,
        // Short enough to be typed again.
        None => u64::from(getrandom::u32().expect("the kernel's random generator answers")),
    };
    let mounted = matches!(&arms, Arms::Systems(arms) if arms.iter().any(makes_a_disk));
    if request.precondition > 0 && mounted {
        return Err(RunError::Request(
            "--precondition writes to the file that inline systems share; a mounted system has its own, so \
             the two would not be compared on the same ground: leave one of them out"
                .to_owned(),
        ));
    }
    let plan = record::Plan {
        profile: profile.name.clone(),
        workloads: workloads.iter().map(record_workload).collect(),
        arms: recorded,
        seed,
        budget_s: budget.as_secs_f64(),
        trial_s: trial.as_secs_f64(),
        min_pairs,
        max_pairs,
        target_half_width: half_width(request.precision, workloads.len()),
        to_find: Some(request.precision),
        confidence: CONFIDENCE,
        presentation: (profile.presentation != Presentation::Table)
            .then(|| profile.presentation.as_str().to_owned()),
        estimator: profile.estimator.map(|e| e.as_str().to_owned()),
        pause_s: profile.pause_s,
        round_pause_s: profile.round_pause_s,
        ramp_s: profile.ramp_s.unwrap_or_else(|| RAMP_S.min(trial.as_secs_f64() / 4.0)),
    };
    check(&plan)?;
    Ok(Resolved { plan, arms, workloads, tier, trial_is_asked: asked.is_some() })
}

/// Fits the trials of a plan into what setting up has left of the budget, and says so where it takes shorter ones.
pub(crate) fn refit(
    resolved: &mut Resolved,
    profile: &Profile,
    elapsed: Duration,
) -> Option<String> {
    let plan = &mut resolved.plan;
    let spent = elapsed.as_secs_f64();
    if spent <= plan.budget_s * OVERHEAD {
        return None;
    }
    let timed = timed_cells(plan);
    let left = (plan.budget_s - spent).max(0.0);
    let pairs = match plan.fixed_trials() {
        Some(_) => f64::from(plan.max_pairs),
        None => PAIRS_WITHIN_BUDGET,
    };
    let planned = plan.trial_s;
    if !resolved.trial_is_asked && timed > 0 {
        // One more for the discarded trials; a tenth for pauses and for what lies between trials.
        let share = left * 0.9 / (timed as f64 * (pairs + 1.0));
        plan.trial_s = share.clamp(LEAST_TRIAL_S.min(planned), planned);
        plan.ramp_s = profile.ramp_s.unwrap_or_else(|| RAMP_S.min(plan.trial_s / 4.0));
    }
    let least = plan.trial_s * timed as f64 * f64::from(plan.min_pairs + 1);
    let took = format!("Setting up took {spent:.0} s of the budget of {:.0} s", plan.budget_s);
    if least > left {
        return Some(format!(
            "{took}: what is left is not enough for {} trials of all workloads and arms; give a larger --budget.",
            plan.min_pairs
        ));
    }
    (plan.trial_s < planned).then(|| {
        format!("{took}: trials are {:.2} s long instead of {planned:.2} s.", plan.trial_s)
    })
}

/// Trials of one pair of all workloads that are measured by time.
fn timed_cells(plan: &record::Plan) -> usize {
    plan.workloads
        .iter()
        .filter(|w| w.is_timed())
        .map(|w| plan.arms.iter().filter(|a| plan.includes(w, a)).count())
        .sum()
}

/// Refuses a plan that cannot come to its end, or that leaves a workload without an arm to compare.
fn check(plan: &record::Plan) -> Result<(), RunError> {
    for workload in &plan.workloads {
        let encrypted = |a: &&record::Arm| {
            matches!(a.role, record::ArmRole::Encrypted | record::ArmRole::NullLayer)
        };
        let mut others = plan.arms.iter().filter(encrypted).peekable();
        if others.peek().is_some() && !others.any(|arm| plan.includes(workload, arm)) {
            let remedy = match workload.pattern.as_str() {
                "files" => {
                    "small files need a file system on the encrypted storage, as builtin-mounted has \
                            it: choose it with --system"
                }
                _ => "its requests are no whole data units: choose another --data-unit",
            };
            return Err(RunError::Request(format!(
                "workload {:?} can run on none of the chosen systems; {remedy}",
                workload.id
            )));
        }
    }
    let timed = timed_cells(plan);
    let least = plan.trial_s * timed as f64 * f64::from(plan.min_pairs);
    if least > plan.budget_s {
        return Err(RunError::Request(format!(
            "{} workloads on {} arms need {least:.0} s for {} trials of {:.2} s each, more than \
             the budget of {:.0} s: give a larger --budget, a shorter --trial, or fewer arms",
            plan.workloads.len(),
            plan.arms.len(),
            plan.min_pairs,
            plan.trial_s,
            plan.budget_s
        )));
    }
    Ok(())
}

/// Bytes that the scratch file must have at least for these workloads: eight of the largest requests that
/// go to places of their own choice, so that the places can differ, one of those that go on in order, and
/// what a workload names.
pub(crate) fn least_scratch(workloads: &[WorkloadSpec]) -> u64 {
    let need = |work: &Work| match work {
        Work::Block(b) => match b.file {
            FileUse::Scratch(Some(bytes)) => bytes,
            FileUse::Scratch(None) => match b.pattern {
                Pattern::Random | Pattern::Zipf { .. } | Pattern::Permutation => 8 * b.block_size,
                _ => b.block_size,
            },
            FileUse::Fresh(_) => 0,
        },
        Work::Files(_) | Work::Unlock(_) => 0,
    };
    workloads.iter().map(|w| need(&w.work)).max().unwrap_or(0)
}

/// Bytes that the new files of these workloads take at most at one time, beside the scratch file.
pub(crate) fn room(workloads: &[WorkloadSpec]) -> u64 {
    let mut fresh = 0;
    let mut sets: Vec<(u32, u64)> = Vec::new();
    for workload in workloads {
        match &workload.work {
            Work::Block(BlockWork { file: FileUse::Fresh(bytes), .. }) => fresh = fresh.max(*bytes),
            Work::Files(files) => {
                // Blocks of 4 KiB and an inode each, and twice the mean for sizes that vary.
                let set = (files.count, 2 * files.sizes.mean() + 8192);
                if !sets.contains(&set) {
                    sets.push(set);
                }
            }
            Work::Block(_) | Work::Unlock(_) => {}
        }
    }
    fresh + sets.iter().map(|(count, bytes)| u64::from(*count) * bytes).sum::<u64>()
}

/// The half-width of intervals, as a fraction, at which a loss of `difference` is found in 9 of 10 runs of so many
/// workloads, and arms that lose nothing are shown to be equivalent within it.
pub fn half_width(difference: f64, workloads: usize) -> f64 {
    let rule =
        StoppingRule { target: difference, confidence: CONFIDENCE, ..StoppingRule::default() };
    rule.to_find_its_target(workloads).target
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
        headline: w.headline.as_str().to_owned(),
        ..describe(&w.work)
    }
}

/// The part of a record's workload that says what is done.
fn describe(work: &Work) -> record::Workload {
    match work {
        Work::Block(b) => describe_block(b),
        Work::Files(f) => record::Workload {
            operation: f.action.as_str().to_owned(),
            pattern: "files".to_owned(),
            block_size: f.sizes.mean(),
            queue_depth: 1,
            files: Some(f.count),
            ..record::Workload::default()
        },
        Work::Unlock(_) => record::Workload {
            operation: "unlock".to_owned(),
            pattern: "unlock".to_owned(),
            queue_depth: 1,
            ..record::Workload::default()
        },
    }
}

fn describe_block(b: &BlockWork) -> record::Workload {
    let (file_bytes, fresh_file) = match b.file {
        FileUse::Scratch(bytes) => (bytes, false),
        FileUse::Fresh(bytes) => (Some(bytes), true),
    };
    record::Workload {
        operation: b.direction.as_str().to_owned(),
        pattern: b.pattern.as_str().to_owned(),
        block_size: b.block_size,
        queue_depth: b.queue_depth,
        threads: (b.threads > 1).then_some(b.threads),
        read_percent: match b.direction {
            Direction::Mixed { read_percent } => Some(read_percent),
            _ => None,
        },
        file_bytes,
        fresh_file,
        trial_bytes: match b.amount {
            WorkAmount::Bytes(bytes) => Some(bytes),
            WorkAmount::Time => None,
        },
        flush: match b.flush {
            Flush::Never => None,
            Flush::EachWrite => Some("each-write".to_owned()),
            Flush::Every { writes, .. } => Some(format!("every {writes}")),
            Flush::AtEnd => Some("at-end".to_owned()),
        },
        content: match b.content {
            Content::Random => None,
            Content::Zeros => Some("zeros".to_owned()),
            Content::Compressible { percent } => Some(format!("compressible {percent} %")),
        },
        warm_cache: b.cache == Cache::Warm,
        stdio: b.stdio,
        ..record::Workload::default()
    }
}

fn record_arm(arm: &ArmSpec, arms: &[ArmSpec], tier: Tier) -> Result<record::Arm, RunError> {
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
        attachment: (!matches!(arm.role, Role::Plain | Role::PlainAgain))
            .then(|| system::find(arm.system).map(|s| s.attachment().as_str().to_owned()))
            .transpose()?,
        null_layer: system::null_layer_of(arm, arms).map(|null| null.id.clone()),
        settings: arm.settings.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TargetRequest;

    fn request() -> Request {
        Request {
            target: TargetRequest {
                path: ".".into(),
                consent: Consent::default(),
                pair: None,
                emulate: None,
                size: None,
                buffered: None,
            },
            profile: Profile::named("quick").unwrap(),
            selection: Selection::default(),
            unlock: UnlockSelection::default(),
            budget: Some(Duration::from_secs(300)),
            trials: None,
            trial: None,
            seed: Some(1),
            precision: 0.03,
            max_pairs: 200,
            engine: EngineChoice::Auto,
            verify: false,
            precondition: 0,
            resume: None,
        }
    }

    #[test]
    fn what_setting_up_took_is_taken_from_the_trials() {
        let request = request();
        let mut resolved = resolve(&request).unwrap();
        let planned = resolved.plan.trial_s;
        let fit =
            |resolved: &mut Resolved, s| refit(resolved, &request.profile, Duration::from_secs(s));
        assert!(fit(&mut resolved, 50).is_none(), "as much was allowed for");
        assert!((resolved.plan.trial_s - planned).abs() < 1e-9);
        let said = fit(&mut resolved, 150).unwrap();
        assert!(said.contains("150 s of the budget of 300 s"), "{said}");
        let plan = &resolved.plan;
        let cells = timed_cells(plan) as f64;
        assert!(plan.trial_s < planned && plan.trial_s >= LEAST_TRIAL_S);
        assert!(plan.trial_s * cells * (PAIRS_WITHIN_BUDGET + 1.0) <= 150.0);
        assert!(plan.ramp_s <= plan.trial_s / 4.0);
        let said = fit(&mut resolved, 299).unwrap();
        assert!(said.contains("not enough for 6 trials"), "{said}");
    }

    #[test]
    fn a_length_that_was_asked_for_stays() {
        let mut request = request();
        request.trial = Some(Duration::from_millis(250));
        let mut resolved = resolve(&request).unwrap();
        let _ = refit(&mut resolved, &request.profile, Duration::from_secs(200));
        assert!((resolved.plan.trial_s - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_pair_is_plain_twice_and_what_was_prepared() {
        let mut request = request();
        request.target.pair =
            Some(PairRequest { encrypted: "/enc".into(), name: Some("mine".into()) });
        let resolved = resolve(&request).unwrap();
        let arms: Vec<_> = resolved.plan.arms.iter().map(|a| a.label.as_str()).collect();
        assert_eq!(arms, ["plain", "plain again", "mine"]);
        assert_eq!(resolved.plan.arms[2].role, record::ArmRole::Encrypted);
        request.selection.systems.push("builtin".to_owned());
        assert_eq!(resolve(&request).unwrap().plan.arms.len(), 6);
    }
}
