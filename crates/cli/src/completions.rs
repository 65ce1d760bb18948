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

/// The program without its hidden commands: a completion offers what the help lists.
fn visible(all: &Command) -> Command {
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("cryptbench").version(env!("CARGO_PKG_VERSION")).subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_hidden_commands_is_left_out() {
        let all = Args::command();
        assert_eq!(all.get_arguments().filter(|a| !a.is_hide_set()).count(), 0, "options as well");
        let shown = visible(&all);
        let hidden: Vec<_> = all.get_subcommands().filter(|c| c.is_hide_set()).collect();
        assert_eq!(hidden.iter().map(|c| c.get_name()).collect::<Vec<_>>(), ["manual", "keep-run"]);
        assert_eq!(shown.get_subcommands().count(), all.get_subcommands().count() - hidden.len());
        assert!(shown.find_subcommand("manual").is_none());
    }
}
