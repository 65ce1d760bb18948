//! The CPU figure of a record that includes the work of every arm.

use cryptbench_catalog::{BUILTIN, PLAIN};
use cryptbench_record::{Cell, Record, Trial};

/// The CPU figure that is comparable over all arms of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CPU time of the measuring process: exact, but complete only if the cipher runs inside this process.
    Process,
    /// CPU time of the measuring process, the systems' helper programs and the kernel threads, for systems that work
    /// outside this process.
    Attributed,
    /// The same work, if trials do not report it separately: busy time of the machine minus its idle baseline, which
    /// includes all activity of other programs.
    Machine,
}

/// The number of CPUs that a run could use: the machine's CPUs, or the share of them granted to its container.
pub fn processors(record: &Record) -> f64 {
    let all = f64::from(record.machine.cpus);
    record.machine.limits.cpus.map_or(all, |cpus| cpus.min(all))
}

impl Measure {
    /// The process figure if every arm runs inside this process, otherwise the most exact figure available.
    pub fn of(record: &Record) -> Self {
        let inline = |system: &str| [PLAIN.name, BUILTIN.name].contains(&system);
        match record.plan.arms.iter().all(|a| inline(&a.system)) {
            true => Self::Process,
            false if record.trials.iter().all(|t| t.measured.accounting.is_some()) => {
                Self::Attributed
            }
            false => Self::Machine,
        }
    }

    /// CPU seconds per GiB of a cell by this measure; NaN if nothing was measured.
    pub fn seconds_per_gib(self, cell: &Cell) -> f64 {
        match self {
            Self::Process => cell.cpu.process_s_per_gib,
            Self::Attributed => cell.cpu.attributed_s_per_gib.unwrap_or(f64::NAN),
            Self::Machine => cell.cpu.machine_s_per_gib,
        }
    }

    /// CPU seconds of a trial by this measure, if the trial has them.
    pub fn seconds(self, trial: &Trial) -> Option<f64> {
        match self {
            Self::Process => Some(trial.measured.cpu_process_s),
            Self::Attributed => trial.measured.cpu_attributed_s(),
            Self::Machine => Some(trial.measured.cpu_machine_s),
        }
    }
}
