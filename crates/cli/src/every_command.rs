//! Compares `tests/commands.txt` with the command line: each command, and below it each argument that accepts a
//! path.
//!
//! Integration tests go through that list, so none of them can omit a new command or a new path.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _, ValueHint};

use crate::args::Args;

/// Arguments that are text to clap and may be the path of a file all the same.
const TEXT_OR_PATH: [&str; 3] = ["FILE", "PATH", "RECORD"];

/// Uses the arguments of `volume mount`, which starts it.
const AS_MOUNT: &str = "volume keep";

fn takes_path(arg: &Arg) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    arg.get_action().takes_values()
        && (arg.get_value_hint() == ValueHint::AnyPath
            || names.iter().any(|name| TEXT_OR_PATH.iter().any(|path| name.contains(path))))
}

fn list(command: &Command, name: &str, out: &mut String) {
    let own = command.get_arguments().filter(|arg| takes_path(arg));
    if !command.is_subcommand_required_set() {
        writeln!(out, "{}", if name.is_empty() { "(none)" } else { name }).unwrap();
        for arg in own.filter(|_| name != AS_MOUNT) {
            match arg.get_long() {
                Some(long) => writeln!(out, "    --{long}").unwrap(),
                None => writeln!(out, "    {}", arg.get_id()).unwrap(),
            }
        }
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        list(below, format!("{name} {}", below.get_name()).trim_start(), out);
    }
}

#[test]
fn the_list_of_commands_is_complete() {
    let mut command = Args::command();
    command.build();
    let mut all = String::new();
    list(&command, "", &mut all);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands.txt");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(kept == all, "{file} must hold these lines:\n{all}");
}
