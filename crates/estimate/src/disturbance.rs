//! Other activity of the machine during trials: other programs, other guests, a shortage of memory. The run's
//! own threads, helper programs and kernel threads are not a disturbance.

use cryptbench_record::{Accounting, Record, Trial};

use crate::accounting::measured;

/// If tasks waited for a CPU or for memory for at least this share of the time, the trial counts as disturbed. Waiting
/// for I/O does not count, because trials consist of such waits.
pub const PRESSED: f64 = 0.10;

/// If other programs used at least this share of the CPU time, waiting for a CPU is attributed to these programs.
pub const OTHERS: f64 = 0.10;

/// Steal time of at least this share of CPU time is reported.
const STOLEN: f64 = 0.01;

/// Activity of the machine that is not part of the run.
pub struct Disturbance {
    /// Measured trials with an account.
    pub trials: usize,
    /// Trials in which the run waited for a CPU because of other programs.
    pub crowded: Crowd,
    /// Trials in which tasks waited for memory.
    pub short_of_memory: Crowd,
    /// Steal time as a share of CPU time, if the share is large enough to report.
    pub stolen: Option<f64>,
}

/// Disturbed trials, and the share of the time during which tasks waited in the worst of these trials.
#[derive(Default)]
pub struct Crowd {
    /// Number of disturbed trials.
    pub trials: usize,
    /// Share of the time during which tasks waited in the worst of these trials.
    pub worst: f64,
}

impl Disturbance {
    /// The accounts of a record.
    pub fn of(record: &Record) -> Self {
        let all = measured(record);
        let (mut crowded, mut short_of_memory) = (Crowd::default(), Crowd::default());
        for (trial, a) in &all {
            if others(record, trial, a) >= OTHERS {
                crowded.enter(a.cpu_pressure);
            }
            short_of_memory.enter(a.memory_pressure);
        }
        let sum = |of: &dyn Fn(&(&Trial, &Accounting)) -> Option<f64>| -> f64 {
            all.iter().filter_map(of).filter(|v| v.is_finite()).sum()
        };
        let time = sum(&|(trial, _)| Some(trial.measured.elapsed_s));
        let share = sum(&|(_, a)| a.stolen_s) / (time * f64::from(record.machine.cpus));
        let stolen = Some(share).filter(|share| *share >= STOLEN);
        Self { trials: all.len(), crowded, short_of_memory, stolen }
    }
}

/// Whether other programs, the hypervisor or a lack of memory delayed a trial.
pub(crate) fn is_disturbed(record: &Record, trial: &Trial) -> bool {
    let Some(a) = &trial.measured.accounting else { return false };
    let is_pressed = |share: Option<f64>| share.is_some_and(|share| share >= PRESSED);
    let capacity = trial.measured.elapsed_s * f64::from(record.machine.cpus);
    is_pressed(a.memory_pressure)
        || is_pressed(a.stolen_s.map(|stolen| stolen / capacity))
        || (is_pressed(a.cpu_pressure) && others(record, trial, a) >= OTHERS)
}

impl Crowd {
    fn enter(&mut self, pressure: Option<f64>) {
        if let Some(share) = pressure.filter(|share| share.is_finite() && *share >= PRESSED) {
            self.trials += 1;
            self.worst = self.worst.max(share);
        }
    }
}

/// CPU share of other programs during a trial, including programs that were already active before the run.
fn others(record: &Record, trial: &Trial, a: &Accounting) -> f64 {
    let others = a.other_s / (trial.measured.elapsed_s * f64::from(record.machine.cpus));
    if others.is_finite() { others + record.machine.idle_baseline } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use cryptbench_record::{Machine, Observation, Plan, Target};

    use super::*;

    /// Ten trials of one second on two CPUs, in which others used this many seconds and a task waited for a CPU
    /// half of the time.
    fn record(other_s: f64, idle_baseline: f64) -> Record {
        let account = Accounting { other_s, cpu_pressure: Some(0.5), ..Accounting::default() };
        let trial = |sequence| Trial {
            sequence,
            block: Some(sequence),
            workload: "w".to_owned(),
            arm: "plain".to_owned(),
            at_s: f64::from(sequence),
            measured: Observation {
                elapsed_s: 1.0,
                ios: 1,
                bytes: 1,
                cpu_process_s: 1.0,
                cpu_machine_s: 1.0,
                accounting: Some(account.clone()),
                ..Observation::default()
            },
        };
        Record {
            schema: cryptbench_record::SCHEMA.to_owned(),
            program_version: String::new(),
            run_id: String::new(),
            started: String::new(),
            title: None,
            in_ram: None,
            why: None,
            node: None,
            elapsed_s: 10.0,
            partial: false,
            plan: Plan::default(),
            machine: Machine { cpus: 2, idle_baseline, ..Machine::default() },
            target: Target::default(),
            trials: (0..10).map(trial).collect(),
            stops: Vec::new(),
            notes: Vec::new(),
            evidence: Vec::new(),
            results: None,
        }
    }

    #[test]
    fn what_the_run_makes_wait_by_itself_is_not_put_down_to_others() {
        let crowded = |other_s, idle| Disturbance::of(&record(other_s, idle)).crowded.trials;
        assert_eq!(crowded(0.0, 0.01), 0, "its own threads and helpers wait for one another");
        assert_eq!(crowded(-0.1, 0.0), 0, "the machine counts in ticks");
        assert_eq!(crowded(0.6, 0.0), 10, "another program took more than half a processor");
        assert_eq!(crowded(0.0, 0.3), 10, "it was there before the run, and is in its baseline");
        let all = Disturbance::of(&record(0.6, 0.0));
        assert_eq!((all.trials, all.short_of_memory.trials, all.stolen), (10, 0, None));
        assert!((all.crowded.worst - 0.5).abs() < 1e-12);
    }

    #[test]
    fn time_that_the_hypervisor_took_is_a_share_of_all_processors() {
        let mut record = record(0.0, 0.0);
        for trial in &mut record.trials {
            trial.measured.accounting.as_mut().unwrap().stolen_s = Some(0.1);
        }
        let stolen = Disturbance::of(&record).stolen.unwrap();
        assert!((stolen - 0.05).abs() < 1e-12, "{stolen}");
    }
}
