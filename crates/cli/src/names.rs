//! Translates names that users type into the program's names. Systems and ciphers can be typed in upper or lower case,
//! by title, or by a part of the name.

use std::path::Path;

use cryptbench_answer::names::Names;
use cryptbench_record::Record;
use cryptbench_text::names::{Named, keys, named as find};

use crate::args::Command;
use crate::exit::Refusal;
use crate::run::args::RunArgs;

/// Lists all names of one kind that are unknown or ambiguous.
pub fn named(command: &mut Command) -> anyhow::Result<()> {
    match command {
        Command::Run(args) => of_run(args),
        Command::Ciphers(args) => measured(&mut args.cipher),
        Command::Predict(args) => measured(&mut args.cipher),
        _ => Ok(()),
    }
}

/// Like [`named`], for the arguments of a run.
pub fn of_run(args: &mut RunArgs) -> anyhow::Result<()> {
    args.what.system = cryptbench_system::meant(&args.what.system)?;
    args.what.cipher = cryptbench_system::meant_ciphers(&args.what.cipher)?;
    args.what.set = cryptbench_system::meant_settings(&args.what.system, &args.what.set)?;
    args.what.sweep = cryptbench_system::meant_sweeps(&args.what.system, &args.what.sweep)?;
    Ok(())
}

/// Replaces the names of ciphers to measure in RAM, among which historical ciphers are also valid.
fn measured(names: &mut Vec<String>) -> anyhow::Result<()> {
    let all = cryptbench_cipher::ciphers().iter().chain(cryptbench_cipher::history());
    let all: Vec<Named<&str>> = all
        .map(|cipher| {
            let short = cipher.name.strip_suffix("-xts").map(str::to_owned);
            let names = short.into_iter().chain([cipher.label.to_owned()]);
            Named::new(cipher.name, cipher.name, names)
        })
        .collect();
    let found = find("cipher", names.as_slice(), &all, || keys(&all))?;
    *names = found.into_iter().map(str::to_owned).collect();
    Ok(())
}

/// The identifier of a choice in a record, which the user specified by identifier, by label or by its name in the
/// tables.
///
/// # Errors
/// If it matches no choice in the record at `path`, or more than one.
pub fn arm(record: &Record, path: &Path, asked: &str) -> anyhow::Result<String> {
    let names = Names::of(&record.plan);
    let arms = record.plan.arms.iter();
    let all: Vec<Named<&str>> = arms
        .map(|arm| {
            let also = [arm.label.clone(), names.arm(arm).to_owned()];
            Named::new(arm.id.as_str(), arm.id.as_str(), also)
        })
        .collect();
    let found = find("choice", &[asked], &all, || keys(&all));
    let found = found.map_err(|unknown| Refusal::usage(path, &unknown.to_string()))?;
    Ok(found[0].to_owned())
}
