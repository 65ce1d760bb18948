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
    let mut table = table(["system", "here", "what it is"]);
    for system in cryptbench_system::systems() {
        let here = match system.availability() {
            Availability::Available(version) => version,
            Availability::Unavailable { reason, remedy } => format!("no: {reason}; {remedy}"),
        };
        table.add_row([system.name().to_owned(), here, system.about().to_owned()]);
    }
    print(&table.to_string());
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

fn print(text: &str) {
    // A closed pipe is the reader's choice, not an error.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
