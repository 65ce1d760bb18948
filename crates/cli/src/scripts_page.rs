//! docs/scripts.md: which commands take `--quiet` and `--json`, and the exit codes, made from their definitions.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use crate::args::Args;
use crate::exit::CODES;
use crate::generated::check;

const MARK: &str = "<!-- generated: quiet, JSON and exit codes, by cargo xtask readme -->\n";

/// A row for each command that has one of the two options.
fn commands(command: &Command, name: &str, out: &mut String) {
    let help = |option: &str| {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(option))?;
        Some(arg.get_help()?.to_string().replace('|', "\\|"))
    };
    let (quiet, json) = (help("quiet"), help("json"));
    if quiet.is_some() || json.is_some() {
        let [quiet, json] = [quiet, json].map(|help| help.unwrap_or_else(|| "–".to_owned()));
        writeln!(out, "| `{name}` | {quiet} | {json} |").unwrap();
    }
    let below = command.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set());
    for below in below {
        commands(below, format!("{name} {}", below.get_name()).trim_start(), out);
    }
}

fn tables() -> String {
    let mut made = "\n| command | `--quiet` | `--json` |\n|---|---|---|\n".to_owned();
    let mut command = Args::command();
    command.build();
    commands(&command, "", &mut made);
    made.push_str("\n| exit code | what it means |\n|---|---|\n");
    for (code, meaning) in CODES {
        writeln!(made, "| {code} | {} |", meaning.replace('\n', " ")).unwrap();
    }
    made + "\n"
}

#[test]
fn docs_have_quiet_json_and_exit_codes_as_they_are_defined() {
    check("scripts.md", MARK, &tables());
}

#[test]
fn every_exit_code_is_in_the_list() {
    use crate::exit;
    let codes = CODES.map(|(code, _)| code);
    for code in [
        exit::FAILURE,
        exit::USAGE,
        exit::TARGET,
        exit::STORAGE,
        exit::INPUT,
        exit::LEFT_OVER,
        exit::NO_KEY,
        exit::PLAINTEXT,
        exit::REGRESSION,
        exit::UNMEASURED,
    ] {
        assert!(codes.contains(&&*code.to_string()), "{code} in {codes:?}");
    }
}
