//! docs/options.md: tables of the options, generated from their definitions in [`super::args`].

use std::fmt::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args as _, Command};

use super::args::{RunArgs, go_with_resume};
use crate::generated::{check, docs};

const MARK: &str = "<!-- generated: options of run, by cargo xtask readme -->\n";

/// The generated part: a table for each heading of the help.
fn tables() -> String {
    let run = RunArgs::augment_args(Command::new("run"));
    let mut made = String::new();
    let mut heading = None;
    for arg in run.get_arguments().filter(|arg| arg.get_long().is_some()) {
        if heading != arg.get_help_heading() {
            heading = arg.get_help_heading();
            let title = linked(heading.expect("each option has a heading"));
            write!(
                made,
                "\n## {title}\n\n| option | what it does | combinations |\n|---|---|---|\n"
            )
            .unwrap();
        }
        let (what, goes) = (what_it_does(arg), goes(&run, arg));
        writeln!(made, "| `{}` | {what} | {goes} |", written(arg).replace('|', "\\|")).unwrap();
    }
    let mut resumed = go_with_resume();
    resumed.retain(|name| name != "resume");
    write!(made, "\n`--resume` can be combined with {}.\n\n", listed(&resumed)).unwrap();
    made
}

/// An option as users type it, such as `--system NAME`.
fn written(arg: &Arg) -> String {
    let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let words = value.into_iter().flatten().map(|name| format!(" {name}"));
    format!("--{}", arg.get_long().unwrap()) + &words.collect::<String>()
}

/// An option's help, alias, default and possible values.
fn what_it_does(arg: &Arg) -> String {
    let mut what = linked(&arg.get_help().expect("each option has a help").to_string());
    for alias in arg.get_visible_aliases().into_iter().flatten() {
        write!(what, " [also: `--{alias}`]").unwrap();
    }
    if arg.get_action().takes_values() {
        for value in arg.get_default_values().iter().filter(|_| !arg.is_hide_default_value_set()) {
            write!(what, " [default: {}]", value.display()).unwrap();
        }
        for choice in arg.get_possible_values() {
            let help = choice.get_help().map(ToString::to_string).unwrap_or_default();
            write!(what, "; `{}`: {help}", choice.get_name()).unwrap();
        }
    }
    what.replace('|', "\\|")
}

/// The options that `arg` requires, and the options with which it cannot be combined, no matter which of the two
/// defines the conflict.
fn goes(run: &Command, arg: &Arg) -> String {
    let mut goes = Vec::new();
    let alone = run
        .clone()
        .try_get_matches_from(["run", &format!("--{}=1", arg.get_id().as_str().replace('_', "-"))]);
    if let Err(error) = alone
        && error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(ContextValue::Strings(needed)) = error.get(ContextKind::InvalidArg)
    {
        let names = needed.iter().map(|usage| usage.split([' ', '=']).next().unwrap().to_owned());
        goes.push(format!("only with `{}`", names.collect::<Vec<_>>().join("`, `")));
    }
    let against = |other: &&Arg| {
        let says = |one, two: &Arg| {
            run.get_arg_conflicts_with(one).iter().any(|a| a.get_id() == two.get_id())
        };
        says(arg, other) || says(other, arg)
    };
    let against: Vec<String> =
        run.get_arguments().filter(against).map(|other| other.get_id().to_string()).collect();
    if !against.is_empty() {
        goes.push(format!("not with {}", listed(&against)));
    }
    goes.join("; ")
}

fn listed(names: &[String]) -> String {
    let typed = |name: &String| match name.as_str() {
        "target" => "TARGET".to_owned(),
        name => format!("`--{}`", name.replace('_', "-")),
    };
    names.iter().map(typed).collect::<Vec<_>>().join(", ")
}

/// `text` with each `docs/NAME.md` replaced by a link to that page.
fn linked(text: &str) -> String {
    let link = |word: &str| {
        let start = word.find("docs/")?;
        let end = start + word[start..].find(".md")? + ".md".len();
        let page = word[start..end].strip_prefix("docs/")?;
        assert!(docs().join(page).is_file(), "{text}: no such page");
        Some(format!("{}[{page}]({page}){}", &word[..start], &word[end..]))
    };
    let words = text.split_whitespace().map(|word| link(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn docs_have_the_options_as_they_are_defined() {
    check("options.md", MARK, &tables());
}

#[test]
fn what_an_option_needs_and_refuses_is_told_on_both_sides() {
    let run = RunArgs::augment_args(Command::new("run"));
    let goes = |name: &str| goes(&run, run.get_arguments().find(|a| a.get_id() == name).unwrap());
    assert_eq!(goes("node"), "only with `--fleet`");
    assert_eq!(goes("fleet"), "not with `--study`, `--like`, `--dry-run`, `--output`, `--resume`");
    assert_eq!(goes("profile"), "not with `--study`");
    assert_eq!(goes("seed"), "");
}
