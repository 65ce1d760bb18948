//! The choices of a run if the user does not specify a system: AES-256 alone, and two systems that are available on
//! this machine.

use std::time::Duration;

use cryptbench_catalog::{BUILTIN_MOUNTED, Encrypts, PLAIN, encrypts};
use cryptbench_load::{Work, WorkloadSpec};
use cryptbench_record::{self as record, LeftOut};
use cryptbench_system::{self as system, Abilities, ArmSpec, Candidate, Selection};

use super::limits::{FIRST_WITHIN, SECOND_WITHIN};
use super::sizes::makes_files;
use crate::RunError;
use crate::request::Request;

/// Number of systems that a run chooses: with these, plain storage (twice) and AES-256 alone, the run's budget is used
/// up.
const PLACES: usize = 2;

/// Maximum size of the active range if each system has its own range to fill, because filling takes time from the
/// trials.
pub(crate) const RANGE: u64 = 512 << 20;

/// Each system gets at least this much time for its set-up, unless less time is left.
pub(crate) const SET_UP_EACH: Duration = Duration::from_secs(15);

/// The systems that a run chose, and the systems that it did not choose.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// The systems that it measures.
    taken: Vec<Candidate>,
    /// Substitutes for systems that cannot be set up, in order of preference.
    reserve: Vec<Candidate>,
    left_out: Vec<LeftOut>,
    /// Every system that was considered, in order.
    order: Vec<&'static str>,
    /// Whether AES-256 alone can do any of the work; it cannot create files.
    has_floor: bool,
    split: bool,
}

/// The name of the set that a run measures, and all systems that are not in it, in the form of the record.
pub(super) fn set(
    choices: Option<&Choices>,
    request: &Request,
    plan: &record::Plan,
    abilities: &Abilities,
) -> Result<(Option<String>, Vec<LeftOut>), RunError> {
    if let Some(like) = &request.like {
        let has = |arm: &record::Arm| plan.arms.iter().any(|own| own.id == arm.id);
        let set = like.arms.iter().all(has).then(|| like.arm_set().map(str::to_owned)).flatten();
        return Ok((set, super::like::left_out(like, plan, abilities)));
    }
    Ok(match (choices, request.resume.as_deref()) {
        (Some(choices), _) => {
            let (set, left_out) = choices.recorded();
            (Some(set), left_out)
        }
        (None, Some(earlier)) => (earlier.plan.set.clone(), earlier.plan.left_out.clone()),
        (None, None) => (plan.arm_set().map(str::to_owned), missed(&request.selection, abilities)?),
    })
}

/// The preferred systems that cannot run here, if all available ones were requested.
fn missed(selection: &Selection, abilities: &Abilities) -> Result<Vec<LeftOut>, RunError> {
    if !selection.systems.iter().any(|name| name == "all") {
        return Ok(Vec::new());
    }
    let all = system::candidates(&Selection::default(), false, abilities)?;
    let lacking = all.into_iter().filter_map(|c| {
        let (reason, remedy) = c.lacks?;
        let remedy = remedy.to_string();
        Some(LeftOut { system: c.system.to_owned(), reason, remedy, enough_s: None })
    });
    // cryptbench's own mount is never requested.
    Ok(lacking.filter(|out| encrypts(&out.system) != Some(Encrypts::Own)).collect())
}

impl Choices {
    /// Chooses for a run of `workloads`.
    ///
    /// # Errors
    /// [`RunError::System`] if only systems with files can do the work, and none is available.
    pub(super) fn new(
        selection: &Selection,
        workloads: &[WorkloadSpec],
        abilities: &Abilities,
    ) -> Result<Self, RunError> {
        let files = workloads.iter().any(|w| makes_files(&w.work));
        let has_floor = workloads.iter().any(|w| matches!(w.work, Work::Block(_)));
        let all = system::candidates(selection, files, abilities)?;
        let mut choices = Self {
            taken: Vec::new(),
            reserve: Vec::new(),
            left_out: Vec::new(),
            order: all.iter().map(|candidate| candidate.system).collect(),
            has_floor,
            split: selection.split,
        };
        for candidate in all {
            match &candidate.lacks {
                Some((reason, remedy)) => {
                    choices.leave_out(candidate.system, reason.clone(), remedy.to_string());
                }
                None if choices.taken.len() < PLACES => choices.taken.push(candidate),
                None => choices.reserve.push(candidate),
            }
        }
        if !has_floor && choices.taken.is_empty() {
            // Returns an error that states what is missing.
            let systems = vec![BUILTIN_MOUNTED.name.to_owned()];
            system::arms(&Selection { systems, ..Selection::default() }, abilities)?;
        }
        Ok(choices)
    }

    /// The arms that an earlier part of the run had.
    pub(super) fn again(
        selection: &Selection,
        earlier: &record::Plan,
        abilities: &Abilities,
    ) -> Result<Vec<ArmSpec>, RunError> {
        let mut all = system::floor(true, selection.split)?;
        for candidate in system::candidates(selection, false, abilities)? {
            all.extend(candidate.arms);
        }
        all.retain(|arm| earlier.arms.iter().any(|was| was.id == arm.id));
        Ok(all)
    }

    /// The arms, in the order of tables; if no system is left, AES-256 alone in both sector sizes.
    pub(crate) fn arms(&self) -> Result<Vec<ArmSpec>, RunError> {
        let mut arms = self.floor()?;
        arms.extend(self.taken.iter().flat_map(|candidate| candidate.arms.iter().cloned()));
        Ok(arms)
    }

    /// Plain storage and, if it is measured together with the remaining systems, AES-256 alone.
    pub(crate) fn floor(&self) -> Result<Vec<ArmSpec>, RunError> {
        let mut arms = system::floor(self.taken.is_empty(), self.split)?;
        arms.retain(|arm| self.has_floor || self.taken.is_empty() || arm.system == PLAIN.name);
        Ok(arms)
    }

    /// The systems that are to be set up.
    pub(crate) fn taken(&self) -> &[Candidate] {
        &self.taken
    }

    /// Drops one of the systems for the reason in `out`; returns its substitute, if there is one.
    pub(crate) fn replace(&mut self, system: &str, out: LeftOut) -> Option<&Candidate> {
        let at = self.taken.iter().position(|candidate| candidate.system == system)?;
        self.taken.remove(at);
        self.left_out.push(out);
        if self.reserve.is_empty() {
            return None;
        }
        let next = self.reserve.remove(0);
        self.taken.push(next);
        self.taken.last()
    }

    /// Drops one more system because of `why`; false if no system can be dropped any more.
    pub(super) fn give_way(&mut self, why: &RunError) -> bool {
        if self.taken.len() <= usize::from(!self.has_floor) {
            return false;
        }
        let Some(last) = self.taken.pop() else {
            return false;
        };
        let remedy = format!("once that is fixed: cryptbench run --system {}", last.system);
        let reason = format!("a run with this system was refused: {}", cryptbench_text::chain(why));
        self.leave_out(last.system, reason, remedy);
        // A substitute would need at least as much time.
        for candidate in std::mem::take(&mut self.reserve) {
            self.leave_out_for_time(candidate.system);
        }
        true
    }

    fn leave_out(&mut self, system: &str, reason: String, remedy: String) {
        self.left_out.push(LeftOut { system: system.to_owned(), reason, remedy, enough_s: None });
    }

    fn leave_out_for_time(&mut self, system: &str) {
        let reason = format!("the default run measures only {PLACES} systems");
        self.leave_out(system, reason, format!("cryptbench run --system {system}"));
    }

    /// The name of the set, and all systems that are not in it, in the form of the record.
    pub(crate) fn recorded(&self) -> (String, Vec<LeftOut>) {
        let mut all = self.clone();
        for candidate in &self.reserve {
            all.leave_out_for_time(candidate.system);
        }
        let place = |left: &LeftOut| self.order.iter().position(|name| *name == left.system);
        all.left_out.sort_by_key(place);
        let names: Vec<_> = self.taken.iter().map(|candidate| candidate.system).collect();
        let names = if names.is_empty() { "floor".to_owned() } else { names.join("+") };
        let split = if self.split { "/split" } else { "" };
        (format!("default/{names}{split}"), all.left_out)
    }
}

/// Remaining time for set-up after `elapsed` in a run with this budget; longer while no system is set up.
pub(crate) fn set_up_left(budget_s: f64, is_first: bool, elapsed: Duration) -> Duration {
    let share = if is_first { FIRST_WITHIN } else { SECOND_WITHIN };
    Duration::from_secs_f64(budget_s * share).saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use cryptbench_load::Profile;

    use super::*;

    fn candidate(system: &'static str) -> Candidate {
        let arms = system::find(system).unwrap().arms(&Selection::default()).unwrap();
        Candidate { system, arms: vec![arms.last().unwrap().clone()], lacks: None }
    }

    fn choices(taken: &[&'static str], reserve: &[&'static str]) -> Choices {
        let of = |names: &[&'static str]| names.iter().map(|name| candidate(name)).collect();
        Choices {
            taken: of(taken),
            reserve: of(reserve),
            left_out: Vec::new(),
            order: vec!["dm-crypt", "gocryptfs", "builtin-mounted", "builtin-raw"],
            has_floor: true,
            split: false,
        }
    }

    fn ids(choices: &Choices) -> Vec<String> {
        choices.arms().unwrap().into_iter().map(|arm| arm.id).collect()
    }

    fn no_room() -> RunError {
        RunError::Usage("too little room".to_owned())
    }

    #[test]
    fn two_systems_stand_beside_one_floor_and_without_any_there_are_two() {
        let mut chosen = choices(&["dm-crypt", "gocryptfs"], &["builtin-mounted"]);
        assert_eq!(
            ids(&chosen)[2..],
            ["builtin/aes-256-xts/4096", "dm-crypt/aes-256-xts", "gocryptfs/aes-256-gcm"]
        );
        let (set, left) = chosen.recorded();
        assert_eq!(set, "default/dm-crypt+gocryptfs");
        assert_eq!((left.len(), left[0].system.as_str()), (1, "builtin-mounted"));
        insta::assert_snapshot!(left[0].remedy, @"cryptbench run --system builtin-mounted");
        assert!(chosen.give_way(&no_room()) && chosen.give_way(&no_room()));
        assert!(!chosen.give_way(&no_room()), "there is nothing left to leave out");
        assert_eq!(ids(&chosen)[2..], ["builtin/aes-256-xts/512", "builtin/aes-256-xts/4096"]);
        let (set, left) = chosen.recorded();
        assert_eq!(set, "default/floor");
        let names: Vec<_> = left.iter().map(|left| left.system.as_str()).collect();
        assert_eq!(names, ["dm-crypt", "gocryptfs", "builtin-mounted"]);
        insta::assert_snapshot!(left[0].reason, @"a run with this system was refused: too little room");
    }

    #[test]
    fn one_that_cannot_be_set_up_is_replaced_by_the_next() {
        let mut chosen = choices(&["gocryptfs", "builtin-mounted"], &["builtin-raw"]);
        let slow = |system: &str| LeftOut {
            system: system.to_owned(),
            reason: "too slow".to_owned(),
            remedy: "wait".to_owned(),
            enough_s: Some(600.0),
        };
        let next = chosen.replace("gocryptfs", slow("gocryptfs"));
        assert_eq!(next.map(|candidate| candidate.system), Some("builtin-raw"));
        assert!(chosen.replace("builtin-mounted", slow("builtin-mounted")).is_none());
        let (set, left) = chosen.recorded();
        assert_eq!((set.as_str(), left.len()), ("default/builtin-raw", 2));
    }

    #[test]
    fn work_on_small_files_keeps_a_system_with_files() {
        let mut chosen = choices(&["gocryptfs", "builtin-mounted"], &[]);
        chosen.has_floor = false;
        assert_eq!(ids(&chosen)[..2], ["plain", "plain-again"]);
        assert_eq!(ids(&chosen).len(), 4);
        assert!(chosen.give_way(&no_room()));
        assert!(!chosen.give_way(&no_room()), "the floor has no files");
    }

    #[test]
    fn on_this_machine_at_most_two_are_taken_and_every_other_is_named() {
        let workloads = Profile::named("quick").unwrap().workloads;
        let chosen = Choices::new(&Selection::default(), &workloads, &Abilities::look()).unwrap();
        let (set, left) = chosen.recorded();
        assert!(chosen.taken().len() <= PLACES && set.starts_with("default/"), "{set}");
        for name in &chosen.order {
            let is_taken = chosen.taken().iter().any(|candidate| candidate.system == *name);
            let is_left = left.iter().any(|left| left.system == *name);
            assert!(is_taken != is_left, "{name}");
        }
        assert!(left.iter().all(|left| !left.reason.is_empty() && !left.remedy.is_empty()));
    }

    #[test]
    fn the_first_system_has_more_time_than_the_second() {
        let left = |s, is_first, elapsed| set_up_left(s, is_first, Duration::from_secs(elapsed));
        assert_eq!(left(120.0, true, 20), Duration::from_secs(64));
        assert_eq!(left(120.0, false, 20), Duration::from_secs(16));
        assert_eq!(left(20.0, false, 20), Duration::ZERO);
    }
}
