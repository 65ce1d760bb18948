//! Predicts what a run would do, without doing it.

use std::collections::BTreeMap;
use std::path::Path;

use cryptbench_devices::Operation;
use cryptbench_devices::sweep::{Load, seconds_per_request};
use cryptbench_load::{Assumptions, Forecast, Profile, Rates, WorkloadSpec};
use cryptbench_record::{self as record, ArmRole};
use cryptbench_system::ArmSpec;
use cryptbench_text::{human, shown};

use crate::decide::arms::makes_a_disk;
use crate::decide::limits::short_budget;
use crate::decide::sizes::containers;
use crate::decide::storage::{EmulatedStorage, Present, Range, Storage, Target, Targets};
use crate::decide::{Plan, decide};
use crate::disk_rates::rates_of;
use crate::look::{Facts, look};
use crate::verify::traffic;
use crate::wear::wear;
use crate::{DiskRates, Request, RunError};

/// The prediction of a run.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// The planned measurements.
    pub plan: record::Plan,
    /// Directory in which files would be created, or the storage that would be overwritten.
    pub directory: String,
    /// File system and device, in words.
    pub storage: String,
    /// The file system, or the kind of storage that would be overwritten.
    pub filesystem: String,
    /// Whether a model is used instead of a disk.
    pub is_emulated: bool,
    /// The kind of the target, other than a file system on a disk.
    pub place: Vec<record::PlaceKind>,
    /// The kind of its device; absent if it is emulated.
    pub device_kind: Option<record::KindOfDevice>,
    /// What that device reports about self-encryption, if anything.
    pub self_encrypting: Option<String>,
    /// Alignment of direct requests in bytes; 1 if it is unknown.
    pub sector: u64,
    /// The disk that is written, if it is known.
    pub disk: Option<record::Device>,
    /// Directory and storage of each target that the user encrypted.
    pub paired: Vec<(String, String)>,
    /// Bytes of the scratch file, and the reason for that size.
    pub scratch: (u64, String),
    /// The amount that would be written and read, and the duration; an upper limit if the run ends on precision.
    pub forecast: Forecast,
    /// The rates of this disk from an earlier run, if there are any. The forecast is then based on them.
    pub measured: Option<DiskRates>,
    /// Remarks of the profile.
    pub remarks: Vec<String>,
}

/// Examines the machine and plans as a run of `request` would, without creating anything. `runs` contains earlier
/// records.
///
/// # Errors
/// The errors with which a run of `request` would be refused.
pub fn dry_run(request: &Request, runs: Option<&Path>) -> Result<DryRun, RunError> {
    dry_run_on(request, &look(request), runs)
}

/// Plans a run of `request` with these facts.
///
/// # Errors
/// As [`dry_run`].
pub fn dry_run_on(
    request: &Request,
    facts: &Facts,
    runs: Option<&Path>,
) -> Result<DryRun, RunError> {
    let plan = decide(request, facts)?;
    Ok(of(&plan, request, runs))
}

fn of(plan: &Plan, request: &Request, runs: Option<&Path>) -> DryRun {
    match &plan.storage {
        Storage::Present(present) => on_present(plan, present, request, runs),
        Storage::Emulated(storage) => on_emulated(plan, storage, request),
    }
}

/// The warning before a run that writes a large amount. A resumed run has already given it.
pub(crate) fn wear_of(plan: &Plan, request: &Request) -> Option<String> {
    if plan.earlier.is_some() {
        return None;
    }
    wear(&[of(plan, request, None)])
}

fn on_present(plan: &Plan, present: &Present, request: &Request, runs: Option<&Path>) -> DryRun {
    let Targets { plain, encrypted, .. } = &present.targets;
    let is_only_read = present.targets.are_only_read();
    let Range { size, reason } = match &present.range {
        Some(range) => range.clone(),
        None => Range { size: 0, reason: "none: volumes are opened".to_owned() },
    };
    let arms = plan.arms.systems();
    let own = own_files(arms);
    let device = plain.device().filter(|_| plain.is_directory());
    let measured = runs.and_then(|runs| rates_of(device?, runs));
    // A mounted system fills its container and the file in it. Each target of a pair is filled.
    let fills = match is_only_read {
        true => 0,
        false => 1 + 2 * own + encrypted.len() as u32,
    };
    let rates = rates(measured.as_ref());
    let profile = Profile { workloads: plan.workloads.clone(), ..request.profile.clone() };
    let mut forecast = forecast(&profile, &plan.recorded, size, fills, rates);
    if plain.is_directory() {
        let more = encrypted.iter().filter(|target| target.is_directory()).count();
        let files = size * (1 + more as u64);
        let containers = containers(arms, size + plan.file_space(), plain.free());
        forecast.scratch_bytes = forecast.scratch_bytes.saturating_add(files + containers);
    }
    let mut remarks = present.targets.notes(size);
    remarks.extend(short_budget(&plan.recorded));
    remarks.extend(plan.remarks.iter().cloned());
    let described = |target: &Target| (shown(&target.path), target.in_words());
    let (directory, storage) = described(plain);
    DryRun {
        directory,
        storage,
        filesystem: match plain.is_directory() {
            true => plain.ground.filesystem.clone(),
            false => plain.kind().to_owned(),
        },
        is_emulated: false,
        place: plain.ground.kinds.clone(),
        device_kind: plain.ground.device_kind.clone(),
        self_encrypting: plain.ground.self_encrypting.clone(),
        sector: plan.storage.sector(),
        disk: plain.device().cloned(),
        paired: encrypted.iter().map(described).collect(),
        forecast: match is_only_read {
            true => within_budget(forecast, plan.recorded.budget_s),
            false => in_all(forecast, &plan.recorded, own, size),
        },
        scratch: (size, reason),
        plan: plan.recorded.clone(),
        measured,
        remarks,
    }
}

/// The forecast for an emulated device, whose model determines its speed.
fn on_emulated(plan: &Plan, storage: &EmulatedStorage, request: &Request) -> DryRun {
    let EmulatedStorage { emulate, size, range, .. } = storage;
    let model = &emulate.model;
    let own = own_files(plan.arms.systems());
    let rate = |operation| {
        let load = Load::atto(operation, 1 << 20);
        f64::from(1u32 << 20) / seconds_per_request(model, &load)
    };
    let (read, write) = (rate(Operation::Read), rate(Operation::Write));
    let rates = Rates { read, write, ..Rates::default() };
    let profile = Profile { workloads: plan.workloads.clone(), ..request.profile.clone() };
    let mut forecast = forecast(&profile, &plan.recorded, range.size, 1 + 2 * own, rates);
    forecast.scratch_bytes = *size;
    DryRun {
        directory: "a separate mount".to_owned(),
        storage: format!(
            "EMULATED {} (parameters {}), {}; {} in {}",
            model.name,
            model.hash(),
            model.about,
            human(*size),
            storage.backing_in_words()
        ),
        filesystem: String::new(),
        is_emulated: true,
        place: Vec::new(),
        device_kind: None,
        self_encrypting: None,
        sector: 1,
        disk: None,
        paired: Vec::new(),
        forecast: in_all(forecast, &plan.recorded, own, range.size),
        scratch: (range.size, range.reason.clone()),
        plan: plan.recorded.clone(),
        measured: None,
        remarks: short_budget(&plan.recorded).into_iter().chain(plan.remarks.clone()).collect(),
    }
}

/// Number of arms that store their data in their own files.
fn own_files(arms: &[ArmSpec]) -> u32 {
    arms.iter().filter(|arm| makes_a_disk(arm)).count() as u32
}

/// The data that a run transfers within its budget and after it.
fn in_all(forecast: Forecast, plan: &record::Plan, own: u32, scratch: u64) -> Forecast {
    with_evidence(within_budget(forecast, plan.budget_s), plan, own, scratch)
}

/// The sum over all workloads, each on the arms that take part in it. `scratch_bytes` of the result
/// does not include the scratch file.
fn forecast(
    profile: &Profile,
    plan: &record::Plan,
    scratch: u64,
    fills: u32,
    rates: Rates,
) -> Forecast {
    let mut groups: BTreeMap<u32, Vec<WorkloadSpec>> = BTreeMap::new();
    for (spec, recorded) in profile.workloads.iter().zip(&plan.workloads) {
        let arms = plan.arms.iter().filter(|arm| plan.includes(recorded, arm)).count() as u32;
        groups.entry(arms).or_default().push(spec.clone());
    }
    let filled = scratch * u64::from(fills);
    let mut sum = Forecast {
        trials: 0,
        bytes_written: filled,
        bytes_read: 0,
        seconds: filled as f64 / rates.write
            + profile.round_pause_s * f64::from(plan.max_pairs.saturating_sub(1)),
        scratch_bytes: 0,
    };
    for (arms, workloads) in groups {
        let group = Profile { workloads, round_pause_s: 0.0, ..profile.clone() };
        let part = group.forecast(&Assumptions {
            arms,
            pairs: plan.max_pairs,
            trial_s: plan.trial_s,
            scratch_bytes: 0,
            fills: 0,
            ramp_s: plan.ramp_s,
            rates,
        });
        sum.trials += part.trials;
        sum.bytes_written = sum.bytes_written.saturating_add(part.bytes_written);
        sum.bytes_read = sum.bytes_read.saturating_add(part.bytes_read);
        sum.seconds += part.seconds;
        sum.scratch_bytes = sum.scratch_bytes.saturating_add(part.scratch_bytes);
    }
    sum
}

/// The rates that an earlier run measured, or assumed ones.
fn rates(measured: Option<&DiskRates>) -> Rates {
    let assumed = Rates::default();
    let of = |rate: Option<f64>, or: f64| rate.map_or(or, |mb| mb * 1e6);
    Rates {
        read: of(measured.and_then(|m| m.read_mb_s), assumed.read),
        write: of(measured.and_then(|m| m.write_mb_s), assumed.write),
        ..assumed
    }
}

/// Adds the data transferred by checks of the arms' data, which follow the trials and are not part of the budget.
fn with_evidence(forecast: Forecast, plan: &record::Plan, own: u32, scratch: u64) -> Forecast {
    if scratch == 0 {
        return forecast;
    }
    let looked_at = plan.arms.iter().filter(|arm| arm.role != ArmRole::Plain).count() as u64;
    let (written, read) = traffic(looked_at, own.into(), scratch);
    Forecast {
        bytes_written: forecast.bytes_written.saturating_add(written),
        bytes_read: forecast.bytes_read.saturating_add(read),
        ..forecast
    }
}

/// A run ends when its budget is used up: scales the bytes that it transfers to that time.
fn within_budget(forecast: Forecast, budget_s: f64) -> Forecast {
    if forecast.seconds <= budget_s {
        return forecast;
    }
    let part = budget_s / forecast.seconds;
    let share = |n: u64| (n as f64 * part) as u64;
    Forecast {
        trials: share(forecast.trials),
        bytes_written: share(forecast.bytes_written),
        bytes_read: share(forecast.bytes_read),
        seconds: budget_s,
        ..forecast
    }
}
