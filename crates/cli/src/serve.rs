//! `cryptbench serve`: the local web page.

pub mod args;
mod choices;
mod devices;
mod mounted;
mod plan;
mod terms;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_answer::names::Names;
use cryptbench_os::process::this_program;
use cryptbench_record::Plan;
use cryptbench_runner::RunError;
use cryptbench_serve::{Address, Opener, Server, Site, open};
use cryptbench_system::provision::runtime_directory;
use cryptbench_text::chain;

use crate::output::runs_directory;
use crate::say::{message, print};
use args::ServeArgs;

pub fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let program = this_program().context("cannot find the executable of this program")?;
    let program = PathBuf::from(program.get_program());
    let unfit = |problem: &str| RunError::Target {
        path: PathBuf::from("runs"),
        problem: problem.to_owned(),
    };
    let runs = runs_directory().ok_or_else(|| unfit("no data directory is writable"))?;
    let server = Server::bind(args.port)?;
    // The file is kept until the end, because the browser opens it.
    let mut _opened = None;
    // The path is absolute, because the page shows it.
    let fleet = args.fleet.as_ref().map(std::path::absolute).transpose();
    let fleet = fleet.context("cannot find the fleet's directory")?;
    let (catalogue, plan) = (choices::catalogue as fn() -> _, plan::plan as fn(&_) -> _);
    let site = Site { program, runs, fleet, catalogue, names, options: choices::options(), plan };
    // Signals are handled before the address is printed, so that a program that reads the address can stop the server
    // immediately.
    server.run(site, message, |address| {
        print(&format!("The page is at {address}"));
        print("Anyone who has this address can start runs. Ctrl-C stops the server.");
        _opened = args.open.then(|| opened(address)).flatten();
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the page in a browser. If there is no browser, the server still runs.
fn opened(address: &Address) -> Option<Opener> {
    let directory = runtime_directory().unwrap_or_else(std::env::temp_dir);
    match open(address, &directory) {
        Ok(opener) => Some(opener),
        Err(error) => {
            message(&chain(&error));
            None
        }
    }
}

/// The names of a plan's choices.
fn names(plan: &Plan) -> Vec<String> {
    let names = Names::of(plan);
    plan.arms.iter().map(|arm| names.arm(arm).to_owned()).collect()
}

/// The proposed target: the directory in which the program was started.
fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
}
