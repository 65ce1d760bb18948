//! `cryptbench run`.

pub mod args;
mod like;
#[cfg(test)]
mod options_page;
pub mod short_help;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cryptbench_answer::command::budget_for_all;
use cryptbench_answer::{Labelled, Report};
use cryptbench_catalog::BUILTIN;
use cryptbench_devices::Model;
use cryptbench_load::Profile;
use cryptbench_record::{ArmRole, Event, InRam, Record, Sink as _, printable_record};
use cryptbench_runner::{
    Consent, EmulateRequest, InUse, PairRequest, Request, RunError, TargetRequest, UnlockSelection,
    only_reads,
};
use cryptbench_system::Selection;
use cryptbench_system::resource::{Cleaned, cleanup};
use cryptbench_text::{chain, quoted_path, shown};
use cryptbench_view::terminal::answer::brief;

use crate::exit;
use crate::output::{Output, Saved, Whole};
use crate::progress::Progress;
use crate::report::answer;
use crate::run::args::RunArgs;
use crate::run_log::{self, Logged, Resumed};
use crate::say::{message, print, print_json, print_styled, stdout_is_terminal, terminal_style};
use crate::signal::Signal;

pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    // The signal handler is installed before anything else: from here on, a signal ends the run cleanly.
    let signal = Signal::watch()?;
    if let Some(directory) = &args.result.resume {
        let output = Output::resume(directory)?;
        let Resumed { args, earlier } = run_log::resume(directory, args)?;
        let mut request = request(&args)?;
        request.resume = Some(Box::new(earlier));
        return Ok(measure_into(&args, &request, &output, &signal, (true, None))?.code);
    }
    if let Some(directory) = &args.result.fleet {
        return crate::fleet::machine::run(args, directory, &signal);
    }
    if let Some(study) = args.what.study {
        return crate::study::run(args, study.into(), &signal);
    }
    if args.result.dry_run {
        return crate::dry_run::show(&request(args)?, args.shown.json);
    }
    // The earlier record is read before the run, which may write to the same location.
    let like = args.what.like.as_deref();
    let first = like.map(cryptbench_record::read).transpose()?;
    let measured = measure(args, &signal, true)?;
    if let (Some(path), Some(first), false) = (like, first, args.shown.json) {
        let width = terminal_style(false).width;
        let beside = crate::compare::beside(&first, &measured.record, width);
        print(&format!("\nA is {}; B is this run.\n\n{beside}", shown(path)));
    }
    Ok(measured.code)
}

/// A finished run, complete or not.
pub struct Measured {
    pub record: Record,
    pub saved: Saved,
    pub code: ExitCode,
    /// Whether it completed.
    pub whole: bool,
    /// Whether the budget was used up before any comparison was made.
    pub unmeasured: bool,
}

/// Measures and saves the requested run, and prints the results if `shown` is set. An error after the first trials is
/// returned after the record has been saved.
pub fn measure(args: &RunArgs, signal: &Signal, shown: bool) -> anyhow::Result<Measured> {
    measure_with(args, signal, shown, None)
}

/// Like [`measure`], with the results of earlier measurements in RAM, which are stored in the record.
pub fn measure_with(
    args: &RunArgs,
    signal: &Signal,
    shown: bool,
    in_ram: Option<InRam>,
) -> anyhow::Result<Measured> {
    let request = request(args)?;
    let output = Output::prepare(args.result.output.as_deref())?;
    measure_into(args, &request, &output, signal, (shown, in_ram))
}

pub fn measure_into(
    args: &RunArgs,
    request: &Request,
    output: &Output,
    signal: &Signal,
    (is_shown, in_ram): (bool, Option<InRam>),
) -> anyhow::Result<Measured> {
    for done in cleanup() {
        match done {
            Cleaned::Removed(path) => {
                message(&format!("removed {}, left by a killed run", shown(&path)));
            }
            Cleaned::Failed(path, why) => {
                let path = shown(&path);
                message(&format!("cannot remove {path}, left by a killed run: {why}"));
            }
            Cleaned::NotOurs(_) => {}
        }
    }
    let mut progress = Progress::new(args.shown.progress, args.shown.quiet);
    let mut logged = Logged::new(&mut progress, output);
    let result =
        cryptbench_runner::run(request, env!("CARGO_PKG_VERSION"), &signal.stop, &mut logged);
    progress.end();
    let (record, error) = result?;
    // The names are made printable, as they are when `cryptbench report` reads a record: profiles and directories may
    // come from another person.
    let mut record = printable_record(record);
    record.in_ram = in_ram;
    record.node = output.node().cloned();
    let labelled = Labelled::of(&record);
    let report = labelled.report();
    let saved = output.save(&Whole::of(&report));
    if let Saved::In(directory) | Saved::Elsewhere(directory, _) = &saved {
        progress.take(&Event::Saved { directory: directory.to_string_lossy().into_owned() });
    }
    if let Saved::Elsewhere(_, why) | Saved::Nowhere(why) = &saved {
        message(&chain(why.as_ref()));
    }
    if is_shown {
        show(args, &report, &saved)?;
    }
    if let Some(error) = error {
        return Err(RunError::into(error));
    }
    let code = match signal.number() {
        _ if !matches!(saved, Saved::In(_)) => Some(exit::FAILURE),
        Some(number) => {
            message("stopped by a signal; the record is marked partial");
            Some(exit::SIGNAL + number)
        }
        None if nothing_compared(&record) => {
            let arms = record.plan.arms.len();
            let budget = record.plan.budget_s;
            let more = budget_for_all(&record).unwrap_or_else(|| "a larger --budget".to_owned());
            message(&format!(
                "nothing was compared: {budget:.0} s is not enough for one pair of trials of each of the {arms} \
                 choices; use {more} or fewer systems"
            ));
            Some(exit::UNMEASURED)
        }
        None => None,
    };
    let (whole, unmeasured) = (code.is_none(), code == Some(exit::UNMEASURED));
    let code = code.map_or(ExitCode::SUCCESS, ExitCode::from);
    Ok(Measured { record, saved, code, whole, unmeasured })
}

/// Whether no arm except plain storage has a measured trial.
fn nothing_compared(record: &Record) -> bool {
    let plain = record.plan.arms.iter().find(|arm| arm.role == ArmRole::Plain).map(|arm| &arm.id);
    let others = record.plan.arms.iter().any(|arm| Some(&arm.id) != plain);
    others && !record.trials.iter().any(|t| t.block.is_some() && Some(&t.arm) != plain)
}

pub fn request(args: &RunArgs) -> anyhow::Result<Request> {
    match &args.what.like {
        Some(path) => like::request(args, path),
        None => of_arguments(args),
    }
}

fn of_arguments(args: &RunArgs) -> anyhow::Result<Request> {
    let mut profile = profile(&args.what.profile)?;
    if let Some(pause) = args.how.pause {
        (profile.pause_s, profile.round_pause_s) = (pause.as_secs_f64(), pause.as_secs_f64());
    }
    if let Some(bytes) = args.what.max_file {
        profile.max_file(bytes)?;
    }
    let (path, pair) = match &args.place.existing {
        Some(asked) => {
            profile = only_reads(profile, "--existing")?;
            let found = InUse::find(asked.as_deref())?;
            (found.below.clone(), vec![in_use(found)])
        }
        None => {
            if args.place.read_only {
                profile = only_reads(profile, "--read-only")?;
            }
            (args.place.pair.first().unwrap_or(&args.place.target).clone(), places(args)?)
        }
    };
    Ok(Request {
        target: TargetRequest {
            path,
            consent: Consent {
                destroy: args.consent.destroy.clone(),
                erase: args.consent.yes_erase.clone(),
            },
            only_read: args.place.read_only,
            pair,
            emulate: emulate(args)?,
            size: args.how.size,
            device_kind: args.place.device_kind,
            buffered: (args.how.buffered || args.how.direct).then_some(args.how.buffered),
        },
        profile,
        selection: selection(args)?,
        unlock: UnlockSelection {
            prfs: args.what.prf.clone(),
            pims: args.what.pim.clone(),
            formats: args.what.volume_format.clone(),
        },
        budget: args.how.budget,
        trials: args.how.trials,
        trial: args.how.trial,
        seed: args.how.seed,
        precision: args.how.precision,
        max_pairs: args.how.max_pairs,
        engine: args.how.engine.into(),
        slices: !args.how.no_slices,
        why: !args.how.no_why,
        verify: args.how.verify,
        precondition: args.how.precondition,
        like: None,
        resume: None,
    })
}

fn in_use(found: InUse) -> PairRequest {
    let (encrypted, name) = (found.mapped.clone(), Some(found.label()));
    PairRequest { encrypted, name, id: None, in_use: Some(found) }
}

/// The encrypted locations. A single location without a name keeps the label that earlier versions gave it, so that its
/// history continues.
fn places(args: &RunArgs) -> anyhow::Result<Vec<PairRequest>> {
    let refuse = |problem: String| Err(RunError::Usage(problem).into());
    let encrypted = args.place.pair.get(1..).unwrap_or_default();
    if args.place.pair_name.is_some() && encrypted.len() > 1 {
        return refuse(
            "--pair-name names only one location, but --pair has several: name each one as NAME=PATH"
                .to_owned(),
        );
    }
    let mut found: Vec<PairRequest> = Vec::new();
    for given in encrypted {
        let (name, path) = match named_place(given) {
            Some((name, _)) if name.trim().is_empty() => {
                return refuse(format!("{}: the name before = is missing", shown(given)));
            }
            Some((name, path)) => (Some(name), path),
            None => (None, given.clone()),
        };
        let is_one_of_many = encrypted.len() > 1 || name.is_some();
        let id = is_one_of_many.then(|| name.clone().unwrap_or_else(|| shown(&path)));
        if let Some(id) =
            id.as_ref().filter(|id| found.iter().any(|other| other.id.as_ref() == Some(id)))
        {
            return refuse(format!("two locations are named {id:?}; give each its own name"));
        }
        found.push(PairRequest {
            encrypted: path,
            name: name.or_else(|| args.place.pair_name.clone()),
            id,
            in_use: None,
        });
    }
    Ok(found)
}

/// Splits `NAME=PATH` into name and path. If a file with the whole text as its name exists, the text is a path.
fn named_place(given: &Path) -> Option<(String, PathBuf)> {
    let (name, path) = cryptbench_os::split_once(given.as_os_str(), b'=')?;
    let name = name.into_string().ok()?;
    let is_name = !name.contains('/') && std::fs::symlink_metadata(given).is_err();
    is_name.then(|| (name, path.into()))
}

fn emulate(args: &RunArgs) -> anyhow::Result<Option<EmulateRequest>> {
    let Some(name) = &args.place.emulate else { return Ok(None) };
    let model = Model::named_or_file(name).map_err(|e| RunError::Usage(chain(&e)))?;
    Ok(Some(EmulateRequest { model, backing: args.place.emulate_backing.clone() }))
}

fn selection(args: &RunArgs) -> anyhow::Result<Selection> {
    let mut selection = Selection {
        systems: match args.what.builtin_only {
            true => vec![BUILTIN.name.to_owned()],
            false => args.what.system.clone(),
        },
        ciphers: args.what.cipher.clone(),
        data_units: args.what.data_unit.clone(),
        split: args.what.split,
        ..Selection::default()
    };
    for (name, values) in &args.what.set {
        selection.settings.entry(name.clone()).or_default().extend(values.iter().cloned());
    }
    cryptbench_system::sweep(&mut selection, args.what.sweep.iter().map(String::as_str))?;
    if !args.what.sweep.is_empty() && selection.is_open() {
        // If no system is chosen, a sweep measures only the built-in engine. Without a selection, all of the engine's
        // sector sizes would be measured.
        selection.systems.push(BUILTIN.name.to_owned());
    }
    Ok(selection)
}

/// A built-in profile by name, or a file: names contain neither slashes nor dots.
fn profile(path: &Path) -> anyhow::Result<Profile> {
    Ok(match path.to_str().filter(|text| !text.contains(['/', '.'])) {
        Some(name) => Profile::named(Profile::meant(name)?)?,
        None => Profile::from_file(path)?,
    })
}

fn show(args: &RunArgs, report: &Report<'_>, saved: &Saved) -> anyhow::Result<()> {
    if args.shown.json {
        return print_json(&report.document());
    }
    let style = terminal_style(stdout_is_terminal());
    let text = match (args.shown.quiet, saved) {
        (true, Saved::In(_) | Saved::Nowhere(_)) => brief(report, style),
        (_, Saved::In(directory) | Saved::Elsewhere(directory, _)) => {
            // With neither of these options, the run is the newest in the user's directory of runs.
            let named = match (args.result.output.is_none() && args.result.resume.is_none(), saved)
            {
                (true, Saved::In(_)) => "last".to_owned(),
                _ => quoted_path(directory),
            };
            let page = directory.join("report.html");
            answer(report, &named, (Some(&page), Some(directory)), style)
        }
        (false, Saved::Nowhere(_)) => answer(report, "RECORD", (None, None), style),
    };
    print_styled(&text, style);
    if let Saved::Nowhere(_) = saved {
        message(
            "the record could not be written anywhere, so it is printed here; save it to a file for cryptbench report",
        );
        print_json(&report.document())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_trial_beside_plain_has_compared_nothing() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
        let mut record = cryptbench_record::read(&fixture).unwrap();
        assert!(!nothing_compared(&record));
        let all = std::mem::take(&mut record.trials);
        assert!(nothing_compared(&record));
        // Discarded trials compare nothing, and neither do trials of only plain storage.
        record.trials = all.iter().filter(|t| t.block.is_none()).cloned().collect();
        assert!(!record.trials.is_empty() && nothing_compared(&record));
        record.trials = all.into_iter().filter(|t| t.arm == "plain").collect();
        assert!(!record.trials.is_empty() && nothing_compared(&record));
        record.plan.arms.truncate(1);
        assert!(!nothing_compared(&record), "there was nothing to compare with");
    }
}
