//! Decides how to carry out a request, from what was seen of the machine and the target. Asks nothing, reads no file and no
//! clock: the same request and facts always give the same plan.

pub(crate) mod arms;
pub(crate) mod choices;
pub(crate) mod limits;
pub(crate) mod sizes;
pub(crate) mod storage;
pub(crate) mod volumes;
mod workloads;

use cryptbench_cipher::{CpuError, Tier};
use cryptbench_load::{EngineChoice, Presentation, WorkloadSpec};
use cryptbench_record as record;

use self::arms::{Arms, makes_a_disk};
use self::choices::{Choices, missed};
use self::limits::{CONFIDENCE, Limits, half_width};
use self::storage::{Buffered, Storage};
use crate::RunError;
use crate::look::Facts;
use crate::request::Request;

/// A run, completely decided before the first byte is written. The plan never changes: later
/// findings become lines of the run's log.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// `20261121-203000-1a2b3c`: sorts by time, and is unique even within a second.
    pub(crate) run_id: String,
    /// Time of the request, in UTC.
    pub(crate) started: String,
    /// The plan in the form of the record.
    pub(crate) recorded: record::Plan,
    pub(crate) arms: Arms,
    /// How the arms were chosen, where the user named no system.
    pub(crate) choices: Option<Choices>,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) tier: Tier,
    pub(crate) engine: EngineChoice,
    pub(crate) storage: Storage,
    pub(crate) buffered: Buffered,
    /// How often the filled range is rewritten in random order before the first trial.
    pub(crate) precondition: u32,
    /// Whether the data written by a trial is verified after it.
    pub(crate) verify: bool,
    /// Whether the user or the profile sets the length of a trial.
    pub(crate) trial_is_asked: bool,
    /// Lead-in of a trial in seconds, if the profile sets it.
    pub(crate) ramp_s: Option<f64>,
    /// Remarks on the profile for readers, in sentences.
    pub(crate) remarks: Vec<String>,
    /// The interrupted run that this one continues.
    pub(crate) earlier: Option<Box<record::Record>>,
}

impl Plan {
    /// Most bytes that the new files of workloads take at any time.
    pub(crate) fn file_space(&self) -> u64 {
        sizes::file_space(&self.workloads)
    }
}

/// Decides how to carry out `request` where these are the `facts`.
///
/// # Errors
/// [`RunError`] for a request that is contradictory, unavailable or not permitted, with a remedy.
pub(crate) fn decide(request: &Request, facts: &Facts) -> Result<Plan, RunError> {
    let tiers = Tiers::of(facts)?;
    let (mut arms, mut choices) = Arms::choose(request, &facts.abilities)?;
    let storage = storage(request, facts, &mut arms, choices.as_mut())?;
    arms.name_pairs(&request.target.pair, storage.encrypted());
    // Work over all of the storage is work on so many bytes from here on.
    let request =
        &Request { profile: request.profile.clone().over(storage.whole()), ..request.clone() };
    let (draft, trial_is_asked) = recorded(request, arms.recorded(tiers)?, facts.drawn.seed)?;
    let (set, left_out) = match (&choices, request.resume.as_deref()) {
        (Some(choices), _) => {
            let (set, left_out) = choices.recorded();
            (Some(set), left_out)
        }
        (None, Some(earlier)) => (earlier.plan.set.clone(), earlier.plan.left_out.clone()),
        (None, None) => {
            let set = draft.arm_set().map(str::to_owned);
            (set, missed(&request.selection, &facts.abilities)?)
        }
    };
    let recorded = record::Plan { set, left_out, ..draft };
    let slow_aes = record::SlowAes::of(&facts.processor.features, &recorded.arms);
    let mut remarks: Vec<String> =
        slow_aes.map(|slow| slow.sentence().to_owned()).into_iter().collect();
    remarks.extend(request.profile.remarks.iter().cloned());
    Ok(Plan {
        recorded,
        run_id: facts.drawn.run_id.clone(),
        started: facts.drawn.started.clone(),
        arms,
        choices,
        workloads: request.profile.workloads.clone(),
        tier: tiers.ciphers,
        engine: request.engine,
        storage,
        buffered: Buffered::choose(request),
        precondition: request.precondition,
        verify: request.verify,
        trial_is_asked,
        ramp_s: request.profile.ramp_s,
        remarks,
        earlier: request.resume.clone(),
    })
}

/// The tiers of a processor. A stored one of another architecture is no limit here.
#[derive(Clone, Copy)]
pub(crate) struct Tiers {
    pub(crate) ciphers: Tier,
    pub(crate) derivations: Tier,
}

impl Tiers {
    fn of(facts: &Facts) -> Result<Self, RunError> {
        let tiers = facts.processor.tiers.as_ref();
        let (ciphers, derivations) = tiers.map_err(|value| CpuError { value: value.clone() })?;
        let highest = Tier::ALL[Tier::ALL.len() - 1];
        let tier = |name: &str| name.parse().unwrap_or(highest);
        Ok(Self { ciphers: tier(ciphers), derivations: tier(derivations) })
    }
}

/// The storage for `arms`. Systems that the user did not name are left out where they do not fit.
fn storage(
    request: &Request,
    facts: &Facts,
    arms: &mut Arms,
    mut choices: Option<&mut Choices>,
) -> Result<Storage, RunError> {
    loop {
        let error = match storage_for(arms, request, facts) {
            Ok(storage) => return Ok(storage),
            Err(error) => error,
        };
        let Some(choices) = choices.as_deref_mut() else { return Err(error) };
        if !choices.give_way(&error) {
            return Err(error);
        }
        *arms = Arms::Systems(choices.arms()?);
    }
}

fn storage_for(arms: &Arms, request: &Request, facts: &Facts) -> Result<Storage, RunError> {
    if request.precondition > 0 && arms.systems().iter().any(makes_a_disk) {
        return Err(RunError::Usage(
            "--precondition writes to the file that inline systems share; a mounted system has its own, so \
             the two would not be compared on the same ground: leave one of them out"
                .to_owned(),
        ));
    }
    // As much whether the user or the program chose the systems, so that both measure the same.
    let most = arms.systems().iter().any(makes_a_disk).then_some(choices::RANGE);
    Storage::plan(request, arms, facts, most)
}

/// The plan for `arms` in the form of the record, and whether the length of its trials was set.
fn recorded(
    request: &Request,
    arms: Vec<record::Arm>,
    seed: u32,
) -> Result<(record::Plan, bool), RunError> {
    let profile = &request.profile;
    let workload = |w| workloads::record_workload(w, request);
    let workloads: Vec<_> = profile.workloads.iter().map(workload).collect();
    let is_sliced = request.slices
        && limits::can_be_cut(request)
        && workloads.iter().any(|w| w.unsliced.is_none());
    let Limits { budget, trial, trial_is_asked, ramp_s, min_pairs, max_pairs } =
        Limits::choose(request, arms.len(), is_sliced);
    let to_find = request.precision.unwrap_or(limits::DEFAULT_PRECISION);
    let plan = record::Plan {
        profile: profile.name.clone(),
        workloads,
        arms,
        seed: request.seed.unwrap_or(u64::from(seed)),
        budget_s: budget.as_secs_f64(),
        trial_s: trial.as_secs_f64(),
        min_pairs,
        max_pairs,
        target_half_width: half_width(to_find, profile.workloads.len()),
        to_find: Some(to_find),
        confidence: CONFIDENCE,
        presentation: (profile.presentation != Presentation::Table)
            .then(|| profile.presentation.as_str().to_owned()),
        estimator: profile.estimator.map(|e| e.as_str().to_owned()),
        pause_s: profile.pause_s,
        round_pause_s: profile.round_pause_s,
        ramp_s,
        slice_s: is_sliced.then_some(limits::SLICE_S),
        set: None,
        left_out: Vec::new(),
    };
    limits::check(&plan)?;
    Ok((plan, trial_is_asked))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cryptbench_load::Profile;
    use cryptbench_system::{Selection, find};

    use super::volumes::UnlockSelection;
    use super::*;
    use crate::look::look;
    use crate::request::{Consent, PairRequest, TargetRequest};

    pub(super) fn request() -> Request {
        Request {
            target: TargetRequest {
                path: ".".into(),
                consent: Consent::default(),
                only_read: false,
                pair: Vec::new(),
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
            precision: None,
            max_pairs: 200,
            engine: EngineChoice::Auto,
            slices: true,
            verify: false,
            precondition: 0,
            resume: None,
        }
    }

    /// The plan of `request` on this directory.
    pub(super) fn planned(request: &Request) -> Plan {
        decide(request, &look(request)).unwrap()
    }

    #[test]
    fn work_over_all_of_the_storage_is_work_on_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let mut request = request();
        request.target.path = dir.path().into();
        request.target.size = Some(16 << 20);
        request.profile = Profile::named("hdtune-whole").unwrap();
        let plan = planned(&request);
        assert_eq!(plan.recorded.workloads[0].trial_bytes, Some(16 << 20));
        assert!(plan.workloads.iter().all(|w| !w.work.is_whole()));
    }

    #[test]
    fn systems_that_fill_a_file_of_their_own_measure_one_range_whoever_chose_them() {
        let of = |name: &str| find(name).unwrap().arms(&Selection::default()).unwrap();
        let range = |names: &[&str]| {
            let arms = names.iter().flat_map(|name| of(name)).collect();
            let request = request();
            let storage = storage_for(&Arms::Systems(arms), &request, &look(&request)).unwrap();
            let Storage::Present(present) = storage else { panic!("{storage:?}") };
            present.range.unwrap().size
        };
        let inline = range(&["plain", "builtin"]);
        for systems in [&["plain", "builtin", "gocryptfs"][..], &["plain", "builtin-mounted"]] {
            assert_eq!(range(systems), inline.min(choices::RANGE), "{systems:?}");
        }
    }

    #[test]
    fn a_pair_is_plain_twice_and_what_was_prepared() {
        let dir = tempfile::tempdir().unwrap();
        let mut request = request();
        let name = Some("mine".into());
        let pair = PairRequest { encrypted: dir.path().into(), name, id: None, in_use: None };
        request.target.pair = vec![pair];
        let recorded = planned(&request).recorded;
        let arms: Vec<_> = recorded.arms.iter().map(|a| a.label.as_str()).collect();
        assert_eq!(arms, ["plain", "plain again", "mine"]);
        assert_eq!(recorded.arms[2].role, record::ArmRole::Encrypted);
        request.selection.systems.push("builtin".to_owned());
        assert_eq!(planned(&request).recorded.arms.len(), 6);
    }
}
