//! `cryptbench systems`, `profiles` and `cleanup`.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use comfy_table::{ContentArrangement, Table, presets};
use cryptbench_load::Profile;
use cryptbench_system::Availability;
use cryptbench_system::provision::{Cleaned, cleanup as clean};

use crate::args::ProfilesArgs;
use crate::exit;
use crate::report::terminal_style;

pub fn systems() -> anyhow::Result<ExitCode> {
    let style = terminal_style(false);
    let all = cryptbench_system::systems();
    let indent = all.iter().map(|s| s.name().len()).max().unwrap_or(0) + 2;
    let (mut here, mut not_here) = (Vec::new(), Vec::new());
    for system in all {
        let name = system.name();
        let paragraph = |text: &str, first: &str| {
            let rest = " ".repeat(indent);
            let first = format!("{first:indent$}");
            let options = textwrap::Options::new(style.width)
                .initial_indent(&first)
                .subsequent_indent(&rest)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            textwrap::fill(text, &options)
        };
        match system.availability() {
            Availability::Available(version) => {
                here.push(paragraph(&format!("{} ({version})", system.about()), name));
                let settings = system.settings().iter();
                let settings: Vec<_> =
                    settings.map(|s| format!("{}={}", s.name, s.values.join(","))).collect();
                if !settings.is_empty() {
                    here.push(paragraph(&format!("--set {}", settings.join("; ")), ""));
                }
            }
            Availability::Unavailable { reason, remedy } => {
                not_here.push(paragraph(system.about(), name));
                not_here.push(paragraph(&format!("why not: {reason}"), ""));
                not_here.push(paragraph(&format!("remedy: {remedy}"), ""));
            }
        }
    }
    print(&format!("Can be measured here:\n{}", here.join("\n")));
    if !not_here.is_empty() {
        print(&format!("\nNot here:\n{}", not_here.join("\n")));
    }
    Ok(ExitCode::SUCCESS)
}

pub fn profiles(args: &ProfilesArgs) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.name {
        let Some((_, text)) = Profile::builtin().iter().find(|(n, _)| n == name) else {
            Profile::named(name)?;
            bail!("profile {name:?} has no file");
        };
        print(text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(["profile", "workloads", "what it is"]);
    for (name, _) in Profile::builtin() {
        let profile = Profile::named(name)?;
        table.add_row([profile.name, profile.workloads.len().to_string(), profile.description]);
    }
    print(&format!(
        "{table}\n\n`cryptbench profiles NAME` prints one to start your own from; `run --profile FILE` reads it."
    ));
    Ok(ExitCode::SUCCESS)
}

pub fn cleanup() -> anyhow::Result<ExitCode> {
    let done = clean();
    let mut code = ExitCode::SUCCESS;
    for item in &done {
        match item {
            Cleaned::Removed(path) => print(&format!("removed {}", path.display())),
            Cleaned::NotOurs(path) => print(&format!(
                "left alone: {} is not the file that the killed run made",
                path.display()
            )),
            Cleaned::Failed(path, why) => {
                eprintln!("cryptbench: cannot remove {}: {why}", path.display());
                code = ExitCode::from(exit::LEFT_OVER);
            }
        }
    }
    if done.is_empty() {
        print("nothing was left behind");
    }
    Ok(code)
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(terminal_style(false).width as u16);
    table.set_header(header);
    table
}

pub fn print(text: &str) {
    // A closed pipe is the reader's choice, not an error.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
