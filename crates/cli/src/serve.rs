//! `cryptbench serve`: the local page.

pub mod args;
mod choices;
mod devices;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_runner::RunError;
use cryptbench_serve::{Address, Opener, Server, Site, open};
use cryptbench_system::provision::{data_directory, runtime_directory};

use crate::say::{message, print};
use args::ServeArgs;

pub fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let unfit = |problem: &str| RunError::Target {
        path: PathBuf::from("runs"),
        problem: problem.to_owned(),
    };
    let runs = data_directory().ok_or_else(|| unfit("no data directory can be written"))?;
    let server = Server::bind(args.port)?;
    // Kept until the end: it is the file that the browser is told to open.
    let mut _opened = None;
    let site = Site { program, runs: runs.join("runs"), catalogue: choices::catalogue };
    // Whoever reads the address may end the server at once: its signals are heard by then.
    server.run(site, message, |address| {
        print(&format!("The page is at {address}"));
        print("Whoever has this address can start runs. Ctrl-C ends the server.");
        _opened = args.open.then(|| opened(address)).flatten();
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the browser; that there is none is no reason not to serve.
fn opened(address: &Address) -> Option<Opener> {
    let directory = runtime_directory().unwrap_or_else(std::env::temp_dir);
    match open(address, &directory) {
        Ok(opener) => Some(opener),
        Err(error) => {
            message(&format!("{:#}", anyhow::Error::from(error)));
            None
        }
    }
}

/// Where a run is proposed: where the program was started.
fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
}
