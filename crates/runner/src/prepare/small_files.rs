//! Reduces sets of small files to a size for which the budget suffices.

use std::path::Path;
use std::time::{Duration, Instant};

use cryptbench_load::{FileSet, FileWork, Work, WorkloadSpec};
use cryptbench_record::{self as record, budget_option, longer_budget};

use super::Claimed;
use crate::Halt;
use crate::recorder::Recorder;

/// Minimum number of files in a trial: the number of files in one folder. With fewer files, the other costs of a trial
/// would hide the cost per file. If even these take too long, workloads are left out instead.
const LEAST: u32 = 100;

/// Number of files in the first look, and in the second look, which depends on how many seconds the first look took.
const FEW: u32 = 16;
const MORE: [(f64, u32); 2] = [(0.6, 256), (2.0, 64)];

/// Maximum duration, in seconds, of a look at plain storage that is repeated on each choice.
const QUICK_S: f64 = 1.2;

/// Expected ratio of the time for encrypted files to the time for plain files, until encrypted files have been
/// measured.
const ENCRYPTED: f64 = 2.0;

/// Share of the time left for trials that is planned for their expected duration. The rest is a reserve, because some
/// trials take longer.
const FILLED: f64 = 0.8;

/// Share of that time that may be used for work on other files. Work that would exceed it is left out.
const OTHERS: f64 = 0.4;

/// Before anything is set up: the share of the budget that is expected to be left for measuring.
const MEASURING: f64 = 0.6;

/// Seconds that a trial takes: for a set without files, and additionally for each file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Line {
    fixed: f64,
    each: f64,
}

impl Line {
    fn at(self, count: u32) -> f64 {
        self.fixed + self.each * f64::from(count)
    }

    fn times(self, factor: f64) -> Self {
        Self { fixed: self.fixed * factor, each: self.each * factor }
    }

    /// The line through the times of a few files and of more files, if those were measured.
    fn through(few_s: f64, more: Option<(u32, f64)>) -> Self {
        let few = f64::from(FEW);
        match more {
            Some((more, more_s)) => {
                let each = (more_s - few_s).max(0.0) / f64::from(more - FEW);
                Self { fixed: (few_s - each * few).max(0.0), each: each.max(1e-9) }
            }
            // Half of the time is for the set as a whole, for example for the journal.
            None => Self { fixed: few_s / 2.0, each: few_s / 2.0 / few },
        }
    }
}

/// The time that each workload on small files takes on each arm; other workloads have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilePace {
    /// By workload: sums over the arms, and their number.
    lines: Vec<Option<(Line, f64)>>,
    is_quick: bool,
}

impl FilePace {
    /// Seconds of a trial of workload number `workload` on an arm, if it works on small files.
    pub(crate) fn trial_s(&self, workload: usize, spec: &WorkloadSpec) -> Option<f64> {
        let (line, arms) = (*self.lines.get(workload)?)?;
        Some(line.at(files_of(spec)?.count) / arms.max(1.0))
    }

    /// Seconds for `rounds` of all workloads on all arms if each set has `share` of its files.
    fn all_s(&self, workloads: &[WorkloadSpec], share: f64, rounds: f64) -> f64 {
        let of = |(line, spec): (&Option<(Line, f64)>, &WorkloadSpec)| {
            Some((*line)?.0.at(shared(files_of(spec)?.count, share)))
        };
        rounds * self.lines.iter().zip(workloads).filter_map(of).sum::<f64>()
    }
}

fn files_of(spec: &WorkloadSpec) -> Option<&FileWork> {
    match &spec.work {
        Work::Files(files) => Some(files),
        _ => None,
    }
}

/// This share of `count` files, rounded to two digits and zeros, but at least the minimum.
fn shared(count: u32, share: f64) -> u32 {
    if share >= 1.0 {
        return count;
    }
    let some = (f64::from(count) * share) as u32;
    let unit = 10_u32.pow(some.max(1).ilog10().saturating_sub(1));
    (some / unit * unit).clamp(LEAST.min(count), count)
}

/// The largest share for which `takes` is at most `seconds`; 0 if there is none.
fn largest(seconds: f64, takes: impl Fn(f64) -> f64) -> f64 {
    if takes(1.0) <= seconds {
        return 1.0;
    }
    let (mut fits, mut not) = (0.0, 1.0);
    for _ in 0..30 {
        let middle = f64::midpoint(fits, not);
        match takes(middle) <= seconds {
            true => fits = middle,
            false => not = middle,
        }
    }
    fits
}

impl Claimed<'_> {
    /// Measures a few small files on plain storage, if the work is on many files and has a time limit. Reduces the
    /// sets if there will not be enough time for all of their files.
    pub(super) fn look_at_files(&mut self) -> Result<(), Halt> {
        let plan = self.plan;
        let is_large =
            |spec: &WorkloadSpec| files_of(spec).is_some_and(|files| files.count > LEAST);
        let is_there = self.plain.target.is_directory() && plan.earlier.is_none();
        if !is_there || !self.workloads.iter().any(is_large) {
            return Ok(());
        }
        let (lines, is_quick) = self.look_in(self.plain.work.path())?;
        let recorded = &plan.recorded;
        let sum = |(line, workload): (&Option<Line>, &record::Workload)| {
            let line = (*line)?;
            let arms = recorded.arms.iter().filter(|arm| recorded.includes(workload, arm));
            let factors: Vec<f64> = arms.map(|arm| factor(arm.role)).collect();
            Some((line.times(factors.iter().sum()), factors.len() as f64))
        };
        let lines = lines.iter().zip(&recorded.workloads).map(sum).collect();
        self.file_pace = FilePace { lines, is_quick };
        let left = recorded.budget_s * MEASURING - self.clock.elapsed().as_secs_f64();
        self.fit_files(left);
        Ok(())
    }

    /// Measures a few small files on the arms that are set up, if the look takes little time. Enters the numbers of
    /// files into `recorded`, and reports which sets became smaller.
    pub(super) fn look_at_files_of(
        &mut self,
        directories: &[&Path],
        recorded: &mut record::Plan,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Halt> {
        if self.file_pace.lines.iter().all(Option::is_none) {
            return Ok(());
        }
        if self.file_pace.is_quick {
            let mut sums: Vec<Option<(Line, f64)>> = vec![None; self.workloads.len()];
            for (directory, arm) in directories.iter().zip(&recorded.arms) {
                let includes = |w: &record::Workload| recorded.includes(w, arm);
                if !recorded.workloads.iter().any(|w| w.files.is_some() && includes(w)) {
                    continue;
                }
                let (lines, _) = self.look_in(directory)?;
                for (number, line) in lines.into_iter().enumerate() {
                    let Some(line) = line.filter(|_| includes(&recorded.workloads[number])) else {
                        continue;
                    };
                    let (sum, arms) = sums[number].get_or_insert_default();
                    *sum = Line { fixed: sum.fixed + line.fixed, each: sum.each + line.each };
                    *arms += 1.0;
                }
            }
            self.file_pace.lines = sums;
        }
        let left = recorded.budget_s - self.clock.elapsed().as_secs_f64();
        self.fit_files(left);
        self.say_fewer_files(recorded, recorder);
        Ok(())
    }

    /// Reduces the sets to the size that `left` seconds allow; never enlarges them.
    fn fit_files(&mut self, left: f64) {
        let rounds = f64::from(self.plan.recorded.min_pairs);
        let others = self.others_s(rounds);
        let time = left * FILLED;
        let time = time - if others <= time * OTHERS { others } else { 0.0 };
        let takes = |share: f64| self.file_pace.all_s(&self.workloads, share, rounds);
        let share = largest(time, takes);
        for spec in &mut self.workloads {
            if let Work::Files(files) = &mut spec.work {
                files.count = shared(files.count, share);
            }
        }
    }

    /// Seconds of all trials on other files.
    fn others_s(&self, rounds: f64) -> f64 {
        let recorded = &self.plan.recorded;
        let len = self.plain.range.as_ref().map_or(0, super::ActiveRange::len);
        let of = |(spec, workload): (&WorkloadSpec, &record::Workload)| {
            let arms = recorded.arms.iter().filter(|arm| recorded.includes(workload, arm)).count();
            let trial_s = crate::decide::fit::trial_s(spec, recorded.trial_s, len, &self.pace);
            match files_of(spec) {
                Some(_) => 0.0,
                None => rounds * arms as f64 * trial_s,
            }
        };
        self.workloads.iter().zip(&recorded.workloads).map(of).sum()
    }

    /// Records how many files the sets have, and notes those with fewer files than in the profile.
    fn say_fewer_files(&self, recorded: &mut record::Plan, recorder: &mut Recorder<'_>) {
        let mut fewer = None;
        for (workload, spec) in recorded.workloads.iter_mut().zip(&self.workloads) {
            let Some(files) = files_of(spec) else { continue };
            if let Some(planned) = workload.files.filter(|planned| *planned > files.count) {
                fewer = Some((files.count, planned));
                workload.files_of_profile = Some(planned);
            }
            workload.files = Some(files.count);
        }
        let Some((count, planned)) = fewer else { return };
        let rounds = f64::from(recorded.min_pairs);
        let all_s = self.file_pace.all_s(&self.plan.workloads, 1.0, rounds) / FILLED;
        let spent = self.clock.elapsed().as_secs_f64();
        let enough = budget_option(longer_budget(spent + all_s, recorded.budget_s));
        recorder.tell(format!(
            "Each set has {count} files instead of {planned}: the budget does not allow more. {enough} is enough \
             for all."
        ));
    }

    /// How long a trial of each workload takes in `directory`, and whether the look was quick.
    fn look_in(&self, directory: &Path) -> Result<(Vec<Option<Line>>, bool), Halt> {
        let began = Instant::now();
        let few = self.seconds_of(directory, FEW)?;
        let took_s = began.elapsed().as_secs_f64();
        let more = match MORE.iter().find(|(within_s, _)| took_s <= *within_s) {
            Some((_, count)) => {
                let seconds = self.seconds_of(directory, *count)?;
                seconds.into_iter().map(|seconds| Some((*count, seconds?))).collect()
            }
            None => vec![None; few.len()],
        };
        let line = |(few, more): (&Option<f64>, _)| Some(Line::through((*few)?, more));
        let lines = few.iter().zip(more).map(line).collect();
        Ok((lines, began.elapsed().as_secs_f64() < QUICK_S))
    }

    /// Seconds of a trial of each workload, including its preparation, on sets of `count` files.
    fn seconds_of(&self, directory: &Path, count: u32) -> Result<Vec<Option<f64>>, Halt> {
        let seed = self.plan.recorded.seed;
        let mut set = FileSet::new(seed);
        let mut found = Vec::new();
        for spec in &self.plan.workloads {
            self.go_on()?;
            let Some(files) = files_of(spec) else {
                found.push(None);
                continue;
            };
            let began = Instant::now();
            let made = set.run(directory, &FileWork { count, ..files.clone() }, seed, self.stop)?;
            if made.interrupted {
                return Err(Halt::Interrupted);
            }
            found.push(Some(began.elapsed().max(Duration::from_nanos(1)).as_secs_f64()));
        }
        set.remove()?;
        Ok(found)
    }
}

/// Expected ratio of an arm's time to that of plain storage.
fn factor(role: record::ArmRole) -> f64 {
    match role {
        record::ArmRole::Plain | record::ArmRole::PlainAgain => 1.0,
        _ => ENCRYPTED,
    }
}

#[cfg(test)]
mod tests {
    use cryptbench_load::Profile;

    use super::*;

    #[test]
    fn a_share_of_the_files_is_a_round_number_of_some() {
        for (share, count) in
            [(1.0, 10_000), (0.5, 5_000), (0.123_456, 1_200), (0.015_99, 150), (0.000_1, LEAST)]
        {
            assert_eq!(shared(10_000, share), count, "{share}");
        }
        assert_eq!((shared(5, 0.1), shared(5, 1.0)), (5, 5));
    }

    #[test]
    fn looks_at_few_and_more_files_tell_what_each_costs() {
        let close = |line: Line, fixed: f64, each: f64| {
            (line.fixed - fixed).abs() < 1e-9 && (line.each - each).abs() < 1e-8
        };
        assert!(close(Line::through(0.020 + 16e-4, Some((256, 0.020 + 256e-4))), 0.020, 1e-4));
        // Where a few take long, half of that is put down to the files.
        assert!(close(Line::through(3.2, None), 1.6, 0.1));
        // Noise: more files that took less time than few.
        let odd = Line::through(0.2, Some((64, 0.1)));
        assert!(odd.fixed >= 0.0 && odd.each > 0.0);
    }

    #[test]
    fn all_trials_fit_the_time_that_is_left() {
        let workloads = Profile::named("small-files").unwrap().workloads;
        let line = |each: f64| Some((Line { fixed: 0.02, each: 4.0 * each }, 4.0));
        let pace = |each: f64| FilePace {
            lines: workloads.iter().map(|w| files_of(w).and_then(|_| line(each))).collect(),
            is_quick: true,
        };
        for (each, seconds) in [(1e-5, 20.0), (2e-4, 20.0), (5e-4, 20.0), (2e-3, 120.0)] {
            let pace = pace(each);
            let takes = |share: f64| pace.all_s(&workloads, share, 6.0);
            let share = largest(seconds, takes);
            let all_s = takes(share);
            assert!(all_s <= seconds, "{each}: {all_s}");
            assert!(share == 1.0 || all_s > 0.8 * seconds, "{each}: {all_s}");
        }
        // A disk that is too slow for a few has the fewest, of which some workloads are left out.
        let slow = pace(1.0);
        let share = largest(20.0, |share| slow.all_s(&workloads, share, 6.0));
        assert_eq!(shared(10_000, share), LEAST);
        let trial_s = slow.trial_s(0, &workloads[0]).unwrap();
        assert!(trial_s > 10_000.0, "{trial_s} s of 10,000 files");
        let block = workloads.iter().position(|w| files_of(w).is_none()).unwrap();
        assert_eq!(slow.trial_s(block, &workloads[block]), None);
    }
}
