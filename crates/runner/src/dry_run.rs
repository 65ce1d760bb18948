//! What a run would do, without doing it.

use std::path::Path;

use cryptbench_load::{Assumptions, Forecast, Rates};
use cryptbench_record::Plan;
use cryptbench_system::{Attachment, find};

use crate::plan::{Arms, resolve};
use crate::speed::{DiskRates, disk_rates};
use crate::target::Site;
use crate::{Request, RunError};

/// What a run would do.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// What would be measured.
    pub plan: Plan,
    /// Directory in which files would be made.
    pub directory: String,
    /// File system and device, in words.
    pub storage: String,
    /// Bytes of the scratch file, and why.
    pub scratch: (u64, String),
    /// What it would write, read and take. Where the precision decides, at most this.
    pub forecast: Forecast,
    /// What an earlier run measured of this disk, which the forecast then rests on.
    pub measured: Option<DiskRates>,
    /// Remarks of the profile.
    pub remarks: Vec<String>,
}

/// Resolves `request` and looks at the target; nothing is created. `runs` holds earlier records.
///
/// # Errors
/// As a run of `request` would be refused.
pub fn dry_run(request: &Request, runs: Option<&Path>) -> Result<DryRun, RunError> {
    let resolved = resolve(request)?;
    let site = Site::inspect(&request.target.path, "none")?;
    let scratch = match resolved.arms {
        Arms::Systems(_) => site.scratch_size(request, &resolved.workloads)?,
        Arms::Volumes(_) => (0, "none: volumes are opened".to_owned()),
    };
    let measured = runs.and_then(|runs| disk_rates(&site.directory, runs));
    let own = match &resolved.arms {
        Arms::Systems(arms) => arms
            .iter()
            .filter(|arm| find(arm.system).is_ok_and(|s| s.attachment() == Attachment::Mounted))
            .count() as u32,
        Arms::Volumes(_) => 0,
    };
    let plan = resolved.plan;
    let forecast = request.profile.forecast(&Assumptions {
        arms: plan.arms.len() as u32,
        pairs: plan.max_pairs,
        trial_s: plan.trial_s,
        scratch_bytes: scratch.0,
        // A mounted system fills its container and the file in it.
        fills: 1 + 2 * own,
        ramp_s: plan.ramp_s,
        rates: rates(measured.as_ref()),
    });
    Ok(DryRun {
        directory: site.directory.display().to_string(),
        storage: format!("{} on {}", site.filesystem, site.source),
        scratch,
        forecast: within_budget(forecast, plan.budget_s),
        plan,
        measured,
        remarks: request.profile.remarks.clone(),
    })
}

/// The speeds that an earlier run measured, or those that are assumed.
fn rates(measured: Option<&DiskRates>) -> Rates {
    let assumed = Rates::default();
    let of = |rate: Option<f64>, or: f64| rate.map_or(or, |mb| mb * 1e6);
    Rates {
        read: of(measured.and_then(|m| m.read_mb_s), assumed.read),
        write: of(measured.and_then(|m| m.write_mb_s), assumed.write),
        ..assumed
    }
}

/// A run ends with its budget: what it moves by then is its share of what it would have moved.
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
