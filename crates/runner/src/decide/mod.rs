//! Decides how to execute a request, from the facts about the machine and the target. Queries nothing, and
//! reads no file and no clock: the same request and facts always give the same plan.

pub(crate) mod arms;
pub(crate) mod choices;
pub(crate) mod fit;
mod like;
pub(crate) mod limits;
mod sectors;
pub(crate) mod sizes;
pub(crate) mod storage;
pub(crate) mod volumes;
mod workloads;

use cryptbench_cipher::{CpuError, Tier};
use cryptbench_load::{EngineChoice, WorkloadSpec};
use cryptbench_record as record;

use self::arms::Arms;
use self::choices::Choices;
use self::storage::{Buffered, Storage};
use crate::RunError;
use crate::look::Facts;
use crate::request::Request;

/// The complete plan of a run, made before the first byte is written. It never changes: later findings become lines
/// in the run's log.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// `20261121-203000-1a2b3c`: sorts by time, and is unique even within a second.
    pub(crate) run_id: String,
    /// Time of the request, in UTC.
    pub(crate) started: String,
    /// The plan in the form of the record.
    pub(crate) recorded: record::Plan,
    pub(crate) arms: Arms,
    /// How the arms were chosen, if the user specified no system.
    pub(crate) choices: Option<Choices>,
    pub(crate) workloads: Vec<WorkloadSpec>,
    pub(crate) tier: Tier,
    pub(crate) engine: EngineChoice,
    pub(crate) storage: Storage,
    pub(crate) buffered: Buffered,
    /// How often the filled range is rewritten in random order before the first trial.
    pub(crate) precondition: u32,
    /// Whether plain storage is measured by queue depth and request size before the first trial.
    pub(crate) why: bool,
    /// Whether the data written by a trial is verified after it.
    pub(crate) verify: bool,
    /// Whether the user or the profile sets the length of a trial.
    pub(crate) trial_is_asked: bool,
    /// Ramp of a trial in seconds, if the profile sets it.
    pub(crate) ramp_s: Option<f64>,
    /// Remarks on the profile for readers, in sentences.
    pub(crate) remarks: Vec<String>,
    /// The interrupted run that this one continues.
    pub(crate) earlier: Option<Box<record::Record>>,
}

impl Plan {
    /// Maximum number of bytes that the new files of workloads occupy at any time.
    pub(crate) fn file_space(&self) -> u64 {
        sizes::file_space(&self.workloads)
    }
}

/// Decides how to execute `request` with these `facts`.
pub(crate) fn decide(request: &Request, facts: &Facts) -> Result<Plan, RunError> {
    let tiers = Tiers::of(facts)?;
    let (mut arms, mut choices) = Arms::choose(request, &facts.abilities)?;
    let storage = Storage::choose(request, facts, &mut arms, choices.as_mut())?;
    storage.check_others(makes_names(&arms, &request.profile.workloads), facts.is_root)?;
    let named = arms.recorded(&request.target.pair, storage.encrypted(), tiers)?;
    let buffered = Buffered::choose(request);
    let mut profile = sectors::whole(request.profile.clone(), &storage, buffered)?;
    if let Some(earlier) = request.resume.as_deref().map(|r| &r.plan).or(request.like.as_deref()) {
        workloads::keep_files(&mut profile.workloads, earlier);
    }
    // From here on, work over the whole storage covers this many bytes.
    let request = &Request { profile: profile.over(storage.whole()), ..request.clone() };
    let (draft, trial_is_asked) = limits::schedule(request, named, facts.drawn.seed)?;
    let (set, left_out) = choices::set(choices.as_ref(), request, &draft, &facts.abilities)?;
    let mut recorded = record::Plan { set, left_out, ..draft };
    if let Some(earlier) = &request.resume {
        workloads::keep_planned(&mut recorded.workloads, &earlier.plan);
    }
    let slow_aes = record::SlowAes::of(&facts.processor.features, &recorded.arms);
    let mut remarks: Vec<String> =
        slow_aes.map(|slow| slow.sentence().to_owned()).into_iter().collect();
    remarks.extend(request.profile.remarks.iter().cloned());
    remarks.extend(request.like.iter().flat_map(|like| like::remarks(like, &recorded)));
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
        buffered,
        precondition: request.precondition,
        // A resumed run already has this data from its first part.
        why: request.why && request.resume.is_none(),
        verify: request.verify,
        trial_is_asked,
        ramp_s: request.profile.ramp_s,
        remarks,
        earlier: request.resume.clone(),
    })
}

/// Whether the run creates anything that is opened again by path.
pub(crate) fn makes_names(arms: &Arms, workloads: &[WorkloadSpec]) -> bool {
    match arms {
        Arms::Systems(arms) => {
            arms.iter().any(arms::makes_a_disk)
                || workloads.iter().any(|w| sizes::makes_files(&w.work))
        }
        Arms::Volumes(_) => true,
    }
}

/// The tiers of a CPU. A stored tier from another architecture does not limit them here.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cryptbench_load::Profile;
    use cryptbench_system::{Selection, find};

    use super::*;
    use crate::look::look;
    use crate::request::PairRequest;

    pub(super) fn request() -> Request {
        let quick = Profile::named("quick").unwrap();
        let budget = Some(Duration::from_secs(300));
        Request { budget, seed: Some(1), ..Request::of(".".as_ref(), quick) }
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
    fn a_resumed_run_knows_how_many_files_its_profile_has() {
        let dir = tempfile::tempdir().unwrap();
        let mut request = request();
        request.target.path = dir.path().into();
        request.target.size = Some(64 << 20);
        request.profile = Profile::named("small-files").unwrap();
        request.selection.systems = vec!["plain".to_owned()];
        let mut plan = planned(&request).recorded;
        let of_profile = plan.workloads[0].files.unwrap();
        for workload in plan.workloads.iter_mut().filter(|workload| workload.files.is_some()) {
            (workload.files, workload.files_of_profile) = (Some(200), workload.files);
        }
        let earlier = serde_json::json!({
            "schema": record::SCHEMA, "program_version": "1", "run_id": "r", "started": "s",
            "elapsed_s": 1.0, "partial": true, "plan": plan, "machine": record::Machine::default(),
            "target": record::Target::default(), "trials": [], "stops": [], "notes": [],
        });
        request.resume = Some(Box::new(serde_json::from_value(earlier).unwrap()));
        let resumed = planned(&request).recorded;
        let first = &resumed.workloads[0];
        assert_eq!((first.files, first.files_of_profile), (Some(200), Some(of_profile)));
        let text = |plan: &record::Plan| serde_json::to_string(&plan.workloads).unwrap();
        assert_eq!(text(&resumed), text(&plan), "as its earlier part, which is required");
    }

    #[test]
    fn systems_that_fill_a_file_of_their_own_measure_one_range_whoever_chose_them() {
        let of = |name: &str| find(name).unwrap().arms(&Selection::default()).unwrap();
        let range = |names: &[&str]| {
            let arms = names.iter().flat_map(|name| of(name)).collect();
            let request = request();
            let (mut arms, facts) = (Arms::Systems(arms), look(&request));
            let storage = Storage::choose(&request, &facts, &mut arms, None).unwrap();
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

    #[test]
    fn a_run_like_another_has_its_choices_as_far_as_they_can_be_set_up() {
        let mut request = request();
        request.selection.systems = vec!["builtin".to_owned()];
        request.selection.ciphers = ["serpent-256-xts", "aes-256-xts"].map(str::to_owned).into();
        request.selection.data_units = vec![512];
        request.selection.settings =
            [("driver".to_owned(), vec!["serial".to_owned(), "parallel".to_owned()])].into();
        let first = planned(&request).recorded;
        let ids = |plan: &record::Plan| plan.arms.iter().map(|a| a.id.clone()).collect::<Vec<_>>();
        assert!(ids(&first).len() >= 6, "{:?}", ids(&first));
        let mut like = Request { selection: Selection::default(), ..request };
        like.like = Some(Box::new(first.clone()));
        let again = planned(&like);
        assert_eq!(ids(&again.recorded), ids(&first));
        assert!(again.recorded.left_out.is_empty() && again.remarks.is_empty(), "{again:?}");
        // Including the default set, which is not a cross product; missing arms are listed.
        let open = Request { selection: Selection::default(), like: None, ..like.clone() };
        let mut open = planned(&open).recorded;
        like.like = Some(Box::new(open.clone()));
        let again = planned(&like).recorded;
        assert_eq!((ids(&again), &again.set), (ids(&open), &open.set));
        let mut stranger = open.arms.last().unwrap().clone();
        (stranger.id, stranger.system) = ("bestcrypt/x".to_owned(), "bestcrypt".to_owned());
        open.arms.push(stranger);
        like.like = Some(Box::new(open));
        let again = planned(&like);
        let out: Vec<&str> = again.recorded.left_out.iter().map(|out| &out.system[..]).collect();
        assert_eq!((out, again.recorded.set), (vec!["bestcrypt"], None));
        assert!(
            again.remarks[0].starts_with("missing in this run: 1 of the record's choices"),
            "{:?}",
            again.remarks
        );
    }
}
