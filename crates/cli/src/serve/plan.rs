//! Plans a run that the page requests, with the parser and the checks of the command line. If a value is refused, the
//! form field of this value is identified.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue};
use cryptbench_load::ProfileError;
use cryptbench_runner::RunError;
use cryptbench_serve::Invalid;
use cryptbench_system::{Selected, SystemError};
use cryptbench_text::chain;
use serde_json::Value;

use super::terms::{label, of_the_page};
use crate::args::{Args, Command};
use crate::run::args::RunArgs;
use crate::run::request;
use crate::{dry_run, names, study};

/// The output of `cryptbench run --dry-run --json` for these arguments of `run`.
pub fn plan(words: &[OsString]) -> Result<Value, Invalid> {
    let words = ["cryptbench", "run"].map(OsString::from).into_iter().chain(words.iter().cloned());
    let parsed = Args::try_parse_from(words).map_err(|error| unparsed(&error))?;
    let Command::Run(mut args) = parsed.command else {
        return Err(Invalid::value(None, "These arguments do not start a run.".to_owned()));
    };
    // The tables of measurements in RAM are not shown on the page.
    args.shown.json = true;
    let named = names::of_run(&mut args);
    let planned = named.and_then(|()| match args.what.study {
        Some(letter) => study::plan(&args, letter.into()),
        None => request(&args).and_then(|request| Ok(dry_run::object(&dry_run::of(&request)?))),
    });
    planned
        .map_err(|error| Invalid::value(option(&error, &args), of_the_page(&chain(error.as_ref()))))
}

/// The parser's message, in the page's terms.
fn unparsed(error: &clap::Error) -> Invalid {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let problem = first.strip_prefix("error: ").unwrap_or(&first);
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(all)) => all.first().map(String::as_str),
        _ => None,
    };
    let name = option.map(|text| {
        let name = text.trim_start_matches(['-', '[', '<']);
        let end = name.find([' ', '=', '<', ']', '>']).unwrap_or(name.len());
        name[..end].to_lowercase()
    });
    // The value is omitted from the message, which is shown next to its field.
    let reason = std::error::Error::source(error).map(ToString::to_string);
    let problem = match (&name, reason, error.get(ContextKind::ValidValue)) {
        (Some(name), _, Some(ContextValue::Strings(all))) if !all.is_empty() => {
            format!("{}: choose {}", label(name), all.join(", "))
        }
        (Some(name), Some(reason), _) => format!("{}: {reason}", label(name)),
        _ => of_the_page(problem.strip_prefix("the argument ").unwrap_or(problem)),
    };
    Invalid::value(name.as_deref(), problem)
}

/// The option with the invalid value, if the error identifies it.
fn option(error: &anyhow::Error, args: &RunArgs) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<RunError>() {
            return match error {
                RunError::Target { path, .. } => place(path, args),
                RunError::System(error) => of_system(error, args),
                RunError::Profile(_) => Some("profile"),
                RunError::Option { option, .. } => Some(*option),
                _ => None,
            };
        }
        if let Some(error) = cause.downcast_ref::<SystemError>() {
            return of_system(error, args);
        }
        cause.is::<ProfileError>().then_some("profile")
    })
}

fn of_system(error: &SystemError, args: &RunArgs) -> Option<&'static str> {
    match error {
        SystemError::UnknownSystem(_) | SystemError::Unavailable { .. } => Some("system"),
        SystemError::UnknownSettings(_) => Some("set"),
        SystemError::NothingSelected { of, .. } => Some(match of {
            Selected::Setting => "set",
            Selected::Cipher => "cipher",
            Selected::DataUnit => "data-unit",
            Selected::System => "system",
        }),
        SystemError::Cipher(_) | SystemError::UnknownCipher(_) => Some("cipher"),
        SystemError::Target { path, .. } => place(path, args),
        _ => None,
    }
}

fn place(path: &Path, args: &RunArgs) -> Option<&'static str> {
    match (&args.place.pair[..], &args.place.emulate) {
        ([_, encrypted], _) if path == encrypted => Some("encrypted"),
        ([_, _], _) => Some("pair"),
        (_, Some(_)) => None,
        _ => Some("target"),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn refused(words: &[&str]) -> (String, String) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let invalid = plan(&words).expect_err("it is refused");
        (invalid.field.unwrap_or_default().into_owned(), invalid.problem)
    }

    #[test]
    fn a_wrong_value_is_refused_in_the_terms_of_the_page_at_its_field() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().to_str().unwrap();
        let mut said = String::new();
        for words in [
            &["--budget=no time"][..],
            &["--size=big"],
            &["--sector-size=many"],
            &["--set=nothing"],
            &["--set=colour=red", "--system=builtin"],
            &["--system=luks"],
            &["--cipher=nosuch", "--system=builtin"],
            &["--profile=nosuch"],
            &["--study=X"],
            &["--builtin-only", "--system=builtin"],
            &["--system=builtin", "--budget=1s"],
            &["--study=a", "--profile=quick"],
        ] {
            let (field, text) = refused(&[words, &["--", here]].concat());
            assert!(!text.contains('\n'), "{text}");
            writeln!(said, "{}\n    {field}: {text}", words.join(" ")).unwrap();
        }
        insta::assert_snapshot!(said);
        let gone = format!("{here}/gone/deeper");
        assert_eq!(refused(&["--", &gone]).0, "target");
        assert_eq!(refused(&["--pair", here, &gone]).0, "encrypted");
        assert_eq!(refused(&["--pair", &gone, here]).0, "plain");
        assert_eq!(refused(&["--emulate=nvme", "--", here]).0, "emulate");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
