//! What a user asks for, made into a plan that answers every open question. The machine and the target are looked at, and
//! nothing is changed.

pub(crate) mod arms;
pub(crate) mod forecast;
pub(crate) mod limits;
mod request;
pub(crate) mod sizes;
pub(crate) mod storage;
pub(crate) mod volumes;
mod workloads;

use cryptbench_cipher::Tier;
use cryptbench_load::{EngineChoice, Presentation, WorkloadSpec};
use cryptbench_record as record;

use self::arms::{Arms, makes_a_disk};
use self::limits::{CONFIDENCE, Limits, half_width};
pub use self::request::{EmulateRequest, PairRequest, Request, TargetRequest};
use self::storage::{Buffered, Storage};
use crate::RunError;

/// A run, decided to its last detail before a byte is written. It does not change: what turns out later are lines of the
/// run's log.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// `20261121-203000-1a2b3c`: sorts by time, and two runs of one second differ.
    pub(crate) run_id: String,
    /// When the run was asked for, in UTC.
    pub(crate) started: String,
    /// As a record has it.
    pub(crate) recorded: record::Plan,
    pub(crate) arms: Arms,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) tier: Tier,
    pub(crate) engine: EngineChoice,
    pub(crate) storage: Storage,
    pub(crate) buffered: Buffered,
    /// Times that the filled range is written again in a random order before the first trial.
    pub(crate) precondition: u32,
    /// Whether what a trial wrote is read back after it.
    pub(crate) verify: bool,
    /// Whether the user or the profile says how long a trial is.
    pub(crate) trial_is_asked: bool,
    /// Lead-in of a trial in seconds, where the profile says it.
    pub(crate) ramp_s: Option<f64>,
    /// What a reader must know of the profile, in sentences.
    pub(crate) remarks: Vec<String>,
    /// A run that was cut short, with which this one goes on.
    pub(crate) earlier: Option<Box<record::Record>>,
}

impl Plan {
    /// Bytes that the new files of workloads take at most at one time.
    pub(crate) fn file_space(&self) -> u64 {
        sizes::file_space(&self.workloads)
    }
}

/// Decides how `request` is carried out.
///
/// # Errors
/// [`RunError`] for what contradicts itself, is not there, or may not be used, with what to do about it.
pub(crate) fn plan(request: &Request) -> Result<Plan, RunError> {
    let now = jiff::Timestamp::now();
    let run_id = run_id(now);
    let tier = cryptbench_cipher::tier()?;
    let mut arms = Arms::choose(request)?;
    if request.precondition > 0 && arms.systems().iter().any(makes_a_disk) {
        return Err(RunError::Usage(
            "--precondition writes to the file that inline systems share; a mounted system has its own, so \
             the two would not be compared on the same ground: leave one of them out"
                .to_owned(),
        ));
    }
    let (draft, trial_is_asked) = recorded(request, arms.recorded(tier)?)?;
    let storage = Storage::plan(request, &arms, &run_id)?;
    if let (Some(pair), Some(target)) = (&request.target.pair, storage.encrypted()) {
        arms.name_pair(pair.name.as_deref(), target);
    }
    Ok(Plan {
        recorded: record::Plan { arms: arms.recorded(tier)?, ..draft },
        run_id,
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        arms,
        workloads: request.profile.workloads.clone(),
        tier,
        engine: request.engine,
        storage,
        buffered: Buffered::choose(request),
        precondition: request.precondition,
        verify: request.verify,
        trial_is_asked,
        ramp_s: request.profile.ramp_s,
        remarks: request.profile.remarks.clone(),
        earlier: request.resume.clone(),
    })
}

/// The plan of `arms` as a record has it, and whether the length of its trials was asked for.
fn recorded(request: &Request, arms: Vec<record::Arm>) -> Result<(record::Plan, bool), RunError> {
    let profile = &request.profile;
    let workload = |w| workloads::record_workload(w, request);
    let workloads: Vec<_> = profile.workloads.iter().map(workload).collect();
    let is_sliced = request.slices
        && limits::can_be_cut(request)
        && workloads.iter().any(|w| w.unsliced.is_none());
    let Limits { budget, trial, trial_is_asked, ramp_s, min_pairs, max_pairs } =
        Limits::choose(request, arms.len(), is_sliced);
    let seed = match request.seed {
        Some(seed) => seed,
        // Short enough to be typed again.
        None => u64::from(getrandom::u32().expect("the kernel's random generator answers")),
    };
    let plan = record::Plan {
        profile: profile.name.clone(),
        workloads,
        arms,
        seed,
        budget_s: budget.as_secs_f64(),
        trial_s: trial.as_secs_f64(),
        min_pairs,
        max_pairs,
        target_half_width: half_width(request.precision, profile.workloads.len()),
        to_find: Some(request.precision),
        confidence: CONFIDENCE,
        presentation: (profile.presentation != Presentation::Table)
            .then(|| profile.presentation.as_str().to_owned()),
        estimator: profile.estimator.map(|e| e.as_str().to_owned()),
        pause_s: profile.pause_s,
        round_pause_s: profile.round_pause_s,
        ramp_s,
        slice_s: is_sliced.then_some(limits::SLICE_S),
    };
    limits::check(&plan)?;
    Ok((plan, trial_is_asked))
}

fn run_id(now: jiff::Timestamp) -> String {
    let random = getrandom::u32().expect("the kernel's random generator answers") & 0xff_ffff;
    format!("{}-{random:06x}", now.strftime("%Y%m%d-%H%M%S"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cryptbench_load::Profile;
    use cryptbench_system::Selection;

    use super::storage::Consent;
    use super::volumes::UnlockSelection;
    use super::*;

    pub(super) fn request() -> Request {
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
            slices: true,
            verify: false,
            precondition: 0,
            resume: None,
        }
    }

    /// The plan of `request`, on this directory.
    pub(super) fn planned(request: &Request) -> Plan {
        plan(request).unwrap()
    }

    #[test]
    fn a_pair_is_plain_twice_and_what_was_prepared() {
        let dir = tempfile::tempdir().unwrap();
        let mut request = request();
        let pair = PairRequest { encrypted: dir.path().into(), name: Some("mine".into()) };
        request.target.pair = Some(pair);
        let recorded = planned(&request).recorded;
        let arms: Vec<_> = recorded.arms.iter().map(|a| a.label.as_str()).collect();
        assert_eq!(arms, ["plain", "plain again", "mine"]);
        assert_eq!(recorded.arms[2].role, record::ArmRole::Encrypted);
        request.selection.systems.push("builtin".to_owned());
        assert_eq!(planned(&request).recorded.arms.len(), 6);
    }
}
