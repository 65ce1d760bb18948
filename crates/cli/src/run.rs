//! `cryptbench run`.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use cryptbench_load::Profile;
use cryptbench_record::Record;
use cryptbench_runner::unlock::UnlockSelection;
use cryptbench_runner::{Consent, PairRequest, Request, RunError, TargetRequest};
use cryptbench_system::Selection;
use cryptbench_system::provision::{Cleaned, cleanup};

use crate::args::RunArgs;
use crate::exit;
use crate::output::{Output, Saved};
use crate::progress::Progress;
use crate::report::{print_json, terminal_style};
use crate::signal::Signal;

pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    // Armed before the first act: from here on a signal ends the run in good order.
    let signal = Signal::watch()?;
    let request = request(args)?;
    if args.dry_run {
        return crate::dry_run::show(&request);
    }
    for done in cleanup() {
        match done {
            Cleaned::Removed(path) => {
                eprintln!("cryptbench: removed {}, left by a killed run", path.display());
            }
            Cleaned::Failed(path, why) => eprintln!(
                "cryptbench: cannot remove {}, left by a killed run: {why}",
                path.display()
            ),
            Cleaned::NotOurs(_) => {}
        }
    }
    let output = Output::prepare(args.output.as_deref())?;
    let mut progress = Progress::new(args.quiet);
    let result =
        cryptbench_runner::run(&request, env!("CARGO_PKG_VERSION"), &signal.stop, &mut progress);
    drop(progress);
    let (mut record, error) = result?;
    record.results = Some(cryptbench_report::analyse(&record));
    let saved = output.save(&record);
    if let Saved::Elsewhere(_, why) | Saved::Nowhere(why) = &saved {
        eprintln!("cryptbench: {why:#}");
    }
    show(args, &record, &saved)?;
    if let Some(error) = error {
        return Err(RunError::into(error));
    }
    if !matches!(saved, Saved::In(_)) {
        return Ok(ExitCode::from(exit::FAILURE));
    }
    Ok(match signal.number() {
        Some(number) => {
            eprintln!("cryptbench: ended by a signal; the record is marked partial");
            ExitCode::from(exit::SIGNAL + number)
        }
        None => ExitCode::SUCCESS,
    })
}

fn request(args: &RunArgs) -> anyhow::Result<Request> {
    if args.pair.len() > 2 {
        let problem = "--pair is given more than once: a run compares two places".to_owned();
        return Err(RunError::Request(problem).into());
    }
    let mut profile = profile(&args.profile)?;
    if let Some(pause) = args.pause {
        (profile.pause_s, profile.round_pause_s) = (pause.as_secs_f64(), pause.as_secs_f64());
    }
    if let Some(bytes) = args.max_file {
        profile.max_file(bytes)?;
    }
    Ok(Request {
        target: TargetRequest {
            path: args.pair.first().unwrap_or(&args.target).clone(),
            consent: Consent { destroy: args.destroy.clone(), erase: args.yes_erase.clone() },
            pair: args
                .pair
                .get(1)
                .map(|path| PairRequest { encrypted: path.clone(), name: args.pair_name.clone() }),
            size: args.size,
            buffered: (args.buffered || args.direct).then_some(args.buffered),
        },
        profile,
        selection: selection(args)?,
        unlock: UnlockSelection {
            prfs: args.prf.clone(),
            pims: args.pim.clone(),
            formats: args.volume_format.clone(),
        },
        budget: args.budget,
        trials: args.trials,
        trial: args.trial,
        seed: args.seed,
        precision: args.precision,
        max_pairs: args.max_pairs,
        engine: args.engine.into(),
        verify: args.verify,
        precondition: args.precondition,
    })
}

fn selection(args: &RunArgs) -> anyhow::Result<Selection> {
    let mut selection = Selection {
        systems: args.system.clone(),
        ciphers: args.cipher.clone(),
        data_units: args.data_unit.clone(),
        ..Selection::default()
    };
    for (name, values) in &args.set {
        selection.settings.entry(name.clone()).or_default().extend(values.iter().cloned());
    }
    for name in &args.sweep {
        cryptbench_system::sweep(&mut selection, name)?;
    }
    Ok(selection)
}

/// A built-in profile by name, or a file: a name has no slash and no dot.
fn profile(text: &str) -> anyhow::Result<Profile> {
    let is_name = !text.contains(['/', '.']);
    Ok(if is_name { Profile::named(text)? } else { Profile::from_file(Path::new(text))? })
}

fn show(args: &RunArgs, record: &Record, saved: &Saved) -> anyhow::Result<()> {
    let results = record.results.as_ref().expect("just derived");
    if args.json {
        return print_json(record);
    }
    let mut out = std::io::stdout().lock();
    let style = terminal_style(out.is_terminal());
    let text = match args.quiet {
        true => cryptbench_report::terminal::summary(record, results, style),
        false => cryptbench_report::terminal::render(record, results, style),
    };
    let end = match saved {
        Saved::In(_) if args.quiet => String::new(),
        Saved::In(directory) | Saved::Elsewhere(directory, _) => {
            format!("\nrecord  {0}/record.json\nreport  {0}/report.html\n", directory.display())
        }
        Saved::Nowhere(_) => String::new(),
    };
    // A closed pipe (head, less) is the reader's choice, not an error.
    let _ = write!(out, "{text}{end}");
    drop(out);
    if let Saved::Nowhere(_) = saved {
        eprintln!(
            "cryptbench: the record could be written nowhere; here it is, for cryptbench report"
        );
        print_json(record)?;
    }
    Ok(())
}
