//! The command that settles undecided results.

use std::path::{Path, PathBuf};

use cryptbench_catalog::{BUILTIN, Encrypts, encrypts};
use cryptbench_estimate::budget::{Need, rounded};
use cryptbench_record::{Arm, ArmRole, BUILTIN_ONLY, Plan, Record, budget_option, longer_budget};
use cryptbench_text::{quoted, quoted_path};

/// Maximum suggested budget in seconds, unless [`NOT_TOO_LONG`] allows more.
const LONGEST_S: f64 = 3600.0;

/// A budget of up to this multiple of the run's duration is acceptable.
const NOT_TOO_LONG: f64 = 3.0;

/// Share of a budget that is left for trials on a slow disk.
const MEASURING: f64 = 0.6;

/// More systems than this are not listed in a command.
const MOST_SYSTEMS: usize = 4;

/// Placeholder for the run's directory, which a record does not contain.
const RUN_DIRECTORY: &str = "RUN_DIRECTORY";

/// The options of `cryptbench run` for the number of repeats needed: a longer budget, or more trials if their number is
/// fixed. `None` if an hour is not enough, or if no further repeats are needed.
pub(crate) fn options(record: &Record, needs: &[Need]) -> Option<String> {
    let most = needs.iter().copied().max_by(|a, b| a.factor().total_cmp(&b.factor()))?;
    let plan = &record.plan;
    let measuring: f64 = record.trials.iter().map(|t| t.measured.elapsed_s).sum();
    let setup = (record.elapsed_s - measuring * 1.3).max(0.0);
    let wanted = setup + (record.elapsed_s - setup).max(1.0) * most.factor();
    if wanted > LONGEST_S.max(NOT_TOO_LONG * record.elapsed_s) {
        return None;
    }
    if plan.fixed_trials().is_some() {
        return Some(format!("--trials {}", rounded(most.need)));
    }
    let budget = budget_option(longer_budget(wanted, plan.budget_s));
    let pairs = match most.need > plan.max_pairs {
        true => format!(" --max-pairs {}", rounded(most.need)),
        false => String::new(),
    };
    Some(format!("{budget}{pairs}"))
}

/// The option with a budget for every workload that did not fit into this run or, if none fitted, for the first
/// workload. `None` if nothing is missing.
pub fn budget_for_all(record: &Record) -> Option<String> {
    let needs = record.stops.iter().filter_map(|stop| stop.needs_s);
    let needed = match record.stops.iter().all(|stop| stop.pairs == 0) {
        true => needs.reduce(f64::min)?,
        false => Some(needs.sum::<f64>()).filter(|sum| *sum > 0.0)?,
    };
    // A longer budget also means more time for set-up.
    let wanted = (record.elapsed_s + needed).max(needed / MEASURING);
    Some(budget_option(longer_budget(wanted, record.plan.budget_s)))
}

/// A command for users to type.
pub struct Command {
    /// The words before the directory.
    before: String,
    /// The measured directory; omitted if it is the user's current directory.
    directory: Option<PathBuf>,
    /// The words behind it.
    after: String,
    /// Whether the run's directory is appended.
    takes_run: bool,
}

impl Command {
    /// A command that is the same in every directory.
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { before: words.into(), directory: None, after: String::new(), takes_run: false }
    }

    /// A command that ends with the directory of the run.
    pub(crate) fn of_run(words: impl Into<String>) -> Self {
        Self { takes_run: true, ..Self::new(words) }
    }

    /// The command as typed in `here` by a user who knows that `run` is the run's directory.
    pub fn typed_of(&self, here: Option<&Path>, run: Option<&str>) -> String {
        let directory = self.directory.as_deref().filter(|directory| here != Some(directory));
        let run = self.takes_run.then(|| run.unwrap_or(RUN_DIRECTORY).to_owned());
        let (before, after) = (Some(self.before.clone()), Some(self.after.clone()));
        let words = [before, directory.map(quoted_path), after, run];
        words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// As it is typed in `here`.
    pub fn typed(&self, here: Option<&Path>) -> String {
        self.typed_of(here, None)
    }
}

/// The `cryptbench run` command that repeats this run, with the given arms or, if no arms are given, with all arms;
/// `None` if a command cannot express it, or would overwrite something.
pub(crate) fn command(record: &Record, arms: &[&Arm], options: &str) -> Option<Command> {
    let target = &record.target;
    // A run on a device in use measures only that device.
    if let Some(place) = target.places().find(|place| place.in_use.is_some()) {
        let device = quoted_path(place.directory.as_ref());
        return Some(Command::new(format!("sudo cryptbench run --existing {device} {options}")));
    }
    // The location of a profile's file is unknown, as is the content of a user's location.
    if !target.is_directory() || target.paired.is_some() || record.plan.profile != "quick" {
        return None;
    }
    let mut before = "cryptbench run".to_owned();
    if let Some(emulated) = &target.emulated {
        before += &format!(" --emulate {}", quoted(&emulated.model));
    }
    let directory = target.emulated.is_none().then(|| PathBuf::from(&target.directory));
    let mut after = systems(&record.plan, arms);
    after.push(options.to_owned());
    Some(Command { before, directory, after: after.join(" "), takes_run: false })
}

fn systems(plan: &Plan, arms: &[&Arm]) -> Vec<String> {
    match plan.arm_set() {
        Some(BUILTIN_ONLY) if arms.is_empty() => return vec!["--builtin-only".to_owned()],
        // The program would choose the same arms again.
        Some(_) if arms.is_empty() && plan.set.is_some() => {
            let is_split = plan.arms.iter().any(|arm| arm.role == ArmRole::NullLayer);
            return is_split.then(|| "--split".to_owned()).into_iter().collect();
        }
        _ => {}
    }
    let encrypted = || plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted);
    let among = |arm: &&Arm| arms.is_empty() || arms.iter().any(|wanted| wanted.id == arm.id);
    let distinct = |of: &dyn Fn(&Arm) -> Option<String>| {
        let mut found: Vec<String> = Vec::new();
        for value in encrypted().filter(among).filter_map(of) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    };
    let systems = distinct(&|arm| Some(arm.system.clone()));
    let only_builtin = encrypted().all(|arm| arm.system == BUILTIN.name);
    let mut words = Vec::new();
    if !only_builtin {
        words.push(match systems.len() > MOST_SYSTEMS {
            true => "--systems all".to_owned(),
            false => format!("--systems {}", quoted(&systems.join(","))),
        });
    }
    let ours =
        |arm: &Arm| arm.cipher.clone().filter(|_| encrypts(&arm.system) == Some(Encrypts::Own));
    let ciphers = distinct(&ours);
    if ciphers.iter().any(|cipher| cipher != "aes-256-xts") {
        words.push(format!("--cipher {}", quoted(&ciphers.join(","))));
    }
    words
}
