//! `cryptbench serve`: the local page.

pub mod args;
mod choices;
mod devices;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use cryptbench_runner::RunError;
use cryptbench_serve::{Opener, Server, Site, open};
use cryptbench_system::provision::{data_directory, runtime_directory};

use crate::lists::print;
use args::ServeArgs;

pub fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let unfit = |problem: &str| RunError::Target {
        path: PathBuf::from("runs"),
        problem: problem.to_owned(),
    };
    let runs = data_directory().ok_or_else(|| unfit("no data directory can be written"))?;
    let server = Server::bind(args.port)?;
    print(&format!("The page is at {}", server.address()));
    print("Whoever has this address can start runs. Ctrl-C ends the server.");
    // Kept until the end: it is the file that the browser is told to open.
    let _opened = args.open.then(|| opened(&server)).flatten();
    server.run(Site { program, runs: runs.join("runs"), catalogue: choices::catalogue }, told)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the browser; that there is none is no reason not to serve.
fn opened(server: &Server) -> Option<Opener> {
    let directory = runtime_directory().unwrap_or_else(std::env::temp_dir);
    match open(server.address(), &directory) {
        Ok(opener) => Some(opener),
        Err(error) => {
            told(&format!("{:#}", anyhow::Error::from(error)));
            None
        }
    }
}

fn told(sentence: &str) {
    // The terminal may be gone, and a run must be waited for all the same.
    let _ = writeln!(std::io::stderr(), "cryptbench: {sentence}");
}

/// Where a run is proposed: where the program was started.
fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
}
