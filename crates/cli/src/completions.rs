//! `cryptbench completions`: the scripts that make shells complete commands, options and values.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use cryptbench_devices::Model;
use cryptbench_load::Profile;

use crate::args::{Args, CompletionsArgs};
use crate::last;
use crate::say::{print, print_bytes};

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let Some(shell) = args.shell else {
        last::known().iter().for_each(|run| print(run));
        return Ok(ExitCode::SUCCESS);
    };
    let mut command = with_values(visible(&Args::command()));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "cryptbench", &mut script);
    let script = String::from_utf8(script)?;
    print_bytes(with_runs(shell, &script).as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// Words that refer to a record, apart from its path.
const LAST: [&str; 2] = ["last", "last~1"];

/// Options that accept a record, by command.
const RECORDS: &[(&str, &[&str])] = &[
    ("report", &["record"]),
    ("compare", &["a", "b", "joint"]),
    ("run", &["like", "resume"]),
    ("predict", &["record", "against"]),
    ("studies", &["beside", "from"]),
];

/// Adds the possible values of options: names of systems, ciphers and profiles, and `last`.
fn with_values(mut program: Command) -> Command {
    let own = cryptbench_cipher::ciphers().iter().map(|cipher| cipher.name);
    let ciphers: Vec<&str> = own.collect();
    let systems = cryptbench_system::systems().iter().map(|system| system.name());
    let systems: Vec<&str> = systems.chain([cryptbench_system::ALL]).collect();
    let profiles: Vec<&str> = Profile::builtin().iter().map(|(name, _)| *name).collect();
    let models: Vec<&str> = Model::names().collect();
    let mut give = |command: &str, option: &str, values: &[&'static str]| {
        let values = PossibleValuesParser::new(values.to_vec());
        program = std::mem::take(&mut program).mut_subcommand(command, |command| {
            command.mut_arg(option, |arg| arg.value_parser(values).hide_possible_values(true))
        });
    };
    give("run", "system", &systems);
    give("run", "cipher", &ciphers);
    give("ciphers", "cipher", &ciphers);
    give("predict", "cipher", &ciphers);
    give("run", "profile", &profiles);
    give("profiles", "name", &profiles);
    give("run", "emulate", &models);
    give("predict", "device", &models.iter().copied().chain(LAST).collect::<Vec<_>>());
    for (command, options) in RECORDS {
        options.iter().for_each(|option| give(command, option, &LAST));
    }
    program.mut_subcommand("history", |history| {
        [("add", "records"), ("check", "record")].into_iter().fold(
            history,
            |history, (name, option)| {
                history.mut_subcommand(name, |command| {
                    command.mut_arg(option, |arg| arg.value_parser(PossibleValuesParser::new(LAST)))
                })
            },
        )
    })
}

/// Extends the script: the result also completes current runs in addition to `last`, and file names wherever a file can
/// be specified in place of a record, profile or model.
fn with_runs(shell: Shell, script: &str) -> String {
    let names = LAST.join(" ");
    match shell {
        // Bash completes file names if no other name matches.
        Shell::Bash => {
            let runs =
                "_cryptbench_runs() { \"${COMP_WORDS[0]}\" completions --runs 2>/dev/null; }";
            format!("{runs}\n\n{}", script.replace(&names, &format!("{names} $(_cryptbench_runs)")))
        }
        Shell::Fish => {
            let line = |line: &str| {
                match [" -a \"last\\t", " -l profile ", " -l emulate ", " -l device "]
                    .iter()
                    .any(|of| line.contains(of))
                {
                    true => line.replace(" -r -f -a ", " -r -F -a "),
                    false => line.to_owned(),
                }
                .replace("last~1\\t''\"", "last~1\\t'' (cryptbench completions --runs)\"")
            };
            script.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
        }
        Shell::Zsh => {
            let records = format!(
                "_cryptbench_runs() {{\n    local -a runs\n    runs=({names} ${{(f)\"$(cryptbench completions --runs 2>/dev/null)\"}})\n    \
                 compadd \"$@\" -a runs\n}}\n\n_cryptbench_records() {{ _alternative 'runs:run:_cryptbench_runs' \
                 'files:file:_files' }}\n\n"
            );
            let with = script.replace(&format!(":({names})"), ":_cryptbench_records");
            match with.split_once("\n_cryptbench()") {
                Some((head, rest)) => format!("{head}\n{records}_cryptbench(){rest}"),
                None => script.to_owned(),
            }
        }
        _ => script.to_owned(),
    }
}

/// The program without its hidden commands, so that completion offers only the commands in the help.
fn visible(all: &Command) -> Command {
    let version = env!("CARGO_PKG_VERSION");
    let program = Command::new("cryptbench").version(version).args(all.get_arguments().cloned());
    program.subcommands(shown(all).map(|command| {
        if shown(command).count() == command.get_subcommands().count() {
            return command.clone();
        }
        let about = command.get_about().cloned().unwrap_or_default();
        // clap requires names that live as long as the program.
        let name: &'static str = Box::leak(command.get_name().to_owned().into_boxed_str());
        Command::new(name).about(about).subcommands(shown(command).cloned())
    }))
}

fn shown(group: &Command) -> impl Iterator<Item = &Command> {
    group.get_subcommands().filter(|command| !command.is_hide_set())
}

#[cfg(test)]
mod tests {
    use cryptbench_catalog::DeviceModel;

    use super::*;

    #[test]
    fn the_catalog_has_every_model() {
        assert!(Model::names().eq(DeviceModel::ALL.iter().map(|model| model.as_str())));
    }

    #[test]
    fn nothing_but_hidden_commands_is_left_out() {
        let all = Args::command();
        let options = |command: &Command| command.get_arguments().count();
        assert_eq!(options(&visible(&all)), options(&all));
        let shown = visible(&all);
        let hidden: Vec<_> = all.get_subcommands().filter(|c| c.is_hide_set()).collect();
        assert_eq!(hidden.iter().map(|c| c.get_name()).collect::<Vec<_>>(), ["keep-run"]);
        assert_eq!(shown.get_subcommands().count(), all.get_subcommands().count() - hidden.len());
        assert!(shown.find_subcommand("keep-run").is_none());
        let volume = shown.find_subcommand("volume").unwrap();
        assert!(volume.find_subcommand("keep").is_none());
        let of_all = all.find_subcommand("volume").unwrap();
        assert_eq!(volume.get_subcommands().count() + 1, of_all.get_subcommands().count());
        assert_eq!(of_all.get_arguments().count(), 0, "a group has no options");
    }
}
