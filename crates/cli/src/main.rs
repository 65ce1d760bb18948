//! `cryptbench`: turns arguments into a plan, and results into text and exit codes; nothing else.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

mod args;
mod ciphers;
mod compare;
mod completions;
mod doctor;
mod dry_run;
#[cfg(test)]
mod every_command;
mod exit;
mod explain;
mod fleet;
#[cfg(test)]
mod generated;
mod guesses;
mod history;
mod kdf;
mod last;
mod lists;
mod manual;
mod names;
mod output;
mod predict;
mod progress;
mod report;
mod run;
mod run_log;
mod say;
#[cfg(test)]
mod scripts_page;
mod serve;
mod signal;
mod studies;
mod study;
mod units;
mod verbose;
mod volume;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use args::{Args, Command};
use cryptbench_os::machine::missing_file_system;

/// The error message if a kernel file system is not mounted.
pub(crate) const NOT_MOUNTED: &str = "is not mounted, but cryptbench needs it to find and remove the devices and \
mounts that it sets up: mount -t proc proc /proc";

fn main() -> ExitCode {
    // Programs that are started here do not inherit files that are open in the caller's shell.
    let _ = cryptbench_os::process::pass_nothing_on();
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == volume::confined::WORD) {
        words.remove(1);
        volume::confined::become_child();
    }
    if words.get(1).is_some_and(|word| word == cryptbench_system::SERVE_DISK) {
        return say::finish(serve_disk());
    }
    say::finish(command(&words))
}

/// The main function of the process that a run starts to serve its own disk.
fn serve_disk() -> ExitCode {
    match cryptbench_system::serve_disk() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error = anyhow::Error::from(error);
            exit::explain(&error.context(volume::confined::NOT_FOR_USERS))
        }
    }
}

fn command(words: &[OsString]) -> ExitCode {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            if asks_for_short_help_of_run(words) && error.kind() == ErrorKind::DisplayHelp {
                let command = Args::command();
                let run = command.find_subcommand("run").expect("it is a command");
                say::print_text(&run::short_help::text(run));
                return ExitCode::SUCCESS;
            }
            if let Some(text) = guesses::told(&error).or_else(|| guesses::negative(&error, words)) {
                say::message(&text);
                return ExitCode::from(exit::USAGE);
            }
            // The error message repeats arguments, and an argument may be an untrusted file name that contains a line
            // break.
            let words = words.iter().map(|word| cryptbench_text::shown(word.as_ref()));
            return say::command_line(&Args::try_parse_from(words).err().unwrap_or(error));
        }
    };
    let result = verbose::begin(args.verbose)
        .and_then(|()| refuse_without(&args.command, missing_file_system()))
        .and_then(|()| perform(args.command));
    match result {
        Ok(code) => code,
        Err(error) => exit::explain(&error),
    }
}

/// Whether the arguments are `run -h`, as opposed to `run --help`, which clap prints.
fn asks_for_short_help_of_run(words: &[OsString]) -> bool {
    let mut words =
        words.iter().skip(1).skip_while(|word| word.as_encoded_bytes().starts_with(b"-v"));
    let asked = |word: &&OsString| **word == "-h" || **word == "--help";
    words.next().is_some_and(|word| word == "run")
        && words.take_while(|word| *word != "--").find(asked).is_some_and(|word| word == "-h")
}

/// Commands that create mounts or devices refuse to start if the file system `missing` is not mounted: without this
/// file system, such commands could not find the mounts and devices again to remove them.
fn refuse_without(command: &Command, missing: Option<&str>) -> anyhow::Result<()> {
    let sets_up = matches!(
        command,
        Command::Run(_)
            | Command::Volume(_)
            | Command::Serve(_)
            | Command::Cleanup
            | Command::Fleet(_)
    );
    match missing.filter(|_| sets_up) {
        Some(missing) => Err(exit::Refusal::target(missing.as_ref(), NOT_MOUNTED).into()),
        None => Ok(()),
    }
}

fn perform(mut command: Command) -> anyhow::Result<ExitCode> {
    last::named(&mut command)?;
    names::named(&mut command)?;
    match command {
        Command::Run(args) => run::run(&args),
        Command::Report(args) => report::report(&args),
        Command::Schema => Ok(report::schema()),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Systems => lists::systems(),
        Command::Ciphers(args) => ciphers::ciphers(&args),
        Command::Kdf(args) => kdf::kdf(&args),
        Command::Predict(args) => predict::predict(&args),
        Command::Profiles(args) => lists::profiles(&args),
        Command::Studies(args) => studies::studies(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::History(args) => history::history(&args),
        Command::Fleet(args) => fleet::fleet(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Volume(command) => volume::volume(&command),
        Command::Cleanup => lists::cleanup(),
        Command::Completions(args) => completions::completions(&args),
        Command::Manual(args) => manual::manual(&args),
        Command::KeepRun => output::keeper::keep_run(),
    }
}
