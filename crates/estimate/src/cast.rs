//! The roles in a run: installable systems, and the engine in this process as the lower bound of the cost.

use cryptbench_record::{Arm, ArmRole, Verdict, Workload};

use crate::arms::is_choice;
use crate::comparison::compare;
use crate::lookup::Lookup;
use crate::ranking::{Ranked, Ranking, is_most, mean_kept, ranking};

/// The arms of an answer.
pub struct Cast<'a> {
    /// Installable systems, in plan order.
    pub choices: Vec<&'a Arm>,
    /// The engines in this process, which measure ciphers without the cost of any system.
    pub engines: Vec<&'a Arm>,
    /// The engine that is shown together with the systems: the fastest engine.
    pub floor: Option<&'a Arm>,
    /// Whether the engine really is a lower bound: no system was faster in any workload.
    pub is_floor: bool,
    /// The systems, ordered by their share of plain speed.
    pub ranking: Option<Ranking<'a>>,
}

impl<'a> Cast<'a> {
    /// The arms of a record, by role.
    pub fn of(lookup: &Lookup<'a>) -> Self {
        let (choices, engines): (Vec<&Arm>, Vec<&Arm>) = lookup
            .arms()
            .iter()
            .filter(|arm| arm.role == ArmRole::Encrypted)
            .partition(|arm| is_choice(arm));
        let kept = |arm: &Arm| lookup.mean_ratio(arm).unwrap_or(0.0);
        let floor = engines.iter().copied().max_by(|a, b| kept(a).total_cmp(&kept(b)));
        let beats = |choice: &Arm, floor: &Arm| {
            let compared = compare(lookup, &choice.id, &floor.id);
            compared.iter().any(|c| matches!(c.verdict, Verdict::Gains { .. }))
        };
        let is_floor = floor.is_none_or(|floor| choices.iter().all(|c| !beats(c, floor)));
        Self { choices, engines, floor, is_floor, ranking: ranking(lookup) }
    }

    /// The arms whose figures are shown: the systems with the floor last, or all engines if there are no systems.
    pub fn shown(&self) -> Vec<&'a Arm> {
        match self.choices.is_empty() {
            true => self.engines.clone(),
            false => self.choices.iter().copied().chain(self.floor).collect(),
        }
    }

    /// The arms that the headline describes.
    pub fn spoken(&self) -> &[&'a Arm] {
        if self.choices.is_empty() { &self.engines } else { &self.choices }
    }

    /// The ranked systems, with the fastest first.
    pub fn ranked(&self) -> impl Iterator<Item = &Ranked<'a>> {
        self.ranking.iter().flat_map(|ranking| &ranking.rows)
    }

    /// The workloads for the mean of an arm that is not ranked: the workloads of the ranking if there is one, otherwise
    /// the arm's own workloads.
    pub fn over(&self, lookup: &Lookup<'a>, arm: &Arm) -> Vec<&'a Workload> {
        let own = |w: &&Workload| crate::ranking::judged(lookup, w, arm);
        let all: Vec<&Workload> = match &self.ranking {
            Some(ranking) if !ranking.over.is_empty() => ranking.over.clone(),
            _ => lookup.record.plan.workloads.iter().collect(),
        };
        all.into_iter().filter(own).collect()
    }

    /// An arm's mean share of plain speed, over the workloads of the ranking; `None` if the ranking has too few
    /// workloads.
    pub fn mean(&self, lookup: &Lookup<'a>, arm: &Arm) -> Option<crate::ranking::Mean> {
        let over = self.over(lookup, arm);
        mean_kept(lookup, arm, &over).filter(|_| is_most(&over, lookup))
    }
}
