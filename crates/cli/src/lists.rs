//! `cryptbench systems`, `profiles` and `cleanup`.

use std::process::ExitCode;

use cryptbench_load::Profile;
use cryptbench_system::resource::{Cleaned, cleanup as clean};
use cryptbench_system::{Availability, Setting};
use cryptbench_text::shown;
use cryptbench_view::columns::{compact, hang};
use textwrap::core::Word;
use textwrap::{WordSeparator, WordSplitter};

use crate::args::ProfilesArgs;
use crate::exit;
use crate::say::{message, print, terminal_style};

pub fn systems() -> anyhow::Result<ExitCode> {
    let width = terminal_style(false).width;
    let all = cryptbench_system::systems();
    let column = all.iter().map(|s| s.name().len()).max().unwrap_or(0) + 2;
    let paragraph = |first: &str, text: &str| hang(&format!("{first:column$}"), text, width);
    let (mut here, mut not_here) = (Vec::new(), Vec::new());
    for system in all {
        match system.availability() {
            Availability::Available(version) => {
                here.push(paragraph(system.name(), &format!("{} ({version})", system.about())));
                here.extend(settable(system.settings(), column, width));
            }
            Availability::Unavailable { reason, remedy } => {
                not_here.push(paragraph(system.name(), system.about()));
                not_here.push(paragraph("", &format!("why: {reason}")));
                not_here.push(paragraph("", &format!("to do: {remedy}")));
            }
        }
    }
    print(&format!("Can be measured here:\n{}", here.join("\n")));
    if !not_here.is_empty() {
        print(&format!("\nCannot be measured here:\n{}", not_here.join("\n")));
    }
    Ok(ExitCode::SUCCESS)
}

/// The values that `--set` accepts, with line breaks only between values; `None` without settings.
fn settable(settings: &[Setting], indent: usize, width: usize) -> Option<String> {
    let after_commas: fn(&str) -> Box<dyn Iterator<Item = Word<'_>> + '_> =
        |line| Box::new(line.split_inclusive([' ', ',']).map(Word::from));
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width)
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::Custom(after_commas))
        .word_splitter(WordSplitter::NoHyphenation);
    let each = settings.iter().map(|s| format!("{}={}", s.name, s.values.join(",")));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| textwrap::fill(&format!("--set {}", each.join("; ")), options))
}

pub fn profiles(args: &ProfilesArgs) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.name {
        let name = Profile::meant(name)?;
        let text = Profile::builtin().iter().find(|(known, _)| *known == name).map(|of| of.1);
        print(text.unwrap_or_default().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = Vec::new();
    for (name, _) in Profile::builtin() {
        let profile = Profile::named(name)?;
        let workloads = profile.workloads.len().to_string();
        rows.push(vec![profile.name, workloads, profile.description]);
    }
    let headings = ["profile", "workloads", "description"].map(str::to_owned).into();
    let table = compact(headings, rows, |_| true, terminal_style(false).width);
    print(&format!(
        "{table}\n\nTo write your own profile, start from the output of `cryptbench profiles NAME`; then use `run \
        --profile FILE`."
    ));
    Ok(ExitCode::SUCCESS)
}

pub fn cleanup() -> anyhow::Result<ExitCode> {
    let done = clean();
    let mut code = ExitCode::SUCCESS;
    for item in &done {
        match item {
            Cleaned::Removed(path) => print(&format!("removed {}", shown(path))),
            Cleaned::NotOurs(path) => print(&format!(
                "not removed: {} is not the file that the killed run created",
                shown(path)
            )),
            Cleaned::Failed(path, why) => {
                message(&format!("cannot remove {}: {why}", shown(path)));
                code = ExitCode::from(exit::LEFT_OVER);
            }
        }
    }
    if done.is_empty() {
        print("nothing was left behind");
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_values_are_broken_between_values_and_nowhere_else() {
        let mut long = 0;
        for system in cryptbench_system::systems() {
            for width in [60, 80, 200] {
                let Some(text) = settable(system.settings(), 17, width) else { continue };
                let lines: Vec<&str> = text.lines().collect();
                for line in &lines {
                    assert!(line.len() <= width && line.starts_with(&" ".repeat(17)), "{text}");
                }
                let (_, before) = lines.split_last().unwrap();
                assert!(before.iter().all(|l| l.ends_with([',', ';'])), "{text}");
                let joined: String = lines.iter().map(|l| l.trim_start()).collect();
                for setting in system.settings() {
                    let list = format!("{}={}", setting.name, setting.values.join(","));
                    assert!(joined.contains(&list), "{list} in {text}");
                }
                long += usize::from(lines.len() > 2);
            }
        }
        assert!(long > 3, "no list was long enough to be broken");
    }
}
