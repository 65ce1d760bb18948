//! `cryptbench completions`: what a shell needs to complete commands, options and their values.

use std::process::ExitCode;

use clap::{Command, CommandFactory as _};

use crate::args::{Args, CompletionsArgs};
use crate::say::print_bytes;

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut command = visible(&Args::command());
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "cryptbench", &mut script);
    print_bytes(&script);
    Ok(ExitCode::SUCCESS)
}

/// The program without its hidden commands: a completion offers only the commands in the help.
fn visible(all: &Command) -> Command {
    let version = env!("CARGO_PKG_VERSION");
    let program = Command::new("cryptbench").version(version).args(all.get_arguments().cloned());
    program.subcommands(shown(all).map(|command| {
        if shown(command).count() == command.get_subcommands().count() {
            return command.clone();
        }
        let about = command.get_about().cloned().unwrap_or_default();
        // clap keeps names for the lifetime of the program.
        let name: &'static str = Box::leak(command.get_name().to_owned().into_boxed_str());
        Command::new(name).about(about).subcommands(shown(command).cloned())
    }))
}

fn shown(group: &Command) -> impl Iterator<Item = &Command> {
    group.get_subcommands().filter(|command| !command.is_hide_set())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_hidden_commands_is_left_out() {
        let all = Args::command();
        let options = |command: &Command| command.get_arguments().count();
        assert_eq!(options(&visible(&all)), options(&all));
        let shown = visible(&all);
        let hidden: Vec<_> = all.get_subcommands().filter(|c| c.is_hide_set()).collect();
        assert_eq!(hidden.iter().map(|c| c.get_name()).collect::<Vec<_>>(), ["manual", "keep-run"]);
        assert_eq!(shown.get_subcommands().count(), all.get_subcommands().count() - hidden.len());
        assert!(shown.find_subcommand("manual").is_none());
        let volume = shown.find_subcommand("volume").unwrap();
        assert!(volume.find_subcommand("keep").is_none());
        let of_all = all.find_subcommand("volume").unwrap();
        assert_eq!(volume.get_subcommands().count() + 1, of_all.get_subcommands().count());
        assert_eq!(of_all.get_arguments().count(), 0, "a group has no options");
    }
}
