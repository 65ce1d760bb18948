//! `cryptbench run --like RECORD`: a request to repeat the measurements of a record.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_devices::Model;
use cryptbench_load::Profile;
use cryptbench_record::{Record, Target};
use cryptbench_runner::Request;

use super::args::RunArgs;
use super::of_arguments;
use crate::exit::Refusal;

/// The default profile, which is replaced by the record's profile.
const USUAL: &str = "quick";

pub(super) fn request(args: &RunArgs, path: &Path) -> anyhow::Result<Request> {
    let record = cryptbench_record::read(path)?;
    let plan = &record.plan;
    let mut asked = args.clone();
    if asked.what.profile == Path::new(USUAL) {
        if Profile::named(&plan.profile).is_err() {
            let reason =
                "its profile is not one of `cryptbench profiles`; specify its file with --profile";
            return Err(Refusal::input(path, reason).into());
        }
        asked.what.profile = PathBuf::from(&plan.profile);
    }
    complete(&mut asked, &record, path)?;
    let mut request = of_arguments(&asked)?;
    request.profile.workloads.retain(|own| plan.workloads.iter().any(|w| w.id == own.id));
    if request.profile.workloads.is_empty() {
        let reason = "the profile contains none of its workloads; specify the profile of that run with --profile";
        return Err(Refusal::input(path, reason).into());
    }
    (request.profile.pause_s, request.profile.round_pause_s) = match args.how.pause {
        Some(pause) => (pause.as_secs_f64(), pause.as_secs_f64()),
        None => (plan.pause_s, plan.round_pause_s),
    };
    request.like = Some(Box::new(record.plan));
    Ok(request)
}

/// Completes the request from the record.
fn complete(asked: &mut RunArgs, record: &Record, path: &Path) -> anyhow::Result<()> {
    let plan = &record.plan;
    let how = &mut asked.how;
    let seconds = |s: f64| (s > 0.0).then(|| Duration::from_secs_f64(s.min(1e6)));
    let has_trials = plan.min_pairs == plan.max_pairs;
    if has_trials {
        how.trials = how.trials.or(Some(plan.max_pairs).filter(|trials| *trials > 0));
    } else {
        how.max_pairs = plan.max_pairs.max(1);
    }
    how.budget = how.budget.or(seconds(plan.budget_s));
    if plan.workloads.iter().any(cryptbench_record::Workload::is_timed) {
        how.trial = how.trial.or(seconds(plan.trial_s));
    }
    how.seed = how.seed.or(Some(plan.seed));
    how.no_slices |= plan.slice_s.is_none();
    let Target { scratch, engine, emulated, .. } = &record.target;
    if record.target.is_directory() {
        how.size = how.size.or(Some(scratch.size_bytes).filter(|size| *size > 0));
    }
    how.buffered |= !engine.direct && !how.direct;
    // An emulated device can be emulated again only by its name, because a record does not contain the model's
    // file.
    let is_elsewhere = asked.place.target != Path::new(".") || !asked.place.pair.is_empty();
    if let (Some(emulated), None, false) = (emulated, &asked.place.emulate, is_elsewhere) {
        asked.place.emulate =
            Model::names().find(|name| *name == emulated.model).map(PathBuf::from);
        if asked.place.emulate.is_none() {
            let reason = "its emulated device is not a built-in model; specify the model file with --emulate";
            return Err(Refusal::input(path, reason).into());
        }
    }
    Ok(())
}
