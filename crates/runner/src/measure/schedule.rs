//! The schedule: runs randomised complete blocks until every workload has reached its precision.

use std::time::Duration;

use cryptbench_record::{
    Arm, Event, Observation, Plan, Sink, StopReason, Trial, Workload, WorkloadStop,
    complete_blocks, log_ratios,
};
use cryptbench_stats::paired::FEWEST_PAIRS;
use cryptbench_stats::{Decision, StoppingRule, block_order, estimate};

use super::slicing::{Slicing, Speed, Turns, slicing};
use crate::Halt;
use crate::decide::limits::stopping_rule;

/// Maximum number of attempts at a trial, if this process is suspended during it.
const MOST_ATTEMPTS: u32 = 3;

/// Represents a duration that cannot be determined, because the work does not fit at all.
const ENDLESS_S: f64 = 1e9;

/// Share of the measuring time that a block may use. A block that takes longer than expected is completed if it
/// ends soon after that time.
const LATE: f64 = 1.01;

/// The target of a schedule: the real storage, or a simulated one in tests.
pub trait Bench {
    /// Runs workload `workload` on arm `arm`; the seed `offsets` determines the offsets of its
    /// requests.
    ///
    /// # Errors
    /// [`Halt`]; the trial is then invalid.
    fn trial(&mut self, workload: usize, arm: usize, offsets: u64) -> Result<Observation, Halt>;
    /// Whether an arm's trials of a workload can be sliced: switching to the arm needs no new set-up, and the arm's
    /// after-effects do not affect other arms.
    fn takes_turns(&self, workload: usize, arm: usize) -> bool;
    /// Runs workload `workload` on the arms of `turns`, a slice at a time. Returns the measurement of each arm,
    /// in the order of `turns.arms`.
    ///
    /// # Errors
    /// [`Halt`]; the slices are then invalid.
    fn turns(
        &mut self,
        workload: usize,
        turns: &Turns,
        offsets: u64,
    ) -> Result<Vec<Observation>, Halt>;
    /// Leaves the storage idle for `length`.
    fn pause(&mut self, length: Duration);
    /// Time since the start of the run.
    fn elapsed(&self) -> Duration;
    /// Time for which this process was suspended since the last call, as far as it was detected.
    fn stopped(&mut self) -> Duration {
        Duration::ZERO
    }
    /// Whether the run has been asked to stop.
    fn interrupted(&self) -> bool;
    /// Whether a trial was interrupted because the time was up, and not because the user asked the run to stop.
    fn out_of_time(&self) -> bool {
        false
    }
    /// Part of the budget to reserve for the time after the last trial.
    fn reserve(&self) -> Duration {
        Duration::ZERO
    }
    /// Minimum duration of a trial of a workload, before the first trial has shown it.
    fn expected(&self, workload: usize) -> Duration {
        let _ = workload;
        Duration::ZERO
    }
}

/// Drives `bench` through `plan` until the precision, the maximum number of pairs or the budget is reached, or an
/// interruption or an error occurs. After the `earlier` trials of a resumed run, continues with the block that
/// follows its complete blocks. The `sink` receives each trial, and the reason why each workload ended.
///
/// # Errors
/// [`Halt`]; the trials before it are valid.
pub fn drive(
    plan: &Plan,
    earlier: &[Trial],
    bench: &mut dyn Bench,
    sink: &mut dyn Sink,
) -> Result<(), Halt> {
    let blocks = plan.workloads.iter().map(|w| complete_blocks(earlier, &w.id)).collect();
    let of = |w: &Workload, arm: &Arm| log_ratios(earlier, &w.id, &arm.id, &plan.baseline(arm));
    let ratios_of = |w: &Workload| plan.arms[1..].iter().map(|a| of(w, a)).collect();
    let ratios = plan.workloads.iter().map(ratios_of).collect();
    let mut driver = Driver {
        plan,
        bench,
        sink,
        rule: stopping_rule(plan),
        done: earlier.len() as u32,
        of_block: Vec::new(),
        blocks,
        ratios,
        ended: vec![None; plan.workloads.len()],
        cut: vec![false; plan.workloads.len()],
        longest_block: vec![Duration::ZERO; plan.workloads.len()],
        planned: plan.fixed_trials(),
        speeds: vec![vec![Speed::default(); plan.arms.len()]; plan.workloads.len()],
    };
    driver.remember_speeds(earlier);
    let (last, end) = match driver.all() {
        Ok(reason) => (reason, Ok(())),
        Err(Halt::Interrupted) if driver.bench.out_of_time() => (StopReason::Budget, Ok(())),
        Err(halt) => (StopReason::Interrupted, Err(halt)),
    };
    driver.tell_stops(last);
    end
}

struct Driver<'a> {
    plan: &'a Plan,
    bench: &'a mut dyn Bench,
    sink: &'a mut dyn Sink,
    rule: StoppingRule,
    /// Number of trials so far.
    done: u32,
    /// The trials of the current block.
    of_block: Vec<Trial>,
    /// Number of complete blocks per workload.
    blocks: Vec<u32>,
    /// ln(rate / rate of plain) per workload and per arm after plain, with an entry for each block in which both arms
    /// completed requests.
    ratios: Vec<Vec<Vec<f64>>>,
    ended: Vec<Option<StopReason>>,
    /// Workloads for which there was no time for a block.
    cut: Vec<bool>,
    longest_block: Vec<Duration>,
    /// Number of trials of the whole run, if it is fixed.
    planned: Option<u32>,
    /// Recent speed of each arm in each workload.
    speeds: Vec<Vec<Speed>>,
}

impl Driver<'_> {
    fn all(&mut self) -> Result<StopReason, Halt> {
        self.leave_out();
        // One discarded trial per workload and arm, because the first use of buffers, caches and the device
        // differs. Trials with a fixed number of bytes have none, because established figures for them include the
        // start.
        for workload in 0..self.plan.workloads.len() {
            if self.ended[workload].is_some() || !self.plan.workloads[workload].is_timed() {
                continue;
            }
            match self.block(workload, None)? {
                true => self.say_if_whole(workload),
                false => {
                    self.ended[workload] = Some(StopReason::Budget);
                    self.cut[workload] = true;
                }
            }
        }
        for workload in 0..self.plan.workloads.len() {
            if self.blocks[workload] > 0 {
                self.ended[workload] = self.decide(workload);
            }
        }
        // The discarded trials have shown how long the measured ones take.
        self.leave_out();
        loop {
            self.rounds()?;
            // The other workloads may have taken less time than expected.
            if !self.take_in() {
                return Ok(StopReason::Budget);
            }
        }
    }

    /// Runs blocks until every workload has finished.
    fn rounds(&mut self) -> Result<(), Halt> {
        let open = self.blocks.iter().zip(&self.ended).filter(|(_, ended)| ended.is_none());
        let first = open.map(|(blocks, _)| *blocks).min().unwrap_or(0);
        for round in first.. {
            if round > first {
                self.bench.pause(Duration::from_secs_f64(self.plan.round_pause_s));
            }
            if !self.round(round)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds the shortest of the omitted workloads that can start immediately, if its minimum number of pairs fits into
    /// the remaining time.
    fn take_in(&mut self) -> bool {
        let begins =
            |w: usize| !self.plan.workloads[w].is_timed() || !self.longest_block[w].is_zero();
        let is_out = |w: &usize| {
            let out = self.blocks[*w] == 0 && self.ended[*w] == Some(StopReason::Budget);
            out && !self.cut[*w] && begins(*w)
        };
        let left = self.limit().saturating_sub(self.bench.elapsed());
        let pairs = (FEWEST_PAIRS as u32).min(self.plan.min_pairs);
        let shortest = (0..self.plan.workloads.len()).filter(is_out).min_by_key(|w| self.cost(*w));
        let shortest = shortest.filter(|w| self.cost(*w).saturating_mul(pairs) <= left);
        shortest.is_some_and(|w| self.ended[w].take().is_some())
    }

    /// Runs one block of each workload that is still open; returns whether any remains open.
    fn round(&mut self, round: u32) -> Result<bool, Halt> {
        let mut open = false;
        // The workload furthest from its precision does not run more often than the others: one block of each workload
        // per round spreads all workloads over the whole run.
        for workload in 0..self.plan.workloads.len() {
            if self.ended[workload].is_some() {
                continue;
            }
            // An earlier part of the run ended within this round.
            if self.blocks[workload] > round {
                open = true;
                continue;
            }
            if !self.fits(workload) || !self.block(workload, Some(self.blocks[workload]))? {
                self.ended[workload] = Some(StopReason::Budget);
                self.cut[workload] = true;
                continue;
            }
            self.blocks[workload] += 1;
            self.ended[workload] = self.decide(workload);
            open |= self.ended[workload].is_none();
            if self.blocks[workload] == 1 {
                self.leave_out();
            }
        }
        Ok(open)
    }

    /// Time by which the last trial must have finished.
    fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.plan.budget_s).saturating_sub(self.bench.reserve())
    }

    /// Whether another block of this workload fits into the budget.
    fn fits(&self, workload: usize) -> bool {
        self.bench.elapsed().saturating_add(self.cost(workload)) <= self.limit()
    }

    /// Duration of a block of a workload, as far as known.
    fn cost(&self, workload: usize) -> Duration {
        match self.longest_block[workload] {
            Duration::ZERO => self.bench.expected(workload).saturating_mul(self.included(workload)),
            longest => longest,
        }
    }

    /// Duration of the blocks that a workload still needs for `min_pairs`. If `is_first`, this includes a discarded
    /// block, which is as long as a measured one.
    fn needs(&self, workload: usize, is_first: bool) -> Duration {
        let discarded = u32::from(is_first && self.plan.workloads[workload].is_timed());
        let missing = self.plan.min_pairs.saturating_sub(self.blocks[workload]);
        self.cost(workload).saturating_mul(missing + discarded)
    }

    /// Number of arms on which a workload is measured.
    fn included(&self, workload: usize) -> u32 {
        let workload = &self.plan.workloads[workload];
        self.plan.arms.iter().filter(|arm| self.plan.includes(workload, arm)).count() as u32
    }

    /// If there is no time for `min_pairs` of all workloads, drops the longest workloads without a measured trial. If
    /// not even one workload fits, keeps the shortest one with as many pairs as fit.
    fn leave_out(&mut self) {
        let limit = self.limit();
        let left = limit.saturating_sub(self.bench.elapsed());
        let mut open: Vec<usize> =
            (0..self.plan.workloads.len()).filter(|w| self.ended[*w].is_none()).collect();
        open.sort_by_key(|w| self.cost(*w));
        let needs = |w: usize| self.needs(w, self.longest_block[w].is_zero());
        let begun = open.iter().filter(|w| self.blocks[**w] > 0);
        let mut taken = begun.fold(Duration::ZERO, |sum, w| sum.saturating_add(needs(*w)));
        let mut any = open.iter().any(|w| self.blocks[*w] > 0);
        let mut out = Vec::new();
        for &w in open.iter().filter(|w| self.blocks[**w] == 0) {
            match taken.saturating_add(needs(w)) <= left {
                true => (taken, any) = (taken + needs(w), true),
                false => out.push(w),
            }
        }
        if !any && let Some(&shortest) = out.first() {
            let least = self.cost(shortest).saturating_mul(FEWEST_PAIRS as u32);
            // With fewer pairs there is no estimate.
            if least <= left {
                out.remove(0);
            }
        }
        out.into_iter().for_each(|w| self.ended[w] = Some(StopReason::Budget));
    }

    /// Runs all arms once; `block` is `None` for the discarded block. Returns false if the block would end too
    /// late; its remaining trials are then not started.
    fn block(&mut self, workload: usize, block: Option<u32>) -> Result<bool, Halt> {
        let started = self.bench.elapsed();
        let arms = self.plan.arms.len();
        let order = block_order(self.plan.seed, workload as u64, block.unwrap_or(0), arms);
        let offsets = offset_seed(self.plan.seed, workload as u64, block);
        self.of_block.clear();
        let turns = block.and_then(|block| self.turns(workload, block));
        let mut longest = Duration::ZERO;
        for (number, arm) in order.into_iter().enumerate() {
            if !self.plan.includes(&self.plan.workloads[workload], &self.plan.arms[arm]) {
                continue;
            }
            let began = self.bench.elapsed();
            let late = self.limit().mul_f64(LATE);
            if number > 0 && turns.is_none() && began + longest > late {
                return Ok(false);
            }
            match &turns {
                // All interleaved arms run in the position of plain.
                Some(turns) if arm == 0 => self.take_turns(workload, block, turns, offsets)?,
                Some(turns) if turns.arms.contains(&arm) => {}
                _ => self.trial(workload, block, arm, offsets)?,
            }
            longest = longest.max(self.bench.elapsed().saturating_sub(began));
        }
        let id = self.plan.workloads[workload].id.clone();
        if block.is_some() {
            let trials = &self.of_block;
            for (arm, ratios) in self.plan.arms[1..].iter().zip(&mut self.ratios[workload]) {
                ratios.extend(log_ratios(trials, &id, &arm.id, &self.plan.baseline(arm)));
            }
        }
        self.sink.take(&Event::BlockEnd { workload: id.into(), block });
        let took = self.bench.elapsed().saturating_sub(started);
        self.longest_block[workload] = self.longest_block[workload].max(took);
        Ok(true)
    }

    /// Runs a whole trial.
    fn trial(
        &mut self,
        workload: usize,
        block: Option<u32>,
        arm: usize,
        offsets: u64,
    ) -> Result<(), Halt> {
        let (at_s, measured) =
            self.undisturbed(workload, block, &[arm], |bench| bench.trial(workload, arm, offsets))?;
        self.keep(workload, arm, block, at_s, measured);
        Ok(())
    }

    /// Runs the trials of all interleaved arms.
    fn take_turns(
        &mut self,
        workload: usize,
        block: Option<u32>,
        turns: &Turns,
        offsets: u64,
    ) -> Result<(), Halt> {
        let (at_s, all) = self.undisturbed(workload, block, &turns.arms, |bench| {
            bench.turns(workload, turns, offsets)
        })?;
        for (&arm, measured) in turns.arms.iter().zip(all) {
            self.keep(workload, arm, block, at_s, measured);
        }
        Ok(())
    }

    /// Runs trials of `arms`, and repeats them if this process was suspended in the meantime. Returns their start
    /// in seconds and their measurements.
    fn undisturbed<T>(
        &mut self,
        workload: usize,
        block: Option<u32>,
        arms: &[usize],
        run: impl Fn(&mut dyn Bench) -> Result<T, Halt>,
    ) -> Result<(f64, T), Halt> {
        for attempt in 1.. {
            let at_s = self.begin(workload, block, arms)?;
            // Events between trials do not matter.
            self.bench.stopped();
            let measured = run(&mut *self.bench)?;
            let stopped = self.bench.stopped();
            if stopped.is_zero() {
                return Ok((at_s, measured));
            }
            let again = attempt < MOST_ATTEMPTS;
            self.say_stopped(workload, stopped, again);
            if !again {
                return Ok((at_s, measured));
            }
        }
        unreachable!("the last attempt is kept")
    }

    fn say_stopped(&mut self, workload: usize, stopped: Duration, again: bool) {
        let text = format!(
            "This process was stopped for {:.1} s while {} was measured (Ctrl-Z, a paused container or virtual \
             machine, or no CPU time): {}.",
            stopped.as_secs_f64(),
            self.plan.workloads[workload].label,
            match again {
                true => "those trials were discarded and repeated",
                false => "this happened in every attempt, so the last one was kept",
            }
        );
        self.sink.take(&Event::Note { text, aside: false });
    }

    /// Pauses, and reports the start of a trial. Returns its start time in seconds.
    fn begin(&mut self, workload: usize, block: Option<u32>, arms: &[usize]) -> Result<f64, Halt> {
        self.bench.pause(Duration::from_secs_f64(self.plan.pause_s));
        if self.bench.interrupted() {
            return Err(Halt::Interrupted);
        }
        let elapsed_s = self.bench.elapsed().as_secs_f64();
        self.sink.take(&Event::Begun {
            workload: self.plan.workloads[workload].id.clone().into(),
            arms: arms.iter().map(|&arm| self.plan.arms[arm].id.clone().into()).collect(),
            block,
            elapsed_s,
            budget_s: self.plan.budget_s,
            trials_done: self.done,
            trials: self.planned,
        });
        Ok(elapsed_s)
    }

    /// Records the speeds from an earlier part of the run.
    fn remember_speeds(&mut self, earlier: &[Trial]) {
        for trial in earlier {
            let workload = self.plan.workloads.iter().position(|w| w.id == trial.workload);
            let arm = self.plan.arms.iter().position(|a| a.id == trial.arm);
            if let (Some(workload), Some(arm)) = (workload, arm) {
                self.speeds[workload][arm].enter(trial.iops());
            }
        }
    }

    /// How to slice the next block of a workload, according to the recent speeds of its arms. Uses medians, so
    /// that a single stall does not make all slices of a run long.
    fn slicing(&self, workload: usize) -> Result<Option<Slicing>, String> {
        let speed = |arm: &usize| self.speeds[workload][*arm].usual();
        let slowest = self.takers(workload).iter().map(speed).fold(f64::INFINITY, f64::min);
        slicing(self.plan, &self.plan.workloads[workload], slowest)
    }

    /// Notes if the device is too slow for slices.
    fn say_if_whole(&mut self, workload: usize) {
        if let Err(reason) = self.slicing(workload) {
            let label = &self.plan.workloads[workload].label;
            let text = format!("{label}: {reason}.");
            self.sink.take(&Event::Note { text, aside: true });
        }
    }

    /// Arms that can be interleaved; empty unless plain is one of them.
    fn takers(&self, workload: usize) -> Vec<usize> {
        let takes = |arm: &usize| {
            self.plan.includes(&self.plan.workloads[workload], &self.plan.arms[*arm])
                && self.bench.takes_turns(workload, *arm)
        };
        let takers: Vec<usize> = (0..self.plan.arms.len()).filter(takes).collect();
        if takers.first() == Some(&0) && takers.len() > 1 { takers } else { Vec::new() }
    }

    /// The interleaved arms of a block, and the order of their turns.
    fn turns(&self, workload: usize, block: u32) -> Option<Turns> {
        let slicing = self.slicing(workload).ok().flatten()?;
        let arms = self.takers(workload);
        Some(slicing.turns(self.plan.seed, workload as u64, block, arms))
    }

    fn keep(
        &mut self,
        workload: usize,
        arm: usize,
        block: Option<u32>,
        at_s: f64,
        measured: Observation,
    ) {
        let trial = Trial {
            sequence: self.done,
            block,
            workload: self.plan.workloads[workload].id.clone(),
            arm: self.plan.arms[arm].id.clone(),
            at_s,
            measured,
        };
        self.done += 1;
        self.speeds[workload][arm].enter(trial.iops());
        let event = Event::Measured(Box::new(trial));
        self.sink.take(&event);
        if let Event::Measured(trial) = event {
            self.of_block.push(*trial);
        }
    }

    /// Reports why each workload ended; the reason for all others is `last`.
    fn tell_stops(&mut self, last: StopReason) {
        let needs_s = |w: usize| {
            let needs_s = self.needs(w, true).as_secs_f64();
            let is_out = self.blocks[w] == 0 && self.ended[w].unwrap_or(last) == StopReason::Budget;
            is_out.then_some(needs_s).filter(|needs_s| *needs_s < ENDLESS_S)
        };
        let stop = |(i, w): (usize, &Workload)| WorkloadStop {
            workload: w.id.clone(),
            reason: self.ended[i].unwrap_or(last),
            pairs: self.blocks[i],
            needs_s: needs_s(i),
        };
        let stops = self.plan.workloads.iter().enumerate().map(stop).collect();
        self.sink.take(&Event::Stops { stops });
    }

    fn decide(&mut self, workload: usize) -> Option<StopReason> {
        let workload_spec = &self.plan.workloads[workload];
        let (included, arms): (Vec<_>, Vec<_>) = self.plan.arms[1..]
            .iter()
            .zip(&self.ratios[workload])
            .filter(|(arm, _)| self.plan.includes(workload_spec, arm))
            .map(|(arm, ratios)| (arm, ratios.clone()))
            .unzip();
        // The last arm is reported last, because a display with a single line shows only the latest event.
        for (arm, d) in included.iter().zip(&arms) {
            let Some(e) = estimate(d, self.plan.confidence) else { continue };
            self.sink.take(&Event::Estimate {
                workload: workload_spec.id.clone().into(),
                arm: arm.id.clone().into(),
                kept: e.mean.exp(),
                low: e.low.exp(),
                high: e.high.exp(),
            });
        }
        match self.rule.decide(&arms) {
            // Blocks in which an arm completed nothing have no ratio, but count here.
            Decision::Continue { .. } => {
                (self.blocks[workload] >= self.plan.max_pairs).then_some(StopReason::PairCap)
            }
            Decision::Precision => Some(StopReason::Precision),
            Decision::PairCap => Some(StopReason::PairCap),
        }
    }
}

/// The seed of a block's offsets: the same for all its arms, different for each block.
fn offset_seed(seed: u64, workload: u64, block: Option<u32>) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014): adjacent inputs give unrelated outputs.
    let mut z = seed
        .wrapping_add(workload.wrapping_mul(0xD1B5_4A32_D192_ED03))
        .wrapping_add(u64::from(block.map_or(0, |b| b + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
